"""OpenInference: recorded spans of its packages, and small spans for what differs between them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from otel_loopguard.conventions import Record, read, role
from tests.support.recorded import UNKNOWN, Call, calls, content, roles

FILE = {"path": "notes/a.txt", "limit": 10}
HELLO = {"content": "hello"}
FAILED = Call("boom", {"x": 1}, is_error=True, error_type="ValueError", message="tool failed")
SESSION = "075b3100-4430-4cc0-ba96-03fd1282c354"
PYDANTIC = "01a22913-a46e-75d6-bfbc-8120fdc8a33c"


def _with(calls: list[Call], agent: str, run: str) -> list[Call]:
    return [replace(call, agent=agent, run=run) for call in calls]


SAID = "Error running tool (non-fatal): {'tool_name': 'boom', "
SAID += "'error': 'Tool execution failed. Error details are redacted.'}"
ANSWERED = "An error occurred while running the tool. Please try again."
NON_FATAL = Call("boom", {"x": 1}, ANSWERED, is_error=True, message=SAID)

RECORDED = {
    "crewai_oi": [],
    "crewai_oi_react_events": _with(
        [
            Call("read_file", FILE, "hello"),
            Call("read_file", FILE | {"limit": 11}, "hello"),
            replace(FAILED, error_type=None),
            replace(FAILED, error_type=None),
            replace(FAILED, error_type=None),
        ],
        "probe_agent",
        "trace",
    ),
    "google_adk_oi_hide": _with(
        [
            Call("read_file", FILE, HELLO, "call_1"),
            Call("read_file", FILE, HELLO, "call_2"),
            Call("read_file", FILE | {"limit": 11}, HELLO, "call_3"),
            FAILED,
        ],
        "probe_agent",
        SESSION,
    ),
    "langchain_oi": _with(
        [Call("read_file", FILE, HELLO, "call_1"), Call("read_file", FILE, HELLO, "call_2"), FAILED], "", "sess-1"
    ),
    "langchain_oi_hide": _with(
        [Call("read_file"), Call("read_file"), replace(FAILED, arguments=UNKNOWN)], "", "sess-1"
    ),
    "llamaindex_oi": _with([Call("read_file", FILE, "hello"), Call("read_file", FILE, "hello"), FAILED], "", "trace"),
    "openai_agents_oi": _with(
        [Call("read_file", FILE, HELLO), Call("read_file", FILE, HELLO), NON_FATAL], "probe_agent", "trace"
    ),
    "openai_agents_oi_hide": _with(
        [
            Call("read_file", UNKNOWN, HELLO),
            Call("read_file", UNKNOWN, HELLO),
            replace(NON_FATAL, arguments=UNKNOWN),
        ],
        "probe_agent",
        "trace",
    ),
    "pydantic_ai_default_openinference": _with(
        [
            Call("read_file", FILE, HELLO | {"ok": True}, "call_1"),
            Call("read_file", FILE, HELLO | {"ok": True}, "call_2"),
            Call("read_file", FILE, HELLO | {"ok": True}, "call_3"),
            replace(FAILED, call_id="call_err"),
        ],
        "probe_agent",
        PYDANTIC,
    ),
    "smolagents_oi": _with(
        [
            Call("read_file", FILE, "hello"),
            Call("read_file", FILE, "hello"),
            FAILED,
            Call("final_answer", {"answer": "done"}, "done"),
        ],
        "ToolCallingAgent",
        "trace",
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_spans(name: str, shared: Path) -> None:
    """Each recorded TOOL span is one call, with its tool, arguments, result, id, error, agent and run."""
    assert calls(shared / "spans" / f"{name}.json") == RECORDED[name]


@pytest.mark.parametrize(
    ("name", "agents", "models", "steps"),
    [
        ("crewai_oi", ["probe_agent"], 0, 1),
        ("google_adk_oi_hide", ["probe_agent"], 1, 2),
        ("langchain_oi", [None], 3, 6),
        ("llamaindex_oi", [None], 4, 19),
        ("openai_agents_oi", [None, "probe_agent"], 0, 5),
        ("pydantic_ai_default_openinference", ["probe_agent"], 4, 0),
        ("smolagents_oi", ["ToolCallingAgent"], 0, 4),
    ],
)
def test_recorded_roles(name: str, agents: list[str | None], models: int, steps: int, shared: Path) -> None:
    """AGENT spans and the roots of LangGraph and LlamaIndex agents are agents, LLM spans models, the rest steps."""
    found = roles(shared / "spans" / f"{name}.json")
    counts = (
        [one.agent for one in found if one.kind == "agent"],
        sum(one.kind == "model" for one in found),
        sum(one.kind == "step" for one in found),
    )
    assert counts == (agents, models, steps)


TOOL = {"openinference.span.kind": "TOOL", "tool.name": "search"}
SCHEMA = '{"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}'
DESCRIBED = '{"q": {"type": "string", "description": "what to look for"}}'
TWO = '{"q": {"type": "string"}, "n": {"type": "integer", "nullable": true}}'


def _read(attributes: dict[str, object], name: str = "search") -> tuple[object, object]:
    call = read(Record("span", name, TOOL | attributes))
    assert call is not None
    return content(call.arguments), content(call.result)


@pytest.mark.parametrize(
    ("attributes", "arguments"),
    [
        ({"input.value": '{"q": "a"}'}, {"q": "a"}),
        ({"input.value": '{"q": "a"}', "tool.parameters": SCHEMA}, {"q": "a"}),
        ({"input.value": "a"}, "a"),
        ({"input.value": "{'q': 'a'}"}, {"q": "a"}),
        ({"input.value": '{"kwargs": {"q": "a"}}'}, {"q": "a"}),
        ({"input.value": '{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"q": "a"}}'}, {"q": "a"}),
        ({"input.value": '{"kwargs": "a"}'}, {"kwargs": "a"}),
        ({"input.value": '{"kwargs": {"q": "a"}, "q": 1}'}, {"kwargs": {"q": "a"}, "q": 1}),
        ({"input.value": '{"args": ["a"], "kwargs": {"n": 2}}'}, {"args": ["a"], "kwargs": {"n": 2}}),
        ({"input.value": '{"args": ["a", 2], "kwargs": {}}', "tool.parameters": TWO}, ["a", 2]),
        ({"input.value": '{"args": ["a"], "kwargs": {}}', "tool.parameters": TWO}, ["a"]),
        ({"input.value": '{"args": ["a"], "kwargs": {}}', "tool.parameters": DESCRIBED}, {"q": "a"}),
        ({"input.value": '{"args": ["a"], "kwargs": {}}', "tool.parameters": SCHEMA}, {"q": "a"}),
        ({"input.value": '{"args": [{"n": 1, "q": "a"}], "kwargs": {}}', "tool.parameters": TWO}, {"q": "a", "n": 1}),
        ({"input.value": '{"args": [{"z": 1}], "kwargs": {}}', "tool.parameters": TWO}, [{"z": 1}]),
        ({"input.value": '{"args": ["a"], "kwargs": {}}'}, ["a"]),
        ({"input.value": '["a"]', "tool.parameters": DESCRIBED}, ["a"]),
        ({"input.value": "__REDACTED__"}, UNKNOWN),
        ({"input.value": "__REDACTED__", "tool.parameters": '{"q": "a"}'}, {"q": "a"}),
        ({"input.value": "__REDACTED__", "tool.parameters": SCHEMA}, UNKNOWN),
        ({"input.value": "__REDACTED__", "tool.parameters": DESCRIBED}, UNKNOWN),
        ({"input.value": "__REDACTED__", "tool.parameters": "{}"}, UNKNOWN),
        ({"input.value": "__REDACTED__", "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.call.arguments": '{"q":"a"}'}, {"q": "a"}),
        ({"tool.parameters": '{"q": "a"}'}, {"q": "a"}),
        ({"tool.parameters": SCHEMA}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)  # fmt: skip
def test_arguments(attributes: dict[str, object], arguments: object) -> None:
    """Envelopes are taken off, schemas are no arguments, and what one key hides another may show."""
    assert _read(attributes)[0] == arguments


def test_nothing_in_an_envelope_is_lost() -> None:
    """What is inside an envelope keeps every digit and every member, like arguments without one."""
    call = read(Record("span", "t", TOOL | {"input.value": '{"kwargs": {"n": 123456789012345678901, "a": 1, "a": 2}}'}))
    assert call is not None
    assert call.arguments == '{"n": 123456789012345678901, "a": 1, "a": 2}'


@pytest.mark.parametrize(
    ("output", "result", "call_id"),
    [
        ('{"type": "tool", "data": {"content": "hi", "tool_call_id": "c1", "status": "success"}}', "hi", "c1"),
        ('{"content": [{"type": "text", "text": "hi"}], "type": "tool", "tool_call_id": "c1"}',
         [{"type": "text", "text": "hi"}], "c1"),
        ("content='hi' name='search' tool_call_id='c1'", "hi", "c1"),
        ("content='it\\'s' name='search' id='0123' tool_call_id='c1'", "it's", "c1"),
        ("content=[1, 2] name='search' id='0123' tool_call_id='c1'", "content=[1, 2] name='search'", "c1"),
        ('{"id":"c1","name":"search","response":{"n":1}}', {"n": 1}, "c1"),
        ('{"id":"c1","name":"other","response":{"n":1}}', {"id": "c1", "name": "other", "response": {"n": 1}}, None),
        ('{"blocks":[{"text":"1"}],"tool_name":"search","raw_output":{"n":1},"is_error":false}', {"n": 1}, None),
        ("plain", "plain", None),
        ("__REDACTED__", UNKNOWN, None),
    ],
)  # fmt: skip
def test_results(output: str, result: object, call_id: str | None) -> None:
    """A result leaves its message without the ids that differ on every call, and may tell the call's id."""
    call = read(Record("span", "search", TOOL | {"output.value": output}))
    assert call is not None
    assert (content(call.result), call.call_id) == (result, call_id)


@pytest.mark.parametrize(
    "output",
    [
        '{"content": "no", "type": "tool", "tool_call_id": "c1", "status": "error"}',
        "content='no' name='search' tool_call_id='c1' status='error'",
        '{"blocks":[],"tool_name":"search","raw_output":"no","is_error":true}',
    ],
)
def test_errors_in_results(output: str) -> None:
    """Frameworks that hand errors to the model say so in the result, while the span's status is OK."""
    call = read(Record("span", "search", TOOL | {"output.value": output}))
    assert call is not None
    assert (call.is_error, call.error_message) == (True, "no")


@pytest.mark.parametrize("key", ["tool.id", "tool_call.id", "tool.call_id", "gen_ai.tool.call.id"])
def test_call_ids(key: str) -> None:
    """Every package has its own key for the call id."""
    call = read(Record("span", "search", TOOL | {"gen_ai.operation.name": "execute_tool", key: "c1"}))
    assert call is not None
    assert call.call_id == "c1"


def test_handoff() -> None:
    """A hand-off of the OpenAI Agents SDK is a TOOL span with nothing but a name."""
    call = read(Record("span", "handoff to billing", {"openinference.span.kind": "TOOL"}))
    assert call is not None
    assert (call.tool, call.handoff_to) == ("handoff to billing", "billing")


def test_tool_without_a_name() -> None:
    """Where no attribute names the tool, the span does."""
    call = read(Record("span", "lookup", {"openinference.span.kind": "TOOL"}))
    assert call is not None
    assert (call.tool, call.handoff_to) == ("lookup", None)


@pytest.mark.parametrize(
    ("name", "metadata", "kind"),
    [
        ("LangGraph", None, "agent"),
        ("support", '{"ls_integration": "langchain_create_agent"}', "agent"),
        ("model", '{"ls_integration": "langchain_create_agent", "langgraph_node": "model"}', "step"),
        ("RunnableSequence", None, "step"),
    ],
)
def test_langgraph_roots(name: str, metadata: str | None, kind: str) -> None:
    """The root of a LangGraph agent is an agent's span although its kind is CHAIN; its nodes are steps."""
    attributes = {"openinference.span.kind": "CHAIN"} | ({"metadata": metadata} if metadata else {})
    found = role(Record("span", name, attributes))
    assert found is not None
    assert found.kind == kind


def test_real_corpus(shared: Path) -> None:
    """Every TOOL span of the recorded corpus is read, with arguments."""
    found = 0
    with gzip.open(shared / "corpus" / "trail.otlp.jsonl.gz", "rt") as lines:
        for line in lines:
            for batch in json.loads(line)["resourceSpans"]:
                for scope in batch["scopeSpans"]:
                    for span in scope["spans"]:
                        attributes = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
                        call = read(Record("span", span["name"], attributes, scope=scope["scope"]["name"]))
                        assert (call is not None) == (attributes.get("openinference.span.kind") == "TOOL")
                        if call is not None:
                            found += 1
                            assert isinstance(content(call.arguments), dict)
    assert found == 266


@pytest.mark.parametrize(("kind", "told"), [("tool", None), ("Tool", None), ("llm", "model"), ("agent", "agent")])
def test_kinds_in_any_case(kind: str, told: str | None) -> None:
    """A kind in lower case is the same kind."""
    record = Record("span", "work", {"openinference.span.kind": kind, "input.value": "{}"})
    assert (read(record) is not None) == (told is None)
    found = role(record)
    assert (None if found is None else found.kind) == told
