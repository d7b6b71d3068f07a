"""Bounded memories of what was ever seen: the newest so many, the oldest forgotten.

Not caches: nothing is looked up in them but whether, how often or in what state something was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Recent", "Seen"]

Value = TypeVar("Value")


class Seen:
    """The last ``limit`` numbers ever added; one that is forgotten counts as never seen."""

    __slots__ = ("_limit", "_numbers")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._numbers: dict[int, None] = {}

    def add(self, number: int) -> bool:
        """Remember a number; whether it is new."""
        if number in self._numbers:
            return False
        self._numbers[number] = None
        if len(self._numbers) > self._limit:
            del self._numbers[next(iter(self._numbers))]
        return True

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class Recent(Generic[Value]):
    """The last ``limit`` values by number, the least recently set one forgotten."""

    __slots__ = ("_limit", "_values")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: dict[int, Value] = {}

    def get(self, number: int) -> Value | None:
        """The value of a number, or None."""
        return self._values.get(number)

    def set(self, number: int, value: Value) -> None:
        """Remember a value as the newest."""
        self._values.pop(number, None)
        self._values[number] = value
        if len(self._values) > self._limit:
            del self._values[next(iter(self._values))]

    def items(self) -> Iterator[tuple[int, Value]]:
        """All that is remembered, oldest first."""
        return iter(self._values.items())

    def __len__(self) -> int:
        return len(self._values)
