"""The runs of this process behind one lock, shared by everything that sees calls here.

Not a span processor and no guard: those hand in what they saw and act on what comes back. Nothing that is not ours is
called while the lock is held.
"""

from __future__ import annotations

from time import time_ns
from typing import Final

from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

from otel_loopguard import names
from otel_loopguard.core.call import ABSENT, Outcome, ToolCall

from .context import spoken
from .guarded import Guarded, SpanFacts
from .lane import Lane
from .recorder import Recorder
from .report import Report
from .run_state import RunState
from .sighting import Sighting
from .taken import Found, Taken

__all__ = ["Live"]

_NO_CALL: Final = ToolCall("", None, "")


class Live(Recorder):
    """What this process knows of its runs.

    Thread-safe and, once it is enlisted, fork-safe: a forked child starts with no runs, nought in every counter and a
    process id of its own.
    """

    # Calls --------------------------------------------------------------------------------------------------------

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
                guarded = self._guarded_of(seen, call) if self._guarded else None
                if guarded is not None:
                    taken, report = self._join(guarded, seen, outcome)
                else:
                    taken = self._number(seen, call, outcome, copy_of)
                    report = None if may_wait and call.fingerprint is None else self._record(taken)
            finally:
                self._is_busy = False
        if report is not None:
            self._say(report, seen.span, seen.end_ns)
        return taken

    def settle(self, taken: Taken, now_ns: int) -> tuple[Found, ...]:
        """Record a call that waited on its own, if it waits: no enclosing span was the same call. What it brought."""
        if taken.observation is not None or taken.awaited:
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

    def hear(self, seen: Sighting) -> None:
        """A model asked for a call with an id: its tool's span of the same trace may come without arguments.

        Under a policy with scope values nothing is heard, since they enter the fingerprint and are known with the
        tool's span alone.
        """
        reader = self._reader_of(seen)
        if self._rules.policy.scope:
            return
        call = self._read_call(reader, seen)
        if call.fingerprint is None:
            return
        with self._lock:
            is_one_forgotten = self._told.hear(seen.trace_id, reader, call)
        if is_one_forgotten:
            self.counters.add(names.DROPPED, ("heard_calls",))

    # Guarded calls ------------------------------------------------------------------------------------------------

    def admit(self, seen: Sighting) -> tuple[Guarded, bool] | None:
        """A call before its dispatch, judged by what was recorded so far; it stays open until `conclude`.

        The flag says that a guard around this one has it already. None where a finaliser came in between.
        """
        call = self._read_call(self._reader_of(seen), seen)
        place, around = seen.place, seen.guarded
        is_around = around is not None and around.ended_ns is None
        if around is not None and is_around and around.is_guarded_as(call, seen.conversation):
            return around, True
        with self._lock:
            if not self._enter():
                return None
            try:
                found = None if place.run_named else self._ledger.find("", seen.trace_id)
                run = found or self._ledger.run(place.run_id, spoken().ticket)
                if place.run_named and seen.trace_id:
                    self._ledger.saw(seen.trace_id, place.run_id)
                lane = self._lane_of(run, place.agent, call.scope, seen)
                asked = call
                if self._is_first_after_message(seen, run, lane.agent):
                    call = asked = call.changed(user_message=True)
                    lane.forgive()
                elif lane.answering is not None:
                    asked = call.changed(user_message=True)
                decision = self._rules.engine.decide(lane.history, asked)
                span_id = "" if seen.span is None else format_span_id(seen.span.span_id)
                guarded = Guarded(run, lane, call, decision, seen.trace_id, span_id, seen.conversation)
                if call.user_message:
                    lane.answering = guarded
                    lane.messages += 1
                guarded.message = lane.messages if asked.user_message else 0
                guarded.turn = lane.turn_number(seen.turn) if seen.turn_known else None
                rival = None
                if call.call_id is not None and guarded.turn is not None:
                    rival = self._guarded.rival(call, lane, guarded.turn)
                forgotten = self._guarded.add(guarded)
            finally:
                self._is_busy = False
        if forgotten:
            self.counters.add(names.DROPPED, ("guarded_calls",), forgotten)
        if rival is not None:
            self.doubt(guarded, "conflict")
        return guarded, False

    def conclude(self, guarded: Guarded, seen: Sighting) -> Taken | None:
        """A guarded call has ended, refused or not: count it once, whether or not a span of it did so already."""
        key_run = seen.place.key_run if seen.place.run_id == guarded.run.run_id else None
        reader = self._reader(guarded.run.run_id, seen.resource.get("service.name"), key_run)
        outcome = self._read_outcome(reader, seen, guarded.call)
        report = None
        with self._lock:
            if not self._enter():
                return None
            try:
                is_first = guarded.ended_ns is None
                guarded.ended_ns = seen.end_ns
                taken = guarded.taken
                if taken is None or (taken.observation is None and is_first):
                    taken, report = self._join(guarded, seen, outcome)
            finally:
                self._is_busy = False
        if report is not None:
            self._say(report, taken.span or seen.span, seen.end_ns)
        if seen.end_ns < seen.start_ns:
            self.doubt(guarded, "clock")
        return taken

    def withdraw(self, guarded: Guarded) -> None:
        """A call that was judged does not run, or not now: nothing is counted, and when it comes it is judged anew.

        Where it was the first after a user message, the next one is that in its place.
        """
        with self._lock:
            self._guarded.remove(guarded)
            run, lane = guarded.run, guarded.lane
            if lane.answering is guarded:
                heir = self._guarded.heir(lane)
                if heir is not None:
                    heir.take_over(guarded)
                else:
                    lane.answering = None
                    run.speak("" if run.speaks_to_all else lane.agent)

    def reach(self, guarded: Guarded, span: SpanContext) -> None:
        """The host has come to a call that was judged before: the current span may be the call's own."""
        with self._lock:
            self._guarded.reach(guarded, format_trace_id(span.trace_id), format_span_id(span.span_id))

    def _lane_of(self, run: RunState, agent: str, scope: str, seen: Sighting) -> Lane:
        """The lane of a call that is guarded: its sub-agent's, where it is of one."""
        around = seen.guarded
        if around is not None and around.ended_ns is None:
            branch = around.branch(seen.conversation)
        else:
            branch = run.branch(agent, scope, seen.conversation)
        return self._ledger.lane(run, agent, scope, branch)

    def _guarded_of(self, seen: Sighting, call: ToolCall) -> Guarded | None:
        place = seen.place
        span_id = "" if seen.span is None else format_span_id(seen.span.span_id)
        facts = SpanFacts(place.run_id, place.agent, seen.trace_id, span_id, seen.start_ns)
        return self._guarded.find(call, facts, seen.guarded)

    def _join(self, guarded: Guarded, seen: Sighting, outcome: Outcome) -> tuple[Taken, Report | None]:
        """Count a guarded call by whoever sees its end first, with the lock held."""
        taken, lane = guarded.taken, guarded.lane
        if taken is None:
            # Of the calls that were judged as the first, that is the one that ends first. Not one that was refused.
            if isinstance(lane.answering, Guarded) and guarded.message == lane.messages and outcome.kind != "ours":
                guarded.take_over(lane.answering)
            if guarded.call.user_message:
                lane.answering = None
            taken = guarded.taken = Taken(
                guarded.run, guarded.lane, guarded.lane.next_number(), guarded.call, outcome, guarded.turn,
                seen.trace_id, seen.span_id, seen.span, guarded.decided,
            )  # fmt: skip
        if taken.observation is not None:
            return taken, None
        # A span without its result knows less than the guard, which is still to tell.
        taken.awaited = outcome.kind == "missing" and guarded.ended_ns is None
        if taken.awaited:
            return taken, None
        taken.outcome = outcome
        return taken, self._record(taken)

    def state(self, run_id: str, trace_id: str, agent: str, value: object) -> bool:
        """The application's own state, for the next call of an agent that ends; whether the run is known."""
        state = self._reader(run_id or trace_id, None).outcome(_NO_CALL, ABSENT, ABSENT, state=value).state
        with self._lock:
            run = self._ledger.find(run_id, trace_id)
            lanes = [] if run is None else [lane for lane in run.lanes() if lane.agent == agent]
            for lane in lanes:
                lane.state = state
            return bool(lanes)

    # What applications tell ---------------------------------------------------------------------------------------

    def user_message(self, run_id: str, trace_id: str, agent: str) -> bool:
        """A user spoke to an agent of a run (empty: to all of them); whether the run is known."""
        with self._lock:
            run = self._ledger.find(run_id, trace_id)
            if run is None:
                return False
            run.speak(agent)
            return True

    def run_named(self, trace_id: str) -> str:
        """The id of the run that a trace's calls count in; empty where none has come."""
        with self._lock:
            run = self._ledger.find("", trace_id)
            return "" if run is None else run.run_id

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
