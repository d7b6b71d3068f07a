"""The spans of recent traces, kept while calls wait for the spans around them.

Not a run and not a whole trace: a call is placed with the spans that came shortly before and after it. Calls that our
own processor placed already do not wait here. A host tells the time and keeps what is held in here recoverable by
keeping the last `Window.memory` of its input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.timers import Timers
from otel_loopguard.stream.trace import Span, placed, placed_alone

__all__ = ["Placed", "TraceEnd", "Window"]

_SPANS: Final = 1024
"""Spans of one trace that are kept; each costs about 1 KiB, and placing goes through all of them."""

_Key = tuple[str, str]


class Placed(NamedTuple):
    """A call that knows its run, agent and turn."""

    tenant: str
    record: CallRecord


class TraceEnd(NamedTuple):
    """The root span of a trace has ended: so has a run that is known only by its trace."""

    tenant: str
    trace_id: str


class _Trace:
    """The spans of one trace, oldest first, with the times when they came."""

    __slots__ = ("arrived", "calls", "expected", "hurried", "root", "spans", "waiting")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.arrived: list[int] = []
        self.waiting = 0
        """Index of the first span whose call, if it is one, is not placed yet."""
        self.hurried = 0
        """Spans at the beginning that wait no longer, because there are too many."""
        self.root: int | None = None
        """When the root span came, until that is said."""
        self.expected: int | None = None
        """The timer that is set."""
        self.calls = 0
        """Spans so far that are calls."""

    def forget(self, count: int) -> None:
        """Forget the oldest spans."""
        self.spans = self.spans[count:]
        self.arrived = self.arrived[count:]
        self.waiting = max(0, self.waiting - count)


class Window:
    """The spans of the traces of the last moments, by tenant."""

    def __init__(self, wait: int) -> None:
        """``wait`` in the unit of the host's clock: how long a call waits for the spans around it."""
        self._wait = wait
        self._traces: dict[_Key, _Trace] = {}
        self._timers = Timers()
        self.dropped = 0
        """Spans that were forgotten early because their trace has too many."""

    @property
    def memory(self) -> int:
        """How long a span may have an effect after it came."""
        return 3 * self._wait

    def __len__(self) -> int:
        return len(self._traces)

    def knows(self, tenant: str, trace_id: str) -> bool:
        """Whether spans of a trace are kept."""
        return (tenant, trace_id) in self._traces

    def contents(self) -> Iterator[tuple[int, str, Span]]:
        """What is kept, each with its time and tenant: taken in anew in this order, it makes an equal window."""
        kept = [
            (arrived, tenant, span)
            for (tenant, _), trace in self._traces.items()
            for arrived, span in zip(trace.arrived, trace.spans, strict=True)
        ]
        yield from sorted(kept, key=lambda one: one[0])

    def add(self, tenant: str, span: Span, now: int) -> Placed | None:
        """Take in a span; a call that its own record places is given back at once, any other comes by `take`."""
        if span.call is not None:
            span = placed_alone(span)
            call, hints = span.call, span.hints
            if call is not None and (call.run_id or not span.trace_id):
                return Placed(tenant, call)
            if hints is not None and hints.run_id == span.trace_id:
                # what a process says that knows no better: the trace may name the run
                span = msgspec.structs.replace(span, hints=msgspec.structs.replace(hints, run_id=None))
        elif not span.trace_id:
            return None
        key = (tenant, span.trace_id)
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traces[key] = _Trace()
        trace.spans.append(span)
        trace.arrived.append(now)
        if span.call is not None:
            trace.calls += 1
        if len(trace.spans) > _SPANS:
            self._crowded(key, trace, now)
        if span.span_id and not span.parent_span_id and span.end_ns is not None:
            trace.root = now
        if trace.expected is None or trace.expected > now + self._wait:
            self._set(key, trace, now + self._wait)
        return None

    def due(self) -> int | None:
        """When `take` has something to do."""
        return self._timers.due()

    def take(self, now: int) -> list[Placed | TraceEnd]:
        """The calls that have waited long enough, placed, and the ends of their traces after them."""
        found: list[Placed | TraceEnd] = []
        while True:
            at = self._timers.due()
            if at is None or at > now:
                return found
            for key in self._timers.take():
                trace = self._traces.get(key)
                if trace is not None and trace.expected == at:
                    trace.expected = None
                    self._ripe(key, trace, now, found)
                    self._go_on(key, trace, now)

    def _ripe(self, key: _Key, trace: _Trace, now: int, found: list[Placed | TraceEnd]) -> None:
        begin = trace.waiting
        until = max(_count(trace.arrived, begin, now - self._wait), trace.hurried)
        trace.hurried = 0
        if until > begin:
            trace.waiting = until
            if trace.calls:
                _place(key, trace, begin, until, found)
        if trace.root is not None and trace.root + self._wait <= now:
            trace.root = None
            found.append(TraceEnd(*key))

    def _go_on(self, key: _Key, trace: _Trace, now: int) -> None:
        """Forget what is old, and set the next timer."""
        long_ago = now - 2 * self._wait
        arrived = trace.arrived
        if arrived[-1] <= long_ago:
            del self._traces[key]
            return
        if arrived[0] <= long_ago:
            trace.forget(_count(arrived, 0, long_ago))
            arrived = trace.arrived
        at = arrived[-1] + 2 * self._wait if trace.waiting == len(arrived) else arrived[trace.waiting] + self._wait
        self._set(key, trace, at if trace.root is None else min(at, trace.root + self._wait))

    def _set(self, key: _Key, trace: _Trace, at: int) -> None:
        trace.expected = at
        self._timers.set(at, key)

    def _crowded(self, key: _Key, trace: _Trace, now: int) -> None:
        """Make room in a trace: what was placed is forgotten early, what was not is placed early."""
        if trace.waiting:
            self.dropped += trace.waiting
            trace.forget(trace.waiting)
        elif not trace.hurried:
            trace.hurried = _SPANS // 2
            self._set(key, trace, now)


def _count(arrived: list[int], begin: int, until: int) -> int:
    """How many spans came up to a time, those before a place among them."""
    while begin < len(arrived) and arrived[begin] <= until:
        begin += 1
    return begin


def _place(key: _Key, trace: _Trace, begin: int, until: int, found: list[Placed | TraceEnd]) -> None:
    """Give back the calls between two places."""
    ready = {id(span) for span in trace.spans[begin:until] if span.call is not None}
    if ready:
        calls = (span for span in trace.spans if span.call is not None)
        for span, record in zip(calls, placed(trace.spans), strict=True):
            if id(span) in ready:
                found.append(Placed(key[0], record))
