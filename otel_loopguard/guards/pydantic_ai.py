"""Pydantic AI (`pydantic-ai-slim` 1.29 and newer): the agent's tools and model, guarded for as long as a block lasts.

Not for built-in tools that run at the model's provider. A call that waits for a person (`ApprovalRequired`) or for
another process (`CallDeferred`) is no call yet: it is judged again when it is dispatched.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from otel_loopguard.errors import LoopDetected, MissingExtraError, SettingError

from ._answer import Allow, Nudge, Refuse, with_words
from ._batch import Asked, judge
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._guard import Guard
from ._option import require, require_guard

try:
    from pydantic_ai import Agent, RunContext, Tool
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturn
    from pydantic_ai.models import Model, infer_model
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.toolsets import CombinedToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtraError("pydantic-ai") from error

__all__ = ["GuardedModel", "GuardedToolset", "guarding", "report_blocked_tool"]

_RUNS: Final = 1024
"""Runs whose step was judged and which have not asked their model again yet."""


@contextmanager
def guarding(agent: Agent[Any, Any], guard: Guard, *, model: Model | str | None = None) -> Iterator[None]:
    """All runs of an agent inside are guarded.

    A refused call is answered in its place. When the agent is to be stopped, every call of the step is answered, and
    in place of the next model request the run raises `LoopDetected`: the messages so far are whole and can go on.

    Args:
        agent: The agent; it is not changed.
        guard: Whom to ask.
        model: The model of the runs, where the agent has none of its own.

    """
    require("agent", agent, AbstractAgent, "an `Agent` of Pydantic AI")
    require_guard(guard)
    require("model", model, (Model, str, type(None)), "a `Model`, a model's name or None")
    chosen = model if model is not None else agent.model
    if chosen is None:
        raise SettingError("the agent has no model, hand one to `guarding`", name="model")
    steps = _Steps()
    inner = chosen if isinstance(chosen, Model) else infer_model(chosen)
    toolset = GuardedToolset(CombinedToolset(list(agent.toolsets)), guard=guard, steps=steps, agent=agent.name)
    with agent.override(model=GuardedModel(inner, guard, steps), tools=[], toolsets=[toolset]):
        yield


def report_blocked_tool(guard: Guard) -> Tool[Any]:
    """The tool `report_blocked` for an agent's list of tools."""
    require_guard(guard)

    async def report_blocked(**said: object) -> str:
        return guard.report(**said)

    return Tool.from_schema(report_blocked, "report_blocked", REPORT_BLOCKED_WORDS, dict(REPORT_BLOCKED_SCHEMA))


@dataclass
class _Step:
    """The calls of one response, judged together."""

    token: str
    stop: LoopDetected | None = None
    waiting: dict[tuple[str, str], Allow | Nudge | Refuse] = field(default_factory=dict)
    """Decisions by call id and tool, until the calls are dispatched."""


class _Steps:
    """The current step of each run, until its next model request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Step] = OrderedDict()
        self.names: dict[str, None] = {}
        """Of the tools that the framework dispatches itself."""

    def of(self, run: str, token: str) -> _Step | None:
        """The step of a run, if it is this one."""
        with self._lock:
            step = self._held.get(run)
        return step if step is not None and step.token == token else None

    def put(self, run: str, step: _Step) -> None:
        """A response was judged."""
        with self._lock:
            self._held[run] = step
            while len(self._held) > _RUNS:
                self._held.popitem(last=False)

    def pop(self, run: str) -> _Step | None:
        """The step is over."""
        with self._lock:
            return self._held.pop(run, None)


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """Asks before each call of the tools inside."""

    guard: Guard
    steps: _Steps
    agent: str | None = None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools inside, and their names for the guard."""
        tools = await super().get_tools(ctx)
        self.guard.knows(*tools)
        self.steps.names = {name: None for name, tool in tools.items() if tool.tool_def.kind == "function"}
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # noqa: ANN401 - the framework's own
        """Call a tool, or answer in its place."""
        decision = self._decision(name, tool_args, ctx)
        self.guard.reached(decision.call)
        if isinstance(decision, Nudge):
            return with_words(decision.answer, decision.text)
        if isinstance(decision, Refuse):
            return decision.text
        try:
            with self.guard.inside(decision.call):
                result = await super().call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            self.guard.withdraw(decision.call)
            raise
        except BaseException as error:
            self.guard.failed(decision.call, error)
            raise
        value = result.return_value if isinstance(result, ToolReturn) else result
        is_whole = not isinstance(result, ToolReturn) or (result.content is None and result.metadata is None)
        after = self.guard.after(decision.call, value, keep=value if is_whole else None)
        if not isinstance(after, Nudge):
            return result
        told = with_words(value, after.text)
        return replace(result, return_value=told) if isinstance(result, ToolReturn) else told

    def _decision(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> Allow | Nudge | Refuse:
        """The decision on a call; the first of a response to be dispatched has all of them judged."""
        run = _run_of(ctx)
        token = f"{run}/{ctx.run_step}"
        step = self.steps.of(run, token)
        if step is None:
            step = self._judge(ctx, run, token)
        decision = step.waiting.pop((ctx.tool_call_id or "", name), None)
        if decision is None:  # the message history does not hold it
            decision = self.guard.before(
                name, tool_args, call_id=ctx.tool_call_id, turn=token, run=run, agent=self.agent, tools=self.steps.names
            )
            if isinstance(decision, Refuse) and step.stop is None:
                step.stop = decision.stop
        return decision

    def _judge(self, ctx: RunContext[Any], run: str, token: str) -> _Step:
        step = _Step(token)
        response = next((one for one in reversed(ctx.messages) if isinstance(one, ModelResponse)), None)
        parts = [] if response is None else [part for part in response.parts if isinstance(part, ToolCallPart)]
        if any(part.tool_call_id == ctx.tool_call_id for part in parts):
            asked = [
                Asked(part.tool_call_id, part.tool_name, {} if part.args is None else part.args)
                for part in parts
                if part.tool_name in self.steps.names
            ]
            judged = judge(self.guard, asked, turn=token, run=run, agent=self.agent, tools=self.steps.names)
            step.stop = judged.stop
            for one, decision in zip(asked, judged.decisions, strict=True):
                step.waiting.setdefault((one.call_id, one.tool), decision)
        self.steps.put(run, step)
        return step


class GuardedModel(WrapperModel):
    """The model of a guarded agent: it is not asked again after a stop."""

    def __init__(self, wrapped: Model, guard: Guard, steps: _Steps) -> None:
        super().__init__(wrapped)
        self._guard = guard
        self._steps = steps

    def _check(self, messages: list[Any]) -> None:
        step = self._steps.pop(str(getattr(messages[-1], "run_id", None) or _run_of_messages(messages)))
        if step is None:
            return
        for decision in step.waiting.values():
            if isinstance(decision, Allow):  # its arguments did not fit the tool, or the framework left it out
                self._guard.withdraw(decision.call)
        if step.stop is not None:
            raise self._guard.ended(step.stop)

    async def request(self, messages: Any, *args: Any, **more: Any) -> Any:  # noqa: ANN401
        """Ask the model, unless the run was stopped."""
        self._check(messages)
        return await super().request(messages, *args, **more)

    @asynccontextmanager
    async def request_stream(self, messages: Any, *args: Any, **more: Any) -> AsyncIterator[Any]:  # noqa: ANN401
        """As `request`."""
        self._check(messages)
        async with super().request_stream(messages, *args, **more) as stream:
            yield stream


def _run_of(ctx: RunContext[Any]) -> str:
    run = getattr(ctx, "run_id", None)
    return str(run) if run else _run_of_messages(ctx.messages)


def _run_of_messages(messages: list[Any]) -> str:
    """A conversation without an id, by when it began."""
    parts = messages[0].parts if messages else ()
    return f"{getattr(parts[0], 'timestamp', '')}" if parts else ""
