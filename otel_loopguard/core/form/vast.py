"""Whether plain data may be vast written out, because lists or objects in it are held in many places.

Not the bound on what is written: a list of a thousand rows that are one and the same list takes no memory to speak of
until the native encoder, which has no bound of its own, writes it out. What may be vast is read one by one instead.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, cast

from .unknown import MAX_BYTES

__all__ = ["may_be_vast"]

_HOLDERS: Final = frozenset([dict, list, tuple])
_MOST_HOLDERS: Final = 20_000
"""Looking at so many takes some milliseconds."""
_MOST_ITEMS: Final = MAX_BYTES // 2
"""Every item takes a character, and a comma or bracket after it."""


def may_be_vast(value: object) -> bool:
    """Whether a dict or list holds so many items, counted in every place where they stand, that it is not certain to
    fit the longest form.
    """
    if type(value) is not dict and type(value) is not list:
        return False
    left = _MOST_ITEMS
    holders: list[Collection[object]] = [value]
    for holder in holders:
        left -= len(holder)
        if left < 0 or len(holders) > _MOST_HOLDERS:
            return True
        items = holder.values() if type(holder) is dict else holder
        if not _HOLDERS.isdisjoint(map(type, items)):
            holders += [cast("Collection[object]", item) for item in items if type(item) in _HOLDERS]
    return False
