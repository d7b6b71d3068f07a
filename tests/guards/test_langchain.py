"""What only LangChain has: threads, agents that a tool calls, and messages that the framework makes of failures."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest

if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
    pytest.importorskip("langchain", reason="needs `langchain`: make test-guards")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, wrap_tool_call
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from otel_loopguard import names
from otel_loopguard.guards import Guard
from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
from otel_loopguard.live import LOGS_SUPPORTED
from tests.guards.drivers.langchain import Scripted
from tests.guards.script import POLICY, Model, Script, Tools, guard_for, process_for

SAME = {"query": "why"}
FIRST, OTHER = "message-of-9f86d081", "message-of-60303ae2"
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
        [StructuredTool.from_function(outer.search, name="search"), delegate(guard, inner, 2)],
        middleware=[LoopguardMiddleware(guard)],
        checkpointer=InMemorySaver(),
    )
    start: Any = {"messages": [HumanMessage("go")]}
    state = asyncio.run(graph.ainvoke(start, THREAD)) if is_async else graph.invoke(start, THREAD)
    # The agent's read is told at its second call, and let through at the third for what the colleague brought. The
    # colleague's own runs for each question, and is answered from memory when it is made again for one.
    assert ["[loopguard]" in one.content for one in state["messages"] if isinstance(one, ToolMessage)][3]
    assert (outer.ran, inner.ran) == ({"search": 2}, {"search": 2})
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


# Conversations without a thread -----------------------------------------------------------------------------------


class Summary(AgentMiddleware):  # type: ignore[type-arg]
    """Puts a message of its own in place of all but the last two, before each question to the model."""

    def before_model(self, state: Any, runtime: Any) -> Any:  # noqa: ANN401, ARG002
        """As a summary does."""
        messages = state["messages"]
        if len(messages) < 4:
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("so far ..."), *messages[-2:]]}


def stubborn_agent(*middleware: AgentMiddleware) -> tuple[Any, Tools]:  # type: ignore[type-arg]
    """An agent that never stops to look for one thing, and its tools."""
    tools = Tools()
    graph = create_agent(
        Scripted(script=Model(Script.stubborn(("search", SAME), times=99))),
        [StructuredTool.from_function(tools.search, name="search")],
        middleware=[LoopguardMiddleware(guard_for(process_for())), *middleware],
    )
    return graph, tools


def test_a_conversation_that_is_summed_up_is_the_same_run() -> None:
    """Without a thread a run is known by its first message, and goes on when that is gone; a follow-up is of it too."""
    graph, tools = stubborn_agent(Summary())
    first = graph.invoke({"messages": [HumanMessage("go", id=FIRST)]})
    assert FIRST not in {one.id for one in first["messages"]}
    second = graph.invoke({"messages": [*first["messages"], HumanMessage("go on")]})
    assert [(stop_of(one).run_id, stop_of(one).count) for one in (first, second)] == [(FIRST, 4)] * 2
    assert tools.ran == {"search": 2}


def test_a_conversation_that_its_caller_trims_is_the_same_run() -> None:
    """What is left of it begins with a message that was in it."""
    graph, _ = stubborn_agent()
    state = graph.invoke({"messages": [HumanMessage("go", id=FIRST)]})
    state = graph.invoke({"messages": [*state["messages"], HumanMessage("go on", id="message-of-d4735e3a")]})
    messages = state["messages"]
    left = messages[[one.id for one in messages].index("message-of-d4735e3a") :]
    last = graph.invoke({"messages": [*left, HumanMessage("go on", id="m3")]})
    other = graph.invoke({"messages": [HumanMessage("go", id=OTHER)]})
    assert [stop_of(one).run_id for one in (last, other)] == [FIRST, OTHER]


# Twice ------------------------------------------------------------------------------------------------------------


class Ours(LoopguardMiddleware):
    """An application's own."""


@pytest.mark.parametrize("kind", [LoopguardMiddleware, Ours])
def test_an_agent_has_one_guard(kind: type[LoopguardMiddleware]) -> None:
    """A second one is refused where the agent is made: each would take the other's calls for writes in flight."""
    guard = guard_for(process_for())
    with pytest.raises(AssertionError, match="duplicate middleware"):
        stubborn_agent(kind(guard))


BOTH = """
import otel_loopguard_autoload
otel_loopguard_autoload.LoopGuardInstrumentor().instrument()
from otel_loopguard.guards import Guard
from otel_loopguard.guards.langchain_callbacks import LoopguardCallbacks
from tests.guards.drivers.langchain import Sync
from tests.guards.script import Script, Tools

guard = Guard(mode="enforce")
seen = Sync().run(Script.stubborn(("ask", {"query": "why"})), Tools(), guard)
counts = [one._live.counters.total("loopguard.tool.calls") for one in (guard, LoopguardCallbacks.shared.guard)]
print(seen.stop.count, seen.ran["ask"], *counts)
"""


def test_an_agent_that_is_guarded_by_code_and_by_a_variable_is_guarded_once() -> None:
    """The middleware judges, and the callbacks know its calls."""
    environ = {
        **os.environ, "LOOPGUARD_ENABLED": "true", "LOOPGUARD_GUARD": "enforce", "LOOPGUARD_KEY": "0123456789abcdef" * 4
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", BOTH], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["6", "4", "6", "6"], done.stderr


# Whose conversation it is -----------------------------------------------------------------------------------------


def test_messages_that_a_frontend_numbers_name_no_run() -> None:
    """Without a thread, users whose first messages have one short id share nothing."""
    guard = LoopguardMiddleware(guard_for(process_for()))
    heard = []
    for user in "abcd":
        tool = StructuredTool.from_function(lambda query, user=user: f"{query}: {user}", name="search", description="x")
        model = Scripted(script=Model(Script(((("search", SAME),),))))
        state = create_agent(model, [tool], middleware=[guard]).invoke({"messages": [HumanMessage("why?", id="1")]})
        heard += [one.content for one in state["messages"] if isinstance(one, ToolMessage)]
    assert heard == [f"why: {user}" for user in "abcd"]


def test_a_stop_that_is_found_at_the_dispatch_ends_the_graph_after_the_next_message() -> None:
    """Where another middleware writes other arguments, a call is judged by those, too late to end the graph at once."""
    tools = Tools()

    @wrap_tool_call
    def add(request: Any, handler: Any) -> Any:  # noqa: ANN401
        call = {**request.tool_call, "args": {"query": request.tool_call["args"]["query"] + " of tenant 1"}}
        return handler(request.override(tool_call=call))

    graph = create_agent(
        Scripted(script=Model(Script.stubborn(("search", SAME), times=20))),
        [StructuredTool.from_function(tools.search, name="search")],
        middleware=[add, LoopguardMiddleware(guard_for(process_for()))],
    )
    state = graph.invoke({"messages": [HumanMessage("go")]}, {"recursion_limit": 200})
    stop = stop_of(state)
    assert stop is not None
    assert (stop.tool, stop.count) == ("search", 4)
    assert sum(isinstance(one, ToolMessage) for one in state["messages"]) == 5
    assert tools.ran == {"search": 1}
