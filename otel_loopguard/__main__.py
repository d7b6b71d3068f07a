"""`python -m otel_loopguard`: the command `loopguard` where scripts are not on the path."""

from __future__ import annotations

from otel_loopguard.cli import main

main(prog_name="python -m otel_loopguard")
