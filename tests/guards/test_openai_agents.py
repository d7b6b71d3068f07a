"""What only the OpenAI Agents SDK has: MCP servers of an agent, and runs without a trace."""

from __future__ import annotations

import pytest

pytest.importorskip("agents", reason="needs `agents`: make test-guards")

import asyncio
import json
from collections import Counter
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool, trace
from agents.mcp import MCPServer
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as ServedTool

from otel_loopguard.errors import SettingError
from otel_loopguard.guards import Guard
from otel_loopguard.guards.openai_agents import failure_seen, guard_agent, stop_of
from tests.guards import script as scripted
from tests.guards.drivers.openai_agents import Scripted
from tests.guards.script import Lost, Rejected, Script, guard_for, process_for

SAME = {"query": "why"}
QUIET = RunConfig(tracing_disabled=True)


class Server(MCPServer):
    """A server in this process: it lists one tool and counts its calls."""

    name = "logs"

    def __init__(self) -> None:
        super().__init__()
        self.ran: Counter[str] = Counter()

    async def connect(self) -> None:
        """Nothing to connect to."""

    async def cleanup(self) -> None:
        """Nothing to leave."""

    async def list_tools(self, *_: Any, **__: Any) -> list[ServedTool]:  # noqa: ANN401
        """One read."""
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        return [ServedTool(name="search", description="", inputSchema=schema)]

    async def call_tool(self, tool_name: str, arguments: Any, *_: Any, **__: Any) -> CallToolResult:  # noqa: ANN401
        """It never finds more."""
        self.ran[tool_name] += 1
        return CallToolResult(content=[TextContent(type="text", text=f"2 hits for {arguments['query']}")])

    async def list_prompts(self) -> Any:  # noqa: ANN401
        """None."""

    async def get_prompt(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        """None."""


def stubborn() -> scripted.Model:
    """A model that asks for one read again and again."""
    return scripted.Model(Script.stubborn(("search", SAME)))


def test_mcp_servers_of_an_agent_are_guarded() -> None:
    """Their tools are judged with the response as function tools are: run once, told, refused, stopped."""
    server, model = Server(), stubborn()
    agent = Agent("triage", model=Scripted(model), mcp_servers=[server])
    result = Runner.run_sync(guard_agent(agent, guard_for(process_for())), "go", run_config=QUIET)
    stop = stop_of(result)
    assert server.ran == {"search": 1}
    assert stop is not None
    assert (stop.tool, stop.agent, stop.count) == ("search", "triage", 4)
    assert ["[loopguard]" in json.dumps(text) for text in model.heard] == [False, True, True]


@pytest.mark.parametrize(
    ("error", "options", "ran", "kind"),
    [
        (Lost, {}, 1, "indeterminate"),
        (Rejected, {}, 1, "indeterminate"),
        (Lost, {"failure_error_function": failure_seen()}, 1, "indeterminate"),
        (Rejected, {"failure_error_function": failure_seen()}, 2, None),
        (Rejected, {"failure_error_function": failure_seen(lambda _, error: f"no: {error}")}, 2, None),
        (Lost, {"failure_error_function": lambda *_: "sorry"}, 1, "write"),
    ],
    ids=["lost", "rejected", "lost, seen", "rejected, seen", "in other words", "in words that say nothing"],
)
def test_what_is_known_of_a_write_that_raised(
    error: type[Exception], options: dict[str, Any], ran: int, kind: str | None
) -> None:
    """Its text alone says nothing of what happened, so it is not sent again; the exception says when nothing did."""
    times = []

    @function_tool(**options)
    def refund(order: str) -> str:
        times.append(order)
        raise error("no answer")

    steps = Script.stubborn(("refund", {"order": "A1"}), times=2)
    agent = guard_agent(Agent("triage", model=Scripted(scripted.Model(steps)), tools=[refund]), guard_refusing_none())
    stop = stop_of(Runner.run_sync(agent, "go", run_config=QUIET))
    assert len(times) == ran
    assert (stop and stop.kind) == kind


def guard_refusing_none() -> Guard:
    """A guard whose first refusal stops."""
    return guard_for(process_for(), refusals=0)


class Broken(Server):
    """A server whose line drops."""

    async def call_tool(self, tool_name: str, arguments: Any, *_: Any, **__: Any) -> CallToolResult:  # noqa: ANN401, ARG002
        """No answer."""
        self.ran[tool_name] += 1
        raise ConnectionResetError


def test_a_write_of_an_mcp_server_that_is_gone_is_not_sent_again() -> None:
    """The SDK makes a text of it, and the guard knows that nobody knows."""
    server = Broken()
    guard = guard_for(process_for("version: 1\ntools: {search: {kind: write}}\n"), refusals=5)
    agent = guard_agent(Agent("triage", model=Scripted(stubborn()), mcp_servers=[server]), guard)
    stop = stop_of(Runner.run_sync(agent, "go", run_config=QUIET))
    assert server.ran == {"search": 1}
    assert stop is not None
    assert stop.kind == "indeterminate"


def test_runs_without_a_trace_share_nothing() -> None:
    """With tracing off each run of the SDK is one of its own, and its repeats are found."""
    guard: Guard = guard_for(process_for())
    for user in ("alice", "bob"):

        @function_tool
        def search(query: str) -> str:
            return f"{query}: secret of {user}"  # noqa: B023 - run before the next one is made

        model = stubborn()
        agent = guard_agent(Agent("triage", model=Scripted(model), tools=[search]), guard)
        assert stop_of(Runner.run_sync(agent, "go", run_config=QUIET)) is not None
        assert model.heard[0] == f"why: secret of {user}"


def test_runs_side_by_side_in_one_trace_may_have_the_same_call_ids() -> None:
    """Each gets the result of its own call: some models number their calls anew in every conversation."""

    async def read(query: str) -> str:
        """The slower one is judged last and answered last."""
        await asyncio.sleep(0)
        return f"result of {query}"

    agent = guard_agent(Agent("worker", tools=[function_tool(read)]), guard_for(process_for()))

    async def both() -> list[list[str]]:
        models = [scripted.Model(Script(((("read", {"query": query}),),))) for query in "AB"]
        configs = [RunConfig(model=Scripted(model), trace_include_sensitive_data=False) for model in models]
        with trace("shared"):
            await asyncio.gather(*(Runner.run(agent, "go", run_config=config) for config in configs))
        return [model.heard for model in models]

    assert asyncio.run(both()) == [["result of A"], ["result of B"]]


def test_a_stopped_agent_may_be_the_tool_of_another() -> None:
    """Its last words are the tool's result, and the other one goes on."""
    asks = scripted.Model(Script(((("ask", {"input": "why?"}),),)))
    looped = guard_agent(
        Agent("sub", model=Scripted(stubborn()), tools=[function_tool(search)]), guard_for(process_for())
    )
    outer = Agent("outer", model=Scripted(asks), tools=[looped.as_tool("ask", "Asks.")])
    result = Runner.run_sync(outer, "go", run_config=QUIET)
    assert (stop_of(result), result.final_output) == (None, scripted.ANSWER)
    assert "[loopguard]" in asks.heard[0]


def test_an_agent_is_guarded_once() -> None:
    """Twice would be two answers to one question; the mistake is told where it is made."""
    guard = guard_for(process_for())
    with pytest.raises(SettingError, match="`worker` is guarded already"):
        guard_agent(guard_agent(Agent("worker"), guard), guard)


def search(query: str) -> str:
    """It never finds more."""
    return f"2 hits for {query}"
