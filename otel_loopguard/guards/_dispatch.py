"""The calls of one model decision, judged and dispatched to plain functions or coroutines, each with one answer.

Not a loop: that stays the application's. What blocks of calls and results look like is the client library's adapter's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from types import CoroutineType
from typing import Any, Final, NamedTuple

from otel_loopguard.core.explain import REPORT_BLOCKED
from otel_loopguard.errors import LoopDetected, SettingError

from ._answer import Allow, Call, Nudge, Refuse, is_a, text_of, with_words
from ._awaitable import is_awaitable, is_coroutine_function
from ._batch import Asked, judge
from ._failure import error_type_of, message_of
from ._guard import Guard
from ._step import current_step, new_step

__all__ = ["Answer", "Answered", "Session", "dispatch", "dispatch_async"]


_ENDS: Final = (KeyboardInterrupt, SystemExit)
"""What ends the process: in a task it would end the event loop before the others have an answer."""


class Answer(NamedTuple):
    """What a call is answered with."""

    call: Asked
    text: str
    is_error: bool
    raised: BaseException | None = None
    """The exception of its tool that is to pass; the text says only that there was one."""


class Answered(NamedTuple):
    """All answers of a decision, in the order of its calls."""

    answers: list[Answer]
    stop: LoopDetected | None
    raised: BaseException | None
    """The first exception that is to pass, when every call that was dispatched has ended."""


@dataclass(frozen=True)
class Session:
    """What stays the same from decision to decision."""

    guard: Guard
    tools: Mapping[str, Callable[..., Any]]
    run: str | None = None
    agent: str | None = None
    on_error: Callable[[Exception], str] | None = None
    """Makes the model's text of an exception; None lets exceptions through."""
    offers_report: bool = False
    """The model is offered the tool `report_blocked`; it is answered in any case."""
    own_run: str = field(default_factory=lambda: f"loop-{token_hex(8)}")
    """The run where nothing names one: a session is one conversation."""

    def tool(self, name: str) -> Callable[..., Any] | None:
        """The function of a tool; None where there is none of that name."""
        if name in self.tools:
            return self.tools[name]
        return self.guard.report if name == REPORT_BLOCKED else None


def dispatch(session: Session, calls: Sequence[Asked]) -> Answered:
    """Answer the calls of a decision, one after the other. What follows an exception that is to pass does not run.

    Raises:
        SettingError: One that would run is of a coroutine function: none was dispatched.

    """
    decisions, stop = _judged(session, calls)
    _require_plain(session, calls, decisions)
    answers: dict[int, Answer] = {}

    def one(call: Asked, decision: Allow | Nudge | Refuse) -> Answer:
        if not isinstance(decision, Allow):
            return _without_dispatch(call, decision)
        if any(answer.raised is not None for answer in answers.values()):
            return _withdrawn(session, call, decision.call)
        tool, arguments, problem = _read(session, call)
        if tool is None:
            return _refused(session, call, decision.call, problem)
        try:
            with session.guard.inside(decision.call):
                result = tool(**arguments)
        except BaseException as error:  # noqa: BLE001 - it goes on, unless the application wants a text
            return _failed(session, call, decision.call, error)
        if is_a(result, CoroutineType) or is_a(result, asyncio.Future):
            return _not_run(session, call, decision.call, result)
        return _finished(session, call, decision.call, result)

    try:
        for place, both in enumerate(zip(calls, decisions, strict=True)):
            answers[place] = one(*both)
    except BaseException as error:  # noqa: BLE001 - it goes on when the rest is answered
        return _broken_off(session, calls, decisions, answers, error)
    return _ended(session, list(answers.values()), stop)


async def dispatch_async(session: Session, calls: Sequence[Asked]) -> Answered:
    """Answer the calls of a decision side by side; plain functions among the tools run where this runs."""
    decisions, stop = _judged(session, calls)
    answers: dict[int, Answer] = {}

    async def answer(place: int, call: Asked, decision: Allow | Nudge | Refuse) -> None:
        answers[place] = await one(call, decision)
        if isinstance(answers[place].raised, _ENDS):
            for task in tasks:  # the process is to end: nobody waits for the others
                task.cancel()

    async def one(call: Asked, decision: Allow | Nudge | Refuse) -> Answer:
        if not isinstance(decision, Allow):
            return _without_dispatch(call, decision)
        tool, arguments, problem = _read(session, call)
        if tool is None:
            return _refused(session, call, decision.call, problem)
        try:
            with session.guard.inside(decision.call):
                result = tool(**arguments)
                result = await result if is_awaitable(result) else result
        except BaseException as error:  # noqa: BLE001
            return _failed(session, call, decision.call, error)
        return _finished(session, call, decision.call, result)

    numbered = enumerate(zip(calls, decisions, strict=True))
    tasks = [asyncio.ensure_future(answer(place, *both)) for place, both in numbered]
    try:
        await asyncio.gather(*tasks)
    except BaseException as error:  # noqa: BLE001 - the waiting was cancelled, or the process is to end
        return _broken_off(session, calls, decisions, answers, error)
    return _ended(session, [answers[place] for place in range(len(calls))], stop)


def _judged(session: Session, calls: Sequence[Asked]) -> tuple[list[Allow | Nudge | Refuse], LoopDetected | None]:
    judged = judge(
        session.guard,
        calls,
        turn=current_step() or new_step(),
        run=session.run,
        agent=session.agent,
        tools=[*session.tools, REPORT_BLOCKED] if session.offers_report else session.tools,
        default_run=session.own_run,
        conversation=session.guard.call_around(),
    )
    return judged.decisions, judged.stop


def _without_dispatch(call: Asked, decision: Nudge | Refuse) -> Answer:
    if isinstance(decision, Nudge):
        return Answer(call, text_of(with_words(decision.answer, decision.text)), is_error=False)
    return Answer(call, decision.text, is_error=True)


def _withdrawn(session: Session, call: Asked, held: Call) -> Answer:
    session.guard.withdraw(held)
    return Answer(call, "Not run: another call of the same step failed.", is_error=True)


def _read(session: Session, call: Asked) -> tuple[Callable[..., Any] | None, dict[str, Any], str]:
    """The tool and the arguments to call it with, or what is wrong with the call."""
    tool = session.tool(call.tool)
    if tool is None:
        known = ", ".join(f"`{name}`" for name in session.tools) or "none"
        return None, {}, f"There is no tool `{call.tool}`; there is {known}."
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return None, {}, f"The arguments of `{call.tool}` are no JSON."
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        return None, {}, f"The arguments of `{call.tool}` are no JSON object."
    return tool, dict(arguments), ""


def _refused(session: Session, call: Asked, held: Call, problem: str) -> Answer:
    kind = "validation" if session.tool(call.tool) is not None else "unknown_tool"
    after = session.guard.after(held, problem, is_error=True, error_type=kind, error_message=problem)
    return Answer(call, _told(problem, after), is_error=True)


def _require_plain(session: Session, calls: Sequence[Asked], decisions: Sequence[Allow | Nudge | Refuse]) -> None:
    """What runs here is awaited by nobody."""
    allowed = [
        (call.tool, decision.call) for call, decision in zip(calls, decisions, strict=True) if is_a(decision, Allow)
    ]
    for name, _ in allowed:
        tool = session.tool(name)
        if tool is not None and is_coroutine_function(tool):
            for _, held in allowed:
                session.guard.withdraw(held)
            raise _never_awaited(name)


def _never_awaited(tool: str) -> SettingError:
    return SettingError(
        f"the tool `{tool}` is a coroutine function, which `answer` never awaits; call `await ....answer_async(...)`",
        name="tools",
    )


def _not_run(session: Session, call: Asked, held: Call, result: object) -> Answer:
    """A plain function has made something to be awaited, and nobody does: a coroutine never began."""
    if is_a(result, CoroutineType):
        result.close()
        session.guard.withdraw(held)
    else:
        session.guard.after(held)
    raised = _never_awaited(call.tool)
    return Answer(call, f"The tool failed: `{type(raised).__qualname__}`.", is_error=True, raised=raised)


def _finished(session: Session, call: Asked, held: Call, result: object) -> Answer:
    after = session.guard.after(held, result)
    return Answer(call, _told(result, after), is_error=False)


def _failed(session: Session, call: Asked, held: Call, error: BaseException) -> Answer:
    name = type(error).__qualname__
    raised = error
    if session.on_error is not None and isinstance(error, Exception):
        try:
            text = session.on_error(error)
        except BaseException as another:  # noqa: BLE001 - the application's own way to end
            raised = another
        else:
            kind, message = error_type_of(error), message_of(error)
            after = session.guard.after(held, text, is_error=True, error_type=kind, error_message=message)
            return Answer(call, _told(text, after), is_error=True)
    session.guard.failed(held, error)
    return Answer(call, f"The tool failed: `{name}`.", is_error=True, raised=raised)


def _broken_off(
    session: Session,
    calls: Sequence[Asked],
    decisions: Sequence[Allow | Nudge | Refuse],
    answers: Mapping[int, Answer],
    error: BaseException,
) -> Answered:
    """Answers for all calls where the answering itself was broken off: what was under way may have taken effect."""

    def rest(call: Asked, decision: Allow | Nudge | Refuse) -> Answer:
        if not isinstance(decision, Allow):
            return _without_dispatch(call, decision)
        if not decision.call.is_started:
            return _withdrawn(session, call, decision.call)
        session.guard.failed(decision.call, error)
        return Answer(call, f"The tool was broken off: `{type(error).__qualname__}`.", is_error=True, raised=error)

    whole = [
        answers[place] if place in answers else rest(*both)
        for place, both in enumerate(zip(calls, decisions, strict=True))
    ]
    return Answered(whole, None, _to_pass(whole) or error)


def _told(result: object, after: Allow | Nudge) -> str:
    return text_of(with_words(result, after.text) if isinstance(after, Nudge) else result)


def _ended(session: Session, answers: list[Answer], stop: LoopDetected | None) -> Answered:
    return Answered(answers, None if stop is None else session.guard.ended(stop), _to_pass(answers))


def _to_pass(answers: Sequence[Answer]) -> BaseException | None:
    """The first exception that is to pass; before all others what ends the process."""
    raised = [one.raised for one in answers if one.raised is not None]
    return next((one for one in raised if isinstance(one, _ENDS)), next(iter(raised), None))
