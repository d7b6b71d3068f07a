"""OpenLLMetry (Traceloop): recorded spans, and each of its envelopes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from otel_loopguard.conventions import Record, read, role
from tests.support.recorded import UNKNOWN, Call, calls, content, roles

FILE = {"path": "notes/a.txt", "limit": 10}
HELLO = {"content": "hello"}
SAID = "{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'boom', "
SAID += "'error': 'Tool execution failed. Error details are redacted.'}}"
ANSWERED = "An error occurred while running the tool. Please try again."


def _with(calls: list[Call], agent: str, run: str) -> list[Call]:
    return [replace(call, agent=agent, run=run) for call in calls]


RECORDED = {
    "agno_tl": _with(
        [
            Call("read_file", FILE, "hello"),
            Call("read_file", FILE, "hello"),
            Call("boom", {"x": 1}, "tool failed", is_error=True, message="tool failed"),
        ],
        "probe_agent",
        "trace",
    ),
    "crewai_tl": [],
    "langchain_tl": _with(
        [
            Call("read_file", FILE, HELLO, "call_1"),
            Call("read_file", FILE, HELLO, "call_2"),
            Call("boom", {"x": 1}, UNKNOWN, "call_err", "ValueError", "tool failed", is_error=True),
        ],
        "LangGraph",
        "sess-1",
    ),
    "langchain_tl_nocontent": _with(
        [
            Call("read_file"),
            Call("read_file"),
            Call("boom", error_type="ValueError", message="tool failed", is_error=True),
        ],
        "LangGraph",
        "sess-1",
    ),
    "mcp_tl_v1_nocontent": [
        Call("read_file"),
        Call("read_file"),
        Call("boom", error_type="tool_error", is_error=True),
    ],
    "openai_agents_tl": _with(
        [
            Call("read_file", FILE, HELLO),
            Call("read_file", FILE, HELLO),
            Call("boom", {"x": 1}, ANSWERED, is_error=True, message=SAID),
        ],
        "probe_agent",
        "trace",
    ),
    "openai_agents_tl_nocontent": _with(
        [Call("read_file"), Call("read_file"), Call("boom", is_error=True, message=SAID)], "probe_agent", "trace"
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_spans(name: str, shared: Path) -> None:
    """Each recorded tool span is one call; step numbers, checkpoints and call ids stay out of its arguments."""
    assert calls(shared / "spans" / f"{name}.json") == RECORDED[name]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("agno_tl", ["agent"]),
        ("crewai_tl", ["agent", "agent", "agent"]),
        ("openai_agents_tl", ["step", "agent"]),
        ("mcp_tl_v1_nocontent", []),
    ],
)
def test_recorded_roles(name: str, kinds: list[str], shared: Path) -> None:
    """Agents by kind or by the gen-AI operation beside it; workflows are steps."""
    assert [one.kind for one in roles(shared / "spans" / f"{name}.json")] == kinds


TOOL = {"traceloop.span.kind": "tool", "traceloop.entity.name": "search"}
CALLBACK = '{"input_str": "{\'q\': \'a\'}", "tags": ["seq:step:1"], "metadata": {"langgraph_step": 2}, "inputs": %s, '
CALLBACK += '"kwargs": {"color": "green", "tool_call_id": "c1"}}'


@pytest.mark.parametrize(
    ("written", "arguments", "call_id"),
    [
        ('{"q": "a"}', {"q": "a"}, None),
        (CALLBACK % '{"q": "a"}', {"q": "a"}, "c1"),
        (CALLBACK % "null", {"q": "a"}, "c1"),
        ('{"tool_name": "search", "arguments": {"q": "a"}}', {"q": "a"}, None),
        ('{"tool_name": "search", "arguments": null}', {}, None),
        ('{"tool_name": "other", "arguments": {"q": "a"}}', {"tool_name": "other", "arguments": {"q": "a"}}, None),
        ('{"args": ["a"], "kwargs": {}}', ["a"], None),
        ('{"args": [], "kwargs": {"q": "a"}}', {"q": "a"}, None),
        ("a", "a", None),
        (CALLBACK[:90], UNKNOWN, None),
        (CALLBACK % ('{"q": "' + "a" * 200), UNKNOWN, None),
    ],
)
def test_envelopes_of_arguments(written: str, arguments: object, call_id: str | None) -> None:
    """Every instrumentation has its envelope; a name that tells calls apart is never thrown away."""
    call = read(Record("span", "search.tool", TOOL | {"traceloop.entity.input": written}))
    assert call is not None
    assert (content(call.arguments), call.call_id) == (arguments, call_id)


def test_envelope_without_its_markers() -> None:
    """Where a filter took the family's own attributes away, its envelope in the gen-AI attribute is still known."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": CALLBACK % '{"q": "a"}',
    }
    call = read(Record("span", "execute_tool search", attributes))
    assert call is not None
    assert (call.arguments, call.call_id) == ('{"q": "a"}', "c1")


@pytest.mark.parametrize(
    ("output", "result", "is_error"),
    [
        ('{"output": "found", "kwargs": {"tags": ["seq:step:1"]}}', "found", False),
        ('{"output": {"n": 1}, "kwargs": {}}', {"n": 1}, False),
        ('{"output": {"lc": 1, "kwargs": {"content": "no", "tool_call_id": "c1", "status": "error"}}}', "no", True),
        ('{"result": "found"}', "found", False),
        ('{"result": "no", "is_error": true}', "no", True),
        ('{"result": "found", "more": 1}', {"result": "found", "more": 1}, False),
        ("status='success' result={'n': 1} error=None updated_session_state=None images=None", {"n": 1}, False),
        ("status='failure' result=None error=\"it's\" updated_session_state=None images=None", "it's", True),
        ("status='success' and more", "status='success' and more", False),
        ('"found"', "found", False),
    ],
)
def test_envelopes_of_results(output: str, result: object, is_error: bool) -> None:  # noqa: FBT001 (a table)
    """Results come out of their envelopes, with the failures that only an envelope tells."""
    call = read(Record("span", "search.tool", TOOL | {"traceloop.entity.output": output}))
    assert call is not None
    assert (content(call.result), call.is_error) == (result, is_error)


def test_llama_index() -> None:
    """LlamaIndex's tools have the kind of a task, and their name is in the output alone."""
    attributes = {
        "traceloop.span.kind": "task",
        "traceloop.entity.name": "FunctionTool",
        "traceloop.entity.input": '{"kwargs": {"q": "a"}}',
        "traceloop.entity.output": '{"tool_name": "search", "raw_output": "found", "is_error": false}',
    }
    del attributes["traceloop.entity.name"]
    call = read(Record("span", "FunctionTool.task", attributes))
    assert call is not None
    assert (call.tool, content(call.arguments), call.result) == ("search", {"q": "a"}, "found")
    assert read(Record("span", "SimpleRetriever.task", attributes)) is None


def test_name_of_the_span() -> None:
    """Where no attribute names the tool, the span's name does, without its suffix."""
    call = read(Record("span", "search.tool", {"traceloop.span.kind": "tool"}))
    assert call is not None
    assert call.tool == "search"


def test_handoff() -> None:
    """A hand-off of the OpenAI Agents SDK is a call that hands the work over."""
    attributes = {
        "traceloop.span.kind": "handoff",
        "gen_ai.operation.name": "handoff",
        "gen_ai.agent.name": "triage",
        "gen_ai.handoff.to_agent": "billing",
    }
    call = read(Record("span", "triage → billing.handoff", attributes))
    assert call is not None
    assert (call.tool, call.agent, call.handoff_to) == ("handoff to billing", "triage", "billing")


@pytest.mark.parametrize(
    ("properties", "conversation_id"),
    [
        ({"session_id": "s", "thread_id": "t"}, "s"),
        ({"thread_id": "t"}, "t"),
        ({"langgraph_step": 2}, None),
    ],
)
def test_sessions(properties: dict[str, object], conversation_id: str | None) -> None:
    """Sessions and threads come as association properties, among others that are none."""
    known = {f"traceloop.association.properties.{key}": value for key, value in properties.items()}
    call = read(Record("span", "search.tool", TOOL | known))
    found = role(Record("span", "a.workflow", {"traceloop.span.kind": "workflow"} | known))
    assert call is not None
    assert found is not None
    assert (call.conversation_id, found.conversation_id) == (conversation_id, conversation_id)
