"""All conventions together: what one span of several families says, what is dismissed, what must not be forgotten."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import version
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating import attributes as semconv

from otel_loopguard import conventions, names
from otel_loopguard.conventions import CONTENT, CONVENTIONS, MARKERS, NAMES, Record, read, role
from otel_loopguard.conventions.gen_ai import IGNORED as GEN_AI_IGNORED
from otel_loopguard.conventions.mcp import IGNORED as MCP_IGNORED
from otel_loopguard.core.identifier import LONGEST

LONG = "x" * 1_000_000


def test_other_spans_are_dismissed() -> None:
    """A span with none of the markers is no call and no agent's, whatever it is called."""
    record = Record("span", "POST /tools/call", {"http.request.method": "POST", "url.path": "/tools", "tool": "a"})
    assert MARKERS.isdisjoint(record.attributes)
    assert read(record) is None
    assert role(record) is None


def test_later_families_fill_what_earlier_ones_leave() -> None:
    """One span, two instrumentations: hidden arguments of one are read from the other, so are ids and errors."""
    record = Record(
        "span",
        "execute_tool search",
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "search",
            "input.value": "__REDACTED__",
            "output.value": "__REDACTED__",
            "session.id": "s",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments": '{"q":"a"}',
            "gen_ai.tool.call.result": "found",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.agent.name": "a",
            "gen_ai.agent.call.id": "r",
        },
    )
    call = read(record)
    assert call is not None
    assert (call.family, call.arguments, call.result) == ("openinference", '{"q":"a"}', "found")
    assert (call.call_id, call.agent, call.agent_call_id, call.conversation_id) == ("c1", "a", "r", "s")


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": LONG, "gen_ai.agent.name": LONG,
         "gen_ai.tool.call.id": LONG, "gen_ai.agent.call.id": LONG, "gen_ai.conversation.id": LONG,
         "error.type": LONG},
        {"gen_ai.operation.name": "execute_tool"},
        {"openinference.span.kind": "TOOL", "tool.name": LONG, "session.id": LONG, "agent.name": LONG,
         "tool_call.id": LONG},
        {"traceloop.span.kind": "tool", "traceloop.entity.name": LONG, "traceloop.entity.input": "{}"},
        {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": "{}", "mlflow.trace.session": LONG},
        {"langfuse.observation.type": "tool", "langfuse.session.id": LONG},
        {"mcp.method.name": "tools/call", "gen_ai.tool.name": LONG, "mcp.session.id": LONG},
        {"ai.operationId": "ai.toolCall", "ai.toolCall.name": LONG, "ai.toolCall.id": LONG},
        {"gen_ai.operation.name": "execute_tool", names.RUN_ID: LONG, names.VERDICT: LONG, names.SEQUENCE: 1,
         names.PROCESS_ID: LONG, names.TURN: LONG, names.HANDOFF_AGENT: LONG, names.KEY_ID: LONG,
         names.FINGERPRINT: LONG},
    ],
)  # fmt: skip
def test_long_names_and_ids(attributes: dict[str, object]) -> None:
    """No name or id of a megabyte gets past reading, whatever the family; what differs at its end alone differs."""
    call, other = (
        read(Record("span", LONG + end, {key: _ending(value, end) for key, value in attributes.items()}))
        for end in ("", "!")
    )
    assert call is not None
    assert other is not None
    for marked in (call, call.marks):
        for field in () if marked is None else type(marked).__annotations__:
            value = getattr(marked, field)
            assert not isinstance(value, str) or len(value) <= LONGEST, field
    ids = ("tool", "call_id", "agent", "run_id", "agent_call_id", "conversation_id", "channel_id", "turn", "handoff_to")
    told = [field for field in ids if getattr(call, field) is not None]
    assert "tool" in told
    assert all(getattr(call, field) != getattr(other, field) for field in told)


def _ending(value: object, end: str) -> object:
    return value + end if value == LONG and isinstance(value, str) else value


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": LONG, "gen_ai.conversation.id": LONG},
        {"mlflow.spanType": '"AGENT"'},
        {"langfuse.observation.type": "agent", "langfuse.session.id": LONG},
        {names.RUN_ID: LONG},
    ],
)
def test_long_names_around(attributes: dict[str, object]) -> None:
    """Nor does one of a span around a call."""
    found = role(Record("span", LONG, attributes))
    assert found is not None
    told = [found.agent, found.run_id, found.agent_call_id, found.conversation_id]
    assert any(told)
    assert all(len(value) <= LONGEST for value in told if value)


def test_names_and_content_of_all() -> None:
    """Names are told apart, unions are unions, and no family keeps content under a key by which it is known."""
    assert len({convention.name for convention in CONVENTIONS}) == len(CONVENTIONS)
    for convention in CONVENTIONS:
        assert convention.markers <= MARKERS
        assert set(convention.names) <= set(NAMES)
        assert convention.content.tool <= CONTENT.tool
        assert convention.content.messages <= CONTENT.messages
        assert convention.content.events <= CONTENT.events
        assert set(convention.content.message_prefixes) <= set(CONTENT.message_prefixes)


def test_every_file_is_in_the_tuple() -> None:
    """A convention that is written but not asked would be silently inert."""
    files = {module.name for module in pkgutil.iter_modules(conventions.__path__) if not module.name.startswith("_")}
    known = {type(convention).__module__.rpartition(".")[2] for convention in CONVENTIONS}
    assert files - {"reading", "usage"} == known


def test_exports() -> None:
    """The package hands on what its modules define, and says so."""
    assert len(set(conventions.__all__)) == len(conventions.__all__)
    assert all(hasattr(conventions, name) for name in conventions.__all__)


def _handled() -> str:
    """The source of all conventions: an attribute that none of them spells is one that none of them handles."""
    folder = Path(conventions.__file__).parent
    return "".join(path.read_text() for path in sorted(folder.glob("*.py")))


@pytest.mark.skipif(
    version("opentelemetry-semantic-conventions") < "0.60", reason="older semantic conventions know little of tools"
)
@pytest.mark.parametrize(("module", "prefix"), [("gen_ai_attributes", "gen_ai.tool."), ("mcp_attributes", "mcp.")])
def test_semantic_conventions(module: str, prefix: str) -> None:
    """Every tool and MCP attribute of the installed semantic conventions is read, or ignored on purpose."""
    found = vars(importlib.import_module(f"{semconv.__name__}.{module}"))
    handled = {value for value in found.values() if isinstance(value, str) and value.startswith(prefix)}
    assert handled
    source = _handled()
    ignored = GEN_AI_IGNORED | MCP_IGNORED
    assert {name for name in handled if f'"{name}"' not in source} == set()
    assert {name for name in ignored if source.count(f'"{name}"') != 1} == set(), "ignored and yet read"
