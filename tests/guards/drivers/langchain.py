"""LangChain's agent loop over a scripted chat model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool

from otel_loopguard.guards import Guard
from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
from tests.guards.script import ANSWER, TOOLS, Boom, Model, Script, Tools, Transcript

__all__ = ["Async", "Streamed", "Sync"]


class Scripted(BaseChatModel):
    """The model of the script."""

    script: Any
    """A `Model`."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **more: Any) -> Any:  # noqa: ANN401, ARG002
        """It knows its tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        model: Model = self.script
        known = len(model.heard)
        for message in [one for one in messages if isinstance(one, ToolMessage)][known:]:
            model.hear(message.content)
        calls = [{"id": call_id, "name": tool, "args": dict(arguments)} for call_id, tool, arguments in model.next()]
        message = AIMessage(content="" if calls else ANSWER, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Sync:
    """`invoke`."""

    name = "langchain"
    raises = True
    tells_rejections = True
    batches = True
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:  # noqa: ARG002
        """Let the graph loop."""
        model, seen = Model(script), Transcript(tools.ran)
        graph = create_agent(
            Scripted(script=model),
            [StructuredTool.from_function(getattr(tools, name), name=name) for name in TOOLS],
            middleware=[] if guard is None else [LoopguardMiddleware(guard, report_blocked=True)],
        )
        try:
            state = self.loop(graph, {"messages": [HumanMessage("go", id="first")]})
        except Boom as error:
            seen.raised, state = error, {"messages": []}
        messages = state["messages"]
        seen.stop = stop_of(state)
        seen.answer = messages[-1].content if messages and seen.stop is None else None
        asked = [call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
        answers = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
        seen.unanswered = len(set(asked) ^ set(answers)) + len(answers) - len(set(answers))
        seen.heard = [message.content for message in messages if isinstance(message, ToolMessage)]
        seen.conversation = json.dumps([[message.type, message.content] for message in messages] or model.heard)
        return seen

    def loop(self, graph: Any, start: dict[str, Any]) -> Any:  # noqa: ANN401
        """The state at the end."""
        return graph.invoke(start, {"recursion_limit": 100})


class Async(Sync):
    """`ainvoke`."""

    name = "langchain async"

    def loop(self, graph: Any, start: dict[str, Any]) -> Any:  # noqa: ANN401
        """The state at the end."""
        return asyncio.run(graph.ainvoke(start, {"recursion_limit": 100}))


class Streamed(Sync):
    """`stream`."""

    name = "langchain streamed"

    def loop(self, graph: Any, start: dict[str, Any]) -> Any:  # noqa: ANN401
        """The last state that was streamed."""
        return list(graph.stream(start, {"recursion_limit": 100}, stream_mode="values"))[-1]
