"""LangChain and LangGraph agents (`langchain.agents.create_agent`, langchain 1.0 and newer): a middleware.

Not for a bare `ToolNode` in a graph of one's own: give that `wrap_tool_call=middleware.wrap_tool_call`, which refuses
and nudges, but has no way to end the graph.

Put it last in ``middleware``, next to the tools: what stands between it and a tool and answers in the tool's place, as
a person's rejection in `interrupt_mode="per_call"`, looks like the tool's own result.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from secrets import token_hex
from typing import Annotated, Any, Final, NamedTuple

from otel_loopguard.core.call import ABSENT
from otel_loopguard.errors import LoopDetected, MissingExtraError

from ._answer import Allow, Call, Nudge, Refuse, text_of, with_words
from ._batch import Asked, judge
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._command import answer_in, effects_of, with_answer
from ._guard import Guard
from ._option import require_flag, require_guard, require_name
from ._waiting import Held, Waiting

try:
    from langchain.agents import AgentState
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp, GraphInterrupt
except ImportError as error:
    raise MissingExtraError("langchain") from error

__all__ = ["LoopguardMiddleware", "stop_of"]

_KNOWN: Final = 16_384
"""Messages by which conversations without a thread are known again."""
_LONG_ENOUGH: Final = 16
"""Characters of a message's id that no other conversation has; LangChain's own have 36."""
_KEY: Final = "loopguard"
_OURS: Final[Mapping[str, Any]] = {"response_metadata": {_KEY: "answer"}}
"""Marks the answers that are not a tool's."""
_NO_FIT: Final = "Error invoking tool "
"""How LangGraph begins a message in place of a tool whose arguments did not fit, so that it did not run."""


class _State(AgentState, total=False):  # type: ignore[call-arg, misc, type-arg]
    """What an agent's state has beside its messages."""

    loopguard: Annotated[list[str], PrivateStateAttr]
    """The run and a name of this invocation of the graph. Neither given nor returned; a checkpoint holds it."""


class _Here(NamedTuple):
    """Where a hook of the middleware runs."""

    run: str
    conversation: str
    """One invocation of the graph: others may have equal message ids and call ids at the same time."""


class LoopguardMiddleware(AgentMiddleware):  # type: ignore[type-arg]
    """Judges all calls of a model's message before any is dispatched: refused ones are answered in their place.

    A stop answers every call of the message, adds a last message of the agent's and ends the graph; `stop_of` finds
    it in the result. The run is the one that `otel_loopguard.run()` names, else the thread, else the conversation: by
    its first message, also where that is trimmed away or summed up later. Without a thread each invocation has a
    history of its own, and is a run of its own where the ids of messages are too short to be of one conversation.
    """

    state_schema = _State

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
        self._waiting = Waiting()
        self._known: OrderedDict[str, str] = OrderedDict()
        """Runs of conversations without a thread, by messages of theirs."""
        self._due: OrderedDict[tuple[str, str], tuple[str, LoopDetected]] = OrderedDict()
        """Stops that were found when a call was dispatched, which cannot end a graph: the next message does."""
        self._offered: dict[str, None] = {}

    @property
    def name(self) -> str:
        """The same for every subclass: `create_agent` refuses two of a name, and two guards would count twice."""
        return LoopguardMiddleware.__name__

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002 - the seam
        """A new human message in a thread is a user message."""
        messages = state["messages"]
        conversation = f"conversation-{token_hex(8)}"
        run = _thread() or self._run_of(messages) or conversation
        if messages and messages[-1].type == "human":
            self.guard.new_message(run)
        return {_KEY: [run, conversation]}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """As `before_agent`."""
        return self.before_agent(state, runtime)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Look at the names of the tools that the model is offered; it reads one answer to each call."""
        self._look_at(request.tools)
        return handler(_answered_once(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """As `wrap_model_call`."""
        self._look_at(request.tools)
        return await handler(_answered_once(request))

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002
        """Judge the calls of the model's message."""
        messages: list[AnyMessage] = state["messages"]
        update = self._judge(state, messages) or {}
        gone = [RemoveMessage(id=one.id) for one in _answered_too(messages) if one.id]
        return {**update, "messages": [*gone, *update.get("messages", [])]} if gone else update or None

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """As `after_model`."""
        return self.after_model(state, runtime)

    def _judge(self, state: Any, messages: list[AnyMessage]) -> dict[str, Any] | None:  # noqa: ANN401
        asking = ((place, one) for place, one in reversed([*enumerate(messages)]) if isinstance(one, AIMessage))
        place, message = next(asking, (0, None))
        if message is None or not message.tool_calls:
            return None
        here = _here(state)
        self._remember(here, messages)
        self._forget_answered(here, messages)
        answered_already = {one.tool_call_id for one in messages[place:] if isinstance(one, ToolMessage)}
        calls = [call for call in message.tool_calls if call["id"] not in answered_already]
        asked = [Asked(call["id"] or "", call["name"], call["args"]) for call in calls]
        with self._lock:
            words, stop = self._due.pop((here.run, here.conversation), ("", None))
        if stop is not None:
            return self._ended([_refusal(call, words) for call in calls], words, stop)
        turn = _turn_of(here, message, messages)
        judged = judge(
            self.guard, asked, turn=turn, run=here.run, agent=self._name(), tools=self._offered,
            conversation=self._conversation(here),
        )  # fmt: skip
        answered: list[AnyMessage] = []
        for call, decision in zip(calls, judged.decisions, strict=True):
            if isinstance(decision, Allow):
                key = here.run, here.conversation, call["id"] or "", call["name"]
                self._waiting.put(Held(*key, decision))
            else:
                answered.append(_answer(call, decision))
        if judged.stop is None:
            return {"messages": answered} if answered else None
        return self._ended(answered, judged.words, judged.stop)

    def _ended(self, answered: list[AnyMessage], words: str, stop: LoopDetected) -> dict[str, Any]:
        """The end of the graph: an answer to each call, and a last message that says why."""
        last = AIMessage(content=words, response_metadata={_KEY: _facts(self.guard.ended(stop))})
        return {"messages": [*answered, last], "jump_to": "end"}

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

    def _conversation(self, here: _Here) -> str | None:
        """A thread is one; without one each invocation is, since nothing else tells users apart."""
        return self.guard.call_around() or (None if _thread() else here.conversation)

    def _name(self) -> str | None:
        """Of the agent; one without a name that a guarded tool calls is known by that tool."""
        return self.agent or self.guard.inside_of() or None

    def _forget_answered(self, here: _Here, messages: list[AnyMessage]) -> None:
        """Another answered in the tool's place, a person mostly: those calls have not run."""
        answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
        for held in self._waiting.take(lambda one: one.owner == here.conversation and one.call_id in answered):
            self.guard.withdraw(held.decision.call)

    def _run_of(self, messages: list[AnyMessage]) -> str:
        """The run of a conversation without a thread that begins or goes on."""
        ids = [message.id for message in messages if message.id]
        with self._lock:
            return next((self._known[one] for one in ids if one in self._known), _first(messages))

    def _remember(self, here: _Here, messages: list[AnyMessage]) -> None:
        """What the conversation may begin with when it goes on: its first message now, or one of its user's."""
        if _thread():
            return
        marks = [one.id for one in messages[:1]] + [one.id for one in messages[1:] if one.type == "human"]
        with self._lock:
            for mark in filter(_is_unique, marks):
                self._known[mark] = here.run
                self._known.move_to_end(mark)
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)

    def _admitted(self, request: Any) -> Allow | Nudge | Refuse:  # noqa: ANN401
        """What was decided when the model's message came; decided now for a graph without that hook."""
        call, here = request.tool_call, _here(request.state)
        key = here.run, here.conversation, call["id"] or "", call["name"]
        held = self._waiting.first(lambda one: one[:4] == key and one.arguments == call["args"])
        if held is not None:
            self.guard.reached(held.decision.call)
            return Allow(held.decision.call)
        for other in self._waiting.take(lambda one: one[:4] == key):  # a person or another middleware wrote other
            self.guard.withdraw(other.decision.call)  # arguments: another call
        messages = _messages_of(request.state)
        message = next((one for one in reversed(messages) if isinstance(one, AIMessage)), AIMessage(content=""))
        turn, run = _turn_of(here, message, messages), here.run
        decision = self.guard.before(
            call["name"], call["args"], call_id=call["id"], turn=turn, run=run, agent=self._name(), tools=self._offered,
            conversation=self._conversation(here),
        )  # fmt: skip
        if isinstance(decision, Refuse) and decision.stop is not None:
            with self._lock:
                self._due[here.run, here.conversation] = decision.text, decision.stop
                while len(self._due) > _KNOWN:
                    self._due.popitem(last=False)
        return decision

    def _signalled(self, call: Call, signal: GraphBubbleUp) -> None:
        """A tool spoke to the graph: no failure. One that waits for a person is judged anew when it is run again."""
        if isinstance(signal, GraphInterrupt):
            self.guard.withdraw(call)
        else:
            self.guard.after(call, effects_of(signal.args[0]) if signal.args else ABSENT, is_read=False)

    def _finish(self, call: Call, request: Any, result: Any) -> Any:  # noqa: ANN401
        """Tell the guard what came back, and put its words to it."""
        answer = answer_in(result, request.tool_call["id"])
        if answer is None:  # nothing that the model reads, so no words go with it
            self.guard.after(call, effects_of(result), is_read=False)
            return result
        failed, content = answer.status == "error", answer.content
        is_whole = answer is result and answer.artifact is None
        after = self.guard.after(
            call, content, is_error=failed, error_type=_error_type(request, content) if failed else None,
            error_message=text_of(content) if failed else None, keep=content if is_whole else None,
        )  # fmt: skip
        if isinstance(after, Allow):
            return result
        return with_answer(result, answer, answer.model_copy(update={"content": _with_words(content, after.text)}))


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


def _here(state: object) -> _Here:
    """By what `before_agent` put into the state; for a graph without that hook by the messages and the subgraph."""
    kept = state.get(_KEY) if isinstance(state, Mapping) else None
    run, conversation = kept if isinstance(kept, list) else (_first(_messages_of(state)), "")
    run = _thread() or run
    around = str(_configured("checkpoint_ns") or "").rpartition("|")[0]
    return _Here(run, conversation or f"{run}|{around}")


def _messages_of(state: object) -> list[AnyMessage]:
    return state.get("messages", []) if isinstance(state, Mapping) else []


def _first(messages: list[AnyMessage]) -> str:
    first = messages[0].id if messages else None
    return str(first) if _is_unique(first) else ""


def _is_unique(message_id: str | None) -> bool:
    """Whether an id is of one message alone; those of a frontend that numbers its messages are not."""
    return message_id is not None and len(message_id) >= _LONG_ENOUGH


def _thread() -> str:
    return str(_configured("thread_id") or "")


def _configured(name: str) -> object:
    try:
        return get_config().get("configurable", {}).get(name)
    except RuntimeError:  # not inside a graph
        return None


def _turn_of(here: _Here, message: AnyMessage, messages: list[AnyMessage]) -> str:
    return f"{here.conversation}/{message.id or len(messages)}"


def _answer(call: Mapping[str, Any], decision: Nudge | Refuse) -> ToolMessage:
    if isinstance(decision, Nudge):
        kept: Any = decision.answer if isinstance(decision.answer, list) else text_of(decision.answer)
        return ToolMessage(_with_words(kept, decision.text), tool_call_id=call["id"], name=call["name"], **_OURS)
    return _refusal(call, decision.text)


def _refusal(call: Mapping[str, Any], text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error", **_OURS)


def _answered_too(messages: list[AnyMessage]) -> list[ToolMessage]:
    """Our answers to calls that another answered after us, as a person who is asked all the same: that one stands."""
    found: list[ToolMessage] = []
    answers: dict[str, ToolMessage] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            answers = {}
        elif isinstance(message, ToolMessage):
            before = answers.get(message.tool_call_id)
            if before is not None and _KEY in before.response_metadata:
                found.append(before)
            answers[message.tool_call_id] = message
    return found


def _answered_once(request: Any) -> Any:  # noqa: ANN401
    """A request to the model without them: providers refuse two answers to one call."""
    surplus = _answered_too(request.messages)
    if not surplus:
        return request
    return request.override(messages=[one for one in request.messages if not any(one is other for other in surplus)])


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
