"""Pydantic AI (`pydantic-ai-slim` 1.29 and newer): the tools of an agent's runs, guarded for as long as a block lasts.

Not for built-in tools that run at the model's provider. A call that waits for a person (`ApprovalRequired`) or for
another process (`CallDeferred`) is no call yet: it is judged again when it is dispatched.

The model, tools and capabilities that a run is handed are used as they are, and its tools are guarded as the agent's.
For that a block stands before the agent's method `iter`, through which all its runs begin, and before `realtime`, whose
sessions have no step to end: what is to stop one is refused, and no more.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from otel_loopguard.errors import LoopDetected, MissingExtraError

from ._answer import Allow, Nudge, Refuse, is_a, with_words
from ._batch import Asked, judge
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._guard import Guard
from ._option import require, require_guard

try:
    from pydantic_ai import Agent, RunContext, Tool
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.messages import BinaryContent, FileUrl, ModelResponse, ToolCallPart, ToolReturn
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import CombinedToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise MissingExtraError("pydantic-ai") from error
try:
    from pydantic_ai.capabilities import AbstractCapability
except ImportError:  # an older one: what it wraps for a run is said with `override`
    AbstractCapability = object

__all__ = ["GuardedToolset", "guarding", "report_blocked_tool"]

_WRAPS: Final = hasattr(AbstractCapability, "get_wrapper_toolset")
"""A run takes capabilities, and one of them may wrap all its tools."""


@contextmanager
def guarding(agent: Agent[Any, Any], guard: Guard, *, model: Model | str | None = None) -> Iterator[None]:
    """All runs of an agent are guarded that begin while the block lasts, in other threads too.

    A refused call is answered in its place. When the agent is to be stopped, every call of the step is answered, and
    in place of the next model request the run raises `LoopDetected`: the messages so far are whole and can go on.

    Args:
        agent: The agent; its model, tools and settings are not changed.
        guard: Whom to ask.
        model: The model of the runs that name none of their own, instead of the agent's.

    """
    require("agent", agent, AbstractAgent, "an `Agent` of Pydantic AI")
    require_guard(guard)
    require("model", model, (Model, str, type(None)), "a `Model`, a model's name or None")
    block = _Block(agent, guard, model)
    _Door.open(block)
    token = _blocks.set((*_blocks.get(), block))
    try:
        yield
    finally:
        _blocks.reset(token)
        _Door.close(block)


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
    """The current step of one run, until its next one begins."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        """Of the tools that the framework dispatches itself."""
        self.step: _Step | None = None
        self.has_begun = False
        self.conversation = ""
        """Of the run, as it is known at its first call: its messages may be rewritten on the way."""

    def begin(self, token: str, guard: Guard) -> None:
        """A model is about to be asked: the step before is over, and so is the run, where that stopped it."""
        step = self.step
        if step is None or step.token == token:
            return
        self.step = None
        for decision in step.waiting.values():
            if isinstance(decision, Allow):  # its arguments did not fit the tool, or the framework left it out
                guard.withdraw(decision.call)
        if step.stop is not None:
            raise guard.ended(step.stop)


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """Asks before each call of the tools inside, in one run."""

    guard: Guard
    agent: str | None = None
    steps: _Steps = field(default_factory=_Steps)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools inside, and their names for the guard; after a stop there are none, and the run ends."""
        if not self.steps.has_begun:
            self.steps.has_begun = True
            if ctx.prompt is not None:
                self.guard.new_message(_run_of(ctx))
        self.steps.begin(_token_of(ctx), self.guard)
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
            return _with_words(decision.answer, decision.text)
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
        wrapped = result if is_a(result, ToolReturn) else None
        value = result if wrapped is None else wrapped.return_value
        is_whole = wrapped is None or (wrapped.content is None and wrapped.metadata is None)
        after = self.guard.after(decision.call, value, keep=value if is_whole else None)
        if not isinstance(after, Nudge):
            return result
        told = _with_words(value, after.text)
        return told if wrapped is None else replace(wrapped, return_value=told)

    def _decision(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> Allow | Nudge | Refuse:
        """The decision on a call; the first of a response to be dispatched has all of them judged."""
        run, token = _run_of(ctx), _token_of(ctx)
        self.steps.conversation = self.steps.conversation or _conversation_of(ctx)
        step = self.steps.step
        if step is None or step.token != token:
            step = self._judge(ctx, run, token)
        decision = step.waiting.pop((ctx.tool_call_id or "", name), None)
        if decision is None:  # the message history does not hold it
            decision = self.guard.before(
                name, tool_args, call_id=ctx.tool_call_id, turn=token, run=run, agent=self.agent,
                tools=self.steps.names, conversation=self.steps.conversation,
            )  # fmt: skip
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
            judged = judge(
                self.guard, asked, turn=token, run=run, agent=self.agent, tools=self.steps.names,
                conversation=self.steps.conversation,
            )  # fmt: skip
            step.stop = judged.stop
            for one, decision in zip(asked, judged.decisions, strict=True):
                step.waiting.setdefault((one.call_id, one.tool), decision)
        self.steps.step = step
        return step


# Where runs begin --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Block:
    """What a block said."""

    agent: AbstractAgent[Any, Any]
    guard: Guard
    model: Model | str | None


_blocks: Final[ContextVar[tuple[_Block, ...]]] = ContextVar("loopguard-pydantic-ai-blocks", default=())
"""The blocks around this code, of any agent."""


@dataclass
class _Capability(AbstractCapability[Any] if _WRAPS else AbstractCapability):  # type: ignore[misc]
    """Wraps all tools of a run, whoever brought them."""

    guard: Guard
    agent: AbstractAgent[Any, Any]

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """It is in no file."""
        return None

    def get_wrapper_toolset(self, toolset: Any) -> GuardedToolset:  # noqa: ANN401 - the framework's own
        """The tools of a run, guarded."""
        return GuardedToolset(toolset, guard=self.guard, agent=self.agent.name)


class _Door:
    """An agent's own way to begin a run, in place of which this one stands while any block around the agent is open.

    A run that begins where no block is around, in a thread or a task of before, is guarded by the block opened last.
    """

    _METHODS: Final = ("iter", "realtime")
    _lock: Final = threading.Lock()

    def __init__(self, agent: AbstractAgent[Any, Any], name: str) -> None:
        self._agent = agent
        self._name = name
        self._begin: Callable[..., Any] = getattr(agent, name)
        self._is_own = name in vars(agent)
        """The application's own, of this one agent."""
        self._blocks: list[_Block] = []

    @classmethod
    def open(cls, block: _Block) -> None:
        """A block around an agent begins."""
        agent = block.agent
        with cls._lock:
            for name in cls._METHODS:
                door = vars(agent).get(name)
                if not isinstance(door, _Door):
                    if not hasattr(agent, name):
                        continue
                    door = vars(agent)[name] = _Door(agent, name)
                door._blocks.append(block)

    @classmethod
    def close(cls, block: _Block) -> None:
        """It has ended."""
        with cls._lock:
            for name in cls._METHODS:
                door = vars(block.agent).get(name)
                if isinstance(door, _Door):
                    door._leave(block)  # noqa: SLF001

    def _leave(self, block: _Block) -> None:
        self._blocks.remove(block)
        if not self._blocks and self._is_own:
            vars(self._agent)[self._name] = self._begin
        elif not self._blocks:
            del vars(self._agent)[self._name]

    def __call__(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401
        """Begin a run with what it was handed, its tools guarded by each guard whose block is around."""
        blocks = [block for block in _blocks.get() if block.agent is self._agent] or self._blocks[-1:]
        for block in blocks:
            if self._name == "iter" and block.model is not None:
                more["model"] = more.get("model") or block.model
        if _WRAPS:
            held = list(more.get("capabilities") or ())
            for guard in dict.fromkeys(block.guard for block in blocks):
                if not any(isinstance(one, _Capability) and one.guard is guard for one in held):
                    held.append(_Capability(guard, self._agent))
            more |= {"capabilities": held} if held else {}
        elif blocks:
            return self._overridden(dict.fromkeys(block.guard for block in blocks), args, more)
        return self._begin(*args, **more)

    @asynccontextmanager
    async def _overridden(
        self, guards: Iterable[Guard], args: tuple[Any, ...], more: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """A run of an older version, which reads what is overridden when it begins."""
        agent = self._agent
        inner = list(agent.toolsets)
        held = [one.guard for one in inner if isinstance(one, GuardedToolset)]
        toolset = CombinedToolset([*inner, *(more.pop("toolsets", None) or ())])
        for guard in guards:
            if guard not in held:
                toolset = GuardedToolset(toolset, guard=guard, agent=agent.name)
        async with AsyncExitStack() as stack:
            with agent.override(tools=[], toolsets=[toolset]):
                begun: AbstractAsyncContextManager[Any] = self._begin(*args, **more)
                run = await stack.enter_async_context(begun)
            yield run


def _with_words(result: object, text: str) -> object:
    """A result with words; a file is sent as one only by itself or in a list."""
    is_file = is_a(result, BinaryContent) or is_a(result, FileUrl)
    return [result, text] if is_file else with_words(result, text)


def _token_of(ctx: RunContext[Any]) -> str:
    return f"{getattr(ctx, 'run_id', None) or _run_of(ctx)}/{ctx.run_step}"


def _run_of(ctx: RunContext[Any]) -> str:
    """The conversation: one that is handed on, with or without a new message, is the same run."""
    return _conversation_of(ctx)


def _conversation_of(ctx: RunContext[Any]) -> str:
    """It goes on where a run is handed the messages of another one."""
    return str(getattr(ctx, "conversation_id", None) or "") or _run_of_messages(ctx.messages)


def _run_of_messages(messages: list[Any]) -> str:
    """A conversation without an id, by when it began."""
    parts = messages[0].parts if messages else ()
    return f"{getattr(parts[0], 'timestamp', '')}" if parts else ""
