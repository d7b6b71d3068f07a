"""The calls of one model decision, judged and dispatched to plain functions or coroutines, each with one answer.

Not a loop: that stays the application's. What blocks of calls and results look like is the client library's adapter's.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, NamedTuple

from otel_loopguard.errors import LoopDetected

from ._answer import Allow, Call, Nudge, Refuse, message_of, text_of, with_words
from ._batch import Asked, judge
from ._guard import Guard
from ._step import current_step, new_step

__all__ = ["Answer", "Answered", "Session", "dispatch", "dispatch_async"]


class Answer(NamedTuple):
    """What a call is answered with."""

    call: Asked
    text: str
    is_error: bool


class Answered(NamedTuple):
    """All answers of a decision, in the order of its calls."""

    answers: list[Answer]
    stop: LoopDetected | None


@dataclass(frozen=True)
class Session:
    """What stays the same from decision to decision."""

    guard: Guard
    tools: Mapping[str, Callable[..., Any]]
    run: str | None = None
    agent: str | None = None
    on_error: Callable[[Exception], str] | None = None
    """Makes the model's text of an exception; None lets exceptions through."""
    own_run: str = field(default_factory=lambda: f"loop-{token_hex(8)}")
    """The run where nothing names one: a session is one conversation."""


def dispatch(session: Session, calls: Sequence[Asked]) -> Answered:
    """Answer the calls of a decision, one after the other."""
    decisions, stop = _judged(session, calls)
    answers = []
    for call, decision in zip(calls, decisions, strict=True):
        if not isinstance(decision, Allow):
            answers.append(_without_dispatch(call, decision))
            continue
        arguments, problem = _read(session, call)
        if problem:
            answers.append(_refused(session, call, decision.call, problem))
            continue
        try:
            with session.guard.inside(decision.call):
                result = session.tools[call.tool](**arguments)
            answers.append(_finished(session, call, decision.call, result))
        except BaseException as error:  # noqa: BLE001 - it goes on, unless the application wants a text
            answers.append(_failed(session, call, decision.call, error))
    return _ended(session, answers, stop)


async def dispatch_async(session: Session, calls: Sequence[Asked]) -> Answered:
    """Answer the calls of a decision side by side; plain functions among the tools run where this runs."""
    decisions, stop = _judged(session, calls)

    async def one(call: Asked, decision: Allow | Nudge | Refuse) -> Answer:
        if not isinstance(decision, Allow):
            return _without_dispatch(call, decision)
        arguments, problem = _read(session, call)
        if problem:
            return _refused(session, call, decision.call, problem)
        try:
            with session.guard.inside(decision.call):
                result = session.tools[call.tool](**arguments)
                result = await result if inspect.isawaitable(result) else result
            return _finished(session, call, decision.call, result)
        except BaseException as error:  # noqa: BLE001
            return _failed(session, call, decision.call, error)

    answers = await asyncio.gather(*(one(*both) for both in zip(calls, decisions, strict=True)))
    return _ended(session, list(answers), stop)


def _judged(session: Session, calls: Sequence[Asked]) -> tuple[list[Allow | Nudge | Refuse], LoopDetected | None]:
    judged = judge(
        session.guard,
        calls,
        turn=current_step() or new_step(),
        run=session.run,
        agent=session.agent,
        tools=session.tools,
        default_run=session.own_run,
    )
    return judged.decisions, judged.stop


def _without_dispatch(call: Asked, decision: Nudge | Refuse) -> Answer:
    if isinstance(decision, Nudge):
        return Answer(call, text_of(with_words(decision.answer, decision.text)), is_error=False)
    return Answer(call, decision.text, is_error=True)


def _read(session: Session, call: Asked) -> tuple[dict[str, Any], str]:
    """The arguments to call with, or what is wrong with the call."""
    if call.tool not in session.tools:
        known = ", ".join(f"`{name}`" for name in session.tools)
        return {}, f"There is no tool `{call.tool}`; there is {known}."
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return {}, f"The arguments of `{call.tool}` are no JSON."
    if not isinstance(arguments, Mapping):
        return {}, f"The arguments of `{call.tool}` are no JSON object."
    return dict(arguments), ""


def _refused(session: Session, call: Asked, held: Call, problem: str) -> Answer:
    kind = "validation" if call.tool in session.tools else "unknown_tool"
    after = session.guard.after(held, problem, is_error=True, error_type=kind, error_message=problem)
    return Answer(call, _told(problem, after), is_error=True)


def _finished(session: Session, call: Asked, held: Call, result: object) -> Answer:
    after = session.guard.after(held, result)
    return Answer(call, _told(result, after), is_error=False)


def _failed(session: Session, call: Asked, held: Call, error: BaseException) -> Answer:
    if session.on_error is None or not isinstance(error, Exception):
        session.guard.failed(held, error)
        raise error
    try:
        text = session.on_error(error)
    except BaseException:
        session.guard.failed(held, error)
        raise
    after = session.guard.after(
        held, text, is_error=True, error_type=type(error).__qualname__, error_message=message_of(error)
    )
    return Answer(call, _told(text, after), is_error=True)


def _told(result: object, after: Allow | Nudge) -> str:
    told = with_words(result, after.text) if isinstance(after, Nudge) else result
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, default=str)


def _ended(session: Session, answers: list[Answer], stop: LoopDetected | None) -> Answered:
    return Answered(answers, None if stop is None else session.guard.ended(stop))
