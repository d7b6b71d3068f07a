"""Exact cuts in compact JSON text: null members, blanks at the ends of texts, the `.0` of integral numbers.

Not a parser and not a definition: `normal` and `number` say what is meant, and tests compare the two. Cutting the text
costs a fraction of rebuilding the data, because only the few places where there is something to cut are looked at.

Places are found in a `shadow` of the text, of the same length, in which every quote is structural. There an opening
quote stands after ``{``, ``[``, ``,`` or ``:``, a closing one before ``}``, ``]``, ``,`` or ``:``, and a place is
inside a text where an odd number of quotes stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["Cut", "blanks", "cut", "has_exponent", "integral_ends", "null_members", "shadow"]

Cut = tuple[int, int]
"""From and to."""

_NULL: Final = '":null'
_INTEGRAL: Final = re.compile(r"\.0(?=[,\]}]|\Z)")
_OPENING: Final = re.compile(r'"(?: |\\(?:[nrtf]|u000b))+')
_CLOSING_SPACE: Final = re.compile(' "')
_CLOSING_ESCAPE: Final = re.compile(r'\\(?:[nrtf]|u000b)"')


def shadow(text: str) -> str:
    """Compact JSON with escaped backslashes and escaped quotes made unrecognisable, at the same places."""
    return text.replace("\\\\", "__").replace('\\"', "__") if "\\" in text else text


def cut(text: str, cuts: list[Cut]) -> str:
    """``text`` without the places in ``cuts``, which do not overlap."""
    cuts.sort()
    pieces: list[str] = []
    at = 0
    for start, end in cuts:
        pieces.append(text[at:start])
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def null_members(text: str) -> list[Cut]:
    """The members that are null, each with one of the commas around it."""
    cuts: list[Cut] = []
    done = 0
    at = text.find(_NULL)
    while at >= 0:
        start = text.rfind('"', 0, at)
        key = text[start + 1 : at]
        # without a backslash in between, the two quotes enclose a key, or else what lies between two texts
        if text[start - 1] not in "{," or "\\" in key or key[:1] in _AFTER_CLOSING:
            return _null_members_of(shadow(text))
        done = _add_member(text, start, at + len(_NULL), done, cuts)
        at = text.find(_NULL, done)
    return cuts


_AFTER_CLOSING: Final = frozenset("}],:")


def _null_members_of(shadowed: str) -> list[Cut]:
    """The same where a key or a text is peculiar."""
    cuts: list[Cut] = []
    counted, quotes, done = 0, 0, 0
    at = shadowed.find(_NULL)
    while at >= 0:
        quotes += shadowed.count('"', counted, at)
        counted = at
        end = at + len(_NULL)
        if quotes % 2:  # the quote closes a key; else it opens a text that happens to begin so
            done = _add_member(shadowed, shadowed.rfind('"', 0, at), end, done, cuts)
        at = shadowed.find(_NULL, end)
    return cuts


def _add_member(text: str, start: int, end: int, done: int, cuts: list[Cut]) -> int:
    """Cut the member from ``start`` to ``end`` with the comma before it, or after it where that one is cut already or
    there is none; up to ``done`` all is decided. Gives the new ``done``.
    """
    if text[start - 1] == "," and start > done:
        start -= 1
    elif text[end] == ",":
        end += 1
    cuts.append((start, end))
    return end


def integral_ends(shadowed: str) -> Iterator[Cut]:
    """The `.0` of numbers, and the sign of a negative nought."""
    for at in _outside(shadowed, _INTEGRAL.finditer(shadowed)):
        if shadowed[at - 2 : at] == "-0":
            yield at - 2, at - 1
        yield at, at + 2


def has_exponent(shadowed: str, hints: Iterable[re.Match[str]]) -> bool:
    """Whether a number has an exponent at one of the places in ``hints``, each the letter and what follows."""
    return any(
        True
        for _ in _outside(shadowed, (hint for hint in hints if shadowed[hint.start() - 1 : hint.start()].isdigit()))
    )


def _outside(shadowed: str, places: Iterable[re.Match[str]]) -> Iterator[int]:
    """Where those of ``places`` start that are outside of texts."""
    counted, quotes = 0, 0
    for place in places:
        at = place.start()
        quotes += shadowed.count('"', counted, at)
        counted = at
        if quotes % 2 == 0:
            yield at


def blanks(shadowed: str) -> Iterator[Cut]:
    """The blanks at both ends of every text that is no key and holds anything else."""
    for found in _OPENING.finditer(shadowed):
        closing = shadowed.find('"', found.end())
        if closing != found.end() and shadowed[closing + 1 : closing + 2] != ":":
            yield found.start() + 1, found.end()
    for pattern in (_CLOSING_SPACE, _CLOSING_ESCAPE):
        for found in pattern.finditer(shadowed):
            closing = found.end() - 1
            start = _start_of_blanks(shadowed, closing)
            if shadowed[start - 1] != '"' and shadowed[closing + 1 : closing + 2] != ":":
                yield start, closing


def _start_of_blanks(shadowed: str, end: int) -> int:
    """Where the blanks begin that end at ``end``."""
    while True:
        if shadowed[end - 1] == " ":
            end -= 1
        elif shadowed[end - 2] == "\\" and shadowed[end - 1] in "nrtf":
            end -= 2
        elif shadowed[end - 6 : end] == "\\u000b":
            end -= 6
        else:
            return end
