"""The rules: what makes two calls equal, what a history holds, what a detector finds. Pure, hosted by all else.

Not a place for clocks, files, threads or OpenTelemetry. The nouns that others use stand here, one file each; what
they are made of stands in folders: `form` (canonical bytes), `policy_file` (policy text), `reading` (results),
`past` (histories), `detectors`.
"""
