"""A call that a person rejects did not happen: what the user wished with it is still to be done once."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.guards import Allow, Guard, Refuse
from tests.guards.script import Model, Script, Tools, guard_for, process_for

REFUND = ("refund", {"order": "A1"})
AGAIN = Script(((REFUND,), (), (REFUND,), (REFUND,)))
"""Done for the first message; rejected after the second, and asked for again at once."""


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


def done(guard: Guard, *orders: str) -> None:
    """These refunds have been made, and the user has spoken since."""
    for order in orders:
        guard.after(guard.before("refund", {"order": order}).call, f"refunded {order}")
    guard.user_message()


def test_a_withdrawn_call_gives_the_message_back() -> None:
    """The next call is the first after the user's message; the one after that repeats it."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        done(guard, "A1")
        for _ in range(2):
            guard.withdraw(guard.before("refund", {"order": "A1"}).call)
        done_again = guard.before("refund", {"order": "A1"})
        assert isinstance(done_again, Allow)
        guard.after(done_again.call, "refunded A1")
        assert isinstance(guard.before("refund", {"order": "A1"}), Refuse)


def test_a_message_to_one_agent_is_given_back_to_that_agent() -> None:
    """Another one's repeats stay repeats."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        for agent in ("one", "other"):
            guard.after(guard.before("refund", {"order": agent}, agent=agent).call, "refunded")
        guard.user_message(agent="one")
        guard.withdraw(guard.before("refund", {"order": "one"}, agent="one").call)
        assert isinstance(guard.before("refund", {"order": "other"}, agent="other"), Refuse)
        assert isinstance(guard.before("refund", {"order": "one"}, agent="one"), Allow)


@pytest.mark.parametrize("is_withdrawn_first", [False, True])
def test_a_message_is_used_once(*, is_withdrawn_first: bool) -> None:
    """Of two calls judged after it, the one that runs uses it, whether the other is withdrawn before that or later."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        done(guard, "A1", "B2")
        rejected, approved = (guard.before("refund", {"order": order}, turn="t9") for order in ("A1", "B2"))
        assert isinstance(approved, Allow)
        if is_withdrawn_first:
            guard.withdraw(rejected.call)
        guard.after(approved.call, "refunded B2")
        if not is_withdrawn_first:
            guard.withdraw(rejected.call)
        assert isinstance(guard.before("refund", {"order": "B2"}, turn="t10"), Refuse)
        assert isinstance(guard.before("refund", {"order": "A1"}, turn="t10"), Allow)


def test_a_call_from_before_a_message_does_not_use_it() -> None:
    """It ends late; what is repeated after the message is the user's wish all the same."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        done(guard, "A1")
        early = guard.before("note", {"text": "x"})
        guard.user_message()
        guard.withdraw(guard.before("refund", {"order": "A1"}).call)
        guard.after(early.call, "noted")
        assert isinstance(guard.before("refund", {"order": "A1"}), Allow)


@pytest.mark.parametrize("is_first", [False, True])
def test_a_langchain_rejection_is_no_call(*, is_first: bool) -> None:
    """The person's answer stands in the tool's place once, wherever that middleware stands, and nothing is used up."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
    from tests.guards.drivers.langchain import Scripted

    process, tools = process_for(), Tools()
    ours: Any = LoopguardMiddleware(guard_for(process))
    person: Any = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
    graph = create_agent(
        Scripted(script=Model(AGAIN)),
        [StructuredTool.from_function(tools.refund, name="refund")],
        middleware=[ours, person] if is_first else [person, ours],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "t1"}}

    def decide(kind: str) -> Any:  # noqa: ANN401
        return graph.invoke(Command(resume={"decisions": [{"type": kind}]}), thread)

    graph.invoke({"messages": [HumanMessage("refund A1")]}, thread)
    decide("approve")
    graph.invoke({"messages": [HumanMessage("refund A1 once more")]}, thread)
    decide("reject")
    state = decide("approve")
    assert stop_of(state) is None
    assert (tools.ran, process.live.counters.total(names.TOOL_CALLS)) == ({"refund": 2}, 2)
    answers = [one for one in state["messages"] if one.type == "tool"]
    assert [(one.tool_call_id, one.status) for one in answers] == [
        ("call_1_0", "success"), ("call_3_0", "error"), ("call_4_0", "success")
    ]  # fmt: skip


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_langchain_rejection_of_a_repeat_is_the_one_answer(*, is_first: bool, is_async: bool) -> None:
    """The person is asked about the call that is refused too; of two answers to it the model gets theirs."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from otel_loopguard.guards.langchain import LoopguardMiddleware
    from tests.guards.drivers.langchain import Scripted

    tools, model = Tools(), Model(Script(((REFUND,), (REFUND,), (("refund", {"order": "B2"}),))))
    ours: Any = LoopguardMiddleware(guard_for(process_for()))
    person: Any = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
    graph = create_agent(
        Scripted(script=model),
        [StructuredTool.from_function(tools.refund, name="refund")],
        middleware=[ours, person] if is_first else [person, ours],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "t1"}}

    def invoke(value: Any) -> Any:  # noqa: ANN401
        return asyncio.run(graph.ainvoke(value, thread)) if is_async else graph.invoke(value, thread)

    invoke({"messages": [HumanMessage("refund A1")]})
    for kind in ("approve", "reject", "approve"):
        state = invoke(Command(resume={"decisions": [{"type": kind}]}))
    answers = {one.tool_call_id: one.content for one in state["messages"] if one.type == "tool"}
    assert len(answers) == sum(one.type == "tool" for one in state["messages"]) == len(model.heard)
    assert model.heard == list(answers.values())
    assert answers["call_2_0"].startswith("User rejected the tool call")
    assert tools.ran == {"refund": 2}


def test_a_langchain_write_that_a_person_edits_is_what_ran() -> None:
    """The write as the model asked for it may still be done once, the one as it was edited may not again."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from otel_loopguard.guards.langchain import LoopguardMiddleware
    from tests.guards.drivers.langchain import Scripted

    process, tools = process_for(), Tools()
    model = Model(Script(((REFUND,), (REFUND,), (("refund", {"order": "B2"}),))))
    graph = create_agent(
        Scripted(script=model),
        [StructuredTool.from_function(tools.refund, name="refund")],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"refund": True}), LoopguardMiddleware(guard_for(process))],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "t1"}}
    graph.invoke({"messages": [HumanMessage("refund A1")]}, thread)
    edit = {"type": "edit", "edited_action": {"name": "refund", "args": {"order": "B2"}}}
    for decision in (edit, {"type": "approve"}, {"type": "approve"}):
        graph.invoke(Command(resume={"decisions": [decision]}), thread)
    assert [text.splitlines()[-1] for text in model.heard[:2]] == ["refunded B2", "refunded A1"]
    assert "Not run" in model.heard[2]
    assert (tools.ran, process.live.counters.total(names.TOOL_CALLS)) == ({"refund": 2}, 3)


@pytest.mark.parametrize("is_stored", [False, True])
def test_an_openai_rejection_is_no_call(*, is_stored: bool) -> None:
    """The write that is asked for again after it runs once it is approved, also where the run was stored meanwhile."""
    need("agents")
    from agents import Agent, RunConfig, Runner, RunState, function_tool

    from otel_loopguard.guards.openai_agents import guard_agent, stop_of
    from tests.guards.drivers.openai_agents import Scripted

    process, tools = process_for(), Tools()
    guard = guard_for(process)
    paying = function_tool(tools.refund, needs_approval=True)
    agent: Any = guard_agent(Agent("agent", model=Scripted(Model(AGAIN)), tools=[paying]), guard)
    quiet = RunConfig(tracing_disabled=True)

    async def decide(result: Any, *, may: bool) -> Any:  # noqa: ANN401
        state = result.to_state()
        if is_stored:
            state = await RunState.from_json(agent, state.to_json())
        for asked in state.get_interruptions():
            (state.approve if may else state.reject)(asked)
        return await Runner.run(agent, state, run_config=quiet)

    async def both() -> Any:  # noqa: ANN401
        with otel_loopguard.run("r1"):
            first = await decide(await Runner.run(agent, "refund A1", run_config=quiet), may=True)
            guard.user_message()
            more: Any = [*first.to_input_list(), {"role": "user", "content": "refund A1 once more"}]
            rejected = await decide(await Runner.run(agent, more, run_config=quiet), may=False)
            return await decide(rejected, may=True)

    assert stop_of(asyncio.run(both())) is None
    assert (tools.ran, process.live.counters.total(names.TOOL_CALLS)) == ({"refund": 2}, 2)


def test_a_pydantic_ai_denial_is_no_call() -> None:
    """The write that is asked for again after the denial runs once it is approved."""
    need("pydantic_ai")
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool, ToolApproved, ToolDenied
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.guards.pydantic_ai import guarding
    from tests.guards.drivers.pydantic_ai import Scripted

    process, tools = process_for(), Tools()
    guard = guard_for(process)
    paying: Any = Tool(tools.refund, requires_approval=True)
    agent: Any = Agent(
        FunctionModel(Scripted(Model(AGAIN)).answer), tools=[paying], output_type=[str, DeferredToolRequests]
    )

    async def decide(result: Any, answer: Any) -> Any:  # noqa: ANN401
        approvals = {asked.tool_call_id: answer for asked in result.output.approvals}
        return await agent.run(
            message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(approvals=approvals)
        )

    async def both() -> Any:  # noqa: ANN401
        with otel_loopguard.run("r1"), guarding(agent, guard):
            first = await decide(await agent.run("refund A1"), ToolApproved())
            guard.user_message()
            more = await agent.run("refund A1 once more", message_history=first.all_messages())
            return await decide(await decide(more, ToolDenied()), ToolApproved())

    assert isinstance(asyncio.run(both()).output, str)
    assert (tools.ran, process.live.counters.total(names.TOOL_CALLS)) == ({"refund": 2}, 2)
