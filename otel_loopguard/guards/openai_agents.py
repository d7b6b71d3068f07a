"""The OpenAI Agents SDK (`openai-agents` 0.9 and newer): a guarded copy of an agent.

Not for hosted tools (web search, code interpreter ...): those run at the provider, who dispatches them itself. Nor for
agents that this one hands work to: guard each of them. A handoff beside a stop goes through; where the stopped agent is
handed the run back, that raises `LoopDetected`.

The SDK makes a text of a tool's exception before anybody else sees it, unless the tool says
`failure_error_function=None`. Of such a text nobody can tell whether a write took effect, so it is not sent again;
`failure_seen` shows the guard the exception, and with it a rejection is one.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from opentelemetry import context as otel_context

from otel_loopguard.errors import LoopDetected, MissingExtraError, SettingError
from otel_loopguard.live import given_in

from ._answer import Allow, Nudge, Refuse, text_of, with_words
from ._batch import Asked, judge
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._failure import error_type_of, message_of
from ._guard import Guard
from ._mark import is_marked, mark, run_of
from ._option import require, require_callable, require_guard
from ._step import new_step
from ._stopped import Stopped, stop_of
from ._waiting import Held, Waiting

try:
    from agents import (
        Agent,
        AgentHooks,
        FunctionTool,
        FunctionToolResult,
        GuardrailFunctionOutput,
        OutputGuardrail,
        RunContextWrapper,
        Tool,
        ToolsToFinalOutputResult,
        default_tool_error_function,
        get_current_trace,
    )
except ImportError as error:
    raise MissingExtraError("openai-agents") from error

__all__ = ["Stopped", "failure_seen", "guard_agent", "report_blocked_tool", "stop_of"]

TContext = TypeVar("TContext")

_STOPS: Final = 4096
"""Calls of steps that were stopped, until the SDK asks how to go on."""
_FAILED: Final = "An error occurred while running the tool"
"""How the SDK begins a result when a tool has raised and the agent's author said nothing else."""


_raised: Final[ContextVar[list[Exception] | None]] = ContextVar("loopguard-openai-raised", default=None)
"""Where the exceptions of the call under way are collected."""


def failure_seen(
    describe: Callable[[RunContextWrapper[Any], Exception], Any] = default_tool_error_function,
) -> Callable[[RunContextWrapper[Any], Exception], Awaitable[str]]:
    """A `failure_error_function` for `function_tool` that shows the guard the exception behind the model's text.

    Args:
        describe: Makes the text, by default as the SDK does.

    """
    require_callable("describe", describe, "a function of the context and an exception that makes the model's text")

    async def tell(context: RunContextWrapper[Any], error: Exception) -> str:
        seen = _raised.get()
        if seen is not None:
            seen.append(error)
        said = describe(context, error)
        return str(await said if inspect.isawaitable(said) else said)

    return tell


def guard_agent(
    agent: Agent[TContext], guard: Guard, *, failed: Callable[[str], bool] = lambda text: text.startswith(_FAILED)
) -> Agent[TContext]:
    """A copy of an agent whose function tools and whose MCP servers' tools are guarded.

    All calls of a model's response are judged before any is dispatched. A stop answers every one of them and makes the
    last words the run's final output (`Stopped`), so a session stays whole. The agent's output guardrails are not asked
    about it, whatever its `output_type`; those of a `RunConfig` are, and may look for `Stopped`.

    Args:
        agent: The agent; it is not changed. Guard last: a clone of the guarded agent has its MCP servers unguarded.
        guard: Whom to ask.
        failed: Tells from a tool's text that it raised; the SDK turns exceptions into texts.

    """
    require("agent", agent, Agent, "an `Agent` of the SDK")
    require_guard(guard)
    if isinstance(agent.hooks, _Watch):
        raise SettingError(f"the agent `{agent.name}` is guarded already; guard it once", name="agent")
    require_callable("failed", failed, "a function that tells from a tool's text that it raised")
    watch = _Watch(guard, agent, failed)
    tools = [watch.wrap(tool) if isinstance(tool, FunctionTool) else tool for tool in agent.tools]
    served_by = dict(agent.mcp_config)
    describe = served_by.get("failure_error_function", default_tool_error_function)
    if describe is not None:
        served_by["failure_error_function"] = failure_seen(describe)
    made = agent.clone(
        tools=tools, hooks=watch, tool_use_behavior=watch.final, mcp_config=served_by,
        output_guardrails=[_of_output(guardrail) for guardrail in agent.output_guardrails],
    )  # fmt: skip
    served = made.get_mcp_tools

    async def get_mcp_tools(run_context: RunContextWrapper[Any]) -> list[Tool]:
        return watch.serve(await served(run_context))

    made.get_mcp_tools = get_mcp_tools  # type: ignore[method-assign] # the SDK asks this for the servers' tools
    return made


class _Watch(AgentHooks[Any]):
    """The hooks of a guarded agent, in front of its own."""

    def __init__(self, guard: Guard, agent: Agent[Any], failed: Callable[[str], bool]) -> None:
        self._guard = guard
        self._name = agent.name
        self._own = agent.hooks
        self._behavior = agent.tool_use_behavior
        self._failed = failed
        self._lock = threading.Lock()
        self._waiting = Waiting()
        """By run of the SDK: runs side by side in one trace may have the same ids."""
        self._stops: OrderedDict[tuple[str, str], tuple[LoopDetected, str]] = OrderedDict()
        self._due: OrderedDict[str, LoopDetected] = OrderedDict()
        self._served: dict[str, None] = {}

    async def on_llm_start(self, context: Any, agent: Any, *more: Any, **named: Any) -> None:  # noqa: ANN401
        """End the run where it was stopped and the SDK has not asked how to go on.

        Newer ones leave out a call whose id has had an answer, as of models that number their calls anew in each turn.
        """
        is_new, answered = not is_marked(context), _answered_in(more)
        own, conversation, run = run_of(context), mark(context), _named_run()
        with self._lock:
            stop = self._due.pop(conversation, None)

        def is_left(held: Held) -> bool:
            if held.run == own:
                return held.owner == conversation
            return is_new and held.call_id in answered and _is_of(held, run)  # it was stored and has come back

        left = [held.decision for held in self._waiting.take(is_left)]
        for decision in left:  # another answered in the tool's place: a guardrail, a person
            if isinstance(decision, Allow):
                self._guard.withdraw(decision.call)
        if stop is not None:
            raise self._guard.ended(stop)
        if self._own is not None:
            await self._own.on_llm_start(context, agent, *more, **named)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ANN401
        """Judge the calls of a response."""
        names = {tool.name for tool in agent.tools if isinstance(tool, FunctionTool)} | set(self._served)
        calls = [
            Asked(item.call_id, item.name, item.arguments)
            for item in response.output
            if getattr(item, "type", "") == "function_call" and item.name in names
        ]
        if calls:
            run, own, conversation = _run_here(), run_of(context), mark(context)
            judged = judge(
                self._guard, calls, turn=new_step(), run=run, agent=agent.name, tools=sorted(names), default_run=own,
                conversation=self._guard.call_around() or own,
            )  # fmt: skip
            for call, decision in zip(calls, judged.decisions, strict=True):
                self._waiting.put(Held(own, conversation, call.call_id, call.tool, decision))
            if judged.stop is not None:
                self._stop(conversation, [call.call_id for call in calls], judged.stop, judged.words)
        if self._own is not None:
            await self._own.on_llm_end(context, agent, response)

    def wrap(self, tool: FunctionTool) -> FunctionTool:
        """A copy of a tool that asks before it runs."""
        invoke = tool.on_invoke_tool
        self._guard.knows(tool.name)

        async def guarded(context: Any, arguments: str) -> Any:  # noqa: ANN401 - the SDK's own
            own, call_id = run_of(context), context.tool_call_id
            decision = self._held(own, call_id, tool.name, arguments)
            if decision is None:
                decision = self._guard.before(
                    tool.name, arguments, call_id=call_id, run=_run_here(), agent=self._name, default_run=own,
                    conversation=self._guard.call_around() or own,
                )  # fmt: skip
            self._guard.reached(decision.call)
            if isinstance(decision, Nudge):
                return _with_words(decision.answer, decision.text)
            if isinstance(decision, Refuse):
                if decision.stop is not None:
                    self._stop(_marked(context), [call_id], decision.stop, decision.text)
                return decision.text
            return await self._dispatch(invoke, context, arguments, decision)

        made = copy.copy(tool)
        made.on_invoke_tool = guarded
        return made

    def serve(self, tools: list[Tool]) -> list[Tool]:
        """The tools of the agent's MCP servers, guarded."""
        self._served = dict.fromkeys(tool.name for tool in tools if isinstance(tool, FunctionTool))
        return [self.wrap(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    def _stop(self, conversation: str, call_ids: list[str], stop: LoopDetected, words: str) -> None:
        """The run is to end with the answers to these calls, or before its model is asked again."""
        with self._lock:
            for call_id in call_ids:
                self._stops[conversation, call_id] = stop, words
            if conversation:
                self._due[conversation] = stop
            _trim(self._stops)
            _trim(self._due)

    def _held(self, own: str, call_id: str, tool: str, arguments: str) -> Allow | Nudge | Refuse | None:
        """What was decided of a call; a run that was stored and has come back is known by its name alone."""
        named = _named_run()

        def is_it(held: Held) -> bool:
            return (held.call_id, held.tool, held.arguments) == (call_id, tool, arguments)

        found = self._waiting.first(lambda held: held.run == own and is_it(held))
        if found is None and named:
            found = self._waiting.first(lambda held: is_it(held) and _is_of(held, named))
        return None if found is None else found.decision

    async def _dispatch(
        self,
        invoke: Callable[[Any, str], Awaitable[Any]],
        context: Any,  # noqa: ANN401
        arguments: str,
        allowed: Allow,
    ) -> Any:  # noqa: ANN401
        raised: list[Exception] = []
        token = _raised.set(raised)
        try:
            with self._guard.inside(allowed.call):
                result = await invoke(context, arguments)
        except BaseException as error:
            self._guard.failed(allowed.call, error)
            raise
        finally:
            _raised.reset(token)
        failed = bool(raised) or (isinstance(result, str) and self._failed(result))
        message = message_of(raised[-1]) if raised else text_of(result) if failed else None
        kind = error_type_of(raised[-1]) if raised else None
        after = self._guard.after(allowed.call, result, is_error=failed, error_type=kind, error_message=message)
        return _with_words(result, after.text) if isinstance(after, Nudge) else result

    async def final(self, context: Any, results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:  # noqa: ANN401
        """End the run where the agent is stopped; else do what it does without us."""
        conversation = _marked(context)
        for result in results:
            raw: Any = getattr(result.run_item, "raw_item", None)
            call_id = raw.get("call_id") if isinstance(raw, dict) else getattr(raw, "call_id", None)
            with self._lock:
                stop = self._stops.pop((conversation, call_id or ""), None)
            if stop is not None:
                with self._lock:
                    self._due.pop(conversation, None)
                return ToolsToFinalOutputResult(
                    is_final_output=True, final_output=Stopped(stop[1], self._guard.ended(stop[0]))
                )
        return await _behave(self._behavior, context, results)

    # The agent's own hooks ----------------------------------------------------------------------------------------

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
        """Every other hook is the agent's own."""
        if name.startswith("on_") and name not in {"on_llm_start", "on_llm_end"}:
            own = super().__getattribute__("_own")
            if own is not None:
                return getattr(own, name)
        return super().__getattribute__(name)


def _of_output(guardrail: OutputGuardrail[Any]) -> OutputGuardrail[Any]:
    """A guardrail that is asked about what the agent answers, not about a stop: that is not of the type it expects."""
    check = guardrail.guardrail_function

    async def checked(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:  # noqa: ANN401
        if isinstance(output, Stopped):
            return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)
        said = check(context, agent, output)
        return await said if inspect.isawaitable(said) else said

    made = copy.copy(guardrail)
    made.guardrail_function = checked
    made.name = guardrail.get_name()
    return made


async def _behave(behavior: Any, context: Any, results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:  # noqa: ANN401
    """What the agent's own `tool_use_behavior` says."""
    if callable(behavior):
        said = behavior(context, results)
        return await said if isinstance(said, Awaitable) else said
    names = behavior.get("stop_at_tool_names", []) if isinstance(behavior, dict) else None
    for result in results:
        if behavior == "stop_on_first_tool" or (names is not None and result.tool.name in names):
            return ToolsToFinalOutputResult(is_final_output=True, final_output=result.output)
    return ToolsToFinalOutputResult(is_final_output=False)


def _marked(context: Any) -> str:  # noqa: ANN401
    """The conversation; empty where no model was asked yet: a run that was stored and has come back."""
    return mark(context) if is_marked(context) else ""


def _named_run() -> str:
    """The run that the application or the trace names."""
    return given_in(otel_context.get_current()).run_id or _run_here() or ""


def _is_of(held: Held, named: str) -> bool:
    guarded = held.decision.call.guarded
    return named != "" and guarded is not None and guarded.run.run_id == named


def _answered_in(more: tuple[Any, ...]) -> set[str]:
    """Ids of the calls that have an answer in what a model is asked with."""
    items = more[1] if len(more) > 1 and isinstance(more[1], list) else []
    return {
        str(item.get("call_id")) for item in items
        if isinstance(item, dict) and item.get("type") == "function_call_output"
    }  # fmt: skip


def _run_here() -> str | None:
    """The group or the id of the SDK's trace; None where tracing is off."""
    trace = get_current_trace()
    if trace is None or trace.trace_id == "no-op":
        return None
    return getattr(trace, "group_id", None) or trace.trace_id


def _with_words(result: Any, text: str) -> Any:  # noqa: ANN401
    """A result with words; beside content parts, as of an MCP server, they are one more: the SDK drops new members."""
    parts = result if isinstance(result, list) else [result]
    if parts and all(_is_part(part) for part in parts):
        return [*parts, {"type": "text", "text": text}]
    return with_words(result, text)


def _is_part(value: Any) -> bool:  # noqa: ANN401
    """Whether the SDK takes a value for a text, image or file of a result."""
    if isinstance(value, dict):
        return any(value.get("type") == kind for kind in ("text", "image", "file"))
    return type(value).__name__.startswith("ToolOutput")


def _trim(held: OrderedDict[Any, Any]) -> None:
    while len(held) > _STOPS:
        held.popitem(last=False)


def report_blocked_tool(guard: Guard) -> FunctionTool:
    """The tool `report_blocked` for an agent's list of tools."""
    import json  # noqa: PLC0415 - only this tool reads its arguments

    require_guard(guard)

    async def report(context: Any, arguments: str) -> str:  # noqa: ANN401, ARG001 - the SDK's own
        try:
            said = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            said = {}
        said = said if isinstance(said, dict) else {}
        return guard.report_blocked(said.get("tried", ()), said.get("needed", ()))

    schema = {**REPORT_BLOCKED_SCHEMA, "additionalProperties": False}
    return FunctionTool("report_blocked", REPORT_BLOCKED_WORDS, schema, report)
