"""Records that wait: what the short way says of them is what the rules say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.stream.copies import number_of
from otel_loopguard.stream.dedupe import merge
from otel_loopguard.stream.held import Held
from otel_loopguard.stream.order import arrange
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.settled import Settled, identity_of
from otel_loopguard.stream.waiting import Waiting
from tests.support.call_records import record

WAIT = 3


@st.composite
def records(draw: st.DrawFn) -> list[tuple[int, CallRecord]]:
    """Records with the times between them: most have nothing in common, some are copies, layers or contradict."""
    found: list[tuple[int, CallRecord]] = []
    for number in range(1, draw(st.integers(1, 9))):
        rare = draw(st.integers(0, 5)) == 0
        one = record(
            draw(st.sampled_from(["look", "edit"])),
            draw(st.sampled_from(["a", "b", None])),
            "r",
            span=draw(st.sampled_from([f"{number:016x}", f"{number - 1:016x}" if rare else ""])),
            inside=draw(st.sampled_from(["f" * 16, f"{number - 1:016x}" if rare else "e" * 16])),
            number=draw(st.sampled_from([number, None, number - 2 if rare else number])),
            process=draw(st.sampled_from(["", "p1", "p2"])),
            call_id=draw(st.sampled_from([None, f"c{number}", "c1" if rare else None])),
            turn=draw(st.sampled_from([None, number, "t" if rare else number])),
            agent=draw(st.sampled_from(["", "one"])),
            start=draw(st.sampled_from([number, 5 if rare else number, None])),
            event=rare and draw(st.booleans()),
        )
        found += [(draw(st.integers(0, 2)), one)] * (2 if rare and draw(st.booleans()) else 1)
    return found


def copied(held: Held) -> Held:
    """A record that waits, as it is now."""
    return Held(held.record, held.arrived, held.index, held.copies, held.indexes, held.tags)


def put(waiting: Waiting, one: CallRecord, now: int) -> None:
    """A record comes."""
    waiting.add(one, now, identity_of(one, number_of(one)), number_of(one))


@given(records())
def test_the_short_way_is_the_rules_way(calls: list[tuple[int, CallRecord]]) -> None:
    """Whatever waits, the calls that are given back are those that merging and arranging all of it gives."""
    waiting = Waiting(WAIT)
    now = 0
    for pause, one in calls:
        now += pause
        put(waiting, one, now)
        held = [copied(other) for other in waiting.held]
        merged, _ = merge(held)
        ordered, _ = arrange(merged)
        ripe = [place for place, call in enumerate(ordered) if call.arrived <= now - WAIT]
        due = waiting.due()
        assert due == min(other.arrived for other in held) + WAIT
        if due <= now:
            expected = ordered[: ripe[-1] + 1] if ripe else []
            assert waiting.take(now)[0] == expected
            assert sum(len(call.indexes) for call in expected) + len(waiting.held) == len(held)


@given(records())
def test_restored_records_wait_as_before(calls: list[tuple[int, CallRecord]]) -> None:
    """What waits may be saved at any moment: the rest is taken in and given back the same."""
    one, other = Waiting(WAIT), Waiting(WAIT)
    for place, (_, call) in enumerate(calls):
        put(one, call, place)
        other = Waiting(WAIT, [copied(held) for held in other.held], other.arrivals)
        put(other, call, place)
    assert one.take(100) == other.take(100)


@pytest.mark.parametrize(
    ("numbers", "turns", "expected"),
    [
        ((1, 2, 3), (1, 2, 3), ["1", "2", "3"]),
        ((1, 3, 2), (1, 2, 3), ["1", "3", "2"]),
        ((1, 2, 3), (1, 2, 1), ["1", "3", "2"]),
        ((None, None, None), (None, None, None), ["1", "2", "3"]),
    ],
    ids=["as they started", "numbers against the starts", "a turn in two pieces", "nothing but starts"],
)
def test_the_order_is_that_of_the_rules(
    numbers: tuple[int | None, ...], turns: tuple[int | None, ...], expected: list[str]
) -> None:
    """Starts decide, but for numbers against them and a turn that is not in one piece."""
    waiting = Waiting(WAIT)
    for place in (1, 2, 0):
        one = record("look", "a", span=f"{place + 1:016x}", number=numbers[place], process="p", start=place,
                     turn=turns[place])  # fmt: skip
        put(waiting, one, 0)
    assert [call.record.span_id.lstrip("0") for call in waiting.take(WAIT)[0]] == expected


def test_a_late_copy_is_known_by_any_of_its_marks() -> None:
    """A judged call's copy is known by span, number or call id; one without any, by being alike in every respect."""
    whole = record("look", "a", "r", span="1" * 16, number=4, process="p", call_id="c", turn="t", start=1)
    nameless = record("look", "b", "r", call_id="c", start=9)
    settled = Settled()
    for call in (whole, nameless):
        (merged,), _ = merge([Held(call, 0, 0)])
        settled.add(merged)
    settled = Settled.from_state(settled.state())
    copies = [
        whole,
        whole.changed(sequence=None, process_id="p"),
        record("look", "a", "r", span="2" * 16, number=4, process="p"),
        record("look", "a", "r", span="2" * 16, process="p", call_id="c", turn="t"),
        nameless,
    ]
    assert [settled.knows(one, identity_of(one, number_of(one))) for one in copies] == ["copy"] * 5
    assert settled.knows(record("look", "z", "r", span="1" * 16), identity_of(whole, number_of(whole))) == "conflict"
    others = [record("look", "b", "r", call_id="c", start=10), record("look", "a", "r", span="1" * 16)]
    others[1] = others[1].changed(trace_id="2" * 32)
    assert [settled.knows(one, identity_of(one, number_of(one))) for one in others] == ["", ""]
