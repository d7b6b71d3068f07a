"""A call that a guard saw before its dispatch, until it has ended and its spans too.

Not the decision to refuse: a guard makes that from what the engine said. It holds no content.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from typing import Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from otel_loopguard.core.call import ToolCall
from otel_loopguard.core.decision import Decision

from .lane import Lane
from .run_state import RunState
from .taken import Taken

__all__ = ["MAX_GUARDED", "Guarded", "GuardedCalls", "SpanFacts", "guarded_in", "inside"]

MAX_GUARDED: Final = 4096
"""Guarded calls remembered, open ones and those whose spans may still end; the oldest is forgotten."""

_NEWEST: Final = 64
"""Calls of one id or fingerprint that are looked at: some models number their calls anew in each turn, some agents ask
the same in every run, and only what is under way counts."""

_serials: Final = count(1)
_KEY: Final = otel_context.create_key("loopguard-guarded")


class Guarded:
    """One call, as it was judged before its dispatch."""

    __slots__ = (
        "call", "conversation", "decided", "decision", "ended_ns", "is_enclosed", "lane", "message", "run", "serial",
        "span_id", "taken", "trace_id", "turn",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913, PLR0917 - what is known before the dispatch
        self, run: RunState, lane: Lane, call: ToolCall, decision: Decision, trace_id: str, span_id: str,
        conversation: str = "",
    ) -> None:  # fmt: skip
        self.run = run
        self.lane = lane
        self.call = call
        self.decision = decision
        self.trace_id = trace_id
        self.span_id = span_id
        """Of the span in which the guard was asked: the call's own, where that was started before."""
        self.message = 0
        """Number of the lane's user message that no call had followed when this one was judged; 0: there was none."""
        self.is_enclosed = False
        """A span around it was found to be the call's own."""
        self.turn: int | None = None
        """Number of the model decision, where it is known."""
        self.conversation = conversation
        """The framework's own conversation that made it, by any token; empty where nobody says."""
        self.serial = next(_serials)
        """No other call of the process has it."""
        self.decided: Decision | None = None
        """The decision, where the guard acts on it."""
        self.taken: Taken | None = None
        """The call as it was counted, by the guard or by the first span of it that ended."""
        self.ended_ns: int | None = None
        """When the guard saw its end; None while it is open."""

    def take_over(self, other: Guarded) -> None:
        """Be the first after a user message, in another one's place."""
        if other is not self:
            other.call = other.call.changed(user_message=False)
            self.call = self.call.changed(user_message=True)
            self.lane.answering = self

    def contradicts(self, other: ToolCall) -> bool:
        """Whether another call with this one's id in the same place cannot be it: telemetry that tells two stories."""
        own = self.call
        known = own.fingerprint is not None and other.fingerprint is not None and own.key_id == other.key_id
        return (
            own.call_id == other.call_id and own.tool == other.tool and known and own.fingerprint != other.fingerprint
        )

    def is_named_by(self, other: ToolCall) -> bool:
        """Whether another call has this one's id and tool."""
        return other.call_id is not None and self.call.call_id == other.call_id and self.call.tool == other.tool

    def is_guarded_as(self, other: ToolCall, conversation: str) -> bool:
        """Whether a call that another guard sees inside of this one is this one, and no other conversation's.

        Models number their calls alike in every conversation, so that an id alone says nothing of another tool's call.
        """
        is_elsewhere = "" not in {conversation, self.conversation} and conversation != self.conversation
        return self.call.tool == other.tool and not is_elsewhere and self.is_seen_in(other)

    def branch(self, conversation: str) -> str:
        """Which sub-agent makes a call inside of this one: the same, where it is of no other conversation."""
        return self.lane.branch if conversation in {"", self.conversation} else conversation

    def is_seen_in(self, other: ToolCall) -> bool:
        """Whether what a span or another guard saw may be this call: its tool or call id, and no contradiction."""
        own = self.call
        same_id = other.call_id is not None and own.call_id == other.call_id
        if not same_id and (own.tool != other.tool or None not in {other.call_id, own.call_id}):
            return False
        known = own.fingerprint is not None and other.fingerprint is not None and own.key_id == other.key_id
        # A tool's own span may give it another name, and the name is part of the fingerprint.
        return not known or own.fingerprint == other.fingerprint or (same_id and own.tool != other.tool)


class SpanFacts(NamedTuple):
    """Where and when a span stands that may be a guarded call."""

    run_id: str
    agent: str
    trace_id: str
    span_id: str
    start_ns: int


class GuardedCalls:
    """The guarded calls of one process, bounded. Not locked: `Live` holds its lock."""

    def __init__(self, limit: int = MAX_GUARDED) -> None:
        self._limit = limit
        self._held: OrderedDict[int, Guarded] = OrderedDict()
        self._by_id: dict[str, list[Guarded]] = {}
        self._by_print: dict[str, list[Guarded]] = {}
        self._by_trace: dict[str, list[Guarded]] = {}
        self._by_span: dict[str, Guarded] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, guarded: Guarded) -> int:
        """Remember a call; how many open ones are forgotten for it."""
        self._held[id(guarded)] = guarded
        if guarded.call.call_id is not None:
            self._by_id.setdefault(guarded.call.call_id, []).append(guarded)
        if guarded.call.fingerprint is not None:
            self._by_print.setdefault(guarded.call.fingerprint, []).append(guarded)
        if guarded.trace_id:
            self._by_trace.setdefault(guarded.trace_id, []).append(guarded)
        forgotten = 0
        while len(self._held) > self._limit:
            oldest = next(iter(self._held.values()))
            self.remove(oldest)
            forgotten += oldest.ended_ns is None
        return forgotten

    def remove(self, guarded: Guarded) -> None:
        """Forget a call."""
        if self._held.pop(id(guarded), None) is not None:
            _remove(self._by_id, guarded.call.call_id, guarded)
            _remove(self._by_print, guarded.call.fingerprint, guarded)
            _remove(self._by_trace, guarded.trace_id, guarded)
            if self._by_span.get(guarded.span_id) is guarded:
                del self._by_span[guarded.span_id]

    def heir(self, lane: Lane) -> Guarded | None:
        """The oldest open call of a lane that was judged as one of the first after its newest user message."""
        for one in self._held.values():
            if one.lane is lane and one.message == lane.messages and one.ended_ns is None and one.taken is None:
                return one
        return None

    def reach(self, guarded: Guarded, trace_id: str, span_id: str) -> None:
        """The host has come to a call while this span is the current one: it may be the call's own."""
        if id(guarded) not in self._held:
            return
        if guarded.trace_id != trace_id:
            _remove(self._by_trace, guarded.trace_id, guarded)
            self._by_trace.setdefault(trace_id, []).append(guarded)
        if self._by_span.get(guarded.span_id) is guarded:
            del self._by_span[guarded.span_id]
        guarded.trace_id, guarded.span_id = trace_id, span_id
        self._by_span[span_id] = guarded

    def rival(self, call: ToolCall, lane: Lane, turn: int | None) -> Guarded | None:
        """An open call of the same agent and turn that has a call's id and other arguments."""
        for one in islice(reversed(self._by_id.get(call.call_id or "", ())), _NEWEST):
            if one.lane is lane and one.turn == turn and one.ended_ns is None and one.contradicts(call):
                return one
        return None

    def find(self, call: ToolCall, span: SpanFacts, around: Guarded | None) -> Guarded | None:
        """The guarded call that a span is.

        Told by its call id, else by its context, else by tool and fingerprint of a call that is open or was guarded
        inside the span. ``around`` is the guarded call in whose context the span started: with its id and tool it is
        that call, even where the instrumentation spells the arguments in another way.
        """

        def is_near(one: Guarded) -> bool:
            return one.run.run_id == span.run_id or (span.trace_id != "" and one.trace_id == span.trace_id)

        same = [
            one
            for one in islice(reversed(self._by_id.get(call.call_id or "", ())), _NEWEST)
            if (one is around or is_near(one)) and one.is_seen_in(call) and _may_start(one, span.start_ns)
        ]
        if same:  # a tool's span may give it another name, and inner agents number their calls as the outer one
            return next((one for one in same if one.call.tool == call.tool), same[0])
        if around is not None and id(around) in self._held and (around.is_seen_in(call) or around.is_named_by(call)):
            return around
        reached = self._by_span.get(span.span_id)
        if reached is not None and reached.trace_id == span.trace_id and reached.is_seen_in(call):
            return reached
        for one in self._by_print.get(call.fingerprint or "", ())[-_NEWEST:]:
            is_open = one.taken is None and one.ended_ns is None
            if is_open and is_near(one) and one.lane.agent == span.agent and one.is_seen_in(call):
                return one
        return self._inside(call, span) or self._named(call, span, is_near)

    def _named(self, call: ToolCall, span: SpanFacts, is_near: Callable[[Guarded], bool]) -> Guarded | None:
        """The one call with the span's id and tool that was under way when it started, near or of no known trace.

        For instrumentations that print arguments in another way and tell the guard's code of no span. With more than
        one, as where models number their calls anew in each turn of many runs, nobody can say which it is.
        """
        found: Guarded | None = None
        for one in islice(reversed(self._by_id.get(call.call_id or "", ())), _NEWEST):
            is_over = one.ended_ns is not None and one.ended_ns < span.start_ns
            if is_over or not one.is_named_by(call) or (one.trace_id and not is_near(one)):
                continue
            if found is not None:
                return None
            found = one
        return found

    def _inside(self, call: ToolCall, span: SpanFacts) -> Guarded | None:
        """The call that was guarded while the span was open: in the span itself, else somewhere below it."""
        below: Guarded | None = None
        for one in reversed(self._by_trace.get(span.trace_id, ())):
            started = one.call.start_ns or 0
            if started < span.start_ns:
                break
            if one.is_enclosed or one.ended_ns is None or not one.is_seen_in(call):
                continue
            if one.span_id == span.span_id:
                one.is_enclosed = True
                return one
            if below is None and call.fingerprint is not None and one.call.fingerprint == call.fingerprint:
                below = one
        if below is not None:
            below.is_enclosed = True
        return below


def _may_start(guarded: Guarded, start_ns: int) -> bool:
    """A span of a dispatched call cannot start after its end; one of a refused call may be made for its answer."""
    if guarded.ended_ns is None or guarded.taken is None or guarded.taken.outcome.kind == "ours":
        return True
    return start_ns <= guarded.ended_ns


def _remove(index: dict[str, list[Guarded]], key: str | None, guarded: Guarded) -> None:
    held = index.get(key or "")
    if held is not None and guarded in held:
        held.remove(guarded)
        if not held:
            del index[key or ""]


def guarded_in(context: Context) -> Guarded | None:
    """The innermost guarded call that a context belongs to."""
    found = context.get(_KEY)
    return found if isinstance(found, Guarded) else None


@contextmanager
def inside(guarded: Guarded | None) -> Iterator[None]:
    """What happens here is the dispatch of a guarded call: its spans are known by it. None: nothing is guarded."""
    if guarded is None:
        yield
        return
    token = otel_context.attach(otel_context.set_value(_KEY, guarded))
    try:
        yield
    finally:
        otel_context.detach(token)
