"""The detector: what is delivered, whatever the order, the copies and the crashes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_loopguard.runtimes import Limits
from otel_loopguard.service.intake import Accepted, Refused, Request
from tests.support.detecting import SECOND, Detecting
from tests.support.spans import annotated, digits, logs, raw, span, traces

STOP = [("run", "identical", "nudge"), ("run", "identical", "stop")]


def calls(run: str = "run", count: int = 5, process: str = "p1", begin: int = 0) -> list[Span]:
    """The same call so many times, a second apart."""
    return [annotated(run, number, process=process, at=begin + number) for number in range(1, count + 1)]


def undisturbed(spans: list[Span]) -> set[str]:
    """The ids of the findings of a detector that gets everything at once."""
    detector = Detecting()
    detector.send(traces(spans))
    detector.wait(30)
    return detector.ids()


# What is found ----------------------------------------------------------------------------------------------------


def test_a_loop_over_three_processes_is_found_though_none_of_them_sees_it() -> None:
    """One call in each of three processes of one run, and two more: nudge at the third, stop at the fifth."""
    detector = Detecting()
    for number, process in enumerate(("p1", "p2", "p3", "p4", "p5")):
        detector.send(traces([annotated("run", 1, process=process, at=number)]))
    detector.wait(30)
    assert detector.findings() == STOP


def test_who_has_an_answer_finds_it_counted() -> None:
    """The request is in the totals before its sender hears of it, accepted or refused."""
    detector = Detecting(limits=Limits(lateness=10 * SECOND, runs=1))
    seen: list[dict[str, int]] = []
    for run in ("one", "two"):
        body = traces([annotated(run, 1)]).SerializeToString()
        request = Request("", "traces", is_json=False, body=body)
        detector.detector.submit(request, lambda _: seen.append(dict(detector.numbers.answers)))
        detector.detector._step(detector.detector._gather()[0])
    assert seen == [{"accepted": 1}, {"accepted": 1, "overloaded": 1}]


def test_spans_with_content_are_fingerprinted_on_arrival() -> None:
    """An agent without our processor is watched over too; what comes out holds none of its content."""
    detector = Detecting()
    detector.send(traces([raw("run", number, {"q": "canary"}, []) for number in range(1, 6)]))
    detector.wait(30)
    assert detector.findings()[:2] == STOP
    assert "canary" not in repr(detector.delivered)


def test_a_finding_tells_the_key_of_its_fingerprint() -> None:
    """Fingerprint and key id stand together, for whoever compares them with a span."""
    detector = Detecting()
    detector.send(traces(calls(count=3)))
    detector.wait(30)
    (finding,) = detector.events("loopguard.finding")
    found = [finding.attributes[f"loopguard.{name}"] for name in ("key.id", "fingerprint")]
    assert found == ["k1", digits("search/a", 32)]


def test_a_call_joins_the_run_that_a_span_around_it_names() -> None:
    """The agent's span comes later than its calls and names the conversation."""
    detector = Detecting()
    for number in range(1, 6):
        one = raw("run", number, {"q": 1}, [])
        del one.attributes[2]
        detector.send(traces([one]))
    agent = span("invoke_agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk"},
                 trace="run", span_id="run/agent", parent="elsewhere")  # fmt: skip
    detector.send(traces([agent]))
    detector.wait(30)
    assert {run for run, _, _ in detector.findings()} == {"talk"}


def test_what_a_process_reported_is_not_reported_again() -> None:
    """The processor found the loop and says so on its span; the detector stays silent."""
    spans = calls(count=3)
    event = spans[2].events.add(name="loopguard.finding")
    for key, value in (("kind", "identical"), ("action", "nudge")):
        event.attributes.add(key=f"loopguard.finding.{key}").value.string_value = value
    event.attributes.add(key="loopguard.finding.sequence").value.int_value = 3
    detector = Detecting()
    detector.send(traces([*spans, annotated("run", 4)]))
    detector.wait(30)
    assert detector.delivered == []
    assert detector.numbers.counters.total("loopguard.nudges") == 1


def test_tenants_do_not_meet() -> None:
    """The same run id under two tenants is two runs."""
    detector = Detecting()
    for number in range(1, 4):
        detector.send(traces([annotated("run", number)]), tenant="one")
        detector.send(traces([annotated("run", number + 3)]), tenant="two")
    detector.wait(30)
    assert [message.tenant for message in detector.events("loopguard.finding")] == ["one", "two"]


# Ends -------------------------------------------------------------------------------------------------------------


def test_a_silent_run_ends_once() -> None:
    """After the idle time the totals are reported, once; a further call opens the run again."""
    detector = Detecting(limits=Limits(lateness=10 * SECOND, idle=60 * SECOND, age=300 * SECOND))
    detector.send(traces(calls(count=4)))
    detector.wait(200)
    (end,) = detector.events("loopguard.run.end")
    assert (end.attributes["loopguard.run.calls"], end.attributes["loopguard.run.wasted.calls"]) == (4, 1)
    detector.send(traces([annotated("run", 5)]))
    detector.wait(200)
    ends = [message.attributes["loopguard.run.calls"] for message in detector.events("loopguard.run.end")]
    assert ends == [4, 5]
    assert detector.findings() == STOP


def test_a_run_is_forgotten_with_age() -> None:
    """A run that is silent for the age limit leaves nothing."""
    detector = Detecting(limits=Limits(lateness=10 * SECOND, idle=60 * SECOND, age=300 * SECOND))
    detector.send(traces(calls()))
    detector.wait(330)
    assert len(detector.runtime.roster) == 0
    assert detector.runtime.roster.dropped == {"age": 1}


def test_a_process_reports_its_own_end() -> None:
    """The end that a process tells is not told again, and closes the run's last turn."""
    detector = Detecting()
    detector.send(traces(calls(count=4)))
    detector.send(logs([("loopguard.run.end", {"loopguard.run.id": "run", "loopguard.termination.reason": "budget"})]))
    detector.wait(60)
    assert list(detector.events("loopguard.run.end")) == []
    assert detector.numbers.counters.total("loopguard.runs") == 1


def test_the_root_span_ends_a_run_that_only_its_trace_names() -> None:
    """Nobody names the run: it ends with its trace's root span, not with idleness."""
    detector = Detecting()
    spans = [raw("run", number, {"q": 1}, []) for number in range(1, 4)]
    for one in spans:
        del one.attributes[2]
    root = span("invoke_agent", {"gen_ai.operation.name": "invoke_agent"}, trace="run", span_id="run/agent")
    detector.send(traces([*spans, root]))
    detector.wait(40)
    (end,) = detector.events("loopguard.run.end")
    assert end.attributes["loopguard.run.calls"] == 3


# Order, copies and crashes ----------------------------------------------------------------------------------------

PROCESSES = [
    *calls("run", 4, "p1", 0),
    *calls("run", 3, "p2", 10),
    *(annotated("other", number, key="ab"[number % 2], process="p3") for number in range(1, 9)),
    *(raw("talk", number, {"q": 1}, ["x"], tool="look") for number in range(1, 6)),
]
EXPECTED = undisturbed(PROCESSES)


@st.composite
def deliveries(draw: st.DrawFn) -> list[tuple[float, list[int]]]:
    """Requests with some of the spans each, in any order, some of them twice, and the seconds after each."""
    order = draw(st.permutations(range(len(PROCESSES))))
    again = draw(st.lists(st.sampled_from(range(len(PROCESSES))), max_size=8))
    spans = [*order, *again]
    cuts = sorted(draw(st.sets(st.integers(1, len(spans) - 1), max_size=6)))
    batches = [spans[a:b] for a, b in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    return [(draw(st.sampled_from([0.0, 0.1, 0.5])), batch) for batch in batches]


def test_the_undisturbed_detector_finds_something() -> None:
    """What the properties below compare with is not nothing."""
    assert len(EXPECTED) >= 6


@settings(max_examples=40)
@given(deliveries())
def test_order_batches_and_copies_make_no_difference(batches: list[tuple[float, list[int]]]) -> None:
    """Within the lateness the same calls give the same findings, however they are delivered."""
    detector = Detecting()
    for pause, batch in batches:
        detector.send(traces([PROCESSES[index] for index in batch]))
        detector.wait(pause)
    detector.wait(30)
    assert detector.ids() == EXPECTED


@settings(max_examples=15)
@given(deliveries(), st.lists(st.integers(0, 40), min_size=1, max_size=4), st.booleans())
def test_crashes_make_no_difference(
    batches: list[tuple[float, list[int]]],
    crashes: list[int],
    retried: bool,  # noqa: FBT001 - drawn
) -> None:
    """A crash at any second loses no finding and delivers none under another id, whether requests come again or not."""
    with TemporaryDirectory() as folder:
        detector = Detecting(Path(folder) / "state")
        for pause, batch in batches:
            request = traces([PROCESSES[index] for index in batch])
            assert detector.send(request) == [Accepted()]
            if 0 in crashes:
                detector.crash()
                if retried:
                    detector.send(request)
            detector.wait(pause)
        for second in range(1, 45):
            detector.wait(1)
            if second in crashes:
                detector.crash()
        assert detector.ids() == EXPECTED
        assert detector.store is not None
        detector.store.close()


@pytest.mark.parametrize("silence", [0.5, 30, 100])
def test_a_run_goes_on_after_a_crash(tmp_path: Path, silence: float) -> None:
    """Two calls before and three after: the run's history is as it was, from the journal or from its saved state."""
    detector = Detecting(tmp_path / "state")
    spans = calls()
    detector.send(traces(spans[:2]))
    detector.wait(silence)
    detector.crash()
    detector.send(traces(spans[2:]))
    detector.wait(30)
    assert detector.findings() == STOP


def test_the_journal_is_cut_once_states_are_saved(tmp_path: Path) -> None:
    """After a while nothing is left of what came in but the runs' states."""
    detector = Detecting(tmp_path / "state")
    detector.send(traces(calls()))
    detector.wait(120)
    assert detector.store is not None
    assert list(detector.store.journal()) == []
    assert [saved.key for saved in detector.store.runs()] == [("", "run")]


# Limits -----------------------------------------------------------------------------------------------------------


def test_a_run_too_many_is_refused_until_one_has_ended() -> None:
    """With two runs at most the third is told to wait; once a run has ended it makes room."""
    detector = Detecting(limits=Limits(lateness=SECOND, idle=60 * SECOND, age=600 * SECOND, runs=2))
    for run in ("one", "two"):
        assert detector.send(traces([annotated(run, 1)])) == [Accepted()]
    (answer,) = detector.send(traces([annotated("three", 1)]))
    assert answer == Refused("overloaded", "no room for another run: the limit is 2 runs", 30.0)
    assert detector.send(traces([annotated("one", 2)])) == [Accepted()]
    detector.wait(70)
    assert detector.send(traces([annotated("three", 1)])) == [Accepted()]
    assert detector.runtime.roster.dropped == {"max_runs": 1}


def test_a_reason_too_long_is_rejected_for_good() -> None:
    """The other record of the request is taken; the sender is told how many were not, and why."""
    detector = Detecting()
    ends = [("one", "x" * 300), ("two", "budget")]
    events = [
        ("loopguard.run.end", {"loopguard.run.id": run, "loopguard.termination.reason": reason}) for run, reason in ends
    ]
    (answer,) = detector.send(logs(events))
    assert answer == Accepted(1, "a termination reason is longer than 256 characters, or a span could not be read")


def test_a_span_with_too_many_parts_is_rejected_by_its_id() -> None:
    """The other span of the request is taken; the sender is told which one was not, and why."""
    message = traces([annotated("run", 1), annotated("run", 2)])
    large = message.resource_spans[0].scope_spans[0].spans[1]
    for _ in range(262_145):
        large.events.add()
    detector = Detecting()
    (answer,) = detector.send(message)
    told = f"span {large.span_id.hex()}: more than 262,144 attributes, events and list members"
    assert answer == Accepted(1, told)


def test_a_name_too_long_is_shortened() -> None:
    """Equal names of any length stay equal, and none is kept longer than 256 characters."""
    detector = Detecting()
    (answer,) = detector.send(traces([annotated("r" * 300, number) for number in range(1, 4)]))
    assert answer == Accepted(0, "")
    detector.wait(60)
    assert [len(run) for run, *_ in detector.findings()] == [97]


def test_packed_runs_are_as_they_were() -> None:
    """With one run awake at a time, two runs that take turns find what they find otherwise."""
    detector = Detecting(limits=Limits(lateness=SECOND, awake=1))
    for number in range(1, 6):
        for run in ("one", "two"):
            detector.send(traces([annotated(run, number)]))
            detector.wait(2)
    assert sorted(detector.findings()) == sorted(
        (run, kind, action) for run in ("one", "two") for _, kind, action in STOP
    )
