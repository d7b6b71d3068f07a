"""What Python values become: data shapes are read, nothing is consumed, and what shows no state is unknown."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import ipaddress
import types
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

import msgspec
import pytest

from otel_loopguard.core.canonical import Unknown, canonical
from otel_loopguard.core.form.plain import plain
from otel_loopguard.core.form.unknown import MAX_NODES, UnreadableError
from otel_loopguard.core.policy import STRICT


class Level(enum.IntEnum):
    """An enumeration that is a number."""

    LOW = 1


class Colour(str, enum.Enum):
    """An enumeration that is a text."""

    RED = "red"


class Mood(enum.Enum):
    """An enumeration of anything."""

    CALM = ("calm", 1)


@dataclass
class Point:
    """A dataclass."""

    x: float
    tags: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Slotted:
    """A frozen dataclass with slots."""

    name: str


class Pair(NamedTuple):
    """A named tuple."""

    left: int
    right: int


class Row(msgspec.Struct):
    """A struct."""

    number: int


class Text(str):
    """A subclass of text."""

    __slots__ = ()


class Amount(float):
    """A subclass of float."""

    __slots__ = ()


class View(Mapping[str, int]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Model:
    """Shaped like a pydantic model."""

    model_fields: ClassVar[dict[str, object]] = {"a": None}

    def model_dump(self) -> dict[str, object]:
        """As pydantic has it."""
        return {"a": dt.date(2026, 1, 2)}


class OldModel:
    """Shaped like a model of pydantic 1."""

    __fields__: ClassVar[dict[str, object]] = {"a": None}

    def dict(self) -> dict[str, object]:
        """As pydantic 1 has it."""
        return {"a": 1}


class Secret:
    """Shaped like pydantic's secret, whose text is a mask."""

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """As pydantic has it."""
        return self._value

    def __str__(self) -> str:
        return "**********"


class Scalar:
    """Shaped like a scalar of numpy."""

    def tolist(self) -> object:
        """As numpy has it."""
        return 3


class Worded:
    """Writes a text of its own."""

    def __str__(self) -> str:
        return "worded"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({2: "a", None: "b", True: "c", 1.5: "d"}, b'{"1.5":"d","2":"a","null":"b","true":"c"}'),
        ({Level.LOW: "e", Colour.RED: "f"}, b'{"1":"e","red":"f"}'),
        ({1: "a", "1": "b"}, b'{"1":"a","1":"b"}'),
        ({(1, 2): "a"}, b'{"(1, 2)":"a"}'),
        ({Text("a"): Text("b"), "c": Amount(1.0)}, b'{"a":"b","c":1}'),
        ([Level.LOW, Colour.RED, Mood.CALM], b'[1,"red",["calm",1]]'),
        (Point(1.0, ["t"]), b'{"tags":["t"],"x":1}'),
        (Slotted("n"), b'{"name":"n"}'),
        (Pair(1, 2), b"[1,2]"),
        (Row(3), b'{"number":3}'),
        (View(), b'{"a":1}'),
        (collections.OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        (collections.deque([1, 2]), b"[1,2]"),
        (types.SimpleNamespace(a=1), b'{"a":1}'),
        (Model(), b'{"a":"2026-01-02"}'),
        (OldModel(), b'{"a":1}'),
        ([Secret("s3")], b'["s3"]'),
        ([Scalar()], b"[3]"),
        ([Worded()], b'["worded"]'),
        ({3, 1, 2}, b"[1,2,3]"),
        (frozenset(["b", "a"]), b'["a","b"]'),
        ([b"\x00\xff", bytearray(b"a"), memoryview(b"b")], b'[{"$bytes":"AP8="},{"$bytes":"YQ=="},{"$bytes":"Yg=="}]'),
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc), b'"2026-01-02T03:04:05+00:00"'),
        ([dt.date(2026, 1, 2), dt.time(3, 4), dt.timedelta(seconds=90)], b'["2026-01-02","03:04:00","0:01:30"]'),
        ([Decimal("1.0"), Decimal("0.5"), Fraction(4, 2), Fraction(1, 3)], b'[1,0.5,2,"1/3"]'),
        (uuid.UUID(int=1), b'"00000000-0000-0000-0000-000000000001"'),
        ([PurePosixPath("/a/b"), ipaddress.ip_address("10.0.0.1"), 1j], b'["/a/b","10.0.0.1","1j"]'),
        ([int, len], b'["builtins.int","builtins.len"]'),
        (range(3), b"[0,1,2]"),
    ],
)  # fmt: skip
def test_values(value: object, expected: bytes) -> None:
    """Each kind of value as plain data."""
    assert canonical(value, STRICT) == expected


def generator() -> Iterator[int]:
    """Would be consumed by being read."""
    yield 1


@pytest.mark.parametrize(
    "value", [object(), generator(), iter([1]), (letter for letter in "ab"), lambda: 0, test_values]
)
def test_objects_without_readable_state(value: object) -> None:
    """Two such objects cannot be told apart, or only by consuming them; functions are told apart by their name."""
    found = canonical([value], STRICT)
    if isinstance(value, types.FunctionType):
        assert found == f'["{value.__module__}.{value.__qualname__}"]'.encode()
    else:
        assert isinstance(found, Unknown)
        assert found.reason == "absent"


def test_iterators_are_not_consumed() -> None:
    """The tool still gets everything."""
    items = iter([1, 2])
    canonical({"items": items}, STRICT)
    assert list(items) == [1, 2]


def test_reading_is_bounded() -> None:
    """Objects that share their parts could be larger than the memory once they are written out."""
    row: object = (1,)
    for _ in range(60):
        row = {"set": {1}, "left": row, "right": row}
    with pytest.raises(UnreadableError):
        plain(row)
    with pytest.raises(UnreadableError):
        plain({1: list(range(MAX_NODES))})
