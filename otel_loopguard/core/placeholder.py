"""Texts that stand where content was: what instrumentations write for content that they withhold or cut.

Not a search for secrets, and not a guess: only a text that is exactly a placeholder counts, or one that ends in a
marker of truncation. A longer text that mentions one is content.
"""

from __future__ import annotations

import re
from typing import Final

from .call import UnknownReason

__all__ = ["CUT_HINT", "FIRST_CHARACTERS", "REDACTED_WORD", "may_be_withheld", "withheld"]

_WORDS: Final = "redacted|elided|filtered|scrubbed|masked|hidden|omitted|withheld"

REDACTED_WORD: Final = "REDACTED"
"""As the semantic conventions write it for parts of URLs; in small letters it may be a question."""

FIRST_CHARACTERS: Final = "[<_*"
"""Every other placeholder begins with one of these."""

CUT_HINT: Final = "runcated]"
"""A marker of truncation holds this."""

_REDACTED: Final = (
    rf"\[(?:{_WORDS})\]|<(?:{_WORDS})>|__(?:{_WORDS})__|\*\*\*(?:{_WORDS})\*\*\*"
    r"|\[(?:redacted|scrubbed|filtered) (?:due to|by|for) [^\]\n]{1,80}\]"  # Logfire: [Scrubbed due to 'password']
    r"|<not serializable>"  # ADK
    r"|\*{4}|\*{10}"  # the Collector's redaction processor; a secret of pydantic
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
    if text == REDACTED_WORD:
        return "redacted"
    return "truncated" if text.endswith(CUT_HINT) and _IS_CUT(text[-_CUT_LENGTH:]) else None


_START_IN_JSON: Final = re.compile(rf'"[{re.escape(FIRST_CHARACTERS)}](?<=[{{\[,:]".)').finditer
"""Where a text of compact JSON begins that may be a placeholder: a quote inside a text follows a backslash. The
expression starts with a literal, because such a search is several times faster."""
_REST_IN_JSON: Final = re.compile(rf'(?:{_REDACTED}|{_TRUNCATED})"', re.IGNORECASE).match


def may_be_withheld(json_text: str) -> bool:
    """Whether a text in a dict or list of this compact JSON is a placeholder, or may end in a marker."""
    if CUT_HINT in json_text or f'"{REDACTED_WORD}"' in json_text:
        return True
    return any(_REST_IN_JSON(json_text, start.end() - 1) for start in _START_IN_JSON(json_text))
