"""What a glance tells of a span is what the long way tells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Message
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.stream.glance import Glance
from otel_loopguard.stream.otlp import trace_records
from otel_loopguard.stream.reader import RecordReader
from otel_loopguard.stream.trace import Span, placed_alone
from otel_loopguard.stream.trace_request import trace_request
from tests.support.spans import annotated, span, traces

KEYS = Keyring(SecretKey(b"k" * 32, "k1"))
READER = RecordReader(Policy(), KEYS)
EMPTY = READER.reader_of("agent", "run").call("search", {}).fingerprint

Text = st.sampled_from(["", "-", "a", "execute_tool", "none", "[REDACTED]", "x" * 256, "x" * 257, "ok", "k1", EMPTY])
Value: st.SearchStrategy[Any] = Text | st.integers(-1, 2) | st.booleans() | st.just([]) | st.just(1.5) | st.none()
KEYS_READ = (
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result", "gen_ai.tool.status", "gen_ai.tool.call_id", "gen_ai.tool.input",
    "gen_ai.tool.call.arguments.truncated", "gen_ai.agent.name", "gen_ai.agent.call.id", "gen_ai.conversation.id",
    "session.id", "error.type", "loopguard.run.id", "loopguard.key.id", "loopguard.fingerprint",
    "loopguard.result.fingerprint", "loopguard.sequence", "loopguard.process.id", "loopguard.outcome",
    "loopguard.verdict", "loopguard.turn", "loopguard.user.message", "loopguard.handoff.agent",
    "loopguard.group.fingerprint", "loopguard.state.fingerprint", "loopguard.error.fingerprint",
    "loopguard.items.unseen", "loopguard.finding.kind", "openinference.span.kind", "mcp.method.name", "http.route",
)  # fmt: skip


def glances(spans: Iterable[Message], resource: dict[str, Any] | None = None) -> list[Span | None]:
    """What a glance tells of each span."""
    glance = Glance(READER.reader_of, is_scoped=False)
    (holder,) = trace_request(traces(spans, resource).SerializeToString()).resource_spans
    return [glance.read(one, "agent") for one in holder.scope_spans[0].spans]


def long_way(spans: Iterable[Message]) -> list[Span | None]:
    """What reading all of each span tells."""
    read = [READER.read(record) for record in trace_records(traces(spans))]
    return [None if one is None else placed_alone(one) for one in read]


def marked(**changes: Any) -> Message:  # noqa: ANN401
    """A tool span that our processor annotated, with some attributes changed; None takes one away."""
    attributes = {
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.agent.name": "triage",
        **{name.replace("__", "."): value for name, value in changes.items()},
    }
    message = annotated("run", 3, **attributes)
    kept = [pair for pair in message.attributes if attributes.get(pair.key, "") is not None]
    del message.attributes[:]
    message.attributes.extend(kept)
    return message


AT_A_GLANCE = [
    marked(),
    marked(gen_ai__agent__name=None, gen_ai__tool__call__id=None),
    marked(gen_ai__tool__call__arguments=None, gen_ai__tool__call__result=None),
    marked(loopguard__result__fingerprint=None),
    marked(loopguard__turn=4),
    marked(loopguard__fingerprint=EMPTY),
    marked(loopguard__outcome="empty"),
    marked(gen_ai__agent__name="-"),
    span("GET", {"http.request.method": "GET"}),
    span("nothing", {}),
    span("chat gpt", {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "-"}, parent="p"),
    span("agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "session.id": "s"}),
    span("plan", {"gen_ai.operation.name": "plan", "gen_ai.agent.call.id": "c", "gen_ai.conversation.id": "s"}),
]


def test_a_glance_tells_what_the_long_way_tells() -> None:
    """Spans that nobody knows, models, agents and marked calls without content are read at a glance, and the same."""
    assert glances(AT_A_GLANCE) == long_way(AT_A_GLANCE)


@pytest.mark.parametrize(
    "message",
    [
        marked(gen_ai__tool__call__arguments='{"q": 1}'),
        marked(gen_ai__tool__call__result="found"),
        marked(loopguard__outcome="error"),
        marked(loopguard__sequence="3"),
        marked(loopguard__user__message=True),
        marked(error__type="timeout"),
        marked(loopguard__fingerprint=None),
        marked(openinference__span__kind="TOOL"),
        marked(loopguard__run__id="x" * 257),
        span("execute_tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}),
        span("chat", {"gen_ai.operation.name": "chat", "gen_ai.agent.name": ""}),
        span("claude_code.tool", {}),
        span("user_prompt", {"gen_ai.operation.name": "user_prompt"}),
    ],
    ids=lambda message: message.name,
)
def test_what_needs_more_than_a_glance_is_left(message: Message) -> None:
    """Content, an error, a rare mark, another family or a strange value: such a span is read the long way."""
    assert glances([message]) == [None]


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(KEYS_READ), Value, max_size=6),
            st.sampled_from(["execute_tool", "chat", "invoke_agent", "embeddings", "", None]),
            st.booleans(),
            st.sampled_from(["search", "(merged tools)", "claude_code.tool", "loopguard.finding"]),
            st.booleans(),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_no_span_is_read_another_way(drawn: list[tuple[dict[str, Any], str | None, bool, str, bool, bool]]) -> None:
    """Whatever a span's attributes are, a glance tells nothing or what the long way tells."""
    spans: list[Message] = []
    for changes, operation, is_marked, name, is_error, has_event in drawn:
        base = marked() if is_marked else span(name, {} if operation is None else {"gen_ai.operation.name": operation})
        base.name = name
        kept = [pair for pair in base.attributes if pair.key not in changes]
        del base.attributes[:]
        written = {key: value for key, value in changes.items() if value is not None}
        base.attributes.extend([*kept, *span("x", written).attributes])
        if is_error:
            base.status.code = Status.STATUS_CODE_ERROR
        if has_event:
            base.events.add(name="loopguard.finding")
        spans.append(base)
    for found, expected in zip(glances(spans), long_way(spans), strict=True):
        assert found is None or found == expected


def test_a_scope_of_the_policy_is_read_the_long_way() -> None:
    """Where the policy separates histories by attributes, a call is not read at a glance; other spans are."""
    glance = Glance(READER.reader_of, is_scoped=True)
    (holder,) = trace_request(traces([marked(), span("GET", {})]).SerializeToString()).resource_spans
    call, other = holder.scope_spans[0].spans
    assert glance.read(call, "agent") is None
    assert glance.read(other, "agent") is not None


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_what_is_no_request_is_refused_as_ever(noise: bytes, place: int, byte: int) -> None:
    """Broken bytes are refused by the message with maps where they are by that of the protocol."""
    whole = bytearray(traces([marked()]).SerializeToString())
    whole[place % len(whole)] = byte
    for body in (noise, bytes(whole), bytes(whole[: place % len(whole)])):
        assert _is_refused(ExportTraceServiceRequest.FromString, body) == _is_refused(trace_request, body)


def _is_refused(parse: Any, body: bytes) -> bool:  # noqa: ANN401
    try:
        parse(body)
    except DecodeError:
        return True
    return False
