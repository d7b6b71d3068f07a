"""LangChain and LangGraph agents (`langchain.agents.create_agent`, langchain 1.0 and newer): a middleware.

Not for a bare `ToolNode` in a graph of one's own: give that `wrap_tool_call=middleware.wrap_tool_call`, which refuses
and nudges, but has no way to end the graph.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from otel_loopguard.errors import LoopDetected, MissingExtraError

from ._answer import Allow, Call, Nudge, Refuse, text_of, with_words
from ._batch import Asked, judge
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._guard import Guard
from ._option import require_flag, require_guard, require_name

try:
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp, GraphInterrupt
except ImportError as error:
    raise MissingExtraError("langchain") from error

__all__ = ["LoopguardMiddleware", "stop_of"]

_WAITING: Final = 4096
"""Calls admitted and not yet dispatched; one that is forgotten is judged again at its dispatch."""
_KEY: Final = "loopguard"
_NO_FIT: Final = "Error invoking tool "
"""How LangGraph begins a message in place of a tool whose arguments did not fit, so that it did not run."""


class LoopguardMiddleware(AgentMiddleware):  # type: ignore[type-arg]
    """Judges all calls of a model's message before any is dispatched: refused ones are answered in their place.

    A stop answers every call of the message, adds a last message of the agent's and ends the graph; `stop_of` finds
    it in the result. The run is the one that `otel_loopguard.run()` names, else the thread, else the conversation.
    """

    def __init__(self, guard: Guard, *, agent: str | None = None, report_blocked: bool = False) -> None:
        """``report_blocked`` gives the agent a tool of that name, which changes what the model is offered."""
        super().__init__()
        require_guard(guard)
        require_name("agent", agent)
        require_flag("report_blocked", report_blocked)
        self.guard = guard
        self.agent = agent
        self.tools = [_report_blocked(guard)] if report_blocked else []
        self._lock = threading.Lock()
        self._waiting: OrderedDict[tuple[str, str, str], Call] = OrderedDict()
        """What was judged and not yet dispatched, by run, call id and tool."""
        self._offered: dict[str, None] = {}

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002 - the seam
        """A new human message in a thread is a user message."""
        messages = state["messages"]
        if messages and messages[-1].type == "human":
            self.guard.new_message(_run_of(messages))
        return None

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """As `before_agent`."""
        return self.before_agent(state, runtime)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Look at the names of the tools that the model is offered."""
        self._look_at(request.tools)
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """As `wrap_model_call`."""
        self._look_at(request.tools)
        return await handler(request)

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002
        """Judge the calls of the model's message."""
        messages: list[AnyMessage] = state["messages"]
        message = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
        if message is None or not message.tool_calls:
            return None
        calls = message.tool_calls
        run = _run_of(messages)
        self._forget_answered(run, messages)
        asked = [Asked(call["id"] or "", call["name"], call["args"]) for call in calls]
        turn = _turn_of(message, messages)
        judged = judge(self.guard, asked, turn=turn, run=run, agent=self._name(), tools=self._offered)
        answered: list[AnyMessage] = []
        for call, decision in zip(calls, judged.decisions, strict=True):
            if isinstance(decision, Allow):
                self._keep((run, call["id"] or "", call["name"]), decision.call)
            else:
                answered.append(_answer(call, decision))
        if judged.stop is None:
            return {"messages": answered} if answered else None
        last = AIMessage(content=judged.words, response_metadata={_KEY: _facts(self.guard.ended(judged.stop))})
        return {"messages": [*answered, last], "jump_to": "end"}

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """As `after_model`."""
        return self.after_model(state, runtime)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Put around the dispatch of a call."""
        decision = self._admitted(request)
        if not isinstance(decision, Allow):
            return _answer(request.tool_call, decision)
        try:
            with self.guard.inside(decision.call):
                result = handler(request)
        except GraphBubbleUp as signal:
            self._signalled(decision.call, signal)
            raise
        except BaseException as error:
            self.guard.failed(decision.call, error)
            raise
        return self._finish(decision.call, request, result)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """As `wrap_tool_call`."""
        decision = self._admitted(request)
        if not isinstance(decision, Allow):
            return _answer(request.tool_call, decision)
        try:
            with self.guard.inside(decision.call):
                result = await handler(request)
        except GraphBubbleUp as signal:
            self._signalled(decision.call, signal)
            raise
        except BaseException as error:
            self.guard.failed(decision.call, error)
            raise
        return self._finish(decision.call, request, result)

    # Inside -------------------------------------------------------------------------------------------------------

    def _look_at(self, tools: list[Any]) -> None:
        """The model is offered these tools."""
        offered = _names_of(tools)
        self._offered = dict.fromkeys(offered)
        self.guard.knows(*offered)

    def _name(self) -> str | None:
        """Of the agent; one without a name that a guarded tool calls is known by that tool."""
        return self.agent or self.guard.inside_of() or None

    def _forget_answered(self, run: str, messages: list[AnyMessage]) -> None:
        """Another answered in the tool's place, a person mostly: those calls have not run."""
        answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
        with self._lock:
            left = [self._waiting.pop(key) for key in list(self._waiting) if key[0] == run and key[1] in answered]
        for call in left:
            self.guard.withdraw(call)

    def _keep(self, key: tuple[str, str, str], call: Call) -> None:
        with self._lock:
            self._waiting[key] = call
            if len(self._waiting) > _WAITING:
                self._waiting.popitem(last=False)

    def _admitted(self, request: Any) -> Allow | Nudge | Refuse:  # noqa: ANN401
        """What was decided when the model's message came; decided now for a graph without that hook."""
        call, state = request.tool_call, request.state
        messages = state.get("messages", []) if isinstance(state, Mapping) else []
        with self._lock:
            held = self._waiting.pop((_run_of(messages), call["id"] or "", call["name"]), None)
        if held is not None and held.arguments == call["args"]:
            self.guard.reached(held)
            return Allow(held)
        if held is not None:  # a person or another middleware wrote other arguments: another call
            self.guard.withdraw(held)
        message = next((one for one in reversed(messages) if isinstance(one, AIMessage)), AIMessage(content=""))
        turn = _turn_of(message, messages)
        run = _run_of(messages)
        return self.guard.before(
            call["name"], call["args"], call_id=call["id"], turn=turn, run=run, agent=self._name(), tools=self._offered
        )

    def _signalled(self, call: Call, signal: GraphBubbleUp) -> None:
        """A tool spoke to the graph: no failure. One that waits for a person is judged anew when it is run again."""
        if isinstance(signal, GraphInterrupt):
            self.guard.withdraw(call)
        else:
            self.guard.after(call)

    def _finish(self, call: Call, request: Any, result: Any) -> Any:  # noqa: ANN401
        """Tell the guard what came back, and put its words to it."""
        if not isinstance(result, ToolMessage):
            self.guard.after(call)
            return result
        failed = result.status == "error"
        content = result.content
        after = self.guard.after(
            call, content, is_error=failed, error_type=_error_type(request, content) if failed else None,
            error_message=text_of(content) if failed else None, keep=content if result.artifact is None else None,
        )  # fmt: skip
        if isinstance(after, Allow):
            return result
        return result.model_copy(update={"content": _with_words(result.content, after.text)})


def stop_of(result: Mapping[str, Any]) -> LoopDetected | None:
    """What stopped the agent, from the state that it returned; None where it ended by itself."""
    messages = result.get("messages") or [None]
    facts = getattr(messages[-1], "response_metadata", {}).get(_KEY)
    return None if facts is None else LoopDetected(**facts)


def _error_type(request: Any, content: object) -> str | None:  # noqa: ANN401
    """What kind of failure a message stands for, where the graph itself made it; of any other only its text is left."""
    if request.tool is None:
        return "unknown_tool"
    return "validation" if isinstance(content, str) and content.startswith(_NO_FIT) else None


def _run_of(messages: list[AnyMessage]) -> str:
    """The thread; without one the conversation, by the id of its first message."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # not inside a graph
        thread = None
    return str(thread) if thread else str(messages[0].id or "") if messages else ""


def _turn_of(message: AnyMessage, messages: list[AnyMessage]) -> str:
    return message.id or f"message-{len(messages)}"


def _answer(call: Mapping[str, Any], decision: Nudge | Refuse) -> ToolMessage:
    if isinstance(decision, Nudge):
        kept: Any = decision.answer if isinstance(decision.answer, list) else text_of(decision.answer)
        return ToolMessage(_with_words(kept, decision.text), tool_call_id=call["id"], name=call["name"])
    return ToolMessage(decision.text, tool_call_id=call["id"], name=call["name"], status="error")


def _with_words(content: str | list[str | dict[Any, Any]], text: str) -> str | list[str | dict[Any, Any]]:
    if isinstance(content, str):
        return str(with_words(content, text))
    return [*content, {"type": "text", "text": text}]


def _facts(stop: LoopDetected) -> dict[str, Any]:
    return {
        "summary": stop.summary, "tool": stop.tool, "kind": stop.kind, "count": stop.count, "run_id": stop.run_id,
        "agent": stop.agent, "finding_id": stop.finding_id,
    }  # fmt: skip


def _names_of(tools: list[Any]) -> list[str]:
    found = [one.get("name") if isinstance(one, Mapping) else getattr(one, "name", None) for one in tools]
    return [name for name in found if isinstance(name, str)]


def _report_blocked(guard: Guard) -> StructuredTool:
    return StructuredTool.from_function(
        guard.report, name="report_blocked", description=REPORT_BLOCKED_WORDS, args_schema=dict(REPORT_BLOCKED_SCHEMA)
    )
