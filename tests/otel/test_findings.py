"""Findings as span events and log events, and the numbers that readers see."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.live import LOGS_SUPPORTED
from tests.support.process import Fixed, Process

needs_logs = pytest.mark.skipif(not LOGS_SUPPORTED, reason="events need opentelemetry-api 1.38 or newer")


def loop(process: Process, times: int = 5, result: str = "[]") -> None:
    """An agent that asks the same again."""
    with process.agent():
        for _ in range(times):
            process.model()
            process.call(arguments={"q": "x"}, result=result)


def test_a_finding_is_a_span_event_on_its_call() -> None:
    """One event a step: at the third call a nudge, at the fifth a stop."""
    process = Process()
    loop(process)
    events = [[(event.name, dict(event.attributes or {})) for event in span.events] for span in process.tools]
    assert [len(one) for one in events] == [0, 0, 1, 0, 1]
    name, attributes = events[4][0]
    assert name == "loopguard.finding"
    assert len(attributes.pop(names.FINDING_ID)) == 32
    assert attributes == {
        names.FINDING_KIND: "identical",
        names.FINDING_ACTION: "stop",
        names.FINDING_SEQUENCE: 5,
        names.FINDING_FIRST_SEQUENCE: 1,
        names.FINDING_COUNT: 5,
        names.FINDING_LIMIT: 5,
    }


def test_the_event_lies_within_its_span() -> None:
    """Its time is the span's end."""
    process = Process()
    loop(process, 3)
    span = process.tools[-1]
    assert span.events[0].timestamp == span.end_time


def test_a_finding_id_is_what_everyone_can_compute() -> None:
    """It is made of run, agent, kind, action and the judged call's span, unkeyed."""
    process = Process()
    with otel_loopguard.run("r1"):
        loop(process, 3)
    context = process.tools[-1].get_span_context()
    reference = f"{context.trace_id:032x}/{context.span_id:016x}"
    text = json.dumps(["r1", "researcher", "identical", "nudge", reference], separators=(",", ":"))
    expected = hashlib.sha256(text.encode()).hexdigest()[:32]
    assert (process.tools[-1].events[0].attributes or {})[names.FINDING_ID] == expected


@needs_logs
def test_a_finding_is_a_log_event_with_the_calls_context() -> None:
    """The log record carries the span's context, the loop event's name and where it belongs."""
    process = Process(sources=Fixed(Policy(revision="7")))
    loop(process, 3)
    (log,) = process.logs
    span = process.tools[-1]
    assert (log.trace_id, log.span_id) == (span.get_span_context().trace_id, span.get_span_context().span_id)
    assert log.event_name == "loopguard.finding"
    assert log.severity_text == "WARN"
    assert log.timestamp == span.end_time
    attributes = dict(log.attributes)
    event = dict(span.events[0].attributes or {})
    assert attributes == {
        **event,
        names.RUN_ID: f"{span.get_span_context().trace_id:032x}",
        names.AGENT_NAME: "researcher",
        names.PROCESS_ID: process.written(names.PROCESS_ID)[2],
        names.KEY_ID: "k1",
        names.POLICY_VERSION: "7",
        names.TOOL_NAME: "search",
        names.FINGERPRINT: process.written(names.FINGERPRINT)[2],
    }


@needs_logs
def test_how_a_nudge_went_on() -> None:
    """The same call again escalates; nudge outcomes are events and counts."""
    process = Process()
    loop(process, 4)
    (event,) = process.events("loopguard.nudge.outcome")
    assert event[names.NUDGE_OUTCOME] == "escalated"
    assert event[names.FINDING_KIND] == "identical"
    assert process.metric(names.NUDGES) == [(1, {names.NUDGE_OUTCOME: "escalated"})]


def test_information_is_only_counted() -> None:
    """The same call twice in one turn: a number, but no attribute, no span event and no log event."""
    process = Process(sources=Fixed(Policy(tools={"search": ToolPolicy(kind="read")})))
    with process.agent():
        process.model()
        process.call(arguments={"q": "x"})
        process.call(arguments={"q": "x"})
    counted = process.metric(names.FINDINGS)
    assert [(value, attributes[names.FINDING_ACTION]) for value, attributes in counted] == [(1, "info")]
    assert process.written(names.FINDING_KIND) == [None, None]
    assert [len(span.events) for span in process.tools] == [0, 0]
    assert process.events("loopguard.finding") == []
    assert process.written(names.VERDICT) == ["allow", "allow"]


def test_a_finding_about_an_earlier_call_names_it() -> None:
    """A rule over turns speaks when the next turn begins: on that span, with the judged call's number."""
    policy = Policy(no_progress_turns=2, tools={"look": ToolPolicy(kind="read")})
    process = Process(sources=Fixed(policy))
    with process.agent():
        for step in range(5):
            process.model()
            process.call("look", {"step": step}, result='["same"]')
    found = [
        (span, dict(event.attributes or {})) for span in process.tools for event in span.events
        if (event.attributes or {})[names.FINDING_KIND] == "no_progress"
    ]  # fmt: skip
    assert found
    span, attributes = found[0]
    own = (span.attributes or {})[names.SEQUENCE]
    assert attributes[names.FINDING_SEQUENCE] == int(str(own)) - 1
    assert (span.attributes or {}).get(names.FINDING_KIND) != "no_progress"


# Metrics ----------------------------------------------------------------------------------------------------------


def test_the_numbers_that_readers_see() -> None:
    """Counters are observed at collection, by tool and agent, never by run or fingerprint."""
    process = Process()
    loop(process)
    here = {names.TOOL_NAME: "search", names.AGENT_NAME: "researcher"}
    assert process.metric(names.TOOL_CALLS) == [(5, here)]
    assert process.metric(names.FINDINGS) == [
        (1, {names.FINDING_KIND: "identical", names.FINDING_ACTION: "nudge", **here}),
        (1, {names.FINDING_KIND: "identical", names.FINDING_ACTION: "stop", **here}),
    ]
    assert process.metric(names.DETECTION_CALLS) == [(2, {})]
    assert process.metric(names.ERRORS) == []


def test_no_metric_names_a_run_or_a_fingerprint() -> None:
    """Whatever happens, no attribute of a metric has high cardinality."""
    process = Process()
    with otel_loopguard.run("run-4711"):
        loop(process, 8)
        otel_loopguard.finish("loop_detected")
    data = process.reader.get_metrics_data()
    assert data is not None
    text = data.to_json()
    assert "run-4711" not in text
    for fingerprint in {*process.written(names.FINGERPRINT), *process.written(names.PROCESS_ID)}:
        assert fingerprint not in text


def test_overhead_is_sampled() -> None:
    """One tool span in 64 is measured."""
    process = Process()
    for _ in range(130):
        process.call()
    assert process.metric(names.OVERHEAD_DURATION) == [(2, {})]


# The run's end ----------------------------------------------------------------------------------------------------


@needs_logs
def test_a_run_that_ends() -> None:
    """`finish` reports the totals once an end; a run that goes on may end again."""
    process = Process()
    with otel_loopguard.run("r1"):
        loop(process, 6)
        otel_loopguard.finish("loop_detected")
        otel_loopguard.finish("loop_detected")
    (event,) = process.events("loopguard.run.end")
    assert event == {
        names.RUN_ID: "r1",
        names.RUN_CALLS: 6,
        names.RUN_REPEAT_MAX: 6,
        names.RUN_PROGRESSED: False,
        names.RUN_WASTED_CALLS: 3,
        names.TERMINATION_REASON: "loop_detected",
    }
    assert process.metric(names.RUNS) == [(1, {names.VERDICT: "stop"})]
    assert process.metric(names.WASTED_CALLS) == [(1, {})]
    with otel_loopguard.run("r1"):
        process.call("other", 1)
    otel_loopguard.finish(run_id="r1")
    assert [event[names.RUN_CALLS] for event in process.events("loopguard.run.end")] == [6, 7]


@needs_logs
def test_a_clean_run_wasted_nothing() -> None:
    """A run without findings has progressed, and is no entry in the histogram of wasted calls."""
    process = Process()
    with process.agent():
        process.call()
        otel_loopguard.finish("final_answer")
    (event,) = process.events("loopguard.run.end")
    assert (event[names.RUN_PROGRESSED], event[names.RUN_WASTED_CALLS]) == (True, 0)
    assert process.metric(names.RUNS) == [(1, {names.VERDICT: "allow"})]
    assert process.metric(names.WASTED_CALLS) == []


@needs_logs
def test_a_nudge_that_nothing_followed_stays_open() -> None:
    """At the end of a run an unanswered nudge is `open`."""
    process = Process()
    with otel_loopguard.run("r1"):
        loop(process, 3)
    otel_loopguard.finish(run_id="r1")
    assert [event[names.NUDGE_OUTCOME] for event in process.events("loopguard.nudge.outcome")] == ["open"]


@needs_logs
def test_an_unknown_reason_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """A reason outside the vocabulary is not recorded; the warning names what is allowed."""
    process = Process()
    with process.agent():
        process.call()
        otel_loopguard.finish("bored")
    (event,) = process.events("loopguard.run.end")
    assert names.TERMINATION_REASON not in event
    assert "`final_answer`" in caplog.text


def test_ending_an_unknown_run_is_nothing() -> None:
    """A run that made no call here has no end here."""
    process = Process()
    otel_loopguard.finish(run_id="never seen")
    assert process.metric(names.RUNS) == []


# Hosts whose own telemetry fails ----------------------------------------------------------------------------------


def test_a_log_processor_that_raises_is_no_trouble() -> None:
    """What the host's log pipeline does is not the agent's problem: the span leaves with its finding."""
    from otel_loopguard.live import Edge

    process = Process(edge=Edge)

    class Broken:
        def get_logger(self, *_: object) -> object:
            raise RuntimeError("broken")

    process.live.outlet._logger_provider = Broken()
    loop(process, 3)
    assert len(process.tools[-1].events) == 1
    if LOGS_SUPPORTED:
        assert process.live.counters.read(names.ERRORS) == [(1, {"error.type": "RuntimeError"})]


@pytest.mark.parametrize(("differ", "stops"), [(False, True), (True, False)])
def test_a_loop_behind_one_model_span(differ: bool, stops: bool) -> None:  # noqa: FBT001 (a table)
    """Twenty equal calls after the only model span are a loop, twenty different ones what one decision asked for."""
    process = Process()
    with process.agent():
        process.model()
        for number in range(20):
            process.call("search", {"q": number if differ else 0})
    assert ("stop" in process.written(names.VERDICT)) is stops


@needs_logs
@pytest.mark.parametrize("reason", [None, False, 0, [], ["loop_detected"], "whatever"])
def test_a_reason_that_is_none_ends_the_run_all_the_same(reason: Any) -> None:  # noqa: ANN401 - of any type
    """The totals are reported without it."""
    process = Process()
    with otel_loopguard.run(("run", 7), agent=5):  # type: ignore[arg-type]
        process.call()
        otel_loopguard.user_message(("to", 5))  # type: ignore[arg-type]
        otel_loopguard.finish(reason)
    (end,) = process.events(names.RUN_END)
    assert names.TERMINATION_REASON not in end
