"""A run as bytes: what it says afterwards, how many bytes, which bytes are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import StateError
from otel_loopguard.stream.events import RunEvent
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.run import Run
from otel_loopguard.stream.run_state import VERSION
from tests.support.call_records import record

ENGINE = Engine(Policy())


@st.composite
def records(draw: st.DrawFn) -> list[CallRecord]:
    """Calls of two agents and two processes that repeat, fail to arrive, come twice and contradict each other."""
    return [
        record(
            draw(st.sampled_from(["look", "edit"])),
            draw(st.sampled_from(["a", "b", None])),
            draw(st.sampled_from(["r", "s", None])),
            span=draw(st.sampled_from(["", f"{number:016x}", f"{number // 2:016x}"])),
            number=draw(st.sampled_from([None, number, number - 1])),
            process=draw(st.sampled_from(["", "p1", "p2"])),
            call_id=draw(st.sampled_from([None, "c1", f"c{number}"])),
            turn=draw(st.sampled_from([None, number, "t"])),
            agent=draw(st.sampled_from(["", "one"])),
            start=draw(st.sampled_from([None, number, 5])),
            user_message=draw(st.sampled_from([False, False, True])),
            message=draw(st.sampled_from(["", "m1", "m2"])),
            findings=draw(st.sampled_from([(), (("identical", "nudge"),)])),
            elsewhere=draw(st.sampled_from([(), (("identical", "stop", 2),)])),
            event=draw(st.sampled_from([False, False, True])),
        )
        for number in range(1, draw(st.integers(2, 12)))
    ]


def judged(calls: list[CallRecord], *, packed: bool) -> list[RunEvent]:
    """What a run says that hears of a call every other moment, ends and goes on; packed and unpacked in between."""
    run = Run("run", ENGINE, lateness=3)
    said: list[RunEvent] = []
    for now, call in enumerate(calls):
        said += run.on_record(call, 2 * now)
        if now == len(calls) // 2:
            run.on_end("budget", 2 * now)
        if packed:
            run = Run.restore(run.snapshot(), "run", ENGINE, 3)
    return said + run.on_time(1000)


@given(records())
def test_a_run_that_was_packed_says_the_same(calls: list[CallRecord]) -> None:
    """Packed and unpacked after every record, a run makes the same observations, findings and doubts."""
    assert judged(calls, packed=True) == judged(calls, packed=False)


@given(records())
def test_packing_twice_gives_the_same_bytes(calls: list[CallRecord]) -> None:
    """Nothing is lost or added by being packed."""
    run = Run("run", ENGINE, lateness=3)
    for now, call in enumerate(calls):
        run.on_record(call, now)
    once = run.snapshot()
    assert Run.restore(once, "run", ENGINE, 3).snapshot() == once


def test_an_idle_run_is_small() -> None:
    """A run of 32 different calls, each with a span, a number and an answer of its own, takes at most 2.5 KiB."""
    run = Run("run", ENGINE, lateness=1)
    for number in range(1, 33):
        call = record("look", f"a{number}", f"r{number}", span=f"{number:016x}", number=number,
                      process="0f3a91c2d4e5f607", start=number, turn=number, agent="researcher")  # fmt: skip
        run.on_record(call, number)
    run.on_time(1000)
    assert len(run.snapshot()) <= 2560


def test_a_newer_state_is_refused() -> None:
    """The message names both versions and the way out."""
    state = Run("run", ENGINE, lateness=1).snapshot()
    with pytest.raises(StateError, match=f"a run of version 9, .* up to {VERSION}, so use that release or start"):
        Run.restore(b"\x09" + state[1:], "run", ENGINE, 1)


@given(st.binary(max_size=40), st.integers(0, 60))
def test_what_is_no_state_is_refused(noise: bytes, at: int) -> None:
    """Noise in a state, or in place of one, is an error of ours or another state, never another exception."""
    run = Run("run", ENGINE, lateness=1)
    run.on_record(record(number=1, process="p", span="1" * 16), 0)
    state = run.snapshot()
    for damaged in (noise, state[:at] + noise, state[:at] + noise + state[at + len(noise) :]):
        try:
            Run.restore(damaged, "run", ENGINE, 1)
        except StateError:
            pass
