"""Plain data in the one form that equal data share: what holds for every tool, whatever its policy says.

Not the rules that a policy declares (`normal`). Texts and keys are in NFC; an object in which two keys are one in
that form becomes `Pairs`; an integral number is an int, any other one a float whose JSON text is ECMAScript's, or
else a `Decimal`. Content that is withheld is found on the way.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal

from .jcs import Pairs, object_of
from .number import uniform_number
from .placeholder import withheld
from .unknown import MAX_DEPTH, UnreadableError

__all__ = ["composed", "uniform"]


def composed(text: str) -> str:
    """``text`` in NFC; two halves of a surrogate pair that stand together become their character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return unicodedata.normalize("NFC", text)


def uniform(data: object) -> object:
    """The uniform copy of plain data.

    Raises `UnreadableError` where a text is a placeholder, or nesting or a number is beyond its bound.
    """
    return _uniform(data, MAX_DEPTH)


def _uniform(data: object, levels: int) -> object:
    if isinstance(data, str):
        reason = withheld(data)
        if reason is not None:
            raise UnreadableError(reason)
        return composed(data)
    if data is None or isinstance(data, bool):
        return data
    if isinstance(data, int | float | Decimal):
        return uniform_number(data)
    if data and not levels:
        raise UnreadableError("too_large")
    if isinstance(data, dict | Pairs):
        members: list[tuple[str, object]] = []
        for name, value in data.items() if isinstance(data, dict) else data:
            members.append((composed(name), _uniform(value, levels - 1)))
        return object_of(members)
    if isinstance(data, list | tuple):
        items: list[object] = []
        for item in data:  # no comprehension: before Python 3.12 it takes a frame of its own on every level
            items.append(_uniform(item, levels - 1))  # noqa: PERF401
        return items
    raise TypeError(type(data).__name__)
