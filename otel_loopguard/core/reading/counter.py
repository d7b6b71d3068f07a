"""How far something has come, where an answer counts it: "step 490/4000", "page 3 of 8", "57 %".

Not declared progress: it only tells apart a call in a row whose answers go on counting up. Scores and prices count
nothing, so a bare number is none.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["counter_of"]

_HINTS: Final = ("%", "/", " of ")
_END: Final = 200
"""Characters at the end of a text in which a count is looked for: the newest lines of a log."""
_COUNT: Final = re.compile(r"(\d(?<![\w./-]\d)\d{0,8}(?:\.\d{1,6})?) ?(?:(?:/|of|out of) ?\d{1,12}(?![\w/-]|\.\d)|%)")
_NUMBERED: Final = re.compile(r"\b(?:step|epoch|iter(?:ation)?)s?\W{1,3}(\d{1,9})\b", re.IGNORECASE)
_NUMBERED_HINTS: Final = ("tep", "poch", "iter", "Iter")
_PLACE: Final = re.compile(r"\b(?:step|page|part|stage|question|screen|slide) (\d{1,6}) ?(?:of|/) ?\d", re.IGNORECASE)
"""A count that says how far something has come whatever else is said: an attempt's does not."""
_NAMED: Final = frozenset(
    ["progress", "percent", "percentage", "step", "epoch", "iteration", "completed", "processed", "done", "page"]
)


_MOST: Final = 1e9
"""Above it a number is an id or an account, and no count: it goes no further."""


def counter_of(data: object, *, refused: bool) -> float | None:
    """The last count of a text, or the first of an object's members that is named like one.

    Of what says no only the number of a step or a page: tries that fail are counted, too.
    """
    if refused:
        place = _PLACE.search(data[-_END:]) if isinstance(data, str) else None
        return None if place is None else float(place.group(1))
    if isinstance(data, str):
        end = data[-_END:]
        found = _COUNT.findall(end) if any(hint in end for hint in _HINTS) else None
        if not found and any(hint in end for hint in _NUMBERED_HINTS):
            found = _NUMBERED.findall(end)
        return float(found[-1]) if found else None
    if isinstance(data, dict):
        for name, value in data.items():
            if name in _NAMED and isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value) if 0 <= value < _MOST else None
    return None
