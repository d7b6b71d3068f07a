"""Wake-ups: the earliest first, those of one time in the order of their keys, whatever order they were set in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.stream.timers import Timers

KEYS = st.tuples(st.sampled_from(["", "one", "two"]), st.text("ab", max_size=2))


@given(st.lists(st.tuples(st.integers(0, 5), KEYS)))
def test_wake_ups_come_in_order(wanted: list[tuple[int, tuple[str, str]]]) -> None:
    """All of them, as a list sorted by time and key has them."""
    timers = Timers()
    for at, key in wanted:
        timers.set(at, key)
    woken = []
    while (at := timers.due()) is not None:
        woken += [(at, key) for key in timers.take()]
    assert woken == sorted(wanted)


def test_a_time_that_is_over_may_be_wanted_again() -> None:
    """What is set for the present moment while its keys are woken comes next."""
    timers = Timers()
    timers.set(1, ("", "a"))
    timers.set(2, ("", "b"))
    assert timers.take() == [("", "a")]
    timers.set(1, ("", "c"))
    assert timers.due() == 1
    assert [timers.take(), timers.take()] == [[("", "c")], [("", "b")]]
