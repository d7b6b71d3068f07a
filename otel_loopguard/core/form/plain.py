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
import datetime as dt
import enum
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, SimpleNamespace
from typing import Final, cast

from otel_loopguard.core.call import ABSENT

from .jcs import Pairs, object_of, write
from .number import number_text
from .uniform import uniform
from .unknown import MAX_BYTES, MAX_DEPTH, MAX_NODES, UnreadableError

__all__ = ["plain"]

_SCALARS: Final = frozenset([str, int, float, bool, type(None), Decimal])

_UNWRAP: Final = ("get_secret_value", "tolist")
"""A masked secret of pydantic; arrays and scalars of numpy and its kin."""

_NOT_READ: Final = ("__next__", "__anext__", "__await__", "read", "recv")
"""Reading these would consume them."""


def plain(value: object) -> object:
    """``value`` as plain data.

    Raises `UnreadableError` alone: for what is too large or too deep (a cycle is endless), and for what holds an
    object without readable state.
    """
    return _Walk().read(value, MAX_DEPTH)


class _Walk:
    """One walk, with how much it may still read."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_NODES

    def read(self, value: object, levels: int) -> object:
        """Plain data of ``value``, at most ``levels`` deep."""
        self._left -= 1
        if self._left < 0:
            raise UnreadableError("too_large")
        kind = type(value)
        if kind in _SCALARS:
            return value
        if levels < 0:
            raise UnreadableError("too_large")
        try:
            if kind is dict:
                return self._object(cast("dict[object, object]", value).items(), levels)
            if kind is list or kind is tuple:
                return self._list(cast("Iterable[object]", value), levels)
            return self._foreign(value, levels)
        except UnreadableError:
            raise
        except RecursionError:
            raise UnreadableError("too_large") from None
        except Exception:  # noqa: BLE001 - code of the host's objects: whatever it raises, there is nothing to read
            raise UnreadableError("absent") from None

    def _object(self, members: Iterable[tuple[object, object]], levels: int) -> object:
        found: list[tuple[str, object]] = []
        for name, item in members:
            found.append((_key(name), self.read(item, levels - 1)))
        return object_of(found)

    def _list(self, items: Iterable[object], levels: int) -> list[object]:
        found: list[object] = []
        for item in items:
            found.append(self.read(item, levels - 1))  # noqa: PERF401 - a comprehension takes a frame of its own
        return found

    def _foreign(self, value: object, levels: int) -> object:
        if value is ABSENT:
            raise UnreadableError("absent")
        if isinstance(value, enum.Enum):
            return self.read(value.value, levels - 1)
        if isinstance(value, Pairs):
            return self._object(value, levels)
        scalar = _scalar(value)
        if scalar is not None:
            return scalar
        members = _members(value)
        if members is not None:
            return self._object(members, levels)
        if isinstance(value, AbstractSet):
            return sorted(self._list(value, levels), key=_canonical_order)
        if isinstance(value, Sequence):
            return self._list(value, levels)
        for name in _UNWRAP:
            if hasattr(type(value), name):
                return self.read(getattr(value, name)(), levels - 1)
        return _text(value)


def _scalar(value: object) -> object:  # noqa: PLR0911 - one a type
    """An instance of a subclass of a scalar as that scalar, or a value that has one scalar form; else None."""
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
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    return None


def _members(value: object) -> Iterable[tuple[object, object]] | None:
    """The members of an object that is data by its class; None for any other."""
    kind = type(value)
    if isinstance(value, Mapping):
        return [(name, value[name]) for name in value]
    if hasattr(kind, "model_fields") or hasattr(kind, "__fields__"):  # pydantic 2 and 1
        dump = getattr(value, "model_dump", None) or getattr(value, "dict", None)
        if callable(dump):
            return list(dump().items())
    names: Iterable[str] = ()
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    elif isinstance(value, SimpleNamespace):
        names = list(vars(value))
    elif hasattr(kind, "__struct_fields__"):  # msgspec
        names = kind.__struct_fields__
    elif hasattr(kind, "__attrs_attrs__"):
        names = map(attrgetter("name"), kind.__attrs_attrs__)
    else:
        return None
    return [(name, getattr(value, name)) for name in names if hasattr(value, name)]


def _text(value: object) -> str:
    """The text of an object whose class writes one of its own; the inherited one holds an address."""
    kind = type(value)
    silent = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if silent or any(hasattr(kind, name) for name in _NOT_READ):
        raise UnreadableError("absent")
    text = str(value)
    if len(text) > MAX_BYTES:
        raise UnreadableError("too_large")
    if " at 0x" in text:
        raise UnreadableError("absent")
    return str.__str__(text)


def _key(name: object) -> str:
    if type(name) is str:
        return name
    if isinstance(name, enum.Enum):
        return _key(name.value)
    if name is None or name is True or name is False:
        return {None: "null", True: "true", False: "false"}[name]
    scalar = name if type(name) in _SCALARS else _scalar(name)
    if isinstance(scalar, int | float | Decimal):
        return number_text(scalar)
    return scalar if isinstance(scalar, str) else _text(name)


def _canonical_order(item: object) -> bytes:
    return write(uniform(item))
