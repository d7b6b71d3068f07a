"""Calls that wait for a person: they are no calls until they run, and the way out that each framework is given."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from tests.guards.script import Model, Script, Tools, guard_for, process_for

PAY = Script(((("refund", {"order": "A1"}),),))
BLOCKED = {"tried": ["search"], "needed": ["permission: the vault"]}


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


def test_a_langgraph_interrupt_is_no_failure() -> None:
    """A write that asks a person first is interrupted, resumed and done once: one call, and nobody is stopped."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt

    from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
    from tests.guards.drivers.langchain import Scripted

    process, done = process_for(), []

    def refund(order: str) -> str:
        """Ask first."""
        if interrupt("may I?") == "yes":
            done.append(order)
        return f"refunded {order}"

    graph = create_agent(
        Scripted(script=Model(PAY)),
        [StructuredTool.from_function(refund)],
        middleware=[LoopguardMiddleware(guard_for(process))],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke({"messages": [HumanMessage("go")]}, config)
    assert (done, process.live.counters.total(names.TOOL_CALLS)) == ([], 0)
    state = graph.invoke(Command(resume="yes"), config)
    assert stop_of(state) is None
    assert (done, process.live.counters.total(names.TOOL_CALLS)) == (["A1"], 1)


def test_a_call_that_a_person_edits_is_the_edited_call() -> None:
    """What is kept of it is kept under what ran: the call as the model wrote it still runs when it is asked again."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from otel_loopguard.guards.langchain import LoopguardMiddleware
    from tests.guards.drivers.langchain import Scripted

    done: list[str] = []

    def search(query: str) -> str:
        """Count."""
        done.append(query)
        return f"result of {query}"

    graph = create_agent(
        Scripted(script=Model(Script(((("search", {"query": "x"}),), (("search", {"query": "x"}),))))),
        [StructuredTool.from_function(search)],
        middleware=[
            HumanInTheLoopMiddleware(interrupt_on={"search": True}),
            LoopguardMiddleware(guard_for(process_for())),
        ],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke({"messages": [HumanMessage("go")]}, config)
    edit = {"type": "edit", "edited_action": {"name": "search", "args": {"query": "y"}}}
    graph.invoke(Command(resume={"decisions": [edit]}), config)
    state = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert done == ["y", "x"]
    results = [one.content.splitlines()[-1] for one in state["messages"] if one.type == "tool"]
    assert results == ["result of y", "result of x"]


def test_an_approval_of_pydantic_ai_is_no_failure() -> None:
    """A write that is deferred until a person approves is judged again when it runs, and counted then."""
    need("pydantic_ai")
    from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.guards.pydantic_ai import guarding
    from tests.guards.drivers.pydantic_ai import Scripted

    process, done = process_for(), []
    agent: Any = Agent(FunctionModel(Scripted(Model(PAY)).answer), output_type=[str, DeferredToolRequests])

    def refund(ctx: Any, order: str) -> str:  # noqa: ANN401 - said below: the name is imported in here alone
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        done.append(order)
        return f"refunded {order}"

    refund.__annotations__["ctx"] = RunContext[None]
    agent.tool(refund)

    async def both() -> None:
        with otel_loopguard.run("r1"), guarding(agent, guard_for(process)):
            first = await agent.run("go")
            assert (done, process.live.counters.total(names.TOOL_CALLS)) == ([], 0)
            (asked,) = first.output.approvals
            results = DeferredToolResults(approvals={asked.tool_call_id: ToolApproved()})
            await agent.run(message_history=first.all_messages(), deferred_tool_results=results)

    asyncio.run(both())
    assert (done, process.live.counters.total(names.TOOL_CALLS)) == (["A1"], 1)


# The way out ------------------------------------------------------------------------------------------------------


def test_pydantic_ai_offers_the_report() -> None:
    """The tool of the agent's list is shown to the model with its schema, answered, and counted as a call."""
    need("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.guards.pydantic_ai import guarding, report_blocked_tool
    from tests.guards.drivers.pydantic_ai import Scripted

    process = process_for()
    guard = guard_for(process)
    model = Model(Script(((("report_blocked", BLOCKED),),)))
    agent = Agent(FunctionModel(Scripted(model).answer), tools=[report_blocked_tool(guard)])
    with guarding(agent, guard):
        asyncio.run(agent.run("go"))
    assert model.heard[0].startswith("Recorded")
    assert process.live.counters.total(names.BLOCKED_REPORTS) == 1
    assert process.live.counters.total(names.TOOL_CALLS) == 1


@pytest.mark.parametrize("is_offered", [False, True])
def test_an_mcp_session_offers_the_report(*, is_offered: bool) -> None:
    """Where it is asked for, the list of tools ends with it and the session answers it; else the server is asked."""
    need("mcp")
    from otel_loopguard.guards.mcp import GuardedSession
    from tests.guards.drivers.mcp import connected

    process = process_for()

    async def loop() -> tuple[list[str], str]:
        async with connected(Tools()) as opened:
            session = GuardedSession(opened, guard_for(process), report_blocked=is_offered)
            listed = [tool.name for tool in (await session.list_tools()).tools]
            result = await session.call_tool("report_blocked", BLOCKED)
            return listed, result.content[0].text

    listed, said = asyncio.run(loop())
    assert ("report_blocked" in listed) == is_offered
    assert said.startswith("Recorded") == is_offered
    assert process.live.counters.total(names.BLOCKED_REPORTS) == (1 if is_offered else 0)


@pytest.mark.parametrize(
    ("arguments", "reports"),
    [(json.dumps(BLOCKED), 1), ("", 0), ("{", 0), ("[1]", 0), ("[" * 100_000, 0), ('{"needed": 7}', 1)],
    ids=["whole", "empty", "broken", "list", "deep", "number"],
)  # fmt: skip
def test_a_broken_report_is_heard_all_the_same(arguments: str, reports: int) -> None:
    """Whatever the model writes into it, the OpenAI agent's tool answers and raises nothing."""
    need("agents")
    from otel_loopguard.guards.openai_agents import report_blocked_tool

    process = process_for()
    tool = report_blocked_tool(guard_for(process))
    context: Any = None
    assert asyncio.run(tool.on_invoke_tool(context, arguments)).startswith("Recorded")
    assert process.live.counters.total(names.BLOCKED_REPORTS) == reports
