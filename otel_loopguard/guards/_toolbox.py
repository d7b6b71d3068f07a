"""The tools of an agent whose loop is hand-written, guarded: what the loops of all client libraries have in common.

Not what blocks of calls and results look like: that is the client library's adapter's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from ._batch import Asked
from ._dispatch import Answered, Session, dispatch, dispatch_async
from ._guard import Guard
from ._option import require, require_callable, require_flag, require_guard, require_name

__all__ = ["Toolbox"]

Written = TypeVar("Written")
"""The answers to one response, as the client library wants them."""


class Toolbox(Generic[Written]):
    """One object is one conversation."""

    def __init__(  # noqa: PLR0913 - what an application may say of its agent
        self,
        guard: Guard,
        tools: Mapping[str, Callable[..., Any]],
        *,
        run: str | None = None,
        agent: str | None = None,
        on_error: Callable[[Exception], str] | None = None,
        report_blocked: bool = False,
    ) -> None:
        """Tools to be called with the model's arguments as keywords.

        Args:
            guard: Whom to ask.
            tools: Functions by name; coroutine functions need `answer_async`.
            run: The run, where `otel_loopguard.run()` names none; by default one of this object's own.
            agent: The agent's name.
            on_error: Makes the model's text of a tool's exception. Without it exceptions pass when the calls that run
                beside it have ended; `interrupted` has the answers then.
            report_blocked: The model is offered `report_blocked_tool()`, so refusals name it.

        """
        require_guard(guard)
        require("tools", tools, Mapping, 'functions by name, as `{"search": search}`')
        for name, tool in tools.items():
            require("tools", name, str, 'functions by name, as `{"search": search}`')
            require_callable(f"tools[{name!r}]", tool, "a function to be called with the model's arguments")
        require_name("run", run)
        require_name("agent", agent)
        if on_error is not None:
            require_callable("on_error", on_error, "a function that makes a text of an exception, or None")
        require_flag("report_blocked", report_blocked)
        guard.knows(*tools)
        self._session = Session(guard, dict(tools), run, agent, on_error, offers_report=report_blocked)
        self.interrupted: Written | None = None
        """An answer for each call of the response whose exception passed last: with it the conversation can go on."""

    @property
    def run(self) -> str:
        """The run of the calls, where `otel_loopguard.run()` names none: for `Guard.finish(..., run=...)`."""
        return self._session.run or self._session.own_run

    def _answer(self, calls: Sequence[Asked], write: Callable[[Answered], Written]) -> Written:
        return self._written(dispatch(self._session, calls), write)

    async def _answer_async(self, calls: Sequence[Asked], write: Callable[[Answered], Written]) -> Written:
        return self._written(await dispatch_async(self._session, calls), write)

    def _written(self, answered: Answered, write: Callable[[Answered], Written]) -> Written:
        written = write(answered)
        self.interrupted = written if answered.raised is not None else None
        if answered.raised is not None:
            raise answered.raised
        return written
