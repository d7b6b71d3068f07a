"""A stop leaves the session whole: the same conversation goes on after a user's message, in each framework's memory."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import otel_loopguard
from tests.guards.script import ANSWER, Model, Script, Tools, guard_for, process_for

SAME = ("search", {"query": "why"})
SCRIPT = Script(((SAME,),) * 4 + ((SAME,), (("note", {"text": "found another way"}),)))
"""Stopped in the fourth decision; after the user's message it asks once more, notes something and answers."""


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


def test_langchain_thread_goes_on() -> None:
    """A new message in the thread is a user message by itself: nobody has to tell the guard."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver

    from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
    from tests.guards.drivers.langchain import Scripted

    tools = Tools()
    graph = create_agent(
        Scripted(script=Model(SCRIPT)),
        [StructuredTool.from_function(getattr(tools, name), name=name) for name in ("search", "note")],
        middleware=[LoopguardMiddleware(guard_for(process_for()))],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t1"}}
    stop = stop_of(graph.invoke({"messages": [HumanMessage("go")]}, config))
    assert stop is not None
    assert stop.run_id == "t1"
    state = graph.invoke({"messages": [HumanMessage("try another way")]}, config)
    assert stop_of(state) is None
    assert state["messages"][-1].content == ANSWER
    assert tools.ran == {"search": 2, "note": 1}


def test_openai_agents_session_goes_on() -> None:
    """The session holds an answer for every call, and the next run takes it up."""
    need("agents")
    from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool

    from otel_loopguard.guards.openai_agents import guard_agent, stop_of
    from tests.guards.drivers.openai_agents import Scripted

    tools, guard = Tools(), guard_for(process_for())
    agent: Any = Agent(
        name="agent",
        model=Scripted(Model(SCRIPT)),
        tools=[function_tool(getattr(tools, name)) for name in ("search", "note")],
    )
    guarded, quiet = guard_agent(agent, guard), RunConfig(tracing_disabled=True)

    async def both() -> tuple[Any, Any]:
        session = SQLiteSession("s1")
        with otel_loopguard.run("r1"):
            first = await Runner.run(guarded, "go", session=session, run_config=quiet)
            guard.user_message()
            return first, await Runner.run(guarded, "try another way", session=session, run_config=quiet)

    first, second = asyncio.run(both())
    assert stop_of(first) is not None
    assert second.final_output == ANSWER
    assert tools.ran == {"search": 2, "note": 1}


def test_pydantic_ai_history_goes_on() -> None:
    """The messages of the stopped run are a history that the next run accepts."""
    need("pydantic_ai")
    from pydantic_ai import Agent, capture_run_messages
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.errors import LoopDetected
    from otel_loopguard.guards.pydantic_ai import guarding
    from tests.guards.drivers.pydantic_ai import Scripted

    tools, guard = Tools(), guard_for(process_for())
    agent = Agent(FunctionModel(Scripted(Model(SCRIPT)).answer), tools=[tools.search, tools.note])

    async def both() -> str:
        with otel_loopguard.run("r1"), guarding(agent, guard):
            with capture_run_messages() as messages, pytest.raises(LoopDetected):
                await agent.run("go")
            guard.user_message()
            return (await agent.run("try another way", message_history=messages)).output

    assert asyncio.run(both()) == ANSWER
    assert tools.ran == {"search": 2, "note": 1}
