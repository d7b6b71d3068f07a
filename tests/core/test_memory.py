"""Memories forget their oldest, and count what they know."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.past.memory import Outcomes, Recent, Seen
from otel_loopguard.core.tag import FAILED


@given(numbers=st.lists(st.integers(0, 20), max_size=60), limit=st.integers(1, 8))
def test_seen(numbers: list[int], limit: int) -> None:
    """A number is new unless it is among the last so many that were new."""
    seen = Seen(limit)
    known: list[int] = []
    for number in numbers:
        assert (number in seen) is (number in known)
        assert seen.add(number) is (number not in known)
        if number not in known:
            known = [*known, number][-limit:]
    assert list(seen.numbers) == known


@given(numbers=st.lists(st.integers(0, 20), max_size=60), limit=st.integers(1, 8))
def test_recent(numbers: list[int], limit: int) -> None:
    """What was set least recently goes first."""
    recent: Recent[int] = Recent(limit)
    for place, number in enumerate(numbers):
        recent.set(number, place)
    last = list(dict.fromkeys(reversed(numbers)))[:limit]
    assert list(recent.values) == last[::-1]
    assert all(recent.get(number) == len(numbers) - 1 - numbers[::-1].index(number) for number in last)


@given(calls=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=80), limit=st.integers(1, 8))
def test_outcomes(calls: list[tuple[int, int]], limit: int) -> None:
    """Calls and answers are known as long as one of the last pairs holds them, and so they are after a copy."""
    outcomes = Outcomes(limit)
    pairs = [(call + 1, (answer + 1) * 2) for call, answer in calls]
    for call, answer in pairs:
        outcomes.add(call, answer)
    held = list(dict.fromkeys(reversed(pairs)))[:limit]
    for memory in (outcomes, Outcomes(limit, outcomes.pairs.items())):
        assert [(pair >> 32, pair & 0xFFFFFFFF) for pair in memory.pairs] == held[::-1]
        for number in range(1, 14):
            assert memory.knows_call(number) is any(call == number for call, _ in held)
            assert memory.knows_answer(number) is any(answer == number for _, answer in held)
            assert memory.calls_with(number) == sum(answer == number for _, answer in held)


def test_times() -> None:
    """The count of one outcome ends where no rule asks for more, and a sibling adds nothing to it."""
    outcomes = Outcomes(4)
    assert [outcomes.add(1, 2) for _ in range(3)] == [1, 2, 3]
    assert outcomes.add(1, 2, 0) == 3
    assert outcomes.add(1, 2, 1000) == 255


def test_a_call_that_failed_was_not_made_yet() -> None:
    """Its success, when it comes, is a first time."""
    outcomes = Outcomes(4)
    outcomes.add(1, 4 | FAILED)
    assert not outcomes.knows_call(1)
    assert outcomes.knows_answer(4 | FAILED)
    outcomes.add(1, 6)
    assert outcomes.knows_call(1)
