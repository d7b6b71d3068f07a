"""Plain functions and coroutines as guarded tools, for agents without a framework.

Not a framework's adapter: the loop is the application's, and so is what becomes of `LoopDetected`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from otel_loopguard.errors import SettingError

from ._answer import Allow, Call, Nudge, Refuse, with_words
from ._guard import Guard
from ._step import current_step, step

__all__ = ["guarded", "step"]

P = ParamSpec("P")
R = TypeVar("R")


def guarded(
    guard: Guard, *, name: str | None = None, attach: Callable[[object, str], object] = with_words
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that asks a guard before each call of a function or coroutine function.

    A refused call is not executed and returns the words for the model in place of a result; when the agent is to be
    stopped it raises `LoopDetected`. Exceptions of the function pass unchanged.

    Args:
        guard: Whom to ask.
        name: Of the tool, by default the function's.
        attach: How words go with a result; see `with_words`.

    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SettingError(
                f"`{function.__qualname__}` is a generator; guard a function that returns the whole result"
            )
        tool = _Tool(guard, name or function.__name__, inspect.signature(function), attach)
        guard.knows(tool.name)
        if inspect.iscoroutinefunction(function):
            return cast("Callable[P, R]", _coroutine(tool, function))
        return _plain(tool, function)

    return decorate


class _Tool(NamedTuple):
    """What the guard is asked about."""

    guard: Guard
    name: str
    signature: inspect.Signature
    attach: Callable[[object, str], object]

    def ask(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Allow | Nudge | Refuse:
        return self.guard.before(self.name, _arguments(self.signature, args, kwargs), turn=current_step())

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
            return cast("R", tool.answer(decision))
        try:
            with tool.guard.inside(decision.call):
                result = function(*args, **kwargs)
        except BaseException as error:
            tool.guard.failed(decision.call, error)
            raise
        return cast("R", tool.finish(decision.call, result))

    return call


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


def _arguments(signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """The arguments by name, however they were given; a call that the function will refuse keeps its own form."""
    try:
        return dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        return {"args": list(args), **kwargs}
