"""Pydantic AI's loop over a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from otel_loopguard.errors import LoopDetected
from otel_loopguard.guards import Guard
from otel_loopguard.guards.pydantic_ai import guarding, report_blocked_tool
from tests.guards.script import ANSWER, TOOLS, Boom, Model, Script, Tools, Transcript

__all__ = ["Async", "Streamed", "Sync"]


class Scripted:
    """The model of the script."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def answer(self, messages: list[Any], info: Any) -> ModelResponse:  # noqa: ANN401, ARG002
        """The next decision."""
        results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        for part in results[len(self.model.heard) :]:
            self.model.hear(part.content)
        calls = self.model.next()
        parts = [ToolCallPart(tool, dict(arguments), tool_call_id=call_id) for call_id, tool, arguments in calls]
        return ModelResponse(parts=parts or [TextPart(ANSWER)])

    async def stream(self, messages: list[Any], info: Any) -> AsyncIterator[Any]:  # noqa: ANN401
        """The same in pieces."""
        response = self.answer(messages, info)
        for place, part in enumerate(response.parts):
            if isinstance(part, ToolCallPart):
                arguments = json.dumps(part.args)
                yield {place: DeltaToolCall(name=part.tool_name, json_args=arguments, tool_call_id=part.tool_call_id)}
            elif isinstance(part, TextPart):
                yield part.content


class Async:
    """`run`."""

    name = "pydantic ai"
    raises = True
    tells_rejections = True
    batches = True
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:
        """Let the agent loop."""
        model, seen = Model(script), Transcript(tools.ran)
        scripted = Scripted(model)
        made: Agent[None, str] = Agent(
            FunctionModel(scripted.answer, stream_function=scripted.stream), name=agent,
            tools=[getattr(tools, name) for name in TOOLS] + ([] if guard is None else [report_blocked_tool(guard)]),
        )  # fmt: skip
        with capture_run_messages() as messages, nullcontext() if guard is None else guarding(made, guard):
            try:
                seen.answer = self.loop(made)
            except LoopDetected as stop:
                seen.stop = stop
            except Boom as error:
                seen.raised = error
        parts = [part for message in messages for part in message.parts]
        asked = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
        returned = [part for part in parts if isinstance(part, ToolReturnPart)]
        answers = [part.tool_call_id for part in returned]
        seen.unanswered = len(set(asked) ^ set(answers)) + len(answers) - len(set(answers))
        seen.heard = [part.content if isinstance(part.content, str) else json.dumps(part.content) for part in returned]
        seen.conversation = json.dumps([[type(part).__name__, str(getattr(part, "content", ""))] for part in parts])
        return seen

    def loop(self, agent: Agent[None, str]) -> str:
        """The answer."""
        return asyncio.run(agent.run("go")).output


class Sync(Async):
    """`run_sync`."""

    name = "pydantic ai sync"
    nests = False

    def loop(self, agent: Agent[None, str]) -> str:
        """The answer."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            return agent.run_sync("go").output
        finally:
            asyncio.set_event_loop(None)
            loop.close()


class Streamed(Async):
    """`run_stream`."""

    name = "pydantic ai streamed"

    def loop(self, agent: Agent[None, str]) -> str:
        """The answer when the stream is at its end."""

        async def all_of_it() -> str:
            async with agent.run_stream("go") as result:
                return await result.get_output()

        return asyncio.run(all_of_it())
