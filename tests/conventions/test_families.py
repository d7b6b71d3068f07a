"""The smaller families: recorded spans where there are some, small ones from their rules where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from otel_loopguard.conventions import Event, RawCall, Record, read, role
from tests.support.recorded import UNKNOWN, Call, calls, content, roles

FILE = {"path": "notes/a.txt", "limit": 10}
HELLO = {"content": "hello"}
FAILED = Call("boom", {"x": 1}, is_error=True, error_type="ValueError", message="tool failed")


def _with(calls: list[Call], agent: str, run: str) -> list[Call]:
    return [replace(call, agent=agent, run=run) for call in calls]


def _adk(*, captured: bool) -> list[Call]:
    """The kit's script calls `read_file` once, then twice in parallel, the second time with another limit."""
    found = [
        Call("read_file", FILE, HELLO, "call_1"),
        Call("read_file", FILE, HELLO, "call_2"),
        Call("read_file", FILE | {"limit": 11}, HELLO, "call_3"),
        FAILED,
    ]
    return found if captured else [replace(call, arguments=UNKNOWN, result=UNKNOWN) for call in found]


MCP = [Call("read_file"), Call("read_file"), Call("boom", is_error=True, error_type="tool_error")]

RECORDED = {
    "google_adk_native": _with(_adk(captured=False), "probe_agent", "c839da68-6e00-498a-b40c-cb466219a35c"),
    "google_adk_native_content": _with(_adk(captured=True), "probe_agent", "98d29634-5673-4f94-a6dd-6afddb21aa52"),
    "google_adk_native_legacyschema": _with(_adk(captured=True), "probe_agent", "6011bd1d-71c7-40fb-85b4-7f6c90885c3d"),
    "google_adk_native_legacyschema_nocontent": _with(
        _adk(captured=False), "probe_agent", "3c298480-2a81-46ef-aa14-917de511b4ec"
    ),
    "google_adk_native_nocontent": _with(_adk(captured=False), "probe_agent", "55939413-39e1-4616-bb82-0eb4a7ad5b6b"),
    "haystack_otel": [Call("read_file"), Call("read_file"), Call("boom", is_error=True)],
    "langfuse_langchain": _with(
        [Call("read_file", FILE, HELLO, "call_1"), Call("read_file", FILE, HELLO, "call_2")], "", "sess-1"
    ),
    "mcp_native": MCP,
    "mcp_native_stdio_client": MCP[:2],
    "mcp_oi": MCP,
    "pydantic_ai_v2": _with(
        [
            Call("read_file", FILE, HELLO | {"ok": True}, "call_1"),
            Call("read_file", FILE, HELLO | {"ok": True}, "call_2"),
            Call("read_file", FILE, HELLO | {"ok": True}, "call_3"),
            replace(FAILED, call_id="call_err"),
        ],
        "probe_agent",
        "01a22913-70b4-7724-a835-0c516a0a27db",
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_spans(name: str, shared: Path) -> None:
    """Each recorded tool span is one call; batches and other requests of the protocol are none."""
    assert calls(shared / "spans" / f"{name}.json") == RECORDED[name]


def test_every_recording_has_an_expectation(shared: Path) -> None:
    """No recording lies there unread: each stands in exactly one of the tables of expectations."""
    from tests.conventions import test_gen_ai, test_openinference, test_openllmetry

    tables = [RECORDED, test_gen_ai.RECORDED, test_openinference.RECORDED, test_openllmetry.RECORDED]
    names = sorted(name for table in tables for name in table)
    assert names == sorted(path.stem for path in (shared / "spans").glob("*.json"))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("google_adk_native", ["step", "agent", "model", "model", "model"]),
        ("google_adk_native_legacyschema", ["agent", *["model", "model"] * 3]),
        ("haystack_otel", ["agent", *["step", "model"] * 4]),
        ("langfuse_langchain", ["agent", *["step", "model", "step"] * 2, "step", "model"]),
        ("mcp_native", []),
    ],
)
def test_recorded_roles(name: str, kinds: list[str], shared: Path) -> None:
    """Agents, models and steps are told apart, also where only a span's name tells."""
    assert [one.kind for one in roles(shared / "spans" / f"{name}.json")] == kinds


def _read(record: Record) -> RawCall:
    call = read(record)
    assert call is not None
    return call


ADK = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "now"}
ARGUMENTS = "gcp.vertex.agent.tool_call_args"
RESPONSE = "gcp.vertex.agent.tool_response"


@pytest.mark.parametrize(
    ("attributes", "arguments", "result"),
    [
        ({ARGUMENTS: "{}", RESPONSE: "{}"}, UNKNOWN, UNKNOWN),
        ({ARGUMENTS: "{}"}, UNKNOWN, UNKNOWN),
        ({ARGUMENTS: "{}", RESPONSE: '{"result": 7}'}, {}, {"result": 7}),
        ({ARGUMENTS: '{"a": 1}', RESPONSE: "{}"}, {"a": 1}, {}),
        ({ARGUMENTS: "N/A", RESPONSE: '{"result": 7}'}, UNKNOWN, {"result": 7}),
        ({ARGUMENTS: '{"a": 1}', RESPONSE: '{"result": "<not specified>"}'}, {"a": 1}, UNKNOWN),
        ({ARGUMENTS: "{}", RESPONSE: "{}", "gen_ai.tool.call.arguments": '{"a": 1}'}, {"a": 1}, UNKNOWN),
    ],
)
def test_google_adk(attributes: dict[str, object], arguments: object, result: object) -> None:
    """An empty object is a placeholder where both places have one; beside a response it is no arguments."""
    call = _read(Record("span", "execute_tool now", ADK | attributes))
    assert (content(call.arguments), content(call.result)) == (arguments, result)


def test_google_adk_transfer() -> None:
    """The kit's own tool hands the work to the agent in its argument."""
    attributes = ADK | {
        "gen_ai.tool.name": "transfer_to_agent",
        "gen_ai.tool.call.arguments": '{"agent_name": "billing"}',
        "gcp.vertex.agent.event_id": "e",
    }
    assert _read(Record("span", "execute_tool transfer_to_agent", attributes)).handoff_to == "billing"


LANGFUSE = {"langfuse.observation.type": "tool"}


@pytest.mark.parametrize(
    ("attributes", "arguments", "result"),
    [
        ({"langfuse.observation.input": '{"args": [], "kwargs": {"q": "a"}}'}, {"q": "a"}, UNKNOWN),
        ({"langfuse.observation.input": '{"args": ["a"], "kwargs": {}}'}, ["a"], UNKNOWN),
        ({"langfuse.observation.input": "{'q': 'a'}"}, {"q": "a"}, UNKNOWN),
        ({"langfuse.observation.output": '"found"'}, UNKNOWN, "found"),
        (
            {"langfuse.observation.output": '{"content": "hi", "type": "tool", "tool_call_id": "c1"}'},
            UNKNOWN,
            "hi",
        ),
    ],
)
def test_langfuse(attributes: dict[str, object], arguments: object, result: object) -> None:
    """The decorator's envelope comes off, the handler's message leaves its ids behind."""
    call = _read(Record("span", "search", LANGFUSE | attributes))
    assert (call.tool, content(call.arguments), content(call.result)) == ("search", arguments, result)


def test_langfuse_error() -> None:
    """A level of ERROR is a failure, told by the status message."""
    attributes = LANGFUSE | {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "no"}
    call = _read(Record("span", "search", attributes))
    assert (call.is_error, call.error_message) == (True, "no")


def test_langfuse_call_id() -> None:
    """Metadata is written as JSON, quotes included."""
    attributes = LANGFUSE | {"langfuse.observation.metadata.tool_call_id": '"call_1"', "session.id": "s"}
    call = _read(Record("span", "search", attributes))
    assert (call.call_id, call.conversation_id) == ("call_1", "s")


MLFLOW = {"mlflow.spanType": '"TOOL"', "mlflow.spanFunctionName": '"search"'}


@pytest.mark.parametrize("span_type", ['"TOOL"', "TOOL"])
def test_mlflow(span_type: str) -> None:
    """All attributes are JSON texts, and so is the type."""
    call = _read(
        Record(
            "span",
            "search_1",
            MLFLOW
            | {
                "mlflow.spanType": span_type,
                "mlflow.spanInputs": '{"q": "a", "n": 1}',
                "mlflow.spanOutputs": '"found"',
                "mlflow.traceRequestId": '"tr-1"',
            },
        )
    )
    assert (call.family, call.tool) == ("mlflow", "search")
    assert (content(call.arguments), content(call.result)) == ({"q": "a", "n": 1}, "found")


@pytest.mark.parametrize(
    ("span_type", "kind"), [('"AGENT"', "agent"), ('"CHAT_MODEL"', "model"), ('"LLM"', "model"), ('"CHAIN"', "step")]
)
def test_mlflow_roles(span_type: str, kind: str) -> None:
    """Types of spans are roles."""
    found = role(Record("span", "a", {"mlflow.spanType": span_type}))
    assert found is not None
    assert found.kind == kind


def test_vercel() -> None:
    """The older spans of the SDK."""
    attributes = {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "search",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": '{"q":"a"}',
        "ai.toolCall.result": '{"n":1}',
        "ai.telemetry.metadata.sessionId": "s",
    }
    call = _read(Record("span", "ai.toolCall", attributes))
    assert (call.family, call.tool, call.call_id, call.conversation_id) == ("vercel", "search", "c1", "s")
    assert (content(call.arguments), content(call.result)) == ({"q": "a"}, {"n": 1})


def test_vercel_newer() -> None:
    """The newer package follows the gen-AI conventions."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"q":"a"}',
        "gen_ai.agent.name": "helper",
    }
    call = _read(Record("span", "execute_tool search", attributes))
    assert (call.family, call.tool, call.agent) == ("gen_ai", "search", "helper")


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("ai.generateText", "agent"),
        ("ai.streamText", "agent"),
        ("ai.generateText.doGenerate", "model"),
        ("ai.streamText.doStream", "model"),
        ("ai.embed", None),
    ],
)
def test_vercel_roles(operation: str, kind: str | None) -> None:
    """`ai.generateText` runs tools until there is an answer; the model's own calls are below it."""
    found = role(Record("span", operation, {"ai.operationId": operation, "ai.telemetry.functionId": "helper"}))
    assert (found.kind if found else None) == kind
    assert (found.agent if found else None) == ("helper" if kind == "agent" else None)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {"haystack.agent.step.tool.input": '{"q": "a"}', "haystack.agent.step.tool.output": '{"n": 1}'},
            ({"q": "a"}, {"n": 1}, False, None),
        ),
        (
            {"haystack.tool.error": True, "haystack.agent.step.tool.output": '{"error": "no"}'},
            (UNKNOWN, {"error": "no"}, True, "no"),
        ),
        ({"haystack.tool.error": False}, (UNKNOWN, UNKNOWN, False, None)),
    ],
)
def test_haystack(attributes: dict[str, object], expected: tuple[object, object, bool, str | None]) -> None:
    """A failed tool leaves the status unset and a flag."""
    call = _read(Record("span", "haystack.agent.step.tool", {"haystack.tool.name": "search"} | attributes))
    assert (content(call.arguments), content(call.result), call.is_error, call.error_message) == expected


def test_haystack_batch() -> None:
    """Older versions write one span for all calls of a step, which names no tool and is no call."""
    batch = Record("span", "haystack.agent.step.tool", {"haystack.agent.step.tool.input": "{}"})
    assert read(batch) is None


OPENLIT = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "telemetry.sdk.name": "openlit"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{'q': 'a', 'n': [1, None]}", {"q": "a", "n": [1, None]}),
        ("{'n': [1, None], 'q': 'a'}", {"q": "a", "n": [1, None]}),
        ("{'q': 'aaaaaaa...", UNKNOWN),
        ("wait...", UNKNOWN),
    ],
)
def test_openlit(arguments: str, expected: object) -> None:
    """Arguments are Python text; three dots at the end may be where it cut them."""
    call = _read(Record("span", "execute_tool search", OPENLIT | {"gen_ai.tool.call.arguments": arguments}))
    assert (UNKNOWN if call.truncated else content(call.arguments)) == expected


def test_openlit_result() -> None:
    """A LangChain message as Python prints it leaves its ids behind."""
    result = "content='{\"n\": 1}' name='search' id='0f1' tool_call_id='call_1'"
    call = _read(Record("span", "t", OPENLIT | {"gen_ai.tool.call.result": result, "gen_ai.tool.call.id": "call_1"}))
    assert (content(call.result), call.call_id) == ({"n": 1}, "call_1")


@pytest.mark.parametrize(
    "written",
    [
        {"mcp.tool.arguments": '{"q": "a"}'},
        {"mcp.params": '{"name": "search", "arguments": {"q": "a"}}'},
        {"mcp.tool.arguments": '{"q": "a"}', "mcp.params": '{"name": "search", "arguments": {"q": "a"}}'},
    ],
)
def test_openlit_mcp(written: dict[str, object]) -> None:
    """MCP spans of its own."""
    attributes = {"mcp.tool.name": "search", "mcp.result": '{"n": 1}'} | written
    call = _read(Record("span", "mcp call_tool search", attributes))
    assert (call.family, call.tool) == ("openlit", "search")
    assert (content(call.arguments), content(call.result)) == ({"q": "a"}, {"n": 1})


@pytest.mark.parametrize(
    ("name", "attributes", "tool"),
    [
        ("tools/call search", {"gen_ai.tool.name": "search", "gen_ai.operation.name": "execute_tool"}, "search"),
        ("MCP send tools/call search", {}, "search"),
        ("tools/call do it", {}, "do it"),
        ("tools/list", {"mcp.method.name": "tools/list"}, None),
    ],
)
def test_mcp(name: str, attributes: dict[str, object], tool: str | None) -> None:
    """Only `tools/call` is a call; a client's span has the tool in its name alone."""
    record = Record("span", name, {"mcp.method.name": "tools/call", "jsonrpc.request.id": "3"} | attributes)
    call = read(record)
    assert (call.tool if call else None) == tool
    assert call is None or call.call_id is None


def test_mcp_content() -> None:
    """Arguments, result and session where they are opted in; an error may stand in the result alone."""
    attributes = {
        "mcp.method.name": "tools/call",
        "mcp.session.id": "m",
        "gen_ai.tool.name": "search",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.arguments": {"q": "a"},
        "gen_ai.tool.call.result": '{"content": [{"type": "text", "text": "no"}], "isError": true}',
    }
    call = _read(Record("span", "tools/call search", attributes))
    assert (content(call.arguments), call.channel_id, call.is_error) == ({"q": "a"}, "m", True)


CLAUDE = {
    "event.name": "tool_result",
    "session.id": "s",
    "prompt.id": "p",
    "tool_name": "Bash",
    "tool_use_id": "toolu_1",
    "success": "true",
    "tool_input_size_bytes": 27,
}


@pytest.mark.parametrize(
    ("attributes", "tool", "arguments"),
    [
        ({}, "Bash", UNKNOWN),
        ({"tool_input": '{"command":"ls","timeout":5}'}, "Bash", {"command": "ls", "timeout": 5}),
        ({"tool_input": '{"command":"ls…[truncated]'}, "Bash", UNKNOWN),
        ({"tool_input": "<5120 chars; not recorded>"}, "Bash", UNKNOWN),
        ({"tool_parameters": '{"bash_command":"ls","full_command":"ls -l"}'}, "Bash", {"command": "ls -l"}),
        ({"tool_name": "Read", "tool_parameters": '{"file_path":"a"}'}, "Read", UNKNOWN),
        (
            {"tool_name": "mcp_tool", "tool_parameters": '{"mcp_server_name":"fs","mcp_tool_name":"read"}'},
            "mcp__fs__read",
            UNKNOWN,
        ),
    ],
)
def test_claude_code(attributes: dict[str, object], tool: str, arguments: object) -> None:
    """Arguments only where details are logged; a summary of parameters is enough for a shell command alone."""
    call = _read(Record("log", "tool_result", CLAUDE | attributes, body="claude_code.tool_result"))
    assert (call.tool, UNKNOWN if call.truncated else content(call.arguments)) == (tool, arguments)
    assert (call.call_id, call.conversation_id, call.prompt_id, call.turn) == ("toolu_1", "s", "p", None)


@pytest.mark.parametrize(
    ("name", "body", "attributes", "found"),
    [
        ("claude_code.tool_result", "", CLAUDE, True),
        ("tool_result", "", CLAUDE, True),
        ("", "claude_code.tool_result", CLAUDE, True),
        ("tool_decision", "claude_code.tool_decision", CLAUDE, False),
        ("claude_code.api_request", "", {}, False),
        ("tool_result", "", {"tool_use_id": "t"}, False),
    ],
)
def test_claude_code_events(name: str, body: str, attributes: dict[str, object], found: bool) -> None:  # noqa: FBT001
    """The event is known by its name or its body."""
    assert (read(Record("log", name, attributes, body=body)) is not None) is found


def test_claude_code_failure() -> None:
    """A failure is told by a flag."""
    attributes = CLAUDE | {"success": "false", "error_type": "Error:ENOENT", "error": "no such file"}
    call = _read(Record("log", "claude_code.tool_result", attributes))
    assert (call.is_error, call.error_type, call.error_message) == (True, "Error:ENOENT", "no such file")


def test_claude_code_span() -> None:
    """The span of the beta, with the output that its event holds; its parts are no calls."""
    attributes = {
        "span.type": "tool",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": "toolu_1",
        "tool_name": "Bash",
        "tool_input": '{"command":"ls"}',
        "session.id": "s",
        "agent_id": "a1",
    }
    call = _read(Record("span", "claude_code.tool", attributes, [Event("tool.output", {"output": "a.txt"})]))
    assert (call.family, call.tool, call.call_id, call.agent) == ("claude_code", "Bash", "toolu_1", "a1")
    assert (content(call.arguments), call.result) == ({"command": "ls"}, "a.txt")
    for part in ("claude_code.tool.execution", "claude_code.tool.blocked_on_user"):
        assert read(Record("span", part, {"gen_ai.operation.name": "execute_tool", "session.id": "s"})) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [("claude_code.interaction", "agent"), ("claude_code.llm_request", "model"), ("claude_code.hook", "step")],
)
def test_claude_code_roles(name: str, kind: str) -> None:
    """One interaction for each user prompt."""
    found = role(Record("span", name, {"session.id": "s"}))
    assert found is not None
    assert (found.kind, found.conversation_id) == (kind, "s")


CODEX = {
    "event.name": "codex.tool_result",
    "conversation.id": "c",
    "tool_name": "shell",
    "call_id": "call_1",
    "arguments": '{"command":["ls"]}',
    "success": "true",
    "output": "a.txt",
}


@pytest.mark.parametrize("name", ["codex.tool_result", "event codex-rs/otel/src/events/session_telemetry.rs:9"])
def test_codex(name: str) -> None:
    """The log event of a finished call, whatever its appender calls it."""
    call = _read(Record("log", name, CODEX))
    assert (call.family, call.tool, call.call_id, call.conversation_id) == ("codex", "shell", "call_1", "c")
    assert (content(call.arguments), call.result, call.is_error) == ({"command": ["ls"]}, "a.txt", False)


def test_codex_failure() -> None:
    """A failed call's output is what the error said."""
    call = _read(Record("log", "codex.tool_result", CODEX | {"success": "false", "output": "no"}))
    assert (call.is_error, call.error_message) == (True, "no")


def test_codex_trace_event() -> None:
    """The trace event of the same name has lengths only and is no second call."""
    attributes = {key: value for key, value in CODEX.items() if key not in ("arguments", "output")}
    assert read(Record("log", "codex.tool_result", attributes | {"arguments_length": 18})) is None


GEMINI = {
    "event.name": "gemini_cli.tool_call",
    "session.id": "s",
    "prompt_id": "s########1",
    "function_name": "read_file",
    "success": True,
    "decision": "accept",
}


@pytest.mark.parametrize(
    ("attributes", "arguments"),
    [({}, UNKNOWN), ({"function_args": '{\n  "path": "a",\n  "limit": 1\n}'}, {"limit": 1, "path": "a"})],
)
def test_gemini_cli(attributes: dict[str, object], arguments: object) -> None:
    """The event of a finished call; its prompt is the user's message, not a turn."""
    call = _read(Record("log", "gemini_cli.tool_call", GEMINI | attributes))
    assert (call.tool, content(call.arguments)) == ("read_file", arguments)
    assert (call.conversation_id, call.prompt_id, call.turn, call.is_error) == ("s", "s########1", None, False)


def test_gemini_cli_failure() -> None:
    """A failure is told by a flag, with a type and a message."""
    attributes = GEMINI | {"success": False, "error": "no", "error.message": "no", "error_type": "file_not_found"}
    call = _read(Record("log", "gemini_cli.tool_call", attributes))
    assert (call.is_error, call.error_type, call.error_message) == (True, "file_not_found", "no")


REQUEST = '{"callId":"c1","name":"read_file","args":{"path":"a"},"prompt_id":"p"}'
ANSWER = (
    '{"status":"success","durationMs":12,"response":{"callId":"c1","responseParts":[{"functionResponse":'
    '{"id":"c1","name":"read_file","response":{"output":"text"}}}]}}'
)


@pytest.mark.parametrize(
    ("request_text", "answer", "expected"),
    [
        (REQUEST, ANSWER, ({"path": "a"}, {"output": "text"})),
        (REQUEST[:30] + "...[TRUNCATED: original length 12000]", ANSWER, (UNKNOWN, {"output": "text"})),
        (REQUEST, ANSWER[:60] + "...[TRUNCATED: original length 12000]", ({"path": "a"}, UNKNOWN)),
    ],
)
def test_gemini_cli_span(request_text: str, answer: str, expected: tuple[object, object]) -> None:
    """Request and answer stand where other spans have messages, without durations and ids, or cut."""
    attributes = {
        "gen_ai.operation.name": "tool_call",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call_id": "c1",
        "gen_ai.agent.name": "gemini-cli",
        "gen_ai.conversation.id": "s",
        "gen_ai.input.messages": request_text,
        "gen_ai.output.messages": answer,
    }
    call = _read(Record("span", "tool_call", attributes))
    assert (call.tool, call.call_id, call.conversation_id) == ("read_file", "c1", "s")
    assert (UNKNOWN if call.truncated else content(call.arguments), content(call.result)) == expected


def test_autogen_beside_openinference() -> None:
    """Both write a span for one call, nested: the outer one knows the arguments, the inner one the call's id."""
    outer = _read(
        Record(
            "span",
            "agent.search",
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "search",
                "input.value": '{"q": "a"}',
                "tool.parameters": '{"q": "a"}',
                "output.value": "found",
            },
        )
    )
    inner = _read(
        Record(
            "span",
            "execute_tool search",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"},
        )
    )
    assert outer.tool == inner.tool
    assert (content(outer.arguments), content(inner.arguments), inner.call_id) == ({"q": "a"}, UNKNOWN, "c1")
