"""What only LangChain has: threads, agents that a tool calls, and messages that the framework makes of failures."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
    pytest.importorskip("langchain", reason="needs `langchain`: make test-guards")

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from otel_loopguard import names
from otel_loopguard.guards import Guard
from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
from otel_loopguard.live import LOGS_SUPPORTED
from tests.guards.drivers.langchain import Scripted
from tests.guards.script import POLICY, Model, Script, Tools, guard_for, process_for

SAME = {"query": "why"}
THREAD: Any = {"configurable": {"thread_id": "t1"}}


def delegate(guard: Guard, inner: Tools, times: int) -> StructuredTool:
    """A tool that hands its question to an agent of its own, which reads as often as this."""

    def consult(query: str) -> str:
        agent = create_agent(
            Scripted(script=Model(Script.stubborn(("search", SAME), times=times))),
            [StructuredTool.from_function(inner.search, name="search")],
            middleware=[LoopguardMiddleware(guard)],
        )
        state = agent.invoke({"messages": [HumanMessage(query)]})
        return "stopped" if stop_of(state) else str(state["messages"][-1].content)

    return StructuredTool.from_function(consult, name="consult", description="Ask a colleague.")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_inside_a_tool_is_no_user(*, is_async: bool) -> None:
    """In a thread its first message resets nothing of the agent that calls the tool, and its calls are its own."""
    process = process_for(POLICY + "  consult: {kind: read}\n")
    guard, outer, inner = guard_for(process), Tools(), Tools()
    steps = [(("search", SAME),), (("consult", {"query": "a"}),), (("consult", {"query": "b"}),)]
    graph = create_agent(
        Scripted(script=Model(Script((*steps, *[(("search", SAME),)] * 4)))),
        [StructuredTool.from_function(outer.search, name="search"), delegate(guard, inner, 1)],
        middleware=[LoopguardMiddleware(guard)],
        checkpointer=InMemorySaver(),
    )
    start: Any = {"messages": [HumanMessage("go")]}
    state = asyncio.run(graph.ainvoke(start, THREAD)) if is_async else graph.invoke(start, THREAD)
    # The agent's read is told at its second call, and let through at the third for what the colleague brought. The
    # colleague's own runs for the first question, and is answered from memory for the second.
    assert ["[loopguard]" in one.content for one in state["messages"] if isinstance(one, ToolMessage)][3]
    assert (outer.ran, inner.ran) == ({"search": 2}, {"search": 1})
    stop = stop_of(state)
    assert stop is not None
    assert (stop.tool, stop.run_id, stop.agent, stop.count) == ("search", "t1", "", 5)
    if LOGS_SUPPORTED:
        agents = {event.get(names.AGENT_NAME, "") for event in process.events(names.FINDING)}
        assert agents == {"", "consult"}


def test_a_user_in_a_thread_is_one() -> None:
    """The next message of the thread lets a stopped agent ask again."""
    tools, guard = Tools(), guard_for(process_for())
    graph = create_agent(
        Scripted(script=Model(Script.stubborn(("search", SAME), times=20))),
        [StructuredTool.from_function(tools.search, name="search")],
        middleware=[LoopguardMiddleware(guard)],
        checkpointer=InMemorySaver(),
    )
    for ran in (1, 2):
        assert stop_of(graph.invoke({"messages": [HumanMessage("go")]}, THREAD)) is not None
        assert tools.ran == {"search": ran}


def test_arguments_that_do_not_fit_are_a_rejection() -> None:
    """The tool has not run, so the same write with arguments that fit, or even the same again, is no second one."""
    tools, model = Tools(), Model(Script(((("refund", {"sum": 3}),), (("refund", {"sum": 3}),))))
    graph = create_agent(
        Scripted(script=model),
        [StructuredTool.from_function(tools.refund, name="refund")],
        middleware=[LoopguardMiddleware(guard_for(process_for()))],
    )
    state = graph.invoke({"messages": [HumanMessage("go")]})
    assert stop_of(state) is None
    assert ["Not run" in one.content for one in state["messages"] if isinstance(one, ToolMessage)] == [False, False]


def test_a_tool_that_is_not_there_is_an_unknown_tool() -> None:
    """The graph answers for it, and the guard knows why: told at the second call, refused at the fourth."""
    process = process_for()
    steps = tuple((("lookup", {"query": f"q{place}"}),) for place in range(6))
    graph = create_agent(
        Scripted(script=Model(Script(steps))),
        [StructuredTool.from_function(Tools().search, name="search")],
        middleware=[LoopguardMiddleware(guard_for(process))],
    )
    stop = stop_of(graph.invoke({"messages": [HumanMessage("go")]}))
    assert stop is not None
    assert (stop.tool, stop.kind, stop.count) == ("lookup", "unknown_tool", 4)
