"""Texts that stand where content was: what instrumentations write for content that they withhold or cut.

Not a search for secrets, and not a guess: only a text that is exactly a placeholder counts, or one that ends in a
marker of truncation. A longer text that mentions one is content.
"""

from __future__ import annotations

import re
from typing import Final

from otel_loopguard.core.call import UnknownReason

__all__ = ["CUT_HINT", "FIRST_CHARACTERS", "is_withheld_at", "withheld"]

_WORDS: Final = "redacted|elided|filtered|scrubbed|masked|hidden|omitted|withheld"

FIRST_CHARACTERS: Final = "[<_*R"
"""Every placeholder begins with one of these."""

CUT_HINT: Final = "runcated]"
"""A marker of truncation holds this."""

_REDACTED: Final = (
    rf"\[(?:{_WORDS})\]|<(?:{_WORDS})>|__(?:{_WORDS})__|\*\*\*(?:{_WORDS})\*\*\*"
    r"|\[(?:redacted|scrubbed|filtered) (?:due to|by|for) [^\]\n]{1,80}\]"  # Logfire: [Scrubbed due to 'password']
    r"|<not serializable>"  # ADK
    r"|\*{4}|\*{10}"  # the Collector's redaction processor; a secret of pydantic
    r"|(?-i:REDACTED)"  # URL parts in the semantic conventions; in small letters it may be a question
)
_TRUNCATED: Final = (
    r"\[truncated\]|<truncated>|<truncated due to [^>\n]{1,80}>"  # Langfuse
    r"|<\d+ chars; not recorded>"  # Claude Code
)
_IS_REDACTED: Final = re.compile(_REDACTED, re.IGNORECASE).fullmatch
_IS_TRUNCATED: Final = re.compile(_TRUNCATED, re.IGNORECASE).fullmatch
_IS_CUT: Final = re.compile(r"(?:…|\.\.\.) ?\[[Tt]runcated\]\Z").search
"""At the end of a text whose beginning was kept (Claude Code)."""

_LONGEST: Final = 120
"""Characters: no placeholder is longer."""
_CUT_LENGTH: Final = 15


def withheld(text: str) -> UnknownReason | None:
    """Why ``text`` is no content; None where it is."""
    if text[:1] in FIRST_CHARACTERS and len(text) <= _LONGEST:
        if _IS_REDACTED(text):
            return "redacted"
        if _IS_TRUNCATED(text):
            return "truncated"
    return "truncated" if text.endswith(CUT_HINT) and _IS_CUT(text[-_CUT_LENGTH:]) else None


_REST_IN_JSON: Final = re.compile(rf'(?:{_REDACTED}|{_TRUNCATED})"', re.IGNORECASE).match


def is_withheld_at(json_text: str, start: int) -> bool:
    """Whether the text of compact JSON that begins at ``start``, after its quote, is a placeholder.

    A text that is cut at its end, told by `CUT_HINT`, is the caller's to look for.
    """
    return _REST_IN_JSON(json_text, start) is not None
