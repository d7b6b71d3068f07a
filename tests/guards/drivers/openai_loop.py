"""A hand-written loop over the OpenAI client, chat completions and responses, whose server is the scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai

from otel_loopguard.guards import Guard
from otel_loopguard.guards.openai_loop import ToolCalls, ToolMessages
from tests.guards.drivers.wire import httpx_of
from tests.guards.script import ANSWER, TOOLS, Boom, Model, Script, Tools, Transcript

__all__ = ["Chat", "ChatAsync", "Responses"]

_httpx = httpx_of(openai)


class Plain:
    """The loop as it is without a guard."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def answer(self, calls: Any) -> ToolMessages:  # noqa: ANN401
        """Call the tools."""
        messages: list[dict[str, Any]] = []
        for call in calls or ():
            if call.type == "function":
                text = getattr(self._tools, call.function.name)(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            elif call.type == "function_call":
                text = getattr(self._tools, call.name)(**json.loads(call.arguments))
                messages.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
        return ToolMessages(messages, None)

    async def answer_async(self, calls: Any) -> ToolMessages:  # noqa: ANN401
        """As `answer`."""
        return self.answer(calls)


class Chat:
    """Chat completions."""

    name = "openai chat loop"
    raises = True
    tells_rejections = True
    batches = True
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:
        """Loop until the model has no more calls."""
        model, seen = Model(script), Transcript(tools.ran)
        functions = {name: getattr(tools, name) for name in TOOLS}
        calls: Any = Plain(tools) if guard is None else ToolCalls(guard, functions, agent=agent)
        items: list[Any] = [{"role": "user", "content": "go"}]
        try:
            self.loop(model, calls, items, seen)
        except Boom as error:
            seen.raised = error
        asked = [one["id"] for item in items for one in item.get("tool_calls") or ()]
        asked += [item["call_id"] for item in items if item.get("type") == "function_call"]
        results = [item for item in items if item.get("role") == "tool" or item.get("type") == "function_call_output"]
        answers = [item.get("tool_call_id") or item["call_id"] for item in results]
        seen.unanswered = len(set(asked) ^ set(answers)) + len(answers) - len(set(answers))
        seen.heard = [item.get("content") or item["output"] for item in results]
        seen.conversation = json.dumps(items)
        return seen

    def serve(self, model: Model) -> Any:  # noqa: ANN401 - a handler of httpx
        """The model's side of the wire."""

        def answer(request: Any) -> Any:  # noqa: ANN401, ARG001
            calls = [
                {"id": call_id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
                for call_id, tool, arguments in model.next()
            ]
            message = {"role": "assistant", "content": None if calls else ANSWER, "tool_calls": calls or None}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
            body = {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
            return _httpx.Response(200, json=body)

        return answer

    def loop(self, model: Model, calls: Any, items: list[Any], seen: Transcript) -> None:  # noqa: ANN401
        """The application's loop."""
        http = _httpx.Client(transport=_httpx.MockTransport(self.serve(model)))
        with openai.OpenAI(api_key="none", http_client=http) as client:
            while seen.answer is None and seen.stop is None:
                message = client.chat.completions.create(model="scripted", messages=items).choices[0].message
                items.append(message.model_dump(exclude_none=True))
                self.take(calls.answer(message.tool_calls), items, seen)

    @staticmethod
    def take(answered: ToolMessages, items: list[Any], seen: Transcript) -> None:
        """Append the answers."""
        items.extend(answered.messages)
        seen.stop = answered.stop
        if not answered.messages:
            seen.answer = ANSWER


class ChatAsync(Chat):
    """Chat completions, the asynchronous client."""

    name = "openai chat loop async"

    def loop(self, model: Model, calls: Any, items: list[Any], seen: Transcript) -> None:  # noqa: ANN401
        """The application's loop."""

        async def loop() -> None:
            http = _httpx.AsyncClient(transport=_httpx.MockTransport(self.serve(model)))
            async with openai.AsyncOpenAI(api_key="none", http_client=http) as client:
                while seen.answer is None and seen.stop is None:
                    completion = await client.chat.completions.create(model="scripted", messages=items)
                    message = completion.choices[0].message
                    items.append(message.model_dump(exclude_none=True))
                    self.take(await calls.answer_async(message.tool_calls), items, seen)

        asyncio.run(loop())


class Responses(Chat):
    """The responses API."""

    name = "openai responses loop"

    def serve(self, model: Model) -> Any:  # noqa: ANN401 - a handler of httpx
        """The model's side of the wire."""

        def answer(request: Any) -> Any:  # noqa: ANN401, ARG001
            output: list[Any] = [
                {"id": "f", "type": "function_call", "call_id": call_id, "name": tool, "status": "completed",
                 "arguments": json.dumps(arguments)}
                for call_id, tool, arguments in model.next()
            ] or [
                {"id": "m", "type": "message", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
            ]  # fmt: skip
            body = {
                "id": "r", "object": "response", "created_at": 0, "model": "scripted", "output": output,
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            }  # fmt: skip
            return _httpx.Response(200, json=body)

        return answer

    def loop(self, model: Model, calls: Any, items: list[Any], seen: Transcript) -> None:  # noqa: ANN401
        """The application's loop."""
        http = _httpx.Client(transport=_httpx.MockTransport(self.serve(model)))
        with openai.OpenAI(api_key="none", http_client=http) as client:
            while seen.answer is None and seen.stop is None:
                output = client.responses.create(model="scripted", input=items).output
                items.extend(one.model_dump(exclude_none=True) for one in output)
                self.take(calls.answer(output), items, seen)
