"""What in a result says when or where it was made rather than what it says: masked before results are compared.

Not a search for digits: a number is masked for the place it stands in, never for being a number. A clock time, a
duration after "in" or "took", a process id or a line that a shell counts for itself change without anything having
happened; "42 %", "3 failed", "2 of 9", a version, a price or a plain date are what the tool was asked for. So each
pattern below needs its word or its shape, and whatever has neither is content.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

__all__ = ["MASK", "mask"]

MASK: Final = "\N{MIDDLE DOT}"
"""What a masked part becomes: no tool prints it by itself, so a masked text never equals an unmasked one by chance."""

_UNIT = r"(?:ms|msecs?|milliseconds?|secs?|seconds?|s|mins?|minutes?|hrs?|hours?)"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_PATTERNS: Final = (
    # A date with a time of day, with its zone: ISO 8601, then the forms of `date` and of web server logs.
    rf"\b\d{{4}}[-/]\d{{2}}[-/]\d{{2}}[T ]{_CLOCK}(?: ?(?:Z|UTC|GMT|[+-]\d{{2}}:?\d{{2}}))?(?![\w:])",
    (rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? +)?(?:\d{{1,2}}[ /-])?"
    rf"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*[ /-]+\d{{1,4}}"
    rf"(?:[ /-]\d{{4}})?[ :]+{_CLOCK}(?: ?[A-Z]{{3,4}}\b| ?[+-]\d{{4}}\b)?(?: \d{{4}}\b)?"),
    rf"(?<![\w:.]){_CLOCK}(?: ?[AaPp][Mm]\b)?(?![\w:])",
    # A duration, told by the word before or after it.
    (r"(?i:(?<=\bin )|(?<=\btook )|(?<=\bafter )|(?<=\belapsed )|(?<=\belapsed: )|(?<=\btook: ))"
     rf"~?\d+(?:[.,]\d+)? ?{_UNIT}\b"),
    rf"\d+(?:[.,]\d+)? ?{_UNIT}(?= ago\b)",
    # Numbers that a system gives out, told by the word before them.
    r"(?i:\bpid[ :=#]{0,2})\d+\b",
    r"(?i:\battempt[ :=#]{0,2})\d+\b",
    r"(?i:\bport[ :=]{1,2})\d+\b",
    r"\b(?:[a-z]*sh|[\w./-]+/[a-z]*sh): line \d+(?=:)",
    # Addresses and random ids, told by their shape.
    r"\b0x[0-9a-fA-F]{6,}\b",
    r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    # A temporary path whose last part holds a digit or mixes capitals in: the random part of a made-up name.
    r"(?:/private)?(?:/var)?/(?:tmp|folders)/(?:[\w.-]+/)*[\w.-]*(?:\d|[a-z][A-Z]|[A-Z][a-z]*[A-Z])[\w.-]*",
)
_STANDARD: Final = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS))
_LINE: Final = re.compile(r"(?i:\bline )\d+\b")
_DIGIT: Final = re.compile(r"\d|/tmp/|/folders/")


@lru_cache(maxsize=256)
def _declared(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def mask(text: str, rules: Literal["standard", "none"] | tuple[str, ...], *, error: bool = False) -> str:
    """The text with its volatile parts masked.

    ``rules`` as in the policy's ``result.volatile``; in the text of an error a line number is volatile too, since an
    interpreter counts the lines of what it was just sent.
    """
    if rules == "none" or not text:
        return text
    if rules != "standard":
        return _declared(rules).sub(MASK, text) if rules else text
    if _DIGIT.search(text) is None:
        return text
    masked = _STANDARD.sub(MASK, text)
    return _LINE.sub(MASK, masked) if error else masked
