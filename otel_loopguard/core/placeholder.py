"""Texts that stand where content was: what instrumentations write for arguments that they withhold or cut.

Not a search for secrets, and not a guess: only a text that is nothing but a placeholder, or that ends in a marker of
truncation, counts. A longer text that mentions one is content.
"""

from __future__ import annotations

import re
from typing import Final

from .call import UnknownReason

__all__ = ["PLACEHOLDER_HINT", "withheld"]

_REDACTED: Final = re.compile(
    r"""
    [\[(<{]{1,2} [_*\s]* (?:redacted|elided|filtered|hidden|masked|omitted|removed|scrubbed|withheld) [_*\s]* [\])>}]{1,2}
    | _{2,} (?:redacted|elided|filtered|hidden|masked|omitted|removed) _{2,}     # OpenInference: __REDACTED__
    | \*{2,} (?:redacted|elided|filtered|hidden|masked|omitted|removed) \*{2,}
    | [\[<] (?:redacted|scrubbed|filtered) [ ] (?:due[ ]to|by|for) [^\]>\n]{1,80} [\]>]   # Logfire: [Scrubbed due to 'password']
    | \*{4} | \*{10}              # the Collector's redaction processor; a secret of pydantic
    | <not[ ]serializable>        # ADK
    """,
    re.IGNORECASE | re.VERBOSE,
)
_REDACTED_WORD: Final = "REDACTED"
"""Alone only in capitals, as the semantic conventions write it for parts of URLs; `redacted` may be a question."""

_TRUNCATED: Final = re.compile(
    r"""
    <\d+[ ]chars;[ ]not[ ]recorded> | <truncated[ ]due[ ]to[^>\n]{1,80}>     # the whole text: Claude Code, Langfuse
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CUT: Final = re.compile(r"(?:…|\.\.\.)[ ]?[\[(<]truncated[\])>]\s*\Z", re.IGNORECASE)
"""At the end of a text of which the beginning was kept."""

_LONGEST: Final = 120

PLACEHOLDER_HINT: Final = re.compile(
    rb"(?i:redact|elided|filtered|hidden|masked|omitted|removed|scrubbed|withheld|\*\*\*\*|not serializable|truncated|not recorded)"
)


def withheld(text: str) -> UnknownReason | None:
    """Why ``text`` is no content; None where it is."""
    if len(text) <= _LONGEST:
        bare = text.strip()
        if bare == _REDACTED_WORD or _REDACTED.fullmatch(bare):
            return "redacted"
        if _TRUNCATED.fullmatch(bare):
            return "truncated"
    return "truncated" if text.endswith(_ENDS) and _CUT.search(text[-32:]) else None


_ENDS: Final = ("]", ")", ">", "\n", " ")
