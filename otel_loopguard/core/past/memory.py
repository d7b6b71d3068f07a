"""Bounded memories of what was ever seen: the newest so many, the oldest forgotten.

Not caches: nothing is looked up in them but whether, how often or in what state something was there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from otel_loopguard.core.tag import FAILED

__all__ = ["Outcomes", "Recent", "Seen"]

Value = TypeVar("Value")

_MOST_TIMES: Final = 255
"""Where counting ends: no rule asks for more."""


class Seen:
    """The last ``limit`` numbers ever added; one that is forgotten counts as never seen."""

    __slots__ = ("_limit", "numbers")

    def __init__(self, limit: int, numbers: Iterable[int] = ()) -> None:
        self._limit = limit
        self.numbers: dict[int, None] = dict.fromkeys(numbers)
        """Oldest first."""

    def add(self, number: int) -> bool:
        """Remember a number; whether it is new."""
        if number in self.numbers:
            return False
        self.numbers[number] = None
        if len(self.numbers) > self._limit:
            self.forget()
        return True

    def forget(self) -> None:
        """Forget the oldest."""
        del self.numbers[next(iter(self.numbers))]

    def __contains__(self, number: int) -> bool:
        return number in self.numbers


class Recent(Generic[Value]):
    """The last ``limit`` values by number, the least recently set one forgotten."""

    __slots__ = ("_limit", "values")

    def __init__(self, limit: int, values: Iterable[tuple[int, Value]] = ()) -> None:
        self._limit = limit
        self.values: dict[int, Value] = dict(values)
        """Least recently set first."""

    def get(self, number: int) -> Value | None:
        """The value of a number, or None."""
        return self.values.get(number)

    def set(self, number: int, value: Value) -> None:
        """Remember a value as the newest."""
        self.values.pop(number, None)
        self.values[number] = value
        if len(self.values) > self._limit:
            del self.values[next(iter(self.values))]

    def discard(self, number: int) -> None:
        """Forget a value."""
        self.values.pop(number, None)


class Outcomes:
    """The last ``limit`` calls with what came back, as 32-bit tags: which calls and which answers were ever seen.

    One memory for both, because a run that repeats itself has few of either and a run that does not has as many.
    """

    __slots__ = ("_answers", "_calls", "_limit", "pairs")

    def __init__(self, limit: int, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._limit = limit
        self.pairs: dict[int, int] = dict(pairs)
        """How often, by both tags in one number, the call's in the upper 32 bits; the newest last."""
        self._calls: dict[int, int] = {}
        """How many pairs without an error hold a call."""
        self._answers: dict[int, int] = {}
        for pair in self.pairs:
            self._hold(pair)

    def knows_call(self, call: int) -> bool:
        """Whether a call was ever made and did not fail."""
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
        count = self.pairs.pop(pair, None)
        if count is None:
            count = 0
            self._hold(pair)
            if len(self.pairs) >= self._limit:
                self._forget(next(iter(self.pairs)))
        count = min(count + times, _MOST_TIMES)
        self.pairs[pair] = count
        return count

    def _hold(self, pair: int) -> None:
        """Count a pair: by its answer, and by its call unless that failed, for then it was not made yet."""
        answer = pair & 0xFFFFFFFF
        self._answers[answer] = self._answers.get(answer, 0) + 1
        if not pair & FAILED:
            call = pair >> 32
            self._calls[call] = self._calls.get(call, 0) + 1

    def _forget(self, pair: int) -> None:
        del self.pairs[pair]
        _discount(self._answers, pair & 0xFFFFFFFF)
        if not pair & FAILED:
            _discount(self._calls, pair >> 32)


def _discount(counts: dict[int, int], tag: int) -> None:
    counts[tag] -= 1
    if not counts[tag]:
        del counts[tag]
