"""One call seen by several spans inside each other is one call, though the inner one ends first."""

from __future__ import annotations

from typing import Any

import pytest

from otel_loopguard import names
from otel_loopguard.otel.nesting import MAX_INNER, MAX_PARENTS
from tests.support.process import Process

KNOWN: dict[str, Any] = {"q": "x"}


def nested(process: Process, outer: object, inner: object, **attributes: object) -> None:
    """A tool span inside a tool span of one tool; `...` is a span without arguments."""
    with process.tool("search", outer), process.tool("search", inner, **attributes):
        pass


@pytest.mark.parametrize(
    ("outer", "inner", "fingerprints", "verdicts"),
    [
        (KNOWN, KNOWN, ["known", "known"], ["allow", "allow"]),
        (..., KNOWN, ["known", "known"], ["allow", "allow"]),
        (KNOWN, ..., [None, "known"], ["unknown", "allow"]),
        (..., ..., [None, None], ["unknown", "unknown"]),
    ],
)
def test_two_spans_of_one_call(outer: object, inner: object, fingerprints: list[Any], verdicts: list[str]) -> None:
    """The inner one ends first, the outer one takes its number; whoever has arguments gives the fingerprint."""
    process = Process()
    with process.agent():
        process.call("search", KNOWN)
        nested(process, outer, inner)
        process.call("other", 1)
    known = process.written(names.FINGERPRINT)[0]
    assert process.written(names.FINGERPRINT)[1:3] == [known if one else None for one in fingerprints]
    assert process.written(names.VERDICT)[1:3] == verdicts
    assert process.written(names.SEQUENCE) == [1, 2, 2, 3]
    assert process.live.counters.total(names.TOOL_CALLS) == 3


def test_a_nested_call_counts_once_towards_a_loop() -> None:
    """Three calls in six spans are a third repeat, found once, on the span that ended first."""
    process = Process()
    with process.agent():
        for _ in range(3):
            nested(process, KNOWN, KNOWN)
    assert process.written(names.REPEAT_COUNT) == [1, 1, 2, 2, 3, 3]
    assert process.written(names.VERDICT) == ["allow"] * 4 + ["nudge"] * 2
    assert process.written(names.FINDING_KIND) == [None] * 4 + ["identical"] * 2
    assert [len(span.events) for span in process.tools] == [0, 0, 0, 0, 1, 0]
    assert process.live.counters.total(names.FINDINGS) == 1


def test_three_layers_of_which_only_the_outermost_knows() -> None:
    """Framework, client and server: the number travels up through two spans without arguments."""
    process = Process()
    with process.agent(), process.tool("search", KNOWN), process.tool("search", ...), process.tool("search", ...):
        pass
    assert process.written(names.SEQUENCE) == [1, 1, 1]
    assert process.written(names.VERDICT) == ["unknown", "unknown", "allow"]
    assert process.live.counters.total(names.TOOL_CALLS) == 1


def test_a_plain_span_in_between() -> None:
    """A span of no family between the layers changes nothing."""
    process = Process()
    with process.agent(), process.tool("search", ...):  # noqa: SIM117 - one layer a line
        with process.tracer.start_as_current_span("POST"):
            process.call("search", KNOWN)
    assert process.written(names.SEQUENCE) == [1, 1]
    with process.agent(), process.tool("search", KNOWN):  # noqa: SIM117
        with process.tracer.start_as_current_span("POST"):
            process.call("search", ...)
    assert process.written(names.SEQUENCE)[2:] == [1, 1]
    assert process.live.counters.total(names.TOOL_CALLS) == 2


def test_other_arguments_are_another_call() -> None:
    """A tool that calls itself with other arguments makes two calls."""
    process = Process()
    with process.agent():
        nested(process, {"depth": 0}, {"depth": 1})
    assert process.written(names.SEQUENCE) == [1, 2]


def test_two_call_ids_are_two_calls() -> None:
    """Two ids of one tool, one inside the other, are two calls, even with equal arguments."""
    process = Process()
    with process.agent(), process.tool("search", KNOWN, **{"gen_ai.tool.call.id": "a"}):
        process.call("search", KNOWN, **{"gen_ai.tool.call.id": "b"})
    assert process.written(names.SEQUENCE) == [1, 2]


@pytest.mark.parametrize("inner", [KNOWN, ...])
def test_one_call_id_under_two_names(inner: object) -> None:
    """Layers name a tool in their own ways: one id with the same arguments, or none, is one call."""
    process = Process()
    same = {"gen_ai.tool.call.id": "call_1"}
    with process.agent(), process.tool("plugin-search", KNOWN, **same):
        process.call("search", inner, **same)
    assert process.written(names.SEQUENCE) == [1, 1]
    assert process.live.counters.total(names.TOOL_CALLS) == 1
    if inner is KNOWN:
        assert len(set(process.written(names.FINGERPRINT))) == 1


def test_one_call_id_with_other_arguments() -> None:
    """One id with other arguments is two calls."""
    process = Process()
    same = {"gen_ai.tool.call.id": "call_1"}
    with process.agent(), process.tool("plugin-search", KNOWN, **same):
        process.call("search", {"q": "y"}, **same)
    assert process.written(names.SEQUENCE) == [1, 2]


def test_a_sub_agent_in_between() -> None:
    """A call inside an agent inside a tool is the sub-agent's own, with or without arguments."""
    process = Process()
    for inner in (KNOWN, ...):
        with process.agent("lead"), process.tool("task", KNOWN), process.agent("sub"):
            process.call("task", inner)
    assert process.written(names.AGENT_NAME) == ["sub", "lead", "sub", "lead"]
    assert process.live.counters.total(names.TOOL_CALLS) == 4


def test_another_tool_inside() -> None:
    """A tool that uses another tool: two calls, the inner one recorded before the one around it."""
    process = Process()
    with process.agent(), process.tool("research", KNOWN):
        process.call("search", ...)
    assert process.written(names.SEQUENCE) == [1, 2]
    order = [attributes[names.TOOL_NAME] for _, attributes in process.live.counters.read(names.TOOL_CALLS)]
    assert order == ["search", "research"]


def test_waiting_ends_with_the_parent() -> None:
    """A call without arguments under a span that turns out to be no tool is recorded when that span ends."""
    process = Process()
    with process.tracer.start_as_current_span("request"):
        process.call("search", ...)
        assert process.live.counters.total(names.TOOL_CALLS) == 0
    assert process.live.counters.total(names.TOOL_CALLS) == 1


def test_nothing_waits_under_an_agent() -> None:
    """Where the parent is known to be no tool, a call without arguments is recorded at once."""
    process = Process()
    with process.agent():
        process.call("search", ...)
        assert process.live.counters.total(names.TOOL_CALLS) == 1


def test_a_family_that_names_its_spans_late() -> None:
    """A parent whose kind is written only at its end still merges with what waited inside."""
    process = Process()
    with process.agent(), process.tracer.start_as_current_span("execute_tool late") as late:
        process.call("search", ...)
        late.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": '{"q": "x"}'})
    assert process.written(names.SEQUENCE) == [1, 1]
    assert process.written(names.VERDICT) == ["unknown", "allow"]
    assert process.live.counters.total(names.TOOL_CALLS) == 1


def test_waiting_is_bounded() -> None:
    """Beyond the bounds the oldest waiting calls are recorded on their own; none is lost."""
    process = Process()
    with process.tracer.start_as_current_span("request"):
        for _ in range(MAX_INNER + 10):
            process.call("search", ...)
        assert process.live.counters.total(names.TOOL_CALLS) == 10
    parents = []
    for _ in range(MAX_PARENTS + 5):
        parents.append(process.tracer.start_as_current_span("abandoned"))
        parents[-1].__enter__()
        process.call("search", ...)
    counted = process.live.counters.total(names.TOOL_CALLS)
    assert counted == MAX_INNER + 10 + 5
    process.processor.shutdown()
    assert process.live.counters.total(names.TOOL_CALLS) == MAX_INNER + 10 + MAX_PARENTS + 5
    for parent in reversed(parents):
        parent.__exit__(None, None, None)


def test_the_finding_is_named_by_the_earliest_span() -> None:
    """A finding's id is that of the call's earliest-started span, where that already says that it is the call."""
    process = Process()
    with process.agent():
        for _ in range(3):
            nested(process, KNOWN, KNOWN)
    from otel_loopguard.core.decision import finding_id

    inner, outer = process.tools[-2:]
    trace_id, span_id = (f"{outer.get_span_context().trace_id:032x}", f"{outer.get_span_context().span_id:016x}")
    expected = finding_id(trace_id, "researcher", "identical", "nudge", f"{trace_id}/{span_id}")
    assert inner.events[0].attributes is not None
    assert inner.events[0].attributes[names.FINDING_ID] == expected


def test_parallel_layered_calls_are_one_turn() -> None:
    """Two layered calls beside each other after one model span stand in one turn, that of the outer spans."""
    process = Process()
    with process.agent():
        process.model()
        first, second = process.tool("a", KNOWN), process.tool("b", KNOWN)
        for tool, name in ((first, "a"), (second, "b")):
            with tool:
                process.call(name, KNOWN)
    assert process.written(names.TURN) == [1, 1, 1, 1]
