"""The calls of one model decision, judged together before any of them is dispatched.

Not their dispatch: where one of them stops the agent, none is dispatched, and each has its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from otel_loopguard.core.call import Turn
from otel_loopguard.errors import LoopDetected

from ._answer import Allow, Nudge, Refuse
from ._guard import Guard

__all__ = ["Asked", "Judged", "judge"]


class Asked(NamedTuple):
    """A call that a model asks for."""

    call_id: str
    tool: str
    arguments: object


class Judged(NamedTuple):
    """The decisions, in the order of the calls, and what stops the agent."""

    decisions: list[Allow | Nudge | Refuse]
    stop: LoopDetected | None
    words: str
    """Of the stop."""


def judge(  # noqa: PLR0913 - what a framework may know
    guard: Guard,
    calls: Sequence[Asked],
    *,
    turn: Turn = None,
    run: str | None = None,
    agent: str | None = None,
    tools: Iterable[object] = (),
    default_run: str | None = None,
    conversation: str | None = None,
) -> Judged:
    """Ask the guard about every call; `Guard.ended` is for the adapter to call when all answers are out."""
    known = tuple(tools)
    decisions: list[Allow | Nudge | Refuse] = []
    try:
        for call in calls:
            decisions.append(  # noqa: PERF401 - what was decided is needed where the next is interrupted
                guard.before(
                    call.tool,
                    call.arguments,
                    call_id=call.call_id,
                    turn=turn,
                    run=run,
                    agent=agent,
                    tools=known,
                    default_run=default_run,
                    conversation=conversation,
                )
            )
    except BaseException:  # the process is to end, or the coroutine: none of them is dispatched
        for decision in decisions:
            if isinstance(decision, Allow):
                guard.withdraw(decision.call)
        raise
    for decision in decisions:
        if isinstance(decision, Refuse) and decision.stop is not None:
            covered: list[Allow | Nudge | Refuse] = [
                guard.cover(one.call) if isinstance(one, Allow) else one for one in decisions
            ]
            return Judged(covered, decision.stop, decision.text)
    return Judged(decisions, None, "")
