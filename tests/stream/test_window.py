"""Calls that wait for the spans around them: which wait, how long, what is given back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.conventions import Role
from otel_loopguard.stream.trace import Hints, Span
from otel_loopguard.stream.window import Placed, TraceEnd, Window
from tests.support.call_records import TRACE, record

AGENT = Span(TRACE, "a" * 16, "b" * 16, 1, 9, Role("agent", agent="researcher", conversation_id="talk"))


def call(number: int, run: str | None = None, sequence: int | None = None) -> Span:
    """A tool span below the agent's; ``run`` is what its process says."""
    held = record(span=f"{number:016x}", number=sequence, start=number, end=number + 1).changed(run_id="")
    return Span(TRACE, f"{number:016x}", "a" * 16, number, number + 1, None, held, Hints(run_id=run))


def taken(window: Window, now: int) -> list[tuple[str, str]]:
    """Run and agent of the calls that are placed by a time."""
    return [(one.record.run_id, one.record.agent) for one in window.take(now) if isinstance(one, Placed)]


def test_a_call_waits_for_the_span_that_names_its_run() -> None:
    """The agent's span comes later; the call is placed once it has waited, not before."""
    window = Window(10)
    assert window.add("", call(1), 0) is None
    assert window.add("", AGENT, 5) is None
    assert taken(window, 9) == []
    assert window.due() == 10
    assert taken(window, 10) == [("talk", "researcher")]


def test_the_span_around_may_come_first() -> None:
    """What came within the wait before a call is known when it is placed; what came long before is not."""
    window = Window(10)
    window.add("", AGENT, 0)
    window.add("", call(1), 9)
    assert taken(window, 19) == [("talk", "researcher")]
    window.take(60)
    window.add("", call(2), 60)
    assert taken(window, 70) == [(TRACE, "")]


@pytest.mark.parametrize(
    ("span", "run"),
    [
        (call(1, "run", 1), "run"),
        (Span("", "", "", 1, 2, None, record(), Hints(run_id="run")), "run"),
    ],
    ids=["annotated", "without a trace"],
)
def test_a_call_that_is_placed_does_not_wait(span: Span, run: str) -> None:
    """A process has said all, or there is nothing to wait for."""
    placed = Window(10).add("one", span, 0)
    assert placed is not None
    assert (placed.tenant, placed.record.run_id) == ("one", run)


def test_a_trace_id_as_the_run_is_no_name() -> None:
    """A process that knows no better names the trace: the trace may name the run."""
    window = Window(10)
    assert window.add("", call(1, TRACE, 1), 0) is None
    window.add("", AGENT, 1)
    assert taken(window, 10) == [("talk", "researcher")]


def test_the_root_span_ends_the_trace_after_its_calls() -> None:
    """Its calls first, the end after them."""
    window = Window(10)
    window.add("", Span(TRACE, "a" * 16, "", 1, 9), 0)
    window.add("", call(1), 0)
    found = window.take(10)
    assert [type(one) for one in found] == [Placed, TraceEnd]
    assert found[1] == TraceEnd("", TRACE)


def test_nothing_is_kept_of_a_silent_trace() -> None:
    """After twice the wait the window is empty and wants nothing."""
    window = Window(10)
    window.add("", call(1), 0)
    window.take(100)
    assert (len(window), window.due()) == (0, None)


@pytest.mark.parametrize("count", [1023, 1024, 1025, 5000])
def test_a_crowded_trace_loses_no_call(count: int) -> None:
    """More spans than are kept: calls are placed early rather than forgotten."""
    window = Window(10)
    placed = 0
    for number in range(1, count + 1):
        window.add("", call(number), 0)
        if number % 100 == 0:
            placed += len(taken(window, 0))
    assert placed + len(taken(window, 10)) == count


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), max_size=30))
def test_every_call_comes_out_once(arrivals: list[tuple[int, int]]) -> None:
    """Whatever came when, each call is placed exactly once, within the wait."""
    window, now, placed = Window(10), 0, 0
    for number, (kind, pause) in enumerate(arrivals, 1):
        now += pause
        placed += len(taken(window, now))
        window.add("", AGENT if kind == 0 else call(number), now)
    placed += len(taken(window, now + 10))
    assert placed == sum(kind != 0 for kind, _ in arrivals)
