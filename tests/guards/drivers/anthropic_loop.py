"""A hand-written loop over the Anthropic client, whose server is the scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic

from otel_loopguard.guards import Guard
from otel_loopguard.guards.anthropic_loop import ToolResults, ToolUses
from tests.guards.drivers.wire import httpx_of
from tests.guards.script import ANSWER, TOOLS, Boom, Model, Script, Tools, Transcript

__all__ = ["Async", "Sync"]

_httpx = httpx_of(anthropic)


def serve(model: Model) -> Any:  # noqa: ANN401 - a handler of httpx
    """The model's side of the wire."""

    def answer(request: Any) -> Any:  # noqa: ANN401, ARG001
        content: list[Any] = [
            {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
            for call_id, tool, arguments in model.next()
        ]
        reason = "tool_use" if content else "end_turn"
        body = {
            "id": "m", "type": "message", "role": "assistant", "model": "scripted", "stop_reason": reason,
            "content": content or [{"type": "text", "text": ANSWER}], "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return _httpx.Response(200, json=body)

    return answer


class Plain:
    """The loop as it is without a guard."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def answer(self, content: Any) -> ToolResults:  # noqa: ANN401
        """Call the tools."""
        return ToolResults(
            [
                {"type": "tool_result", "tool_use_id": one.id, "content": getattr(self._tools, one.name)(**one.input)}
                for one in content
                if one.type == "tool_use"
            ],
            None,
        )

    async def answer_async(self, content: Any) -> ToolResults:  # noqa: ANN401
        """As `answer`."""
        return self.answer(content)


class Sync:
    """The synchronous client."""

    name = "anthropic loop"
    raises = True
    tells_rejections = True
    batches = True
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:
        """Loop until the model has no more calls."""
        model, seen = Model(script), Transcript(tools.ran)
        functions = {name: getattr(tools, name) for name in TOOLS}
        uses: Any = Plain(tools) if guard is None else ToolUses(guard, functions, agent=agent)
        messages: list[Any] = [{"role": "user", "content": "go"}]
        try:
            self.loop(model, uses, messages, seen)
        except Boom as error:
            seen.raised = error
        blocks = [block for message in messages[1:] for block in message["content"]]
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = [block for block in blocks if block["type"] == "tool_result"]
        answers = [block["tool_use_id"] for block in results]
        seen.unanswered = len(set(asked) ^ set(answers)) + len(answers) - len(set(answers))
        seen.heard = [block["content"] for block in results]
        seen.conversation = json.dumps(messages)
        return seen

    def loop(self, model: Model, uses: Any, messages: list[Any], seen: Transcript) -> None:  # noqa: ANN401
        """The application's loop."""
        transport = _httpx.MockTransport(serve(model))
        with anthropic.Anthropic(api_key="none", http_client=_httpx.Client(transport=transport)) as client:
            while True:
                response = client.messages.create(model="scripted", max_tokens=9, messages=messages)
                messages.append({"role": "assistant", "content": [one.model_dump() for one in response.content]})
                results = uses.answer(response.content)
                if not results.content:
                    seen.answer = ANSWER
                    return
                messages.append({"role": "user", "content": results.content})
                if results.stop is not None:
                    seen.stop = results.stop
                    return


class Async(Sync):
    """The asynchronous client."""

    name = "anthropic loop async"

    def loop(self, model: Model, uses: Any, messages: list[Any], seen: Transcript) -> None:  # noqa: ANN401
        """The application's loop."""

        async def loop() -> None:
            transport = _httpx.MockTransport(serve(model))
            http = _httpx.AsyncClient(transport=transport)
            async with anthropic.AsyncAnthropic(api_key="none", http_client=http) as client:
                while True:
                    response = await client.messages.create(model="scripted", max_tokens=9, messages=messages)
                    messages.append({"role": "assistant", "content": [one.model_dump() for one in response.content]})
                    results = await uses.answer_async(response.content)
                    if not results.content:
                        seen.answer = ANSWER
                        return
                    messages.append({"role": "user", "content": results.content})
                    if results.stop is not None:
                        seen.stop = results.stop
                        return

        asyncio.run(loop())
