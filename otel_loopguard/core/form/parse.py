"""JSON text as plain data, nothing lost: every digit of an integer, every member of an object that names a key twice.

Not forgiving: a text that is not JSON is not parsed in part. Beyond RFC 8259 it reads what Python's own writer
writes, `NaN` and the infinities, and any surrogate that is escaped.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Final

from .jcs import object_of
from .unknown import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, UnreadableError

__all__ = ["is_no_json", "parse"]


def is_no_json(text: str) -> bool:
    """Whether `parse` raises `ValueError` for a text, as for most texts, told without an exception; True is certain."""
    return len(text) <= MAX_BYTES and not _begins(text) and text.count("[") + text.count("{") <= MAX_DEPTH


def parse(text: str) -> object:
    """The document that ``text`` is.

    Raises `ValueError` where it is no JSON, `UnreadableError` where it is longer, deeper or has a number longer than
    the bounds of `unknown`.
    """
    if len(text) > MAX_BYTES:
        raise UnreadableError("too_large")
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper(text):
        raise UnreadableError("too_large")
    if not _begins(text):
        raise ValueError("no JSON")
    try:
        return _DECODER.decode(text)
    except RecursionError:  # the caller's own stack is nearly full
        raise UnreadableError("too_large") from None


_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


_begins: Final = re.compile(r'[ \t\n\r]*(?:[{\["0-9-]|true|false|null|NaN|Infinity)').match
"""Finds how every JSON text begins: most texts are none, and the decoder takes long to say so."""


def _deeper(text: str) -> bool:
    depth = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH + 1:  # an empty one may stand in the deepest
                return True
        elif first != '"':
            depth -= 1
    return False


def _integer(literal: str) -> int | Decimal:
    return int(literal) if len(literal) <= _SAFE_DIGITS else _long(literal)


_SAFE_DIGITS: Final = 600
"""Fewer than the least limit that an interpreter may be given for converting texts to integers (640)."""


def _long(literal: str) -> Decimal:
    if len(literal) > MAX_DIGITS:
        raise UnreadableError("too_large")
    return Decimal(literal)


def _real(literal: str) -> float | Decimal:
    number = float(literal)
    if isfinite(number):
        return number  # what every parser of JSON gives to the tool
    try:
        return Decimal(literal)
    except InvalidOperation:  # an exponent of more than eighteen digits
        raise UnreadableError("too_large") from None


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=object_of, parse_int=_integer, parse_float=_real, parse_constant=Decimal
)
