"""Whether a result holds nothing: an empty value, an answer that is another word for one, a page without a hit.

Not a reading of prose: a text is nothing where all of it is one of a few phrases, and data where it lists nothing and
says nothing beside but what a search tells about itself.
"""

from __future__ import annotations

import re
from typing import Final

from otel_loopguard.core.words import MAX_DEPTH

__all__ = ["is_nothing"]

_LONGEST: Final = 96
"""Characters of a text that is another word for an empty one."""
_WHAT: Final = r"(?:results?|match(?:es)?|hits?|rows?|records?|entries|items?|documents?|occurrences?)"
_NO_RESULTS: Final = re.compile(
    rf"\(?(?:no|0|zero) (?:search |matching )?{_WHAT}(?: (?:were |was )?(?:found|matched|returned))?\)?"
    r"|(?:nothing|none)(?: was| were)? (?:found|matched|returned)"
)
"""Whole answers, in lower case, that mean an empty list. What was checked or changed is none: "0 rows affected"."""
_SILENCE: Final = re.compile(
    r"(?=.*\b(?:no|not|without|empty|nothing)\b)(?=.*\b(?:output|stdout)\b)"
    r"(?:\b(?:the|your|this|it|was|were|is|has|and|but|or|with|without|no|not|any|nothing|empty|zero"
    r"|command|tool|bash|shell|script|program|process|code|ran|run|executed|execution|completed|finished|exited|exit"
    r"|status|succeeded|success|successful|successfully|done|ok|did|produce|produced|print|printed|return|returned"
    r"|output|stdout|stderr|errors?)\b|[\W_0])+",
    re.DOTALL,
)
"""Whole answers, in lower case, with which a harness fills in for a program that printed nothing."""
_ABOUT: Final = frozenset(
    ["took", "timed_out", "_shards", "max_score", "elapsed", "elapsed_ms", "duration_ms", "query", "q", "page",
     "per_page", "page_size", "limit", "offset", "page_number", "incomplete_results", "has_more", "hasmore",
     "truncated", "is_truncated", "hasnextpage", "haspreviouspage", "relation"]
)  # fmt: skip
"""Members of an answer that speak of the search, not of what it found: of GitHub, Elasticsearch, GraphQL and others."""
_STATUS: Final = frozenset(["status", "ok", "success", "code"])
_FINE: Final = ("ok", "success", "OK", "Success", True, 200)  # True is 1 as well
_OF_FAULTS: Final = frozenset(["errors", "warnings", "problems", "issues", "failures", "failed"])
"""Lists of these names are good news when they are empty, and no page without a hit."""


def is_nothing(data: object) -> bool:
    """Null, "", [], {}, an answer that says no more, or an object of nothing but empty or nought members.

    Such an object has at least one empty list in it. What an answer tells about the search itself, its status among it,
    is left out of account where it lists what was searched for.
    """
    if isinstance(data, str):
        text = data.strip()
        return not text or (len(text) <= _LONGEST and _stands_for_none(text.rstrip(".!").casefold()))
    if isinstance(data, dict):
        return not data or _is_void_page(data)
    return data is None or data == []


def _stands_for_none(lower: str) -> bool:
    if "output" in lower or "stdout" in lower:
        return _SILENCE.fullmatch(lower) is not None
    return _NO_RESULTS.fullmatch(lower) is not None


def _is_void_page(data: dict[str, object]) -> bool:
    if _is_void(data, MAX_DEPTH, asides=False):
        return _lists_nothing(data, MAX_DEPTH, but=frozenset())
    return _lists_nothing(data, MAX_DEPTH, but=_OF_FAULTS) and _is_void(data, MAX_DEPTH, asides=True)


def _is_void(data: dict[str, object], levels: int, *, asides: bool) -> bool:
    """Whether an object holds nothing but what is empty or nought, up to so many levels below."""
    for name, value in data.items():
        if isinstance(value, dict):
            if levels > 1 and _is_void(value, levels - 1, asides=asides):
                continue
        elif not value and value is not False:
            continue
        if not asides or not _is_aside(name.casefold(), value):
            return False
    return True


def _is_aside(name: str, value: object) -> bool:
    return name in _ABOUT or (name in _STATUS and value in _FINE)


def _lists_nothing(data: dict[str, object], levels: int, *, but: frozenset[str]) -> bool:
    """Whether an empty list stands in an object, in one of its members or below, under any but these names."""
    for name, value in data.items():
        if isinstance(value, dict):
            if levels > 1 and _lists_nothing(value, levels - 1, but=but):
                return True
        elif value == [] and name.casefold() not in but:
            return True
    return False
