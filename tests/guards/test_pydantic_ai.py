"""What a run of Pydantic AI is handed by itself: it is used, and guarded."""

from __future__ import annotations

import asyncio
import inspect
import os
from typing import Any

import pytest

if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:  # `make test-guards` sets it: there nothing may be missing
    pytest.importorskip("pydantic_ai", reason="needs `pydantic_ai`: make test-guards")

from pydantic import BaseModel, ValidationError  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    Tool,
    capture_run_messages,
)
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.errors import LoopDetected
from otel_loopguard.guards.pydantic_ai import guarding
from tests.guards.drivers.pydantic_ai import Scripted
from tests.guards.script import ANSWER, Model, Script, Tools, guard_for, process_for

STUBBORN = Script.stubborn(("search", {"query": "why"}))


def scripted(script: Script = STUBBORN) -> FunctionModel:
    """A model of its own."""
    one = Scripted(Model(script))
    return FunctionModel(one.answer, stream_function=one.stream)


def silent() -> FunctionModel:
    """A model that calls no tool."""
    return scripted(Script(()))


async def streamed(agent: Agent[None, str], **own: Any) -> str:  # noqa: ANN401
    """`run_stream` to its end."""
    async with agent.run_stream("go", **own) as result:
        return await result.get_output()


async def stepped(agent: Agent[None, str], **own: Any) -> str:  # noqa: ANN401
    """`iter` to its end."""
    async with agent.iter("go", **own) as run:
        async for _ in run:
            pass
    return run.result.output


async def whole(agent: Agent[None, str], **own: Any) -> str:  # noqa: ANN401
    """`run`."""
    return (await agent.run("go", **own)).output


WAYS = [whole, streamed, stepped]


@pytest.mark.parametrize("begin", WAYS)
@pytest.mark.parametrize("agents", ["another model", "none"])
def test_the_runs_own_model_is_asked_and_stopped(begin: Any, agents: str) -> None:  # noqa: ANN401
    """A model that a run names is the one that is asked, and a stop ends its run with every call answered."""
    tools = Tools()
    agent = Agent(silent() if agents == "another model" else None, tools=[tools.search])
    with (
        otel_loopguard.run("r1"), guarding(agent, guard_for(process_for())), capture_run_messages() as messages,
        pytest.raises(LoopDetected) as stop,
    ):  # fmt: skip
        asyncio.run(begin(agent, model=scripted()))
    assert (stop.value.tool, stop.value.count, tools.ran) == ("search", 4, {"search": 1})
    assert [part.part_kind for part in messages[-1].parts] == ["tool-return"]


def given(way: str, tools: Tools) -> dict[str, Any]:
    """A run's own tools, in one of the ways in which this version takes them."""
    toolset = FunctionToolset([tools.search])
    if way == "toolsets":
        return {"toolsets": [toolset]}
    from pydantic_ai.capabilities import Toolset

    return {"capabilities": [Toolset(toolset)]}


OWN_TOOLS = ["toolsets", *(["capabilities"] if "capabilities" in inspect.signature(Agent.iter).parameters else [])]


@pytest.mark.parametrize("begin", WAYS)
@pytest.mark.parametrize("way", OWN_TOOLS)
def test_the_runs_own_tools_are_judged(begin: Any, way: str) -> None:  # noqa: ANN401
    """Tools that a run brings are called, counted and refused as the agent's own are."""
    tools = Tools()
    agent = Agent(scripted(), tools=[tools.note])
    with otel_loopguard.run("r1"), guarding(agent, guard_for(process_for())), pytest.raises(LoopDetected) as stop:
        asyncio.run(begin(agent, **given(way, tools)))
    assert (stop.value.tool, stop.value.count, tools.ran) == ("search", 4, {"search": 1})


@pytest.mark.parametrize("way", OWN_TOOLS)
def test_observing_leaves_a_run_what_it_brings(way: str) -> None:
    """In mode `observe` a run has its own model and tools, and says what it says without a guard."""
    script = Script(((("search", {"query": "why"}), ("note", {"text": "n"})),) * 6)

    def run(*, is_guarded: bool) -> tuple[list[str], dict[str, int], int]:
        process, tools, model = process_for(), Tools(), Model(script)
        agent = Agent(silent(), tools=[tools.note])
        own = given(way, tools) | {"model": FunctionModel(Scripted(model).answer)}

        async def begin() -> str:
            if not is_guarded:
                return await whole(agent, **own)
            with otel_loopguard.run("r1"), guarding(agent, guard_for(process, mode="observe")):
                return await whole(agent, **own)

        assert asyncio.run(begin()) == ANSWER
        return model.heard, dict(tools.ran), process.live.counters.total(names.TOOL_CALLS)

    without, watched = run(is_guarded=False), run(is_guarded=True)
    assert watched == (*without[:2], 12)
    assert without[1] == {"search": 6, "note": 6}


def test_what_the_application_overrides_stays_overridden() -> None:
    """A model and tools that a test puts in place of the agent's are used inside of a block, and judged."""
    tools = Tools()
    agent = Agent(silent(), tools=[tools.note])
    with (
        guarding(agent, guard_for(process_for())), otel_loopguard.run("r1"),
        agent.override(model=scripted(), toolsets=[FunctionToolset([tools.search])]),
        pytest.raises(LoopDetected),
    ):  # fmt: skip
        asyncio.run(whole(agent))
    assert tools.ran == {"search": 1}


@pytest.mark.parametrize("begin", WAYS)
def test_a_blocks_model_serves_runs_that_name_none(begin: Any) -> None:  # noqa: ANN401
    """The model handed to a block is asked in place of the agent's, and gives way to the run's own."""
    tools = Tools()
    agent = Agent(None, tools=[tools.search])
    with otel_loopguard.run("r1"), guarding(agent, guard_for(process_for()), model=scripted()):
        assert asyncio.run(begin(agent, model=silent())) == ANSWER
        with pytest.raises(LoopDetected):
            asyncio.run(begin(agent))
    assert tools.ran == {"search": 1}


def test_a_block_is_about_all_runs_while_it_is_open() -> None:
    """A run in a task or thread of before is guarded too, and after the last block the agent is as it was."""
    tools = Tools()
    agent = Agent(silent(), tools=[tools.search])
    before = dict(vars(agent))

    async def beside(entered: asyncio.Event) -> str:
        await entered.wait()
        with pytest.raises(LoopDetected):
            await whole(agent, model=scripted())
        return await whole(agent)

    async def both() -> str:
        entered = asyncio.Event()
        other = asyncio.ensure_future(beside(entered))
        with guarding(agent, guard_for(process_for())):
            entered.set()
            return await other

    assert asyncio.run(both()) == ANSWER
    assert tools.ran == {"search": 1}
    assert vars(agent).keys() == before.keys()


def test_blocks_in_each_other_judge_once() -> None:
    """A guard whose blocks stand around each other, or around a wrapper of the agent too, counts a call once."""
    process, tools = process_for(), Tools()
    guard = guard_for(process)
    agent = Agent(silent(), tools=[tools.search])
    outer: Any = WrapperAgent(agent)
    with otel_loopguard.run("r1"), guarding(agent, guard), guarding(agent, guard), guarding(outer, guard):
        for one in (agent, outer):
            with pytest.raises(LoopDetected):
                asyncio.run(whole(one, model=scripted()))
            guard.user_message()
    assert tools.ran == {"search": 2}
    assert process.live.counters.total(names.TOOL_CALLS) == 8


def test_a_reply_that_does_not_fit_its_model_leaves_a_write_in_doubt() -> None:
    """What Pydantic raises in a tool's body says nothing of the arguments: the write is not sent again."""
    sent = []

    class Receipt(BaseModel):
        number: int

    def refund(order: str) -> int:
        sent.append(order)
        return Receipt.model_validate({"number": "none"}).number

    async def until_it_stops() -> None:
        agent = Agent(scripted(Script.stubborn(("refund", {"order": "A1"}))), tools=[refund])
        with otel_loopguard.run("r1"), guarding(agent, guard_for(process_for())):
            try:
                await whole(agent)
            except ValidationError:  # newer versions tell it to the model, older ones raise it
                await whole(agent, model=scripted(Script.stubborn(("refund", {"order": "A1"}))))

    with pytest.raises(LoopDetected) as stop:
        asyncio.run(until_it_stops())
    assert (stop.value.kind, sent) == ("indeterminate", ["A1"])


def test_a_conversation_that_goes_on_without_a_message_is_the_same_run() -> None:
    """An approved write whose outcome is not known is not sent again when the conversation is resumed once more."""
    sent: list[str] = []

    def refund(order: str) -> str:
        sent.append(order)
        raise TimeoutError

    agent = Agent(TestModel(), tools=[Tool(refund, requires_approval=True)], output_type=[str, DeferredToolRequests])
    with guarding(agent, guard_for(process_for())):
        asked = agent.run_sync("refund order a")
        assert isinstance(asked.output, DeferredToolRequests)
        approved = DeferredToolResults(approvals={one.tool_call_id: True for one in asked.output.approvals})
        with pytest.raises(TimeoutError):
            agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=approved)
        with pytest.raises(LoopDetected):
            agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=approved)
    assert sent == ["a"]


def test_a_file_stays_one_beside_words() -> None:
    """A tool whose result is an image hands on an image when the model is told something with it."""
    image = BinaryContent(b"x" * 30, media_type="image/png")

    def ask(query: str) -> BinaryContent:  # noqa: ARG001 - the model's
        return image

    def stubborn(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        turn = sum(isinstance(one, ModelResponse) for one in messages)
        call = ToolCallPart("ask", {"query": "why"}, tool_call_id=f"c{turn}")
        return ModelResponse([call if turn < 4 else TextPart(ANSWER)])

    agent = Agent(FunctionModel(stubborn), tools=[ask])
    with otel_loopguard.run("r1"), guarding(agent, guard_for(process_for(), mode="nudge")):
        messages = agent.run_sync("go").all_messages()
    parts = [part for one in messages for part in one.parts if not isinstance(part, (ToolCallPart, TextPart))]
    held = [part.content if isinstance(part.content, list) else [part.content] for part in parts]
    assert sum(content.count(image) for content in held) == 4
    assert sum("[loopguard]" in str(one) for content in held for one in content) == 1
