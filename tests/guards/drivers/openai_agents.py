"""The OpenAI Agents SDK's loop over a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from otel_loopguard.guards import Guard
from otel_loopguard.guards.openai_agents import guard_agent, report_blocked_tool, stop_of
from tests.guards import script as scripted
from tests.guards.script import ANSWER, TOOLS, Script, Tools, Transcript

__all__ = ["Async", "Streamed", "Sync", "Traced"]


class Scripted(Model):
    """The model of the script."""

    def __init__(self, model: scripted.Model) -> None:
        self.model = model

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ANN401, ARG002
        """The next decision."""
        results = [
            item["output"] for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        for text in results[len(self.model.heard) :]:
            self.model.hear(text)
        calls = self.model.next()
        output: list[Any] = [
            ResponseFunctionToolCall(call_id=call_id, name=tool, arguments=json.dumps(arguments), type="function_call")
            for call_id, tool, arguments in calls
        ]
        if not calls:
            text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            ]
        return ModelResponse(output=output, usage=Usage(requests=1), response_id=None)

    async def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:  # noqa: ANN401
        """The same as one event."""
        response = await self.get_response(*args, **more)
        yield ResponseCompletedEvent(
            type="response.completed",
            sequence_number=0,
            response=Response(
                id="r", created_at=0, model="scripted", object="response", output=response.output, tool_choice="auto",
                tools=[], parallel_tool_calls=True,
            ),
        )  # fmt: skip


class Async:
    """`Runner.run`."""

    name = "openai agents"
    raises = False
    tells_rejections = False
    batches = True
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:
        """Let the runner loop."""
        model, seen = scripted.Model(script), Transcript(tools.ran)
        functions = [function_tool(getattr(tools, name)) for name in TOOLS]
        if guard is not None:
            functions.append(report_blocked_tool(guard))
        made: Agent[Any] = Agent(name=agent, model=Scripted(model), tools=functions)
        result = self.loop(made if guard is None else guard_agent(made, guard))
        seen.stop = stop_of(result)
        seen.answer = result.final_output if seen.stop is None else None
        items = result.to_input_list()
        asked = [item["call_id"] for item in items if item.get("type") == "function_call"]
        answers = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        seen.unanswered = len(set(asked) ^ set(answers)) + len(answers) - len(set(answers))
        seen.heard = [item["output"] for item in items if item.get("type") == "function_call_output"]
        seen.conversation = json.dumps(items)
        return seen

    def loop(self, agent: Agent[Any]) -> Any:  # noqa: ANN401
        """The result of the run."""
        return asyncio.run(Runner.run(agent, "go", max_turns=50, run_config=RunConfig(tracing_disabled=True)))


class Traced(Async):
    """`Runner.run` with the SDK's tracing, which instrumentations listen to."""

    name = "openai agents traced"

    def loop(self, agent: Agent[Any]) -> Any:  # noqa: ANN401
        """The result of the run."""
        return asyncio.run(Runner.run(agent, "go", max_turns=50))


class Sync(Async):
    """`Runner.run_sync`."""

    name = "openai agents sync"

    def loop(self, agent: Agent[Any]) -> Any:  # noqa: ANN401
        """The result of the run."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            return Runner.run_sync(agent, "go", max_turns=50, run_config=RunConfig(tracing_disabled=True))
        finally:
            asyncio.set_event_loop(None)
            loop.close()


class Streamed(Async):
    """`Runner.run_streamed`."""

    name = "openai agents streamed"

    def loop(self, agent: Agent[Any]) -> Any:  # noqa: ANN401
        """The result when the stream is at its end."""

        async def all_of_it() -> Any:  # noqa: ANN401
            result = Runner.run_streamed(agent, "go", max_turns=50, run_config=RunConfig(tracing_disabled=True))
            async for _ in result.stream_events():
                pass
            return result

        return asyncio.run(all_of_it())
