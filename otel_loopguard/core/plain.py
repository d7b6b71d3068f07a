"""Anything that a tool may be called with, as plain data: dicts, lists, texts, numbers, truth values, None.

Not a serialiser to read back: it keeps what tells two values apart. Nothing is consumed (iterators, files), nothing
but data shapes is walked (dataclasses, pydantic, attrs and msgspec classes, mappings, sequences, sets, arrays), and
an object that does not show its state makes the whole unknown, because two of them cannot be told apart.

Dates are their ISO 8601 text, enumerations their value, paths, UUIDs and other objects with a text of their own that
text; bytes are ``{"$bytes": base64}``; sets are lists in canonical order; a secret that its class masks is its value.
Keys that are no texts become the text that JSON writers make of them.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
from base64 import b64encode
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from operator import index
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Final

from .call import ABSENT
from .jcs import Pairs, write
from .normal import EXACT
from .number import number_text
from .unknown import MAX_BYTES, MAX_DEPTH, MAX_NODES, UnreadableError

__all__ = ["plain"]


def plain(value: object) -> object:
    """``value`` as plain data.

    Raises `UnreadableError` alone: for what is too large or too deep (a cycle is endless), and for what holds an
    object without readable state.
    """
    return _Reader().read(value, MAX_DEPTH)


class _Reader:
    """One walk, with what it may still read."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def read(self, value: object, levels: int) -> object:
        self._left -= 1
        if self._left < 0:
            raise UnreadableError("too_large")
        kind = type(value)
        if kind in _SCALARS:
            return value
        if not levels:
            raise UnreadableError("too_large")
        if kind is dict:
            return self._object(value.items(), levels)  # type: ignore[attr-defined] # is a dict
        if kind is list or kind is tuple:
            return [self.read(item, levels - 1) for item in value]  # type: ignore[attr-defined] # is a list
        try:
            return self._foreign(value, levels)
        except UnreadableError:
            raise
        except RecursionError:
            raise UnreadableError("too_large") from None
        except Exception:  # noqa: BLE001 - code of the host's objects: whatever it raises, there is nothing to read
            raise UnreadableError("absent") from None

    def _object(self, members: object, levels: int) -> object:
        pairs = [(_key(name), self.read(item, levels - 1)) for name, item in members]  # type: ignore[attr-defined]
        found = dict(pairs)
        return found if len(found) == len(pairs) else Pairs(pairs)

    def _foreign(self, value: object, levels: int) -> object:
        if value is ABSENT:
            raise UnreadableError("absent")
        if isinstance(value, enum.Enum):
            return self.read(value.value, levels - 1)
        scalar = _scalar(value)
        if scalar is not None:
            return scalar
        if isinstance(value, Pairs):
            return self._object(value, levels)
        members = _members(value)
        if members is not None:
            return self._object(members.items(), levels)
        if isinstance(value, Set):
            items = [self.read(item, levels - 1) for item in value]
            return sorted(items, key=_canonical_order)
        if isinstance(value, Sequence):
            return [self.read(item, levels - 1) for item in value]
        for name in _UNWRAP:
            method = getattr(type(value), name, None)
            if method is not None:
                return self.read(method(value), levels - 1)
        return _text(value)


_SCALARS: Final = frozenset([str, int, float, bool, type(None), Decimal])

_UNWRAP: Final = ("get_secret_value", "tolist")
"""A masked secret of pydantic; arrays and scalars of numpy and its kin."""


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, Decimal):
        return Decimal(value)
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) > MAX_BYTES:
            raise UnreadableError("too_large")
        return {"$bytes": b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Fraction):
        return index(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    return None


def _members(value: object) -> Mapping[object, object] | None:
    """The members of an object that is data by its class; None for any other."""
    kind = type(value)
    if isinstance(value, Mapping):
        return {name: value[name] for name in value} if not isinstance(value, dict) else value
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind) if hasattr(value, field.name)}
    for name in ("model_dump", "dict"):  # pydantic 2 and 1
        if hasattr(kind, name) and (hasattr(kind, "model_fields") or hasattr(kind, "__fields__")):
            found = getattr(kind, name)(value)
            return found if isinstance(found, Mapping) else None
    if isinstance(value, SimpleNamespace):
        return dict(vars(value))
    for name in ("__struct_fields__", "__attrs_attrs__"):  # msgspec, attrs
        fields = getattr(kind, name, None)
        if fields is not None:
            names = [str(getattr(field, "name", field)) for field in fields]
            return {name: getattr(value, name) for name in names if hasattr(value, name)}
    return None


def _text(value: object) -> str:
    """The text of an object whose class wrote one; the default one holds an address."""
    kind = type(value)
    if isinstance(value, MethodType) or (kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__):
        raise UnreadableError("absent")
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__") or hasattr(kind, "__await__"):
        raise UnreadableError("absent")
    text = str(value)
    if " at 0x" in text:
        raise UnreadableError("absent")
    return str.__str__(text)


def _key(name: object) -> str:
    if type(name) is str:
        return name
    if isinstance(name, enum.Enum):
        return _key(name.value)
    if isinstance(name, str):
        return str.__str__(name)
    if name is None or name is True or name is False:
        return {None: "null", True: "true", False: "false"}[name]
    if isinstance(name, int | float | Decimal):
        return number_text(name)
    try:
        scalar = _scalar(name)
        return scalar if isinstance(scalar, str) else _text(name)
    except Exception:  # noqa: BLE001 - as above
        raise UnreadableError("absent") from None


def _canonical_order(item: object) -> bytes:
    return write(EXACT.normal(item))
