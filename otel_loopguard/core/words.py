"""Words and keyed sketches of them: whether two calls say nearly the same, without keeping what they say.

Not a measure of meaning: two texts are near when they share words, whatever the words are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

__all__ = ["LONG_ENOUGH", "MAX_DEPTH", "SKETCH_SIZE", "WORD_LIMIT", "leaves", "near", "words_of"]

SKETCH_SIZE: Final = 16
"""Numbers kept of a call: the smallest. Up to so many words the sketch is exact."""
WORD_LIMIT: Final = 256
"""Distinct words looked at; a longer text is judged by its beginning."""
LONG_ENOUGH: Final = 4
"""Words from which nearness means anything: shorter arguments are ids and names."""

_WORD: Final = re.compile(r"[^\W_]+")
MAX_DEPTH: Final = 64
"""Levels of nesting looked into."""
_MAX_LEAVES: Final = 4096


def leaves(data: object, depth: int = 0) -> Iterator[object]:
    """The scalars of plain data in order, members of objects without their names; bounded in depth."""
    if isinstance(data, Mapping):
        if depth < MAX_DEPTH:
            for value in data.values():
                yield from leaves(value, depth + 1)
    elif isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        yield data
    elif depth < MAX_DEPTH:
        for value in data:
            yield from leaves(value, depth + 1)


def words_of(data: object) -> list[str]:
    """The distinct words in the values of plain data: letters and digits, case folded, at most `WORD_LIMIT`."""
    found: dict[str, None] = {}
    for count, leaf in enumerate(leaves(data)):
        if leaf is None or isinstance(leaf, bool):
            continue
        text = leaf if isinstance(leaf, str) else str(leaf)
        for match in _WORD.finditer(text):
            found[match.group().casefold()] = None
            if len(found) >= WORD_LIMIT:
                return list(found)
        if count >= _MAX_LEAVES:
            break
    return list(found)


def near(mine: Sequence[int], my_count: int, other: Sequence[int], other_count: int) -> bool:
    """Whether two sketches share at least half the words of the shorter, each of at least `LONG_ENOUGH` words.

    Exact while both have at most `SKETCH_SIZE` words; beyond that the overlap is estimated from the smallest
    numbers of the union, as for any bottom-k sketch (Cohen and Kaplan, 2007).
    """
    shorter = min(my_count, other_count)
    if shorter < LONG_ENOUGH or not mine or not other:  # the sketch of an older call is dropped, its count stays
        return False
    both = set(mine).intersection(other)
    if my_count <= SKETCH_SIZE and other_count <= SKETCH_SIZE:
        return 2 * len(both) >= shorter
    union = sorted(set(mine).union(other))[:SKETCH_SIZE]
    share = sum(1 for number in union if number in both) / len(union)
    overlap = share * (my_count + other_count) / (1 + share)
    return 2 * overlap >= shorter
