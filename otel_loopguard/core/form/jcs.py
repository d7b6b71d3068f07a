"""Plain data as canonical JSON (RFC 8785) in readable Python: the path that the fast one is compared with.

Not the normalisation of arguments: what comes in is written as it is. Beyond the standard's domain: numbers as
`number` says; an object that names a key twice keeps its members in their order; a lone surrogate is written in the
three bytes that UTF-8 would give it.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from json.encoder import encode_basestring

from .number import number_text
from .unknown import MAX_DEPTH, UnreadableError

__all__ = ["Pairs", "object_of", "utf16_order", "write"]


class Pairs(tuple[tuple[str, object], ...]):
    """The members of an object that names a key more than once, in their order."""

    __slots__ = ()


def object_of(members: Iterable[tuple[str, object]]) -> dict[str, object] | Pairs:
    """The members as a dict, or as `Pairs` where a key is named twice."""
    pairs = Pairs(members)
    found = dict(pairs)
    return found if len(found) == len(pairs) else pairs


def utf16_order(text: str) -> bytes:
    """The sort key of RFC 8785 section 3.2.3: UTF-16 code units. It differs from the order of code points where a
    character beyond U+FFFF meets one from U+E000 on.
    """
    return text.encode("utf-16-be", "surrogatepass")


def write(data: object) -> bytes:
    """Canonical bytes of plain data: dicts with text keys, lists, `Pairs`, texts, numbers, truth values, None.

    Raises `UnreadableError` where the nesting or a number is beyond its bound, `TypeError` for anything else.
    """
    pieces: list[str] = []
    _write(data, MAX_DEPTH, pieces)
    return "".join(pieces).encode("utf-8", "surrogatepass")


def _write(data: object, levels: int, pieces: list[str]) -> None:
    if data is None or data is True or data is False:
        pieces.append(_WORDS[data])
    elif isinstance(data, str):
        pieces.append(encode_basestring(data))
    elif isinstance(data, int | float | Decimal):
        pieces.append(number_text(data))
    elif data and not levels:
        raise UnreadableError("too_large")
    elif isinstance(data, dict | Pairs):
        members = data if isinstance(data, Pairs) else sorted(data.items(), key=_member_order)
        for position, (name, value) in enumerate(members):
            pieces += ("," if position else "{", encode_basestring(name), ":")
            _write(value, levels - 1, pieces)
        pieces.append("}" if members else "{}")
    elif isinstance(data, list | tuple):
        for position, value in enumerate(data):
            pieces.append("," if position else "[")
            _write(value, levels - 1, pieces)
        pieces.append("]" if data else "[]")
    else:
        raise TypeError(type(data).__name__)


_WORDS = {None: "null", True: "true", False: "false"}


def _member_order(member: tuple[str, object]) -> bytes:
    return utf16_order(member[0])
