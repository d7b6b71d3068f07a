"""How far something has come, where an answer counts it: "step 490/4000", "page 3 of 8", "57 %".

Not declared progress: it only tells apart a call in a row whose answers go on counting up, and say something else
beside: a budget that is used up counts, too. Scores and prices count nothing, so a bare number is none.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Count", "counter_of", "names_count"]

_HINTS: Final = ("%", "/", " of ")
_END: Final = 200
"""Characters at the end of a text in which a count is looked for: the newest lines of a log."""
_SEEN: Final = 4096
"""Characters at the end of a text that tell whether more than a count has changed."""
_COUNT: Final = re.compile(r"(\d(?<![\w./-]\d)\d{0,8}(?:\.\d{1,6})?) ?(?:(?:/|of|out of) ?\d{1,12}(?![\w/-]|\.\d)|%)")
_NUMBERED: Final = re.compile(r"\b(?:step|epoch|iter(?:ation)?)s?\W{1,3}(\d{1,9})\b", re.IGNORECASE)
_NUMBERED_HINTS: Final = ("tep", "poch", "iter", "Iter")
_PLACE: Final = re.compile(r"\b(?:step|page|part|stage|question|screen|slide) (\d{1,6}) ?(?:of|/) ?\d", re.IGNORECASE)
"""A count that says how far something has come whatever else is said: an attempt's does not."""
_PLACE_HINTS: Final = ("tep ", "age ", "art ", "on ", "reen ", "de ")
"""How its words end, in lower case: an `s` or an `i` may also be a letter that only a pattern takes for one."""
_NAMED: Final = frozenset(
    ["progress", "percent", "percentage", "step", "epoch", "iteration", "completed", "processed", "done", "page"]
)
_MOST: Final = 1e9
"""Above it a number is an id or an account, and no count: it goes no further."""


class Count:
    """How far something has come."""

    __slots__ = ("rest", "value")

    def __init__(self, value: float, rest: object) -> None:
        self.value = value
        self.rest = rest
        """The answer without its counts: where that stays the same nothing has happened but the counting."""


def names_count(data: object) -> bool:
    """Whether an object has a member that is named like a count."""
    return isinstance(data, dict) and not _NAMED.isdisjoint(data)


def counter_of(data: object, *, refused: bool) -> Count | None:
    """The last count of a text, or the first of an object's members that is named like one.

    Of what says no only the number of a step or a page: tries that fail are counted, too.
    """
    if isinstance(data, str):
        end = data[-_END:]
        if refused:
            lower = end.lower()
            may = ("/" in end or "of" in lower) and any(hint in lower for hint in _PLACE_HINTS)
            return _last(_PLACE, end, data) if may else None
        found = _last(_COUNT, end, data) if any(hint in end for hint in _HINTS) else None
        if found is None and any(hint in end for hint in _NUMBERED_HINTS):
            found = _last(_NUMBERED, end, data)
        return found
    if isinstance(data, dict) and not refused:
        for name, value in data.items():
            if name in _NAMED and isinstance(value, (int, float)) and not isinstance(value, bool):
                rest = {other: held for other, held in data.items() if other != name}
                return Count(float(value), rest) if 0 <= value < _MOST else None
    return None


def _last(pattern: re.Pattern[str], end: str, text: str) -> Count | None:
    found = pattern.findall(end)
    return Count(float(found[-1]), pattern.sub("", text[-_SEEN:])) if found else None
