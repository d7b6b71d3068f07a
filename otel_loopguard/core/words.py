"""Words and keyed sketches of them: whether two calls say nearly the same, without keeping what they say.

Not a measure of meaning: two texts are near when they share words, whatever the words are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

__all__ = [
    "ANSWER_LIMIT", "LONG_ENOUGH", "MAX_DEPTH", "MAX_LEAVES", "NUMBERED", "SKETCH_SIZE", "WORD_LIMIT", "ascii_words",
    "asks_anew", "counts_on", "each_its_own", "fills_a_form", "leaves", "long_words_of", "near", "outline", "retold",
    "words_of",
]  # fmt: skip

SKETCH_SIZE: Final = 16
"""Numbers kept of a call: the smallest. Up to so many words the sketch is exact."""
WORD_LIMIT: Final = 256
"""Words looked at; a longer text is judged by its beginning."""
NUMBERED: Final = 1
"""The bit of a word's number that says whether the word has a digit."""
LONG_ENOUGH: Final = 4
"""Words from which nearness means anything: shorter arguments are ids and names."""

ANSWER_LIMIT: Final = 2_000
"""Bytes of an answer whose words are looked at."""

_ASCII: Final = 128
_BLANK: Final = ord(" ")
_BINS: Final = 32
_CODES: Final = 3
_EVERYTHING: Final = 1 << 32
"""A number that no word has."""
_LOWS: Final = 0x5555_5555_5555_5555
"""The lower bit of each bin."""
_LONG_WORD: Final = 6
"""Bytes of a word that tells what an answer is about."""
_LETTERS: Final = bytes(code if code >= _ASCII or chr(code).isalpha() else _BLANK for code in range(256)).lower()
_WORD: Final = re.compile(r"[^\W_]+")
_FOLDED: Final = bytes(
    ord(chr(code).lower()) if code < _ASCII and chr(code).isalnum() else _BLANK for code in range(256)
)
"""What each byte of ASCII becomes before a text is split into the same words, which takes a fifth of the time."""
MAX_DEPTH: Final = 64
"""Levels of nesting looked into."""
MAX_LEAVES: Final = 4096
"""Scalars looked at."""
_SCALARS: Final = frozenset([str, int, float, bool, type(None)])
_LONGEST_TEXT: Final = 2048
"""Characters of one text in which words are looked for: 256 words take about 1,500."""
_LONGEST: Final = 8192
"""Characters of all texts."""


def leaves(data: object) -> Iterable[object]:
    """The scalars of plain data in order, members of objects without their names; bounded in number and depth."""
    if not isinstance(data, (dict, list, tuple)):
        return (data,)
    values = data.values() if isinstance(data, dict) else data
    is_flat = len(values) < MAX_LEAVES and _SCALARS.issuperset(map(type, values))
    if is_flat:
        return values
    found: list[object] = []
    _add_leaves(values, MAX_DEPTH, MAX_LEAVES, found)
    return found


def _add_leaves(values: Iterable[object], levels: int, left: int, found: list[object]) -> int:
    """Add at most so many scalars from so many levels; how many more there may be.

    No generator: small data, as most is, is read in less time than one takes to begin.
    """
    for value in values:
        if isinstance(value, (dict, list, tuple)):
            if levels > 1:
                left = _add_leaves(value.values() if isinstance(value, dict) else value, levels - 1, left, found)
                if not left:
                    return 0
                continue
        else:
            found.append(value)
        left -= 1
        if not left:
            return 0
    return left


def words_of(data: object) -> list[str]:
    """The distinct words among the first `WORD_LIMIT` in the values of plain data: letters and digits, case folded."""
    said: list[str] = []
    for leaf in leaves(data):
        if isinstance(leaf, str):
            said.append(leaf)
        elif leaf is not None and leaf is not True and leaf is not False:
            said.append(str(leaf))
    text = " ".join(said)
    if len(text) > _LONGEST_TEXT:
        text = " ".join(_beginnings(leaves(data)))
    words = ascii_words(text) if text.isascii() else _WORD.findall(text.casefold())
    return list(dict.fromkeys(words[:WORD_LIMIT]))


def ascii_words(text: str) -> list[str]:
    """The words of a text of ASCII, case folded."""
    return text.encode().translate(_FOLDED).decode().split()


def _beginnings(scalars: Iterable[object]) -> Iterator[str]:
    """As much of some scalars as words are looked for in."""
    length = 0
    for one in scalars:
        if one is None or one is True or one is False:
            continue
        text = one[:_LONGEST_TEXT] if isinstance(one, str) else str(one)
        yield text
        length += len(text)
        if length > _LONGEST:
            return


def near(mine: Sequence[int], my_count: int, other: Sequence[int] | frozenset[int], other_count: int) -> bool:
    """Whether two sketches share at least half the words of the shorter, each of at least `LONG_ENOUGH` words.

    Exact while both have at most `SKETCH_SIZE` words; beyond that the overlap is estimated from the smallest
    numbers of the union, as for any bottom-k sketch (Cohen and Kaplan, 2007).
    """
    shorter = min(my_count, other_count)
    if shorter < LONG_ENOUGH or not mine or not other:  # the sketch of an older call is dropped, its count stays
        return False
    both = (other if isinstance(other, frozenset) else set(other)).intersection(mine)
    if my_count <= SKETCH_SIZE and other_count <= SKETCH_SIZE:
        return 2 * len(both) >= shorter
    union = sorted(set(mine).union(other))[:SKETCH_SIZE]
    share = sum(1 for number in union if number in both) / len(union)
    overlap = share * (my_count + other_count) / (1 + share)
    return 2 * overlap >= shorter


def each_its_own(sketches: Sequence[Sequence[int]]) -> bool:
    """Whether each of some sketches, but for one, has a word that none of the others has: one thing after the other.

    Sketches are compared as far as all of them reach; where they are equal so far, the words that differ lie beyond.
    """
    if not all(sketches):
        return False
    reach = _reach(sketches)
    known = [{number for number in sketch if number <= reach} for sketch in sketches]
    without = 0
    for place, mine in enumerate(known):
        others: set[int] = set()
        for other in (*known[:place], *known[place + 1 :]):
            others |= other
        without += mine <= others and (reach == _EVERYTHING or mine != others)
    return without <= 1


def counts_on(mine: Sequence[int], other: Sequence[int]) -> bool:
    """Whether one of two sketches has other ids or numbers in the place of the other's, and else the same words."""
    if len(mine) < SKETCH_SIZE and len(other) < SKETCH_SIZE:  # both are whole
        if len(mine) != len(other):
            return False
        gone, come = set(other).difference(mine), set(mine).difference(other)
    else:
        reach = _reach((mine, other))
        gone = {number for number in other if number <= reach}.difference(mine)
        come = {number for number in mine if number <= reach}.difference(other)
    if not gone or len(gone) != len(come):
        return False
    for number in gone:
        if not number & NUMBERED:
            return False
    return all(number & NUMBERED for number in come)


def fills_a_form(sketches: Sequence[Sequence[int]]) -> bool:
    """Whether each of some sketches has exactly one word of its own, and all other words are those of all."""
    reach = _reach(sketches)
    known = [{number for number in sketch if number <= reach} for sketch in sketches]
    shared = set.intersection(*known)
    own = [one - shared for one in known]
    return all(len(one) == 1 for one in own) and len(set.union(*own)) == len(own)


def asks_anew(sketches: Sequence[Sequence[int]]) -> bool:
    """Whether each of some sketches asks for another thing in one form.

    No two share a word but those that all of them have, and what each has beside them is more than an id or a number:
    those are gone through until nothing comes any more.
    """
    if not all(sketches):
        return False
    reach = _reach(sketches)
    known = [{number for number in sketch if number <= reach} for sketch in sketches]
    form = set.intersection(*known)
    own = [one - form for one in known]
    named = all(any(not number & NUMBERED for number in one) for one in own)
    return named and sum(map(len, own)) == len(set.union(*own))


def _reach(sketches: Iterable[Sequence[int]]) -> int:
    """The number up to which all of some sketches hold every word."""
    reach = _EVERYTHING
    for sketch in sketches:
        if len(sketch) == SKETCH_SIZE and sketch[-1] < reach:
            reach = sketch[-1]
    return reach


def long_words_of(canonical: bytes) -> list[bytes]:
    """The distinct words of six bytes and more at the beginning of canonical data: what it tells, without its numbers.

    Bytes, because letters beyond ASCII are words in this sense anyway, and looking for them costs three times as much.
    """
    words = set(canonical[:ANSWER_LIMIT].replace(b"\\n", b" ").translate(_LETTERS).split())
    return [word for word in words if len(word) >= _LONG_WORD]


def outline(numbers: Iterable[int]) -> int:
    """64 bits of a set of words by their keyed numbers: 32 bins, in each a code of the smallest number that falls in.

    One permutation and two bits a bin instead of many permutations and whole numbers (Li and Koenig, 2010; Li, Owen and
    Zhang, 2012), so that an answer can be compared with the one before at the cost of one number. Code 0 is an empty
    bin.
    """
    least = {number % _BINS: number // _BINS for number in sorted(numbers, reverse=True)}
    return sum((1 + rest % _CODES) << 2 * place for place, rest in least.items())


def retold(mine: int, other: int) -> bool:
    """Whether two answers, by their outlines, tell nearly the same in other words.

    That is where three quarters of the bins agree, which stands for five eighths of the words since one bin in three
    agrees by chance, and two bins at least do not: an answer in which only numbers moved, or that grew by a line, is no
    retelling.
    """
    bins = _occupied(mine | other).bit_count()
    different = _occupied(mine ^ other).bit_count()
    return bool(mine and other) and different > 1 and 4 * different <= bins


def _occupied(codes: int) -> int:
    return (codes | codes >> 1) & _LOWS
