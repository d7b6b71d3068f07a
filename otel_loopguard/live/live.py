"""The runs of this process behind one lock, shared by everything that sees calls here.

Not a span processor and no guard: those hand in what they saw and act on what comes back. Nothing that is not ours is
called while the lock is held.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import ChainMap
from collections.abc import Callable
from time import monotonic_ns, time_ns
from typing import Final

import msgspec
from opentelemetry.trace import SpanContext

from otel_loopguard import names
from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.correlate import is_new_message

from .context import spoken
from .ledger import MAX_RUNS, Ledger
from .outlet import Outlet
from .report import Report
from .rules import Rules, Sources
from .run_state import RunState
from .sighting import Sighting
from .taken import Found, Taken

__all__ = ["Live"]

_BY_RUN: Final = "run"


class Live:
    """What this process knows of its runs.

    Thread-safe and fork-safe: a forked child starts with no runs, nought in every counter and a process id of its own.
    """

    def __init__(
        self, sources: Sources, outlet: Outlet, *, clock: Callable[[], int] = monotonic_ns, max_runs: int = MAX_RUNS
    ) -> None:
        """``clock`` gives nanoseconds and never runs backwards: it only tells when to look at files again."""
        self.outlet = outlet
        self.edge = outlet.edge
        self.counters = outlet.counters
        self._clock = clock
        self._max_runs = max_runs
        self._by_run = sources.key_scope == _BY_RUN
        self._rules = Rules(sources, clock())
        self._start()
        if hasattr(os, "register_at_fork"):
            restart = weakref.WeakMethod(self._restart)
            os.register_at_fork(after_in_child=lambda: _call(restart()))

    def _start(self) -> None:
        # Reentrant: a finaliser that ends a span may run on this thread at any allocation below.
        self._lock = threading.RLock()
        self._is_busy = False
        self._ledger = Ledger(self._max_runs)
        self.has_findings = False
        """Whether any run has one: what follows a finding need not be looked at before."""

    def _restart(self) -> None:
        self._start()
        self.counters.reset()

    @property
    def policy_version(self) -> str:
        """The revision of the policy in force; empty for the built-in one."""
        return self._rules.policy.revision or ""

    # Calls --------------------------------------------------------------------------------------------------------

    def read(self, seen: Sighting) -> tuple[ToolCall, Outcome]:
        """A call without its content."""
        self._rules.refresh(self._clock())
        raw = seen.raw
        run: RunState | None = None
        if self._by_run:
            with self._lock:
                run = self._ledger.run(seen.place.run_id, spoken().ticket)
        reader = self._rules.reader(run, seen.resource.get("service.name"))
        scope = ChainMap(dict(seen.attributes), dict(seen.resource)) if self._rules.policy.scope else None
        call = reader.call(
            raw.tool, raw.arguments, truncated=raw.truncated, call_id=raw.call_id, turn=seen.turn, attributes=scope,
            user_message=raw.user_message, handoff_to=raw.handoff_to, start_ns=seen.start_ns,
        )  # fmt: skip
        outcome = reader.outcome(
            call, raw.arguments, raw.result, is_error=raw.is_error, error_type=raw.error_type,
            error_message=raw.error_message, ours=raw.marks is not None and raw.marks.outcome == "ours",
            end_ns=seen.end_ns,
        )  # fmt: skip
        return call, outcome

    def take(
        self, seen: Sighting, call: ToolCall, outcome: Outcome, *, copy_of: Taken | None = None, may_wait: bool = False
    ) -> Taken | None:
        """Take in a call that has ended and was read: number and judge it, and say what was found.

        ``copy_of`` is a call that waits and turned out to be this one: its number is taken over. With ``may_wait`` a
        call without known arguments is only numbered, until `settle` or a copy with arguments comes. None where a span
        ended inside our own bookkeeping; such a call is counted as dropped.
        """
        with self._lock:
            if not self._enter():
                return None
            try:
                taken = self._number(seen, call, outcome, copy_of)
                report = None if may_wait and call.fingerprint is None else self._record(taken)
            finally:
                self._is_busy = False
        if report is not None:
            self._say(report, seen.span, seen.end_ns)
        return taken

    def settle(self, taken: Taken, now_ns: int) -> tuple[Found, ...]:
        """Record a call that waited on its own, if it waits: no enclosing span was the same call. What it brought."""
        if taken.observation is not None:
            return ()
        with self._lock:
            if not self._enter():
                return ()
            try:
                report = self._record(taken)
            finally:
                self._is_busy = False
        if report is not None:
            self._say(report, taken.span, now_ns)
        return taken.found

    def _enter(self) -> bool:
        if self._is_busy:
            self.counters.add(names.DROPPED, ("reentered",))
            return False
        self._is_busy = True
        return True

    def _number(self, seen: Sighting, call: ToolCall, outcome: Outcome, copy_of: Taken | None) -> Taken:
        place = seen.place
        run = self._ledger.run(place.run_id, spoken().ticket)
        if place.run_named:
            self._ledger.saw(seen.trace_id, place.run_id)
        lane = self._ledger.lane(run, place.agent, call.scope)
        if self._is_first_after_message(seen, run, lane.agent) or (copy_of is not None and copy_of.call.user_message):
            call = msgspec.structs.replace(call, user_message=True)
        is_numbered = copy_of is not None and copy_of.lane is lane
        number = copy_of.number if copy_of is not None and is_numbered else lane.next_number()
        taken = Taken(run, lane, number, call, outcome)
        taken.trace_id, taken.span_id, taken.span = seen.trace_id, seen.span_id, seen.span
        if seen.turn_known:
            taken.turn = lane.turn_number(seen.turn)
        return taken

    @staticmethod
    def _is_first_after_message(seen: Sighting, run: RunState, agent: str) -> bool:
        message = spoken()
        if message.ticket > run.ticket:
            run.ticket = message.ticket
            run.speak(message.agent)
        is_first = run.answers(agent)
        token = seen.place.message
        if token:
            is_first = is_new_message(seen.place, run.message) or is_first
            run.message = token
        return is_first

    def _record(self, taken: Taken) -> Report | None:
        """Judge a call, with the lock held; a report where there is anything to say."""
        run, lane, call, engine = taken.run, taken.lane, taken.call, self._rules.engine
        report = Report(engine, self.counters) if call.user_message or self._ledger.surplus else None
        if report is not None:
            self._clear_others(run, taken, report)
            self._drop(report)
        observation = engine.record(lane.history, call, taken.outcome)
        lane.seat(observation.sequence, taken.number, taken.trace_id, taken.span_id, call)
        taken.observation = observation
        run.count(observation)
        self.counters.add(names.TOOL_CALLS, (call.tool, lane.agent))
        if observation.findings or observation.nudges:
            report = Report(engine, self.counters) if report is None else report
            taken.found = report.found(run, lane, observation.findings)
            report.followed(run, lane, observation.nudges)
            self.has_findings = self.has_findings or bool(taken.found)
        return report

    @staticmethod
    def _clear_others(run: RunState, taken: Taken, report: Report) -> None:
        """A message to all agents: the engine clears the history of the call, here go the others."""
        if taken.call.user_message and run.speaks_to_all:
            for other in run.lanes():
                if other is not taken.lane:
                    report.close(run, other)
                    other.history.reset()

    def _drop(self, report: Report) -> None:
        """Bounded memory: close what is dropped, and count it."""
        runs, agents = self._ledger.dropped()
        if runs:
            self.counters.add(names.DROPPED, ("runs",), runs)
        if agents:
            self.counters.add(names.DROPPED, ("agents",), agents)
        surplus, self._ledger.surplus = self._ledger.surplus, []
        for run, lane in surplus:
            report.close(run, lane)

    def _say(self, report: Report, span: SpanContext | None, now_ns: int) -> None:
        """Hand over what was said, without the lock."""
        for event in report.events:
            self.outlet.emit(event, span, now_ns)
        for calls in report.calls_to_detection:
            self.outlet.measure(names.DETECTION_CALLS, calls)

    # What applications tell ---------------------------------------------------------------------------------------

    def user_message(self, run_id: str, trace_id: str, agent: str) -> bool:
        """A user spoke to an agent of a run (empty: to all of them); whether the run is known."""
        with self._lock:
            run = self._ledger.find(run_id, trace_id)
            if run is None:
                return False
            run.speak(agent)
            return True

    def spend(self, trace_id: str, tokens: int) -> None:
        """A model's tokens in a trace: they are wasted where its run has a finding."""
        with self._lock:
            run = self._ledger.find("", trace_id)
            if run is not None:
                run.spend(tokens)

    def finish(self, run_id: str, trace_id: str, reason: str, span: SpanContext | None = None) -> bool:
        """The application says that a run ended: judge its last turns and report its totals, once an end.

        The run may go on under its id. Whether it is known here is returned.
        """
        with self._lock:
            run = self._ledger.find(run_id, trace_id)
            if run is None:
                return False
            if run.ended or not self._enter():
                return True
            try:
                report = Report(self._rules.engine, self.counters)
                report.end(run, reason)
                run.ended = True
                wasted = run.totals().wasted_calls if run.has_findings else None
            finally:
                self._is_busy = False
        self._say(report, span, time_ns())
        if wasted is not None:
            self.outlet.measure(names.WASTED_CALLS, wasted)
        return True


def _call(restart: Callable[[], None] | None) -> None:
    if restart is not None:
        restart()
