"""The spans of one trace, without content: where its calls belong.

Not a run: a run may span several traces, and a trace may hold several runs. It is given the spans that are known when
its calls are placed, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from otel_loopguard.conventions import RawCall, Role
from otel_loopguard.core.call import Turn
from otel_loopguard.correlate import Ancestor, place
from otel_loopguard.siblings import Siblings
from otel_loopguard.stream.record import CallRecord

__all__ = ["Hints", "Span", "placed", "placed_alone"]

_DEPTH: Final = 64
"""Enclosing spans that are followed; deeper ones add no agent that a nearer one does not name."""

_LATE: Final = 1 << 64
"""After every time stamp: spans that have not ended."""


class Hints(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a call's record says about its run, agent and turn."""

    run_id: str | None = None
    agent_call_id: str | None = None
    conversation_id: str | None = None
    channel_id: str | None = None
    prompt_id: str | None = None
    agent: str | None = None
    turn: Turn = None


class Span(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One span, or a log record about a call, without content."""

    trace_id: str
    span_id: str
    """Empty for a log record."""
    parent_span_id: str
    """For a log record, the span in which it was written."""
    start_ns: int | None = None
    end_ns: int | None = None
    role: Role | None = None
    call: CallRecord | None = None
    """The call: without run, agent and turn until it is placed (`placed_alone`, or `placed` with those around it)."""
    hints: Hints | None = None


def placed(spans: Sequence[Span]) -> Iterator[CallRecord]:
    """The calls of one trace with their runs, agents and turns, in the order of ``spans``.

    A call whose run nobody names joins the named run of the trace, if there is exactly one.
    """
    known = {span.span_id: span for span in spans if span.span_id}
    turns = _turns(spans)
    calls = [_placed(span, span.call, known, turns) for span in spans if span.call is not None]
    runs = {call.run_id for call in calls if call.run_named} or set(_runs_around(spans))
    only = runs.pop() if len(runs) == 1 and spans[0].trace_id else None
    for call in calls:
        yield call if call.run_named or only is None else call.changed(run_id=only)


def placed_alone(span: Span) -> Span:
    """The span with its call placed where its own record says all that there is to say: it waits for no other.

    That is a call which a process of ours numbered, of a run that is named by more than its trace, and one outside any
    trace. Any other span is given back as it is.
    """
    call, hints = span.call, span.hints
    if call is None or hints is None or call.run_id:
        return span
    is_numbered = call.sequence is not None and bool(hints.run_id) and hints.run_id != span.trace_id
    if is_numbered or not span.trace_id:
        return msgspec.structs.replace(span, call=next(placed([span])))
    return span


def _runs_around(spans: Iterable[Span]) -> Iterator[str]:
    for span in spans:
        role = span.role
        run_id = None if role is None else role.run_id or role.agent_call_id or role.conversation_id
        if run_id:
            yield run_id


def _placed(span: Span, call: CallRecord, known: dict[str, Span], turns: dict[int, Turn]) -> CallRecord:
    hints = span.hints or Hints()
    around = list(_around(span, known))
    found = place(
        _raw(call, hints),
        trace_id=span.trace_id,
        parent_span_id=span.parent_span_id,
        ancestors=[Ancestor(one.span_id, one.role) for one in around],
    )
    turn = found.turn if found.turn is not None else turns.get(id(span))
    enclosing, delegated = _enclosing(around)
    return call.changed(
        call=call.call.in_turn(turn),
        run_id=found.run_id,
        run_named=found.run_named,
        agent=found.agent,
        agent_named=found.agent_named,
        enclosing_span_id=enclosing,
        delegated=delegated,
        message=found.message if found.by_conversation else "",
    )


def _raw(call: CallRecord, hints: Hints) -> RawCall:
    return RawCall(
        family="",
        tool=call.call.tool,
        agent=hints.agent,
        run_id=hints.run_id,
        agent_call_id=hints.agent_call_id,
        conversation_id=hints.conversation_id,
        channel_id=hints.channel_id,
        prompt_id=hints.prompt_id,
        turn=hints.turn,
    )


def _around(span: Span, known: dict[str, Span]) -> Iterator[Span]:
    """The enclosing spans, nearest first."""
    current = known.get(span.parent_span_id)
    for _ in range(_DEPTH):
        if current is None or current is span:
            return
        yield current
        current = known.get(current.parent_span_id)


def _enclosing(around: Iterable[Span]) -> tuple[str, bool]:
    """The nearest tool span around a call, and whether an agent or a model stands between."""
    delegated = False
    for span in around:
        if span.call is not None:
            return span.span_id, delegated
        delegated = delegated or (span.role is not None and span.role.kind != "step")
    return "", False


def _turns(spans: Iterable[Span]) -> dict[int, Turn]:
    """The turn of every call, by the models and calls beside it."""
    families: dict[str, list[Span]] = {}
    for span in spans:
        is_model = span.role is not None and span.role.kind == "model" and span.call is None
        if is_model or (span.call is not None and not span.call.is_event):
            families.setdefault(span.parent_span_id, []).append(span)
    turns: dict[int, Turn] = {}
    for family in families.values():
        siblings = Siblings()
        for span in sorted(family, key=_end):
            if span.call is None:
                siblings.model(span.span_id, span.start_ns)
            else:
                turn = siblings.turn(span.span_id, span.start_ns, span.end_ns)
                turns[id(span)] = siblings.own_turn(
                    turn, span.call.call.fingerprint, span.span_id, span.start_ns, span.end_ns
                )
    return turns


def _end(span: Span) -> tuple[int, int, str]:
    return (
        _LATE if span.end_ns is None else span.end_ns,
        _LATE if span.start_ns is None else span.start_ns,
        span.span_id,
    )
