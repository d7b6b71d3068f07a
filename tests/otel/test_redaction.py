"""The privacy settings at work on live spans, by every setting."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.redact import ContentMode
from tests.support.process import Process

REDACTED = "[REDACTED]"


def failing_tool(process: Process, **attributes: object) -> None:
    """A tool call with content everywhere that raises."""

    def fail() -> None:
        with process.tool(arguments={"q": "secret"}, **attributes) as span:
            span.add_event("gen_ai.tool.message", {"content": "secret", "id": "call_1"})
            span.set_attribute("gen_ai.tool.call.result", "secret")
            raise ValueError("secret")

    with pytest.raises(ValueError, match="secret"):
        fail()


def seen(process: Process) -> dict[str, Any]:
    """What the exported span of a failing tool says, by where it says it."""
    (span,) = process.tools
    message, exception = span.events
    attributes = dict(span.attributes or {})
    return {
        "arguments": attributes["gen_ai.tool.call.arguments"],
        "result": attributes["gen_ai.tool.call.result"],
        "event": (message.attributes or {})["content"],
        "message": (exception.attributes or {})["exception.message"],
        "stacktrace": (exception.attributes or {})["exception.stacktrace"],
        "status": span.status.description,
        "keys": attributes.get(names.REDACTED_KEYS, ()),
    }


@pytest.mark.parametrize(
    ("content", "exceptions", "kept"),
    [
        ("redact", "drop", set()),
        ("redact", "keep", {"message", "stacktrace", "status"}),
        ("keep", "drop", {"arguments", "result", "event"}),
        ("keep", "keep", {"arguments", "result", "event", "message", "stacktrace", "status"}),
        ("redact_all", "drop", set()),
        ("redact_all", "keep", set()),
    ],
)
def test_each_setting_keeps_what_it_names(content: object, exceptions: object, kept: set[str]) -> None:
    """`CONTENT=keep` keeps arguments and results, `EXCEPTIONS=keep` messages, stack traces and status descriptions."""
    process = Process(Settings(content=content, exceptions=exceptions))
    failing_tool(process)
    found = seen(process)
    listed = found.pop("keys")
    for place, value in found.items():
        assert ("secret" in value) == (place in kept), place
        if place not in kept:
            assert value == REDACTED
    assert len(listed) == 6 - len(kept)


def test_what_was_removed_is_listed() -> None:
    """`loopguard.redacted.keys` names attributes, keys of events and the status, sorted."""
    process = Process()
    failing_tool(process)
    assert seen(process)["keys"] == (
        "exception/exception.message",
        "exception/exception.stacktrace",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.message/content",
        "status.description",
    )


def test_the_exceptions_type_stays() -> None:
    """A type is a name, not content."""
    process = Process()
    failing_tool(process)
    assert (process.tools[0].events[1].attributes or {})["exception.type"] == "ValueError"
    assert process.tools[0].status.status_code is trace.StatusCode.ERROR


def test_the_content_of_every_family_goes() -> None:
    """Several instrumentations write on one span: what any of them keeps is removed, whichever told what it is."""
    process = Process()
    process.call(arguments={"q": "x"}, **{"input.value": "secret", "traceloop.entity.input": "secret"})
    attributes = process.attributes[0]
    assert (attributes["input.value"], attributes["traceloop.entity.input"]) == (REDACTED, REDACTED)


def test_redact_all_reaches_every_span() -> None:
    """Messages of model and agent spans and of spans of no family go as well, with exceptions and status."""
    process = Process(Settings(content="redact_all"))
    with process.agent(**{"gen_ai.input.messages": "secret"}):
        process.model(**{"gen_ai.output.messages": "secret"})
        with pytest.raises(ValueError, match="secret"), process.tracer.start_as_current_span("POST"):
            raise ValueError("secret")
    assert len(process.spans) == 3
    for span in process.spans:
        assert "secret" not in span.to_json()
        assert (span.attributes or {})[names.REDACTED_KEYS]


def test_redact_leaves_other_spans_whole() -> None:
    """By default only tool spans lose content."""
    process = Process()
    with process.agent(**{"gen_ai.input.messages": "said"}):
        process.model(**{"gen_ai.output.messages": "said"})
    assert [list((span.attributes or {}).values()).count("said") for span in process.spans] == [1, 1]


def test_what_is_redacted_already_is_not_listed() -> None:
    """A span that arrives redacted is not said to have lost anything."""
    process = Process()
    process.call(arguments=REDACTED, result=...)
    assert names.REDACTED_KEYS not in process.attributes[0]


def test_the_callers_values_are_not_touched() -> None:
    """The mapping that the host handed in stays as it is."""
    process = Process()
    handed = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.tool.call.arguments": "{}"}
    with process.tracer.start_as_current_span("execute_tool x", attributes=handed):
        pass
    assert handed["gen_ai.tool.call.arguments"] == "{}"
    assert process.written("gen_ai.tool.call.arguments") == [REDACTED]


@pytest.mark.parametrize("content", ["redact", "keep"])
@pytest.mark.parametrize("most", [3, 4, 5, 6])
def test_an_evicted_operation_name(most: int, content: ContentMode) -> None:
    """Attributes that evict what makes a span a tool's leave its content no more readable."""
    process = Process(Settings(content=content), limits=SpanLimits(max_span_attributes=most))
    with process.tool(arguments="secret", result=...) as span:
        for number in range(most - 1):
            span.set_attribute(f"acme.{number}", number)
        span.set_attribute("gen_ai.tool.call.result", "secret")
    (attributes,) = process.attributes
    assert "gen_ai.operation.name" not in attributes
    assert attributes["gen_ai.tool.call.result"] == ("secret" if content == "keep" else REDACTED)
    assert len(attributes) == most
    assert process.tools[0].dropped_attributes > 0


@pytest.mark.parametrize("key", ["input.value", "traceloop.entity.output", "langfuse.observation.input"])
def test_an_evicted_kind(key: str) -> None:
    """Keys that other spans share are redacted where the kind of the span may have been evicted."""
    process = Process(limits=SpanLimits(max_span_attributes=3))
    attributes = {"openinference.span.kind": "TOOL", "acme.0": 0, "acme.1": 1}
    with process.tracer.start_as_current_span("work", attributes=attributes) as span:
        span.set_attribute(key, "secret")
    assert dict(process.spans[0].attributes or {}) == {"acme.0": 0, "acme.1": 1, key: REDACTED}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.tool.call.arguments": "secret"},
        {"gen_ai.tool.call.result": "secret"},
        {"gen_ai.operation.name": "chat", "gen_ai.tool.call.arguments": "secret"},
        {"gen_ai.operation.name": 7, "gen_ai.tool.call.arguments": "secret"},
        {"openinference.span.kind": "tool", "input.value": "secret"},
        {"tool.parameters": "secret"},
        {"ai.toolCall.result": "secret"},
    ],
)
def test_content_beside_a_wrong_marker(attributes: dict[str, Any]) -> None:
    """A span that says nothing of itself, or something else, keeps no content of a tool call; what went is listed."""
    process = Process()
    with process.tracer.start_as_current_span("work", attributes=attributes):
        pass
    written = dict(process.spans[0].attributes or {})
    assert "secret" not in written.values()
    assert written[names.REDACTED_KEYS] == tuple(key for key, value in attributes.items() if value == "secret")


def test_a_cut_operation_name() -> None:
    """A length limit that cuts `execute_tool` leaves the content no more readable."""
    process = Process(limits=SpanLimits(max_span_attribute_length=11))
    process.call(arguments="secret", result="secret")
    (attributes,) = process.attributes
    assert attributes["gen_ai.operation.name"] == "execute_too"
    assert (attributes["gen_ai.tool.call.arguments"], attributes["gen_ai.tool.call.result"]) == (REDACTED, REDACTED)
