"""Redaction: what each setting takes from a span, and that no content survives it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard import redact
from otel_loopguard.conventions import CONTENT, Event, Record, read
from otel_loopguard.names import REDACTED
from otel_loopguard.redact import NOTHING, STATUS_KEY, ContentMode, ExceptionMode, Redaction, redaction
from tests.support.recorded import records

TOOL = Record(
    "span",
    "execute_tool search",
    {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.description": "Looks things up.",
        "gen_ai.tool.call.arguments": '{"q":"canary"}',
        "gen_ai.tool.call.result": {"found": ["canary"]},
        "input.value": "canary",
        "llm.input_messages.0.message.content": "canary",
        "session.id": "s",
        "acme.customer": "c",
    },
    events=[
        Event("gen_ai.choice", {"message": "canary", "id": "c1"}),
        Event(
            "exception",
            {"exception.type": "KeyError", "exception.message": "canary", "exception.stacktrace": "canary"},
        ),
        Event("retry", {"attempt": 2}),
    ],
    error=True,
    status_message="canary",
)
MODEL = Record("span", "chat", {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "canary", "http.route": "/"})

CONTENT_KEYS = [
    "gen_ai.choice/message",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "input.value",
    "llm.input_messages.0.message.content",
]
EXCEPTION_KEYS = ["exception/exception.message", "exception/exception.stacktrace", "status.description"]


@pytest.mark.parametrize(
    ("content", "exceptions", "keys"),
    [
        ("redact", "drop", sorted([*CONTENT_KEYS, *EXCEPTION_KEYS])),
        ("redact", "keep", CONTENT_KEYS),
        ("keep", "drop", EXCEPTION_KEYS),
        ("keep", "keep", []),
        ("redact_all", "drop", sorted([*CONTENT_KEYS, *EXCEPTION_KEYS])),
        ("redact_all", "keep", sorted([*CONTENT_KEYS, *EXCEPTION_KEYS])),
    ],
)
def test_settings_on_a_tool_span(content: ContentMode, exceptions: ExceptionMode, keys: list[str]) -> None:
    """Each setting keeps what it names and nothing else; `redact_all` keeps nothing, whatever the other says."""
    assert redaction(TOOL, is_tool=True, content=content, exceptions=exceptions).keys == tuple(keys)


def test_what_stays() -> None:
    """Names, ids, descriptions, exception types, other people's attributes and the order of events stay."""
    found = redaction(TOOL, is_tool=True, content="redact", exceptions="drop")
    assert _apply(TOOL, found) == (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.description": "Looks things up.",
            "gen_ai.tool.call.arguments": REDACTED,
            "gen_ai.tool.call.result": REDACTED,
            "input.value": REDACTED,
            "llm.input_messages.0.message.content": REDACTED,
            "session.id": "s",
            "acme.customer": "c",
        },
        [
            Event("gen_ai.choice", {"message": REDACTED, "id": "c1"}),
            Event(
                "exception",
                {"exception.type": "KeyError", "exception.message": REDACTED, "exception.stacktrace": REDACTED},
            ),
            Event("retry", {"attempt": 2}),
        ],
        REDACTED,
    )


@pytest.mark.parametrize(
    ("content", "keys"), [("redact", ()), ("keep", ()), ("redact_all", ("gen_ai.input.messages",))]
)
def test_settings_on_another_span(content: ContentMode, keys: tuple[str, ...]) -> None:
    """Spans that are no tool calls lose their messages to `redact_all` alone."""
    assert redaction(MODEL, is_tool=False, content=content, exceptions="drop").keys == keys


def test_redact_all_takes_exceptions_of_every_span() -> None:
    """An agent's span holds a tool's error text too."""
    record = Record("span", "GET /", {}, [Event("exception", {"exception.message": "canary"})], status_message="canary")
    found = redaction(record, is_tool=False, content="redact_all", exceptions="keep")
    assert found.keys == ("exception/exception.message", "status.description")


@pytest.mark.parametrize(
    "record",
    [
        Record("span", "t", {}),
        Record("span", "t", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}),
        Record("span", "t", {"gen_ai.tool.call.arguments": REDACTED}, status_message=REDACTED),
        Record("span", "t", {}, [Event("exception", {"exception.type": "KeyError", "exception.message": REDACTED})]),
    ],
)
def test_nothing_to_remove(record: Record) -> None:
    """Where there is no content, or none any more, the answer is one shared object."""
    assert redaction(record, is_tool=True, content="redact", exceptions="drop") is NOTHING


def test_events_stay_where_they_hold_nothing() -> None:
    """Events are rewritten only where one of them holds content: rewriting them is the costly part."""
    record = Record("span", "t", {"input.value": "canary"}, [Event("retry", {"attempt": 1})])
    found = redaction(record, is_tool=True, content="redact", exceptions="drop")
    assert (found.attributes, found.keys) == ({"input.value": REDACTED}, ("input.value",))
    assert (found.events, found.drop_status) == (None, False)


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.prompt.0.content",
        "gen_ai.completion.0.tool_calls.0.arguments",
        "llm.input_messages.3.message.tool_calls.0.tool_call.function.arguments",
        "llm.output_messages.0.message.content",
        "tool.parameters",
        "error.message",
    ],
)
def test_numbered_and_nested_keys(key: str) -> None:
    """Lists that are flattened into numbered keys are content at any depth."""
    record = Record("span", "t", {key: "canary"})
    assert redaction(record, is_tool=True, content="redact", exceptions="drop").keys == (key,)


def _apply(record: Record, found: Redaction) -> tuple[dict[str, object], list[Event], str]:
    return (
        {**record.attributes, **found.attributes},
        list(record.events if found.events is None else found.events),
        REDACTED if found.drop_status else record.status_message,
    )


def _planted(record: Record, canary: str) -> Record:
    """The record with a canary wherever something stands that is not on the list of names."""
    return Record(
        "span",
        record.name,
        {key: value if _names(key) else canary for key, value in record.attributes.items()},
        [
            Event(event.name, {key: value if _names(key) else canary for key, value in event.attributes.items()})
            for event in record.events
        ],
        scope=record.scope,
        trace_id=record.trace_id,
        span_id=record.span_id,
        parent_span_id=record.parent_span_id,
        error=record.error,
        status_message=canary if record.status_message else "",
    )


NAMING = frozenset(
    """
    agent.name crew_id crew_key error.type event_loop.cycle_id exception.escaped exception.type finish_reason
    gen_ai.agent.call.id gen_ai.agent.name gen_ai.conversation.id gen_ai.event.end_time gen_ai.event.start_time
    gen_ai.operation.name gen_ai.provider.name gen_ai.system gen_ai.task.status gen_ai.tool.call.id
    gen_ai.tool.description gen_ai.tool.json_schema gen_ai.tool.name gen_ai.tool.status gen_ai.tool.type id
    input.mime_type jsonrpc.request.id logfire.json_schema logfire.msg mcp.method.name mcp.protocol.version metadata
    openinference.span.kind output.mime_type role session.id tool.agent_role tool.class tool.description tool.id
    tool.name tool.run_attempts tool.task_name tool_call.id user.id haystack.tool.description haystack.tool.error
    haystack.tool.name agent_framework.function.invocation.duration gcp.vertex.agent.event_id llm.system
    traceloop.entity.name traceloop.entity.path traceloop.span.kind traceloop.workflow.name langfuse.observation.type
    """.split()  # noqa: SIM905 (a list of a hundred quotes reads worse)
)
"""Attributes of recorded tool spans that name, number or describe, and hold nothing of a call's content."""
NAMING_PREFIXES = (
    "traceloop.association.properties.", "langfuse.observation.metadata.", "langfuse.trace.metadata.",
)  # fmt: skip


def _names(key: str) -> bool:
    return key in NAMING or key.startswith(NAMING_PREFIXES)


def _tool_spans(shared: Path) -> list[Record]:
    spans = itertools.chain.from_iterable(records(path) for path in sorted((shared / "spans").glob("*.json")))
    return [span for span in spans if read(span) is not None]


def test_no_canary_survives(shared: Path) -> None:
    """In no recorded tool span is anything left that is not on the list of names."""
    spans = _tool_spans(shared)
    assert len(spans) > 90
    for span in spans:
        record = _planted(span, "canary-7f3a")
        found = redaction(record, is_tool=True, content="redact", exceptions="drop")
        attributes, events, status = _apply(record, found)
        assert "canary-7f3a" not in json.dumps([attributes, [event.attributes for event in events], status]), span.name


@pytest.mark.parametrize("key", sorted(CONTENT.tool))
def test_every_key_counts(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one of the keys a span that has it would leave with its content: the test above would fail."""
    record = Record("span", "t", {key: "canary"})
    assert redaction(record, is_tool=True, content="redact", exceptions="drop").keys == (key,)
    monkeypatch.setattr(redact, "_KEYS", redact._KEYS - {key})
    redact._holds_any.cache_clear()
    redact._of_attributes.cache_clear()
    try:
        assert (
            key.startswith(redact._PREFIXES)
            or redaction(record, is_tool=True, content="redact", exceptions="drop") is NOTHING
        )
    finally:
        redact._holds_any.cache_clear()
        redact._of_attributes.cache_clear()


TEXT_KEYS = st.sampled_from(
    [*sorted(CONTENT.tool | CONTENT.messages | CONTENT.events), "acme.note", "exception.message"]
)


@given(
    st.dictionaries(TEXT_KEYS, st.sampled_from(["canary", REDACTED, "", 7, ["canary"], {"a": "canary"}, None])),
    st.lists(st.builds(Event, st.text(max_size=3), st.dictionaries(TEXT_KEYS, st.sampled_from(["canary", REDACTED])))),
    st.sampled_from(["", "canary", REDACTED]),
)
def test_any_span(attributes: dict[str, object], events: list[Event], status: str) -> None:
    """Whatever stands where: nothing of content is left, everything else is, and the list says what went."""
    record = Record("span", "t", attributes, events, status_message=status)
    found = redaction(record, is_tool=True, content="redact", exceptions="drop")
    after, rewritten, described = _apply(record, found)
    assert all(value == REDACTED for key, value in after.items() if key != "acme.note")
    assert after.get("acme.note") == attributes.get("acme.note")
    assert [event.name for event in rewritten] == [event.name for event in events]
    assert all(value == REDACTED for e in rewritten for key, value in e.attributes.items() if key != "acme.note")
    assert described in ("", REDACTED)
    assert list(found.keys) == sorted(set(found.keys))
    assert (found is NOTHING) == (not found.keys)
    again = Record("span", "t", after, rewritten, status_message=described)
    assert redaction(again, is_tool=True, content="redact", exceptions="drop") is NOTHING


SAID = ("notes/a.txt", "hello", "tool failed", "Please try again", '"text":"go"', '"content": "go"', "'go'")
"""What arguments, results, errors and messages of the recorded scripts say."""


def test_nothing_that_was_said_survives_redact_all(shared: Path) -> None:
    """Of no recorded span, of whatever kind, does anything leave that the scripts said."""
    spans = itertools.chain.from_iterable(records(path) for path in sorted((shared / "spans").glob("*.json")))
    seen = 0
    for span in spans:
        found = redaction(span, is_tool=read(span) is not None, content="redact_all", exceptions="keep")
        seen += found is not NOTHING
        attributes, events, status = _apply(span, found)
        left = json.dumps([attributes, [event.attributes for event in events], status])
        assert not [word for word in SAID if word in left], (span.name, span.scope)
    assert seen > 250


ONLY_TOOL_KEYS = [
    "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.input", "gen_ai.tool.output",
    "tool_arguments", "tool_response", "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response",
    "ai.toolCall.args", "ai.toolCall.result", "haystack.agent.step.tool.input", "haystack.agent.step.tool.output",
    "tool.parameters", "tool_call.function.arguments", "mcp.tool.arguments", "mcp.tool.result", "gen_ai.tool.args",
    "gen_ai.agent.action.tool_input", "gen_ai.agent.tool_results", "tool_input", "tool_parameters", "tool_output",
]  # fmt: skip


@pytest.mark.parametrize("operation", [None, "chat", "invoke_agent", "execute_too", 7])
@pytest.mark.parametrize("key", ONLY_TOOL_KEYS)
def test_a_tool_calls_own_keys_go_from_every_span(key: str, operation: object) -> None:
    """What only a tool call has is removed whatever the span says it is, and kept by `keep` alone."""
    attributes = {key: "canary"} if operation is None else {key: "canary", "gen_ai.operation.name": operation}
    record = Record("span", "work", attributes)
    found = redaction(record, is_tool=False, content="redact", exceptions="drop")
    assert (found.attributes, found.keys) == ({key: REDACTED}, (key,))
    assert redaction(record, is_tool=False, content="keep", exceptions="drop") is NOTHING


def test_the_tool_calls_own_keys_are_known() -> None:
    """The keys above are all there are, and each is a key of tool spans too."""
    assert frozenset(ONLY_TOOL_KEYS) == CONTENT.only_tool
    assert CONTENT.only_tool <= CONTENT.tool


def test_a_models_span_keeps_the_rest() -> None:
    """A span that says whose it is loses the tool call's content, also from events, and nothing else."""
    record = Record(
        "span",
        "chat",
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "said", "gen_ai.tool.call.result": "canary"},
        events=[Event("exception", {"exception.message": "said"}), Event("tool", {"tool_arguments": "canary"})],
        status_message="said",
    )
    found = redaction(record, is_tool=False, content="redact", exceptions="drop")
    assert found.keys == ("gen_ai.tool.call.result", "tool/tool_arguments")
    assert not found.drop_status


def test_a_span_that_does_not_say_what_it_is_counts_as_a_tools() -> None:
    """Beside a tool call's content the keys that other spans share, and errors, are taken to be the tool's."""
    attributes = {"tool.parameters": "canary", "input.value": "canary", "acme.customer": "c"}
    record = Record("span", "work", attributes, status_message="canary")
    found = redaction(record, is_tool=False, content="redact", exceptions="drop")
    assert found.keys == ("input.value", STATUS_KEY, "tool.parameters")


@pytest.mark.parametrize(
    ("attributes", "is_incomplete", "keys"),
    [
        ({"input.value": "said"}, False, ()),
        ({"input.value": "canary"}, True, ("input.value",)),
        ({"input.value": "said", "openinference.span.kind": "LLM"}, True, ()),
        ({"http.route": "/"}, True, ()),
    ],
)
def test_a_span_that_lost_attributes(attributes: dict[str, object], is_incomplete: bool, keys: tuple[str, ...]) -> None:  # noqa: FBT001
    """What an evicted attribute may have called a tool's is taken for one, unless another one says whose it is."""
    record = Record("span", "GET /", attributes)
    found = redaction(record, is_tool=False, content="redact", exceptions="drop", is_incomplete=is_incomplete)
    assert found.keys == keys
