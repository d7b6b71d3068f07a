"""Pydantic AI (`pydantic-ai-slim` 1.29 and newer): the agent's tools and model, guarded for as long as a block lasts.

Not for built-in tools that run at the model's provider. Tools that return through `CallDeferred` are judged, and their
later results are the application's to tell.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from otel_loopguard.errors import LoopDetected, MissingExtraError, SettingError

from ._answer import Nudge, Refuse, with_words
from ._guard import Guard

try:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.messages import ToolReturn
    from pydantic_ai.models import Model, infer_model
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.toolsets import CombinedToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtraError("pydantic-ai") from error

__all__ = ["GuardedModel", "GuardedToolset", "guarding"]

_STOPS: Final = 1024
"""Runs that were stopped and have not asked their model again yet."""


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
    chosen = model if model is not None else agent.model
    if chosen is None:
        raise SettingError("the agent has no model, hand one to `guarding`", name="model")
    stops = _Stops()
    inner = chosen if isinstance(chosen, Model) else infer_model(chosen)
    toolset = GuardedToolset(CombinedToolset(list(agent.toolsets)), guard=guard, stops=stops, agent=agent.name)
    with agent.override(model=GuardedModel(inner, guard, stops), tools=[], toolsets=[toolset]):
        yield


class _Stops:
    """What stops which run, until its next model request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, LoopDetected] = OrderedDict()

    def put(self, run: str, stop: LoopDetected) -> None:
        with self._lock:
            self._held[run] = stop
            while len(self._held) > _STOPS:
                self._held.popitem(last=False)

    def pop(self, run: str) -> LoopDetected | None:
        with self._lock:
            return self._held.pop(run, None)


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """Asks before each call of the tools inside."""

    guard: Guard
    stops: _Stops
    agent: str | None = None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools inside, and their names for the guard."""
        tools = await super().get_tools(ctx)
        self.guard.knows(*tools)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # noqa: ANN401 - the framework's own
        """Call a tool, or answer in its place."""
        run = _run_of(ctx)
        decision = self.guard.before(
            name, tool_args, call_id=ctx.tool_call_id, turn=f"{run}/{ctx.run_step}", run=run, agent=self.agent
        )
        if isinstance(decision, Nudge):
            return with_words(decision.answer, decision.text)
        if isinstance(decision, Refuse):
            if decision.stop is not None:
                self.stops.put(run, decision.stop)
            return decision.text
        try:
            with self.guard.inside(decision.call):
                result = await super().call_tool(name, tool_args, ctx, tool)
        except BaseException as error:
            self.guard.failed(decision.call, error)
            raise
        value = result.return_value if isinstance(result, ToolReturn) else result
        after = self.guard.after(decision.call, value)
        if not isinstance(after, Nudge):
            return result
        told = with_words(value, after.text)
        return replace(result, return_value=told) if isinstance(result, ToolReturn) else told


class GuardedModel(WrapperModel):
    """The model of a guarded agent: it is not asked again after a stop."""

    def __init__(self, wrapped: Model, guard: Guard, stops: _Stops) -> None:
        super().__init__(wrapped)
        self._guard = guard
        self._stops = stops

    def _check(self, messages: list[Any]) -> None:
        stop = self._stops.pop(str(getattr(messages[-1], "run_id", None) or _run_of_messages(messages)))
        if stop is not None:
            raise self._guard.ended(stop)

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
