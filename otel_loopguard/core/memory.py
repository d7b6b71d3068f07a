"""Bounded memories of what was ever seen: the newest so many, the oldest forgotten.

Not caches: nothing is looked up in them but whether, how often or in what state something was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Outcomes", "Recent", "Seen"]

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

    def discard(self, number: int) -> None:
        """Forget a value."""
        self._values.pop(number, None)

    def items(self) -> Iterator[tuple[int, Value]]:
        """All that is remembered, oldest first."""
        return iter(self._values.items())

    def __len__(self) -> int:
        return len(self._values)


class Outcomes:
    """The last ``limit`` calls with what came back, as 32-bit tags: which calls and which answers were ever seen.

    One memory for both, because a run that repeats itself has few of either and a run that does not has as many.
    """

    __slots__ = ("_answers", "_calls", "_limit", "_pairs")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pairs: dict[int, int] = {}
        """How often, by both tags in one number; the newest last."""
        self._calls: dict[int, int] = {}
        """How many pairs hold a call."""
        self._answers: dict[int, int] = {}

    def knows_call(self, call: int) -> bool:
        """Whether a call was ever made."""
        return call in self._calls

    def knows_answer(self, answer: int) -> bool:
        """Whether an answer ever came back."""
        return answer in self._answers

    def calls_with(self, answer: int) -> int:
        """How many different calls brought an answer."""
        return self._answers.get(answer, 0)

    def add(self, call: int, answer: int, times: int = 1) -> int:
        """Remember one more outcome, 0 for a part that is not known; how often it was there, this time included."""
        pair = call << 32 | answer
        count = self._pairs.pop(pair, None)
        if count is None:
            count = 0
            if call:
                self._calls[call] = self._calls.get(call, 0) + 1
            if answer:
                self._answers[answer] = self._answers.get(answer, 0) + 1
            if len(self._pairs) >= self._limit:
                self._forget(next(iter(self._pairs)))
        count += times
        self._pairs[pair] = count
        return count

    def _forget(self, pair: int) -> None:
        del self._pairs[pair]
        _less(self._calls, pair >> 32)
        _less(self._answers, pair & 0xFFFFFFFF)

    def items(self) -> Iterator[tuple[int, int]]:
        """All pairs, call in the upper 32 bits, with how often they came, oldest first."""
        return iter(self._pairs.items())

    def __len__(self) -> int:
        return len(self._pairs)


def _less(counts: dict[int, int], tag: int) -> None:
    left = counts.get(tag, 0) - 1
    if left > 0:
        counts[tag] = left
    else:
        counts.pop(tag, None)
