"""Plain functions and coroutines as guarded tools, for agents without a framework.

Not a framework's adapter: the loop is the application's, and so is what becomes of `LoopDetected`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

from otel_loopguard.errors import SettingError

from ._answer import Allow, Call, Nudge, Refuse, with_words
from ._awaitable import is_awaitable
from ._guard import Guard
from ._option import require_callable, require_guard, require_name
from ._step import current_step, step

__all__ = ["guarded", "step"]

P = ParamSpec("P")
R = TypeVar("R")


def guarded(
    guard: Guard, *, name: str | None = None, attach: Callable[[object, str], object] = with_words
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that asks a guard before each call of a function or coroutine function.

    A refused call is not executed and returns the words for the model in place of a result; when the agent is to be
    stopped it raises `LoopDetected`. Exceptions of the function pass unchanged. Of a method, `self` or `cls` is no
    argument: the model does not choose it.

    What a plain function returns to be awaited is awaited in between. Where that is an asynchronous context manager too
    (`session.get(...)` of aiohttp), the object itself is handed on in every mode and its result stays unknown, so that
    only what is judged without one is refused, as a write that is sent again: in place of the object stands one that
    gives the answer to `await` and `async with`. Guard a coroutine function that returns the content instead.

    Args:
        guard: Whom to ask.
        name: Of the tool, by default the function's; what has no name of its own (a `partial`) needs it.
        attach: How words go with a result; see `with_words`.

    """
    require_guard(guard)
    require_name("name", name)
    require_callable("attach", attach, "a function of a result and a text")

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        require_callable("function", function, "a function; write `@guarded(guard)` above its `def`")
        if isinstance(function, (classmethod, staticmethod)):
            raise SettingError("put `@guarded` below `@classmethod` or `@staticmethod`, nearest to the function")
        tool_name = name or getattr(function, "__name__", "")
        if not tool_name:
            raise SettingError(
                f"a `{type(function).__name__}` has no name; say `guarded(guard, name=...)`", name="name"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SettingError(
                f"`{function.__qualname__}` is a generator; guard a function that returns the whole result"
            )
        try:
            signature = inspect.signature(function)
        except ValueError:
            raise SettingError(
                f"the parameters of `{tool_name}` are not known; guard a function of your own around it"
            ) from None
        tool = _Tool(guard, tool_name, signature, attach, _receiver(function))
        guard.knows(tool.name)
        if inspect.iscoroutinefunction(function):
            return cast("Callable[P, R]", _coroutine(tool, function))
        return _plain(tool, function)

    return decorate


@dataclass
class _Tool:
    """What the guard is asked about."""

    guard: Guard
    name: str
    signature: inspect.Signature
    attach: Callable[[object, str], object]
    receiver: str
    """The parameter that takes the object or class of a method; empty for a function."""
    awaits: Callable[[Callable[[], Any]], Any] | None = None
    """How an answer is given to a caller that does not take it at once, by what the function returned before."""

    def ask(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Allow | Nudge | Refuse:
        arguments = _arguments(self.signature, args, kwargs)
        arguments.pop(self.receiver, None)
        return self.guard.before(self.name, arguments, turn=current_step(), conversation=self.guard.call_around())

    def answer(self, decision: Nudge | Refuse) -> Any:  # noqa: ANN401 - in place of the function's own
        if isinstance(decision, Nudge):
            return self.attach(decision.answer, decision.text)
        if decision.stop is not None:
            raise self.guard.ended(decision.stop)
        return decision.text

    def finish(self, call: Call, result: object) -> Any:  # noqa: ANN401
        after = self.guard.after(call, result)
        return self.attach(result, after.text) if isinstance(after, Nudge) else result


def _plain(tool: _Tool, function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        decision = tool.ask(args, kwargs)
        if not isinstance(decision, Allow):
            answer = partial(tool.answer, decision)
            return cast("R", answer() if tool.awaits is None else tool.awaits(answer))
        try:
            with tool.guard.inside(decision.call):
                result = function(*args, **kwargs)
        except BaseException as error:
            tool.guard.failed(decision.call, error)
            raise
        if not is_awaitable(result):
            return cast("R", tool.finish(decision.call, result))
        if hasattr(type(result), "__aenter__"):
            tool.awaits = _Entered
            tool.guard.passed(decision.call)
            return cast("R", result)
        tool.awaits = _answered
        awaited = _awaited(tool, decision.call, result)
        return cast("R", asyncio.ensure_future(awaited) if isinstance(result, asyncio.Future) else awaited)

    return call


async def _answered(answer: Callable[[], Any]) -> Any:  # noqa: ANN401
    """The answer for a caller that awaits."""
    return answer()


class _Entered:
    """The answer for a caller that awaits or writes `async with`."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    def __await__(self) -> Generator[Any, Any, Any]:
        return _answered(self._answer).__await__()

    async def __aenter__(self) -> Any:  # noqa: ANN401
        return self._answer()

    async def __aexit__(self, *_: object) -> None:
        """Nothing was opened."""


async def _awaited(tool: _Tool, call: Call, result: Awaitable[Any]) -> Any:  # noqa: ANN401
    """What a plain function's awaitable comes to: the call ends with it."""
    try:
        with tool.guard.inside(call):
            value = await result
    except BaseException as error:
        tool.guard.failed(call, error)
        raise
    return tool.finish(call, value)


def _coroutine(tool: _Tool, function: Callable[P, Awaitable[Any]]) -> Callable[P, Awaitable[Any]]:
    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - the function's own
        decision = tool.ask(args, kwargs)
        if not isinstance(decision, Allow):
            return tool.answer(decision)
        try:
            with tool.guard.inside(decision.call):
                result = await function(*args, **kwargs)
        except BaseException as error:
            tool.guard.failed(decision.call, error)
            raise
        return tool.finish(decision.call, result)

    return call


def _receiver(function: Callable[..., Any]) -> str:
    """The first parameter of a function that is defined in a class and calls it `self` or `cls`."""
    first = next(iter(inspect.signature(function).parameters), "")
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    return first if first in {"self", "cls"} and owner and not owner.endswith("<locals>") else ""


def _arguments(
    signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """The arguments by name, however they were given; a call that the function will refuse keeps its own form."""
    try:
        found = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        return {"args": list(args), **kwargs}
    rest = next((one.name for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD), None)
    if rest in found:
        found = {**cast("Mapping[str, object]", found.pop(rest)), **found}
    return found
