"""Spans whose fields are of other types than the API says: whatever a host hands over, calls count and content goes."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from otel_loopguard import names
from otel_loopguard.live import Edge
from tests.support.process import Process

CANARY = '{"q": "canary-5f1e"}'


def failing(*_: object, **__: object) -> object:
    """Raise an error of ours."""
    raise RuntimeError("ours")


class Id:
    """What behaves like a whole number and is none, as those of numpy."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    __int__ = __index__

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return other == self.value

    def __lt__(self, other: int) -> bool:
        return self.value < other

    def __gt__(self, other: int) -> bool:
        return self.value > other

    def __ge__(self, other: int) -> bool:
        return self.value >= other

    def __le__(self, other: int) -> bool:
        return self.value <= other

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


class OddIds(RandomIdGenerator):
    """Makes such ids."""

    def generate_span_id(self) -> int:
        """One of them."""
        return Id(super().generate_span_id())  # type: ignore[return-value]

    def generate_trace_id(self) -> int:
        """One of them."""
        return Id(super().generate_trace_id())  # type: ignore[return-value]


def test_ids_that_only_behave_like_numbers() -> None:
    """Spans with them are redacted and counted as any others."""
    process = Process(edge=Edge)
    provider = TracerProvider(shutdown_on_exit=False, id_generator=OddIds())
    for processor in (process.processor, SimpleSpanProcessor(process.exporter)):
        provider.add_span_processor(processor)
    process.tracer = provider.get_tracer("tests")
    with process.agent():
        process.call(arguments=CANARY)
        process.call(arguments=CANARY)
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"] * 2
    assert process.written(names.REPEAT_COUNT) == [1, 2]


@pytest.mark.parametrize(
    "odd",
    [{"start_time": 1.8e18}, {"start_time": "soon"}, {"name": None}, {"name": 7}],
    ids=repr,
)
def test_fields_of_another_type_lose_no_call(odd: dict[str, Any]) -> None:
    """A tool's span and the agent's around it are read as far as they can be."""
    process = Process(edge=Edge)
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
                  "gen_ai.tool.call.arguments": CANARY}  # fmt: skip
    agent = {"name": "invoke_agent a", "attributes": {"gen_ai.operation.name": "invoke_agent"}} | odd
    with trace.use_span(process.tracer.start_span(**agent)):  # type: ignore[arg-type]
        for _ in range(2):
            process.tracer.start_span(**({"name": "execute_tool look", "attributes": attributes} | odd)).end()  # type: ignore[arg-type]
    found = [dict(one.attributes or {}) for one in process.exporter.get_finished_spans()]
    assert [one.get(names.REPEAT_COUNT) for one in found] == [1, 2]
    assert process.live.counters.total(names.ERRORS) == 0


def test_events_at_odd_times_stay_and_let_findings_in() -> None:
    """An exception's event keeps its time, whatever that is, and loses its message."""
    process = Process(edge=Edge)
    with process.agent():
        for _ in range(3):
            with process.tool(arguments=CANARY) as span:
                span.add_event("exception", {"exception.message": CANARY}, 1.8e18)  # type: ignore[arg-type]
    events = [(event.name, event.timestamp) for event in process.tools[-1].events]
    assert events[0] == ("exception", 1.8e18)
    assert events[1][0] == names.FINDING
    assert "canary" not in str([dict(event.attributes or {}) for event in process.tools[-1].events])


@pytest.mark.parametrize(("name", "kept"), [(None, ""), (7, "7")])
def test_events_of_odd_names_lose_no_call(name: Any, kept: str) -> None:  # noqa: ANN401 - of any type
    """They stay, under a text, without what they say."""
    process = Process(edge=Edge)
    with process.tool(arguments=CANARY) as span:
        span.add_event(name, {"exception.message": CANARY})
    assert process.written(names.REPEAT_COUNT) == [1]
    assert [event.name for event in process.tools[-1].events] == [kept]
    assert "canary" not in str([dict(event.attributes or {}) for event in process.tools[-1].events])


def test_a_span_that_may_not_leave_is_one_call_however_often_it_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ending it again tries to empty it again, and counts nothing."""
    process = Process(edge=Edge)
    with monkeypatch.context() as broken:
        broken.setattr("otel_loopguard.otel.editor._redaction", failing)
        broken.setattr("otel_loopguard.otel.editor._strip", failing)
        span = process.tracer.start_span("execute_tool look", attributes={
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": CANARY,
        })  # fmt: skip
        for _ in range(3):
            span.end()
    assert process.tools == []
    span.end()
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"]
    assert process.live.counters.total(names.TOOL_CALLS) == 1
