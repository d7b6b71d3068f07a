"""What only the OpenAI Agents SDK has: MCP servers of an agent, and runs without a trace."""

from __future__ import annotations

import pytest

pytest.importorskip("agents", reason="needs `agents`: make test-guards")

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from agents import (
    Agent,
    GuardrailFunctionOutput,
    Model,
    ModelResponse,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunState,
    Usage,
    function_tool,
    output_guardrail,
    trace,
)
from agents.mcp import MCPServer
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as ServedTool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import otel_loopguard
from otel_loopguard.errors import LoopDetected, SettingError
from otel_loopguard.guards import Guard
from otel_loopguard.guards.openai_agents import failure_seen, guard_agent, stop_of
from tests.guards import script as scripted
from tests.guards.drivers.openai_agents import Scripted
from tests.guards.script import Lost, Rejected, Script, Tools, guard_for, process_for

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


class Answering(Model):
    """Asks as the user says: for one thing again and again, or for each of some; its calls have the same ids always."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ANN401, ARG002
        """As many calls as it heard answers, and one more."""
        said = input if isinstance(input, str) else input[0]["content"]
        heard = [item["output"] for item in input if isinstance(item, dict) and "output" in item]
        if said.startswith("each") and len(heard) == 3:
            return ModelResponse(output=[message(" ".join(heard))], usage=Usage(requests=1), response_id=None)
        query = f"{said} {len(heard)}" if said.startswith("each") else said
        call = ResponseFunctionToolCall(
            call_id=f"call_{len(heard)}", name="search", arguments=json.dumps({"query": query}), type="function_call"
        )
        return ModelResponse(output=[call], usage=Usage(requests=1), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        """Never asked for."""
        raise NotImplementedError


def message(text: str) -> ResponseOutputMessage:
    """What a model says."""
    said = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", content=[said], role="assistant", status="completed", type="message")


class Saying(Scripted):
    """Says one thing."""

    def __init__(self, text: str) -> None:
        super().__init__(scripted.Model(Script(())))
        self.text = text

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:  # noqa: ANN401
        """That."""
        return ModelResponse(output=[message(self.text)], usage=Usage(requests=1), response_id=None)


@pytest.mark.parametrize("first", ["same", "each"])
def test_one_agent_that_is_asked_twice_at_once_is_two_conversations(first: str) -> None:
    """Whatever their call ids are: the one that repeats itself is stopped, and the other one answers."""

    async def slow(query: str) -> str:
        """The conversations take turns."""
        await asyncio.sleep(0)
        return search(query)

    inputs = [{"input": first}, {"input": "each" if first == "same" else "same"}]
    asks = scripted.Model(Script((tuple(("ask", one) for one in inputs),)))
    shared = Agent("sub", model=Answering(), tools=[function_tool(slow, name_override="search")])
    looped = guard_agent(shared, guard_for(process_for()))
    outer = Agent("outer", model=Scripted(asks), tools=[looped.as_tool("ask", "Asks.")])
    Runner.run_sync(outer, "go", run_config=QUIET)
    heard = dict(zip((one["input"] for one in inputs), asks.heard, strict=True))
    assert "[loopguard]" in heard["same"]
    assert heard["each"] == "2 hits for each 0 2 hits for each 1 2 hits for each 2"


def test_a_stopped_agent_may_hand_over() -> None:
    """Of the step that is stopped nothing happens but the handoff: the other agent answers, and nothing is raised."""
    tools = Tools()
    other = Agent("other", model=Scripted(scripted.Model(Script(()))))
    steps = Script((*[(("search", SAME),)] * 3, (("search", SAME), ("transfer_to_other", {}))))
    functions = [function_tool(tools.search)]
    triage = Agent("triage", model=Scripted(scripted.Model(steps)), tools=functions, handoffs=[other])
    result = Runner.run_sync(guard_agent(triage, guard_for(process_for())), "go", run_config=QUIET)
    assert (result.last_agent.name, result.final_output) == ("other", scripted.ANSWER)
    assert tools.ran == {"search": 1}
    outputs = [str(item["output"]) for item in result.to_input_list() if "output" in item]
    assert [text.startswith("[loopguard]") for text in outputs] == [False, False, True, True, False]


def test_a_stopped_agent_that_is_handed_the_run_back_ends_it() -> None:
    """It handed over beside the stop, and does not go on where it was."""
    tools = Tools()
    back = scripted.Model(Script((*[()] * 9, (("transfer_to_triage", {}),))))
    back.turn = 9  # its calls have ids of their own
    other: Any = Agent("other", model=Scripted(back))
    steps = Script((*[(("search", SAME),)] * 3, (("search", SAME), ("transfer_to_other", {}))))
    functions = [function_tool(tools.search)]
    triage = Agent("triage", model=Scripted(scripted.Model(steps)), tools=functions, handoffs=[other])
    guarded = guard_agent(triage, guard_for(process_for()))
    other.handoffs.append(guarded)
    with pytest.raises(LoopDetected) as stop:
        Runner.run_sync(guarded, "go", run_config=QUIET)
    assert (stop.value.agent, stop.value.count, tools.ran) == ("triage", 4, {"search": 1})


@dataclass(frozen=True)
class Found:
    """What an agent is to answer."""

    hits: int


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_stop_is_no_output_for_a_guardrail(*, is_async: bool, is_streamed: bool) -> None:
    """It reaches the caller, though a guardrail of the agent can only read the type that the agent answers with."""
    asked = []

    def check(_: Any, __: Any, output: Any) -> GuardrailFunctionOutput:  # noqa: ANN401
        asked.append(output.hits)
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=output.hits > 1)

    async def check_later(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:  # noqa: ANN401
        return check(context, agent, output)

    found: Any = output_guardrail(check_later if is_async else check)

    def loop(model: Model) -> Any:  # noqa: ANN401
        agent: Any = Agent(
            "triage", model=model, tools=[function_tool(search)], output_type=Found, output_guardrails=[found]
        )
        agent = guard_agent(agent, guard_for(process_for()))

        async def all_of_it() -> Any:  # noqa: ANN401
            if not is_streamed:
                return await Runner.run(agent, "go", run_config=QUIET)
            result = Runner.run_streamed(agent, "go", run_config=QUIET)
            _ = [one async for one in result.stream_events()]
            return result

        return asyncio.run(all_of_it())

    assert stop_of(loop(Scripted(stubborn()))) is not None
    assert asked == []
    assert loop(Saying('{"response": {"hits": 1}}')).final_output == Found(hits=1)
    with pytest.raises(OutputGuardrailTripwireTriggered) as tripped:
        loop(Saying('{"response": {"hits": 2}}'))
    assert tripped.value.guardrail_result.guardrail.get_name() == found.get_name()
    assert asked == [1, 2]


def test_an_agent_is_guarded_once() -> None:
    """Twice would be two answers to one question; the mistake is told where it is made."""
    guard = guard_for(process_for())
    with pytest.raises(SettingError, match="`worker` is guarded already"):
        guard_agent(guard_agent(Agent("worker"), guard), guard)


def search(query: str) -> str:
    """It never finds more."""
    return f"2 hits for {query}"


@pytest.mark.parametrize("is_side_by_side", [False, True])
def test_runs_of_one_trace_have_histories_of_their_own(*, is_side_by_side: bool) -> None:
    """Runs that a trace of the SDK is around, as in a nightly batch, are no loop of each other."""
    tools = Tools()
    once = Script(((("search", SAME),),))
    guard = guard_for(process_for())

    async def all_of_them() -> list[Any]:
        with trace("nightly"):
            agents = [
                guard_agent(
                    Agent("a", tools=[function_tool(tools.search)], model=Scripted(scripted.Model(once))), guard
                )
                for _ in range(6)
            ]
            runs = [Runner.run(agent, f"document {place}") for place, agent in enumerate(agents)]
            return list(await asyncio.gather(*runs)) if is_side_by_side else [await run for run in runs]

    results = asyncio.run(all_of_them())
    assert [stop_of(result) for result in results] == [None] * 6
    assert tools.ran == {"search": 6}


def test_a_stop_of_a_call_that_a_person_approved_later_ends_the_run() -> None:
    """A run that was stored is judged when it comes back: the stop ends it, and nobody is asked again."""
    ran = Counter[str]()

    @function_tool(needs_approval=True)
    async def refund(order: str) -> str:
        ran[order] += 1
        raise TimeoutError

    agent = guard_agent(
        Agent("a", tools=[refund], model=Scripted(scripted.Model(Script(((("refund", {"order": "A1"}),),) * 6)))),
        guard_for(process_for()),
    )

    async def whole() -> tuple[int, Any]:
        result, asked = await Runner.run(agent, "go", run_config=QUIET), 0
        while result.interruptions:
            asked, state = asked + 1, await RunState.from_json(agent, result.to_state().to_json())
            for one in state.get_interruptions():
                state.approve(one)
            result = await Runner.run(agent, state, run_config=QUIET)
        return asked, result

    with otel_loopguard.run("r1"):
        asked, result = asyncio.run(whole())
    stop = stop_of(result)
    assert stop is not None
    assert (asked, ran, stop.kind) == (2, {"A1": 1}, "indeterminate")
