"""The gen-AI semantic conventions: recorded spans of every package that follows them, and small spans for the traps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from otel_loopguard.conventions import ABSENT, Event, Record, read, role
from tests.support.recorded import UNKNOWN, Call, calls, content, roles

FILE = {"path": "notes/a.txt", "limit": 10}
HELLO = {"content": "hello"}
PYDANTIC = {"content": "hello", "ok": True}

SAID = "{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'boom', "
SAID += "'error': 'Tool execution failed. Error details are redacted.'}}"
"""What the OpenAI Agents SDK puts into the status of a failed call."""


def _run(
    agent: str, run: str, answer: object, *, captured: bool = True, ids: bool = True, **boom: str | None
) -> list[Call]:
    """Every recorded script calls `read_file` twice with its arguments in another order, then a tool that fails."""
    arguments, failing = (FILE, {"x": 1}) if captured else (UNKNOWN, UNKNOWN)
    failed: dict[str, Any] = {"is_error": True, "error_type": "ValueError", "message": "tool failed"}
    failed["call_id"] = "call_err" if ids else None
    return [
        Call("read_file", arguments, answer, "call_1" if ids else None, agent=agent, run=run),
        Call("read_file", arguments, answer, "call_2" if ids else None, agent=agent, run=run),
        Call("boom", failing, agent=agent, run=run, **(failed | boom)),
    ]


def _pydantic(run: str, *, captured: bool = True) -> list[Call]:
    """The Pydantic AI script asks for the same file three times."""
    found = _run("probe_agent", run, PYDANTIC if captured else UNKNOWN, captured=captured)
    failed = found[2] if captured else replace(found[2], message=None)
    return [*found[:2], replace(found[1], call_id="call_3"), failed]


RECORDED = {
    "agno_genai_content": _run("probe_agent", "sess-1", "hello", error_type="_OTHER"),
    "autogen_native": _run("probe_agent", "trace", UNKNOWN, captured=False),
    "langchain_genai": _run("", "thread-1", UNKNOWN, captured=False),
    "langchain_genai_content": _run("", "thread-1", HELLO),
    "llamaindex_genai_content": _run("probe_agent", "trace", "hello", result="tool failed"),
    "ms_agent_framework": _run("probe_agent", "trace", UNKNOWN, captured=False, message=None),
    "openai_agents_genai": _run(
        "probe_agent", "group-1", UNKNOWN, captured=False, ids=False, error_type="_OTHER", message=SAID
    ),
    "openai_agents_genai_content": _run(
        "probe_agent", "group-1", HELLO, ids=False, error_type="_OTHER", message=SAID,
        result="An error occurred while running the tool. Please try again.",
    ),
    "pydantic_ai_default": _pydantic("01a22913-3cb2-769f-a87a-caf21542ba55"),
    "pydantic_ai_default_nocontent": _pydantic("01a22913-9790-76e3-b715-faf54daec246", captured=False),
    "pydantic_ai_v4": _pydantic("01a22913-7c9e-72dd-900e-a5dbc07a21d5"),
    "pydantic_ai_v6": _pydantic("01a22913-889b-7459-9674-8b76bf8acf07"),
    "semantic_kernel": [
        Call("fs-read_file", call_id="call_1"),
        Call("fs-read_file", call_id="call_2"),
        Call("fs-boom", call_id="call_err", is_error=True, error_type="ValueError", message="tool failed"),
    ],
    "smolagents_genai": [],
    "smolagents_genai_content": [],
    "strands_native": _run("probe_agent", "sess-1", [{"text": "hello"}], result=[{"text": "Error: tool failed"}]),
    "strands_native_latest": _run("probe_agent", "sess-1", [{"text": "hello"}]),
    "strands_native_redacted": _run("probe_agent", "sess-1", UNKNOWN, captured=False),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_spans(name: str, shared: Path) -> None:
    """Each recorded tool span is one call, with its tool, arguments, result, id, error, agent and run."""
    assert calls(shared / "spans" / f"{name}.json") == RECORDED[name]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("agno_genai_content", ["agent"]),
        ("autogen_native", ["agent"]),
        ("langchain_genai", ["agent"]),
        ("ms_agent_framework", ["agent", "model", "model", "model", "model"]),
        ("openai_agents_genai", ["step", "agent"]),
        ("pydantic_ai_default", ["agent", "model", "model", "model", "model"]),
        ("semantic_kernel", []),
        ("smolagents_genai", ["agent"]),
        ("strands_native", ["agent", "step", "model", "step", "model", "step", "model", "step", "model"]),
    ],
)
def test_recorded_roles(name: str, kinds: list[str], shared: Path) -> None:
    """Agents, models and steps around the calls are told apart; creating an agent is none of them."""
    assert [one.kind for one in roles(shared / "spans" / f"{name}.json")] == kinds


TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}


@pytest.mark.parametrize(
    ("attributes", "arguments"),
    [
        ({"gen_ai.tool.call.arguments": '{"q":"a"}'}, {"q": "a"}),
        ({"gen_ai.tool.call.arguments": {"q": "a", "n": 1}}, {"q": "a", "n": 1}),
        ({"gen_ai.tool.call.arguments": "{'q': 'it\\'s', 'n': (1, True)}"}, {"q": "it's", "n": [1, True]}),
        ({"gen_ai.tool.call.arguments": ""}, ""),
        ({"gen_ai.tool.call.arguments": "a"}, "a"),
        ({"gen_ai.tool.input": "{'q': 'a'}"}, {"q": "a"}),
        ({"gen_ai.tool.call.arguments": "None"}, UNKNOWN),
        ({"gen_ai.tool.call.arguments": "[REDACTED]"}, UNKNOWN),
        ({"gen_ai.tool.call.arguments": "[REDACTED]", "gen_ai.tool.input": '{"q":"a"}'}, {"q": "a"}),
        ({}, UNKNOWN),
    ],
)
def test_forms_of_arguments(attributes: dict[str, object], arguments: object) -> None:
    """Arguments come as JSON text, as a map or as Python text; a placeholder for them is none."""
    call = read(Record("span", "execute_tool search", TOOL | attributes))
    assert call is not None
    assert content(call.arguments) == arguments


def test_events_of_another_call_are_not_taken() -> None:
    """Of a span's message events only those of its own call id are its arguments and result."""
    call = read(
        Record(
            "span",
            "execute_tool search",
            TOOL | {"gen_ai.tool.call.id": "c2"},
            events=[
                Event("gen_ai.tool.message", {"content": '{"q":"old"}', "id": "c1"}),
                Event("gen_ai.tool.message", {"content": '{"q":"new"}', "id": "c2"}),
                Event("gen_ai.choice", {"message": "found", "id": "c2"}),
            ],
        )
    )
    assert call is not None
    assert (call.arguments, call.result) == ('{"q":"new"}', "found")


@pytest.mark.parametrize("call_id", ["<not specified>", "unknown", "None", "N/A", ""])
def test_words_for_no_call_id(call_id: str) -> None:
    """What is written for a missing call id joins no two calls."""
    call = read(Record("span", "execute_tool search", TOOL | {"gen_ai.tool.call.id": call_id}))
    assert call is not None
    assert call.call_id is None


@pytest.mark.parametrize(
    ("name", "attributes", "tool"),
    [
        ("execute_tool search", {"gen_ai.operation.name": "execute_tool"}, "search"),
        ("execute_tool search", {"gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"}, "search"),
        ("tool_call", {"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "ls"}, "ls"),
        ("running tool", TOOL, "search"),
        ("chat m", {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "search"}, None),
        ("execute_tool (merged)", TOOL | {"gen_ai.tool.name": "(merged tools)"}, None),
        ("search.tool", {"gen_ai.tool.name": "search"}, None),
        ("search", {"gen_ai.operation.name": ["execute_tool"], "gen_ai.tool.name": "search"}, None),
    ],
)
def test_what_is_a_tool_span(name: str, attributes: dict[str, object], tool: str | None) -> None:
    """The operation tells, and the name where a count limit evicted the operation."""
    call = read(Record("span", name, attributes))
    assert (call.tool if call else None) == tool


def test_underscored_call_id() -> None:
    """Gemini CLI writes `gen_ai.tool.call_id`."""
    call = read(Record("span", "tool_call", TOOL | {"gen_ai.tool.call_id": "c1"}))
    assert call is not None
    assert call.call_id == "c1"


CUT = '{"path": "' + "a" * 200


@pytest.mark.parametrize(
    ("arguments", "limit", "truncated"),
    [
        ('{"q":"' + "a" * 92 + '"}', 100, True),
        ('{"q":"' + "a" * 91 + '"}', 100, False),
        ({"q": "a" * 100}, 100, True),
        ({"q": ["b", {"c": "a" * 100}]}, 100, True),
        ({"q": "a"}, 100, False),
        (CUT, None, True),
        (CUT, 1000, True),
        ('{"q": "short', None, False),
        ("echo {" + "a" * 200, None, False),
        ('{"a": 1} and more ' + "a" * 200, None, False),
        ('{"q":"a"…[truncated]', None, True),
    ],
)
def test_cut_arguments(arguments: object, limit: int | None, truncated: bool) -> None:  # noqa: FBT001 (a table)
    """Arguments that a limit or the instrumentation may have cut are not compared; a text that is none of JSON is."""
    call = read(
        Record("span", "execute_tool search", TOOL | {"gen_ai.tool.call.arguments": arguments}, length_limit=limit)
    )
    assert call is not None
    assert call.truncated is truncated


def test_cut_result() -> None:
    """A result as long as the limit allows is none: two that begin alike are not the same."""
    attributes = TOOL | {"gen_ai.tool.call.result": "a" * 50}
    whole = read(Record("span", "execute_tool search", attributes, length_limit=51))
    cut = read(Record("span", "execute_tool search", attributes, length_limit=50))
    assert whole is not None
    assert cut is not None
    assert (whole.result, cut.result) == ("a" * 50, ABSENT)


def test_marked_as_cut() -> None:
    """CrewAI says in an attribute of its own that it cut the arguments."""
    attributes = TOOL | {"gen_ai.tool.call.arguments": '{"q":"a"}', "gen_ai.tool.call.arguments.truncated": True}
    call = read(Record("span", "execute_tool search", attributes))
    assert call is not None
    assert call.truncated


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (Record("span", "t", TOOL), (False, None, None)),
        (Record("span", "t", TOOL, error=True, status_message="no"), (True, None, "no")),
        (Record("span", "t", TOOL | {"error.type": "timeout"}), (True, "timeout", None)),
        (
            Record(
                "span",
                "t",
                TOOL | {"error.type": "_OTHER"},
                events=[Event("exception", {"exception.type": "KeyError", "exception.message": "'a'"})],
                error=True,
                status_message="KeyError: 'a'",
            ),
            (True, "KeyError", "'a'"),
        ),
        (Record("span", "t", TOOL | {"gen_ai.tool.call.result": "no"}, error=True), (True, None, "no")),
        (Record("span", "t", TOOL | {"gen_ai.tool.status": "error"}), (True, None, None)),
        (Record("span", "t", TOOL, error=True, status_message="[REDACTED]"), (True, None, None)),
        (Record("span", "t", TOOL, events=[Event("exception", {"exception.type": "KeyError"})]), (False, None, None)),
    ],
)
def test_errors(record: Record, expected: tuple[bool, str | None, str | None]) -> None:
    """Status, `error.type` and the exception event tell an error; the exception's own words come first."""
    call = read(record)
    assert call is not None
    assert (call.is_error, call.error_type, call.error_message) == expected


def test_agent_ids() -> None:
    """An agent's span tells its name, the agent's run and the conversation."""
    found = role(
        Record(
            "span",
            "invoke_agent a",
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "gen_ai.agent.call.id": "r",
             "gen_ai.conversation.id": "c"},
        )
    )  # fmt: skip
    assert found is not None
    assert (found.kind, found.agent, found.agent_call_id, found.conversation_id) == ("agent", "a", "r", "c")
