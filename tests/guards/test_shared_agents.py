"""One agent object and one guard that serve many conversations in one event loop, and tools that break off."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import Any

import pytest

from otel_loopguard import names
from otel_loopguard.errors import LoopDetected
from tests.guards.script import guard_for, process_for

RUNS = 50
RAN: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _none_has_run() -> None:
    RAN.clear()


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


async def search(query: str) -> str:
    """Look something up."""
    await asyncio.sleep(0)
    RAN[query] += 1
    return f"2 hits for {query}"


def check(process: Any, stops: list[LoopDetected | None]) -> None:  # noqa: ANN401 - our own
    """In each run the read ran once, and the fourth call stopped it; no run is another's."""
    assert [stop and stop.count for stop in stops] == [4] * RUNS
    assert len({stop.run_id for stop in stops if stop}) == RUNS
    assert set(RAN.values()) == {1}
    assert len(RAN) == RUNS
    assert process.live.counters.total(names.TOOL_CALLS) == 4 * RUNS
    assert process.live.counters.total(names.DENIALS) == 2 * RUNS


def test_langchain() -> None:
    """No thread is named: each conversation is a run by its first message."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool

    from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of

    class Stubborn(BaseChatModel):
        """Asks for what the user says, with one id each time."""

        @property
        def _llm_type(self) -> str:
            return "stubborn"

        def bind_tools(self, tools: Any, **more: Any) -> Any:  # noqa: ANN401, ARG002
            """It knows its tools."""
            return self

        def _generate(self, messages: Any, *_: object, **__: object) -> ChatResult:  # noqa: ANN401
            call = {"id": "call_0", "name": "search", "args": {"query": messages[0].content}}
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content="", tool_calls=[call]))])

    process = process_for()
    graph = create_agent(
        Stubborn(),
        [StructuredTool.from_function(coroutine=search, name="search")],
        middleware=[LoopguardMiddleware(guard_for(process))],
    )

    async def all_of_them() -> list[Any]:
        asked = [{"messages": [HumanMessage(f"q{number}")]} for number in range(RUNS)]
        return await asyncio.gather(*(graph.ainvoke(one) for one in asked))

    check(process, [stop_of(state) for state in asyncio.run(all_of_them())])


class Meeting:
    """Some conversations that wait for each other at every step."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.here = 0
        self.all_here = asyncio.Event()

    async def wait(self) -> None:
        """Go on when all are here."""
        self.here += 1
        if self.here % self.size:
            await asyncio.wait_for(self.all_here.wait(), 10)
        else:
            self.all_here.set()
            self.all_here = asyncio.Event()


def lockstep(guard: Any, size: int, times: int) -> Any:  # noqa: ANN401
    """One LangChain agent whose conversations are as far as each other, with the same ids of messages and calls."""
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool

    from otel_loopguard.guards.langchain import LoopguardMiddleware

    meeting = Meeting(size)

    class Stubborn(BaseChatModel):
        """Asks for what the user says, some times, and then says what it heard last."""

        @property
        def _llm_type(self) -> str:
            return "stubborn"

        def bind_tools(self, tools: Any, **more: Any) -> Any:  # noqa: ANN401, ARG002
            """It knows its tools."""
            return self

        def _generate(self, messages: Any, *_: object, **__: object) -> ChatResult:  # noqa: ANN401
            turn = sum(one.type == "ai" for one in messages)
            calls = [{"id": "call_0", "name": "search", "args": {"query": messages[0].content}}]
            said: Any = (messages[-1].content, []) if turn == times else ("", calls)
            message = AIMessage(content=said[0], tool_calls=said[1], id=f"ai-{turn}")
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, *args: Any, **more: Any) -> ChatResult:  # noqa: ANN401
            await meeting.wait()
            return self._generate(*args, **more)

    tools = [StructuredTool.from_function(coroutine=search, name="search")]
    return create_agent(Stubborn(), tools, middleware=[LoopguardMiddleware(guard)])


def test_langchain_runs_side_by_side_may_have_the_same_ids() -> None:
    """Each of them is told and stopped for its own calls."""
    need("langchain")
    from langchain_core.messages import HumanMessage

    import otel_loopguard
    from otel_loopguard.guards.langchain import stop_of

    graph = lockstep(guard_for(process_for()), 2, 9)

    async def one(run: str) -> Any:  # noqa: ANN401
        with otel_loopguard.run(run):
            return stop_of(await graph.ainvoke({"messages": [HumanMessage("why", id="first")]}))

    async def both() -> Any:  # noqa: ANN401
        return await asyncio.gather(one("r1"), one("r2"))

    assert [(stop.run_id, stop.count) for stop in asyncio.run(both())] == [("r1", 4), ("r2", 4)]
    assert dict(RAN) == {"why": 2}


@pytest.mark.parametrize(
    ("colleagues", "asked"),
    [(("left", "right"), ("why", "why")), (("left", "right"), ("why", "how")), (("left", "left"), ("why", "how"))],
)
@pytest.mark.parametrize("is_threaded", [False, True])
def test_a_langchain_agent_that_is_asked_twice_at_once_is_two(
    *, is_threaded: bool, colleagues: tuple[str, str], asked: tuple[str, str]
) -> None:
    """Each makes its own calls and is known by the tool that asks it, though all ids are equal."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver

    from otel_loopguard.guards.langchain import LoopguardMiddleware
    from tests.guards.drivers.langchain import Scripted
    from tests.guards.script import Model, Script

    process = process_for()
    shared, model = lockstep(guard_for(process), 2, 1), Model(Script(()))

    async def consult(query: str) -> str:
        """Ask a colleague."""
        state = await shared.ainvoke({"messages": [HumanMessage(query, id="first")]})
        return str(state["messages"][-1].content)

    model.script = Script((tuple((name, {"query": query}) for name, query in zip(colleagues, asked, strict=True)),))
    graph = create_agent(
        Scripted(script=model),
        [StructuredTool.from_function(coroutine=consult, name=name) for name in set(colleagues)],
        middleware=[LoopguardMiddleware(guard_for(process))],
        checkpointer=InMemorySaver() if is_threaded else None,
    )
    config: Any = {"configurable": {"thread_id": "t1"}} if is_threaded else {}
    asyncio.run(graph.ainvoke({"messages": [HumanMessage("go")]}, config))
    assert model.heard == [f"2 hits for {query}" for query in asked]
    made = Counter({
        facts[names.AGENT_NAME]: count
        for count, facts in process.live.counters.read(names.TOOL_CALLS)
        if facts[names.TOOL_NAME] == "search"
    })  # fmt: skip
    assert made == Counter(colleagues)


@pytest.mark.parametrize("is_traced", [False, True])
def test_openai_agents(*, is_traced: bool) -> None:
    """Each run of the SDK is a run, with its tracing and without.

    Newer ones leave out a call whose id has had an answer, and ask the model again: there the stop is raised.
    """
    need("agents")
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
    from openai.types.responses import ResponseFunctionToolCall

    from otel_loopguard.guards.openai_agents import guard_agent, stop_of

    class Stubborn(Model):
        """Asks for what the user says, with one id each time."""

        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ANN401, ARG002
            """The same again."""
            asked = input if isinstance(input, str) else input[0]["content"]
            call = ResponseFunctionToolCall(
                call_id="call_0", name="search", arguments=f'{{"query": "{asked}"}}', type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(requests=1), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
            """Never asked for."""
            raise NotImplementedError

    process = process_for()
    agent: Any = Agent(name="agent", model=Stubborn(), tools=[function_tool(search)])
    guarded = guard_agent(agent, guard_for(process))

    async def one(number: int) -> LoopDetected | None:
        try:
            config = RunConfig(tracing_disabled=not is_traced)
            return stop_of(await Runner.run(guarded, f"q{number}", run_config=config))
        except LoopDetected as stop:
            return stop

    async def all_of_them() -> list[LoopDetected | None]:
        return await asyncio.gather(*(one(number) for number in range(RUNS)))

    check(process, asyncio.run(all_of_them()))


def test_pydantic_ai() -> None:
    """Each run of the agent inside one block is a run."""
    need("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.guards.pydantic_ai import guarding

    def stubborn(messages: list[Any], info: Any) -> ModelResponse:  # noqa: ANN401, ARG001
        asked = next(part.content for part in messages[0].parts if part.part_kind == "user-prompt")
        return ModelResponse(parts=[ToolCallPart("search", {"query": asked}, tool_call_id="call_0")])

    process = process_for()
    agent = Agent(FunctionModel(stubborn), tools=[search])

    async def one(number: int) -> LoopDetected | None:
        try:
            await agent.run(f"q{number}")
        except LoopDetected as stop:
            return stop
        return None

    async def all_of_them() -> list[LoopDetected | None]:
        with guarding(agent, guard_for(process)):
            return await asyncio.gather(*(one(number) for number in range(RUNS)))

    check(process, asyncio.run(all_of_them()))


class Wide(BaseException):
    """What no handler of `Exception` catches."""


@pytest.mark.parametrize("error", [asyncio.CancelledError, Wide])
def test_a_write_that_pydantic_ai_breaks_off_is_not_sent_again(error: type[BaseException]) -> None:
    """The exception passes as what it is, and the next run of the same name stops at the write."""
    need("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    import otel_loopguard
    from otel_loopguard.guards.pydantic_ai import guarding
    from tests.guards.drivers.pydantic_ai import Scripted
    from tests.guards.script import Model, Script

    def refund(order: str) -> str:
        raise error(order)

    script = Script(((("refund", {"order": "A1"}),),))
    guard = guard_for(process_for())

    def run() -> None:
        agent = Agent(FunctionModel(Scripted(Model(script)).answer), tools=[refund])
        with otel_loopguard.run("r1"), guarding(agent, guard):
            asyncio.run(agent.run("go"))

    with pytest.raises(error):
        run()
    with pytest.raises(LoopDetected) as stop:
        run()
    assert stop.value.kind == "indeterminate"
