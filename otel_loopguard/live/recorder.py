"""The runs of this process behind one lock, and how a call enters one of them.

Not what others may ask: that is `Live`. Nothing that is not ours is called while the lock is held.
"""

from __future__ import annotations

import threading
from collections import ChainMap
from collections.abc import Callable
from time import monotonic_ns, time_ns
from typing import Final

from opentelemetry.trace import SpanContext

from otel_loopguard import names
from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.decision import verdict_of
from otel_loopguard.core.past.memory import Seen
from otel_loopguard.core.past.standing import unseen_items
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.core.referable import Referable
from otel_loopguard.correlate import is_new_message
from otel_loopguard.emit import Origin, integrity_event

from .context import spoken
from .guarded import Guarded, GuardedCalls
from .ledger import MAX_RUNS, Ledger
from .outlet import Outlet
from .report import Report
from .rules import Rules, Sources
from .run_state import RunState
from .sighting import Sighting
from .taken import Taken
from .told import Told

__all__ = ["Recorder"]

_BY_RUN: Final = "run"
_NOTHING_SEEN: Final = Seen(0)
"""What a history knows that a user message clears."""
_HAPPENED: Final = frozenset(["ok", "empty", "noop"])
_NEW: Final = frozenset(["", "advanced"])


class Recorder:
    """The lock, what it protects, and the steps that are taken while it is held."""

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
        self.token: Final = Referable()
        """Stands for this object with those who must not keep it alive."""
        self._start()

    def _start(self) -> None:
        # Reentrant: a finaliser that ends a span may run on this thread at any allocation below.
        self._lock = threading.RLock()
        self._is_busy = False
        self._ledger = Ledger(self._max_runs)
        self._guarded = GuardedCalls()
        self._told = Told()
        self.has_findings = False
        """Whether any run has one: what follows a finding need not be looked at before."""

    def restart(self) -> None:
        """Start with no runs and fresh locks: what a forked child does."""
        self._start()
        self.counters.reset()

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._rules.policy

    @property
    def policy_version(self) -> str:
        """The revision of the policy in force; empty for the built-in one."""
        return self._rules.policy.revision or ""

    def read(self, seen: Sighting) -> tuple[ToolCall, Outcome]:
        """A call without its content."""
        reader = self._reader_of(seen)
        call = self._read_call(reader, seen)
        return call, self._read_outcome(reader, seen, call)

    def _reader_of(self, seen: Sighting) -> CallReader:
        if self._by_run:
            return self._reader(seen.place.run_id, None, seen.place.key_run)
        rules = self._rules
        rules.refresh(self._clock())
        return rules.reader(None, seen.resource.get("service.name"))

    def _reader(self, run_id: str, service: object, key_run: str | None = None) -> CallReader:
        self._rules.refresh(self._clock())
        run: RunState | None = None
        if self._by_run:
            with self._lock:
                run = self._ledger.run(run_id, spoken().ticket)
        return self._rules.reader(run, service, key_run)

    def _read_call(self, reader: CallReader, seen: Sighting) -> ToolCall:
        raw = seen.raw
        scope = ChainMap(dict(seen.attributes), dict(seen.resource)) if self._rules.policy.scope else None
        call = reader.call(
            raw.tool, raw.arguments, truncated=raw.truncated, call_id=raw.call_id, turn=seen.turn, attributes=scope,
            user_message=raw.user_message, handoff_to=raw.handoff_to, start_ns=seen.start_ns,
        )  # fmt: skip
        if call.fingerprint is not None or call.call_id is None or not self._told:
            return call
        with self._lock:
            told = self._told.find(seen.trace_id, reader, call)
        if told is None:
            return call
        return told.changed(
            turn=call.turn, user_message=call.user_message, handoff_to=call.handoff_to, start_ns=call.start_ns
        )

    @staticmethod
    def _read_outcome(reader: CallReader, seen: Sighting, call: ToolCall) -> Outcome:
        raw = seen.raw
        return reader.outcome(
            call, raw.arguments, raw.result, is_error=raw.is_error, error_type=raw.error_type,
            error_message=raw.error_message, ours=raw.marks is not None and raw.marks.outcome == "ours",
            end_ns=seen.end_ns,
        )  # fmt: skip

    def _enter(self) -> bool:
        if self._is_busy:
            self.counters.add(names.DROPPED, ("reentered",))
            return False
        self._is_busy = True
        return True

    def _number(self, seen: Sighting, call: ToolCall, outcome: Outcome, copy_of: Taken | None) -> Taken:
        place, message = seen.place, spoken()
        run = self._ledger.run(place.run_id, message.ticket)
        if place.run_named:
            self._ledger.saw(seen.trace_id, place.run_id)
        lane = self._ledger.lane(run, place.agent, call.scope)
        if run.may_answer(message, place.message) and self._is_first_after_message(seen, run, lane.agent):
            call = call.changed(user_message=True)
        number = 0
        if copy_of is not None:
            number = copy_of.number if copy_of.lane is lane else 0
            if copy_of.call.user_message and not call.user_message:
                call = call.changed(user_message=True)
        turn = lane.turn_number(seen.turn) if seen.turn_known else None
        return Taken(
            run, lane, number or lane.next_number(), call, outcome, turn,
            trace_id=seen.trace_id, span_id=seen.span_id, span=seen.span,
        )  # fmt: skip

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
        if lane.state is not None and taken.outcome.state is None:
            taken.outcome = taken.outcome.changed(state=lane.state)
            lane.state = None
        if taken.outcome.items is not None:
            seen = _NOTHING_SEEN if call.user_message else lane.history.seen
            taken.unseen = unseen_items(call, taken.outcome, engine.policy.for_tool(call.tool), seen)
        observation = engine.record(lane.history, call, taken.outcome, taken.decided)
        lane.seat(observation.sequence, taken.number, taken.trace_id, taken.span_id, call)
        taken.observation = observation
        run.count(observation)
        if observation.outcome in _HAPPENED and observation.progress in _NEW:
            lane.refused = 0
            lane.told.pop(call.tool, None)
            if lane.insisted:
                lane.insisted.pop(call.fingerprint or "", None)
        self.counters.add(names.TOOL_CALLS, (call.tool, lane.agent))
        if observation.findings or observation.nudges:
            report = Report(engine, self.counters) if report is None else report
            taken.found = report.found(run, lane, observation.findings, _unseen(taken))
            if taken.found:
                lane.tell(call.tool)
            report.followed(run, lane, observation.nudges)
            self.has_findings = self.has_findings or bool(taken.found)
        return report

    @staticmethod
    def _clear_others(run: RunState, taken: Taken, report: Report) -> None:
        """A message to agents: the engine clears the history of the call, here go the others' and those of its name."""
        if taken.call.user_message:
            for other in run.lanes():
                if other is not taken.lane and (run.speaks_to_all or other.agent == taken.lane.agent):
                    report.close(run, other)
                    other.history.reset()
                    other.forgive()
        run.speaks_to_all = True

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

    def doubt(self, guarded: Guarded, kind: str) -> None:
        """The telemetry of a call's run cannot be trusted: say so, once a kind."""
        run, lane = guarded.run, guarded.lane
        with self._lock:
            is_new = kind not in run.doubts
            run.doubts.add(kind)
        if is_new:
            self.counters.add(names.INTEGRITY_FINDINGS, (kind,))
            origin = Origin(run.run_id, lane.agent, lane.process_id, policy_version=self.policy_version)
            self.outlet.emit(integrity_event(origin, kind), None, time_ns())


def _unseen(taken: Taken) -> dict[str, str]:
    """What a refused call's finding must carry, because no span will."""
    if taken.outcome.kind != "ours" or taken.span_id or taken.decided is None:
        return {}
    return {names.OUTCOME: "ours", names.VERDICT: verdict_of(taken.decided)}
