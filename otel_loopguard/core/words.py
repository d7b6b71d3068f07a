"""Words and keyed sketches of them: whether two calls say nearly the same, without keeping what they say.

Not a measure of meaning: two texts are near when they share words, whatever the words are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["LONG_ENOUGH", "MAX_DEPTH", "SKETCH_SIZE", "WORD_LIMIT", "leaves", "near", "words_of"]

SKETCH_SIZE: Final = 16
"""Numbers kept of a call: the smallest. Up to so many words the sketch is exact."""
WORD_LIMIT: Final = 256
"""Words looked at; a longer text is judged by its beginning."""
LONG_ENOUGH: Final = 4
"""Words from which nearness means anything: shorter arguments are ids and names."""

_WORD: Final = re.compile(r"[^\W_]+")
MAX_DEPTH: Final = 64
"""Levels of nesting looked into."""
_MAX_LEAVES: Final = 4096
_LONGEST_TEXT: Final = 2048
"""Characters of one text in which words are looked for: 256 words take about 1,500."""
_LONGEST: Final = 8192
"""Characters of all texts."""


def leaves(data: object) -> Iterator[object]:
    """The scalars of plain data in order, members of objects without their names; bounded in number and depth."""
    if not isinstance(data, (dict, list, tuple)):
        yield data
        return
    count = 0
    open_ = [iter(data.values() if isinstance(data, dict) else data)]
    while open_:
        for value in open_[-1]:
            if isinstance(value, (dict, list, tuple)):
                if len(open_) < MAX_DEPTH:
                    open_.append(iter(value.values() if isinstance(value, dict) else value))
                    break
            else:
                yield value
            count += 1
            if count >= _MAX_LEAVES:
                return
        else:
            open_.pop()


def words_of(data: object) -> list[str]:
    """The distinct words among the first `WORD_LIMIT` in the values of plain data: letters and digits, case folded."""
    texts: list[str] = []
    length = 0
    for leaf in leaves(data):
        if isinstance(leaf, str):
            texts.append(leaf if len(leaf) <= _LONGEST_TEXT else leaf[:_LONGEST_TEXT])
        elif leaf is not None and not isinstance(leaf, bool):
            texts.append(str(leaf))
        else:
            continue
        length += len(texts[-1])
        if length > _LONGEST:
            break
    return list(dict.fromkeys(_WORD.findall(" ".join(texts).casefold())[:WORD_LIMIT]))


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
