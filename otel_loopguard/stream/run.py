"""One run: its calls from messy delivery into histories by agent and scope, judged in the run's own order.

Not a host: it has no clock, thread, socket or store. A host hands it records and the time, asks when it wants to be
woken (`due`), and does something with what it says. Records wait for the lateness, so that the copies of a call meet
and calls can be put in order; the same calls in any order, any batching and any duplication within the lateness give
the same findings. A call is judged when the lateness has passed since its first record, or that of a call after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from otel_loopguard.core.call import ToolCall
from otel_loopguard.core.decision import Finding, NudgeOutcome, call_reference, finding_id
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.observation import Observation
from otel_loopguard.core.past.run_memory import RunMemory
from otel_loopguard.stream.codec import pack_history, pack_memory, unpack_history, unpack_memory
from otel_loopguard.stream.copies import number_of
from otel_loopguard.stream.events import Doubt, Found, Integrity, Nudged, Observed, RunEnd, RunEvent
from otel_loopguard.stream.held import Merged, Number
from otel_loopguard.stream.line import Line, Met
from otel_loopguard.stream.numbering import Numbering
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.run_state import (
    LineState,
    RunState,
    held_of,
    held_state_of,
    met_of,
    pack_run,
    state_of,
    unpack_run,
)
from otel_loopguard.stream.settled import Settled
from otel_loopguard.stream.totals import Totals
from otel_loopguard.stream.waiting import Waiting

__all__ = ["MAX_LINES", "Run"]

MAX_LINES: Final = 64
"""Agents and scopes of a run with a history; the least recently active one is closed and forgotten, and counted."""

_REPORTED: Final = 64
"""Findings of other hosts about calls that have not been met, kept until they are."""

_DOUBTS: Final = 256
"""Doubts of a run that are told; each is told once for its kind and agent."""

_Report = tuple[str, str, int, str, str]


class Run:
    """One run id: histories by agent and scope, and one memory of writes and hand-offs."""

    def __init__(self, run_id: str, engine: Engine, lateness: int) -> None:
        """``lateness`` in the unit of the host's clock: how long copies and earlier calls are waited for."""
        self.run_id = run_id
        self._engine = engine
        self._lateness = lateness
        self._memory = RunMemory()
        self._lines: dict[tuple[str, str], Line] = {}
        self.dropped = 0
        """Histories that were forgotten because there were too many."""
        self._waiting = Waiting(lateness)
        self._numbering = Numbering()
        self._settled = Settled()
        self._place = 0
        self._totals = Totals()
        self._doubted: set[tuple[Doubt, str]] = set()
        self._reported: dict[_Report, None] = {}
        self._message = ""
        """The user message that the last call worked on, where such messages are told by their calls."""
        self._ending: tuple[int, str] | None = None

    def on_record(self, record: CallRecord, now: int) -> list[RunEvent]:
        """Take in one record of a call; what is said may be about any earlier one."""
        number = number_of(record)
        identity = self._settled.identify(record, number)
        known = self._settled.knows(record, identity)
        if known == "conflict":
            events = [*self._doubt("conflict", record)]
            self._waiting.add(record, now, identity, number)
            return events + self.on_time(now)
        if not known:
            self._waiting.add(record, now, identity, number)
        return self.on_time(now)

    def on_end(self, reason: str, now: int) -> None:
        """The run has ended, for a recorded ``reason`` or ""; it is reported once its last records may have come."""
        recorded = reason or (self._ending[1] if self._ending is not None else "")
        self._ending = (now + self._lateness, recorded)

    def on_time(self, now: int) -> list[RunEvent]:
        """Judge what has waited long enough."""
        events: list[RunEvent] = []
        if self._waiting.is_due(now):
            events += self._settle(now)
        if self._ending is not None and self._ending[0] <= now:
            events += self._close(self._ending[1])
            self._ending = None
        return events

    def rule(self, engine: Engine) -> None:
        """Judge by another policy from now on."""
        self._engine = engine

    def snapshot(self) -> bytes:
        """All that the run knows, so that `restore` makes one that says the same of the same."""
        lines = []
        for (agent, scope), line in self._lines.items():
            recent, stretches = line.state()
            history = pack_history(line.history)
            lines.append(LineState(agent, scope, history, [state_of(met) for met in recent], stretches))
        return pack_run(
            RunState(
                pack_memory(self._memory),
                lines,
                self.dropped,
                [held_state_of(held) for held in self._waiting.held],
                self._waiting.arrivals,
                self._numbering.state(),
                self._settled.state(),
                self._place,
                self._totals.state(),
                sorted(self._doubted),
                list(self._reported),
                self._message,
                self._ending,
            )
        )

    @classmethod
    def restore(cls, data: bytes, run_id: str, engine: Engine, lateness: int) -> Run:
        """The run of a `snapshot`; raises `StateError` for bytes of a newer release, and for what is none."""
        state = unpack_run(data)
        run = cls(run_id, engine, lateness)
        run._memory = unpack_memory(state.memory)
        for one in state.lines:
            history = unpack_history(one.history, run._memory)
            recent = [met_of(met) for met in one.recent]
            run._lines[one.agent, one.scope] = Line.from_state(one.agent, history, recent, one.stretches)
        run.dropped, run._place = state.dropped, state.place
        run._waiting = Waiting(lateness, [held_of(held) for held in state.held], state.arrivals)
        run._numbering = Numbering.from_state(state.numbering)
        run._settled = Settled.from_state(state.settled)
        run._totals = Totals.from_state(state.totals)
        run._doubted = set(state.doubted)
        run._reported = dict.fromkeys(state.reported)
        run._message, run._ending = state.message, state.ending
        return run

    def due(self) -> int | None:
        """When the run wants to be woken; None while nothing waits."""
        waits = self._waiting.due()
        if self._ending is None:
            return waits
        return self._ending[0] if waits is None else min(waits, self._ending[0])

    # Calls ----------------------------------------------------------------------------------------------------------

    def _settle(self, now: int) -> list[RunEvent]:
        released, questions = self._waiting.take(now)
        events: list[RunEvent] = []
        for question in questions:
            events += self._doubt(question.kind, question.record)
        calls = [call for call in released if self._is_call(call)]
        for call in calls:
            self._numbering.know(call)
        for call in calls:
            self._judge(call, events)
        return events

    def _is_call(self, call: Merged) -> bool:
        """Whether something was called; else only a log event told of a call whose record is elsewhere."""
        record = call.record
        if not call.heard and not record.findings_elsewhere:
            return True
        for number in call.numbers:
            self._report(((number, *finding) for finding in record.findings) if call.heard else ())
            self._report((_at(number, sequence), kind, action) for kind, action, sequence in record.findings_elsewhere)
        if call.heard and (record.outcome.kind != "ours" or record.call.fingerprint is None):
            self._numbering.hear(call)
            return False
        return True

    def _report(self, findings: Iterable[tuple[Number, str, str]]) -> None:
        for number, kind, action in findings:
            self._reported[number.process_id, number.agent, number.sequence, kind, action] = None
        while len(self._reported) > _REPORTED:
            del self._reported[next(iter(self._reported))]

    # Judging ------------------------------------------------------------------------------------------------------

    def _judge(self, call: Merged, events: list[RunEvent]) -> None:
        record = call.record
        for kind in self._numbering.meet(call):
            events += self._doubt(kind, record)
        self._settled.add(call)
        self._place += 1
        shared = self._numbering.shared
        number = call.numbers[0].sequence if shared else self._place
        line = self._line(record.agent, record.call.scope)
        if len(self._lines) > MAX_LINES:
            events += self._forget_oldest()
        told = self._told(record)
        if told.user_message and self._is_to_all(record):
            events += self._restart(line, None if _is_marked(record) else record.call.scope)
        observation = self._engine.record(line.history, told, record.outcome)
        line.add(_met(call, observation.sequence, number))
        self._totals.observe(observation)
        events.append(_observed(self.run_id, call, number, observation))
        if observation.findings or observation.nudges:
            events += self._said(line, observation.findings, observation.nudges)

    def _line(self, agent: str, scope: str) -> Line:
        """The line of an agent and scope, now the most recently active one."""
        line = self._lines.get((agent, scope))
        if line is None:
            line = Line(agent, self._memory)
        elif len(self._lines) == 1:
            return line
        else:
            del self._lines[agent, scope]
        self._lines[agent, scope] = line
        return line

    def _forget_oldest(self) -> Iterator[RunEvent]:
        while len(self._lines) > MAX_LINES:
            oldest = self._lines.pop(next(iter(self._lines)))
            self.dropped += 1
            yield from self._leave(oldest)

    def _told(self, record: CallRecord) -> ToolCall:
        """The call, its turn apart from those of other processes, and as the first after a user message where another
        message is worked on than before.
        """
        call = record.call
        if record.process_id and call.turn is not None:
            call = call.in_turn(record.turn)
        if record.message in ("", self._message):
            return call
        self._message = record.message
        return call.changed(user_message=True)

    @staticmethod
    def _is_to_all(record: CallRecord) -> bool:
        """Whether nobody says to which agent a user message is addressed.

        A call record tells of its own agent's; a mark on a span, or a new message to work on, only that there was one.
        """
        return not record.agent or _is_marked(record)

    def _restart(self, line: Line, scope: str | None) -> Iterator[RunEvent]:
        """A user message to nobody in particular is one to every agent of its scope; None: it is not known."""
        for (_, other_scope), other in self._lines.items():
            if other is not line and scope in {None, other_scope}:
                yield from self._leave(other)
                other.history.reset()

    def _leave(self, line: Line) -> Iterator[RunEvent]:
        """Judge a line's last turn; its nudges are left as they are."""
        closing = self._engine.close(line.history)
        yield from self._said(line, closing.findings, closing.nudges)

    def _said(self, line: Line, findings: Iterable[Finding], nudges: Iterable[NudgeOutcome]) -> Iterator[RunEvent]:
        for finding in findings:
            yield from self._found(line, finding)
        for nudge in nudges:
            yield Nudged(self.run_id, line.agent, line.number_of(nudge.sequence), nudge)

    def _found(self, line: Line, finding: Finding) -> Iterator[RunEvent]:
        met = line.at(finding.sequence)
        if met is None:  # no detector judges a call that far back; without its reference there is no id
            return
        said = (finding.kind, finding.action)
        if said in met.found:  # by another rule of the same kind: one finding, one id
            return
        met.found += (said,)
        self._totals.find(finding)
        yield Found(
            self.run_id,
            line.agent,
            finding_id(self.run_id, line.agent, finding.kind, finding.action, met.reference),
            met.number,
            line.number_of(finding.first_sequence),
            finding,
            met.trace_id,
            met.span_id,
            fingerprint=met.fingerprint,
            key_id=met.key_id,
            reported=said in met.reported or self._was_reported(met, said),
        )

    def _was_reported(self, met: Met, said: tuple[str, str]) -> bool:
        return any((one.process_id, one.agent, one.sequence, *said) in self._reported for one in met.numbers)

    def _doubt(self, kind: Doubt, record: CallRecord) -> Iterator[RunEvent]:
        """Say once for each kind and agent that the records are in doubt."""
        if (kind, record.agent) in self._doubted or len(self._doubted) >= _DOUBTS:
            return
        self._doubted.add((kind, record.agent))
        yield Integrity(
            self.run_id,
            record.agent,
            kind,
            "info" if kind == "call_id" else "error",
            record.call.tool,
            record.call.call_id,
            record.sequence,
        )

    def _close(self, reason: str) -> Iterator[RunEvent]:
        for line in self._lines.values():
            yield from self._leave(line)
        totals = self._totals
        yield RunEnd(self.run_id, reason, totals.calls, totals.repeat_max, totals.progressed, totals.wasted_calls)


def _observed(run_id: str, call: Merged, number: int, observation: Observation) -> Observed:
    record = call.record
    told = record.call
    return Observed(
        run_id,
        record.agent,
        number,
        call.copies,
        told.call_id,
        told.tool,
        told.fingerprint,
        told.key_id,
        record.trace_id,
        record.span_id,
        observation.repeat,
        observation.consecutive,
        observation.progress,
        observation.outcome,
        observation.verdict,
    )


def _is_marked(record: CallRecord) -> bool:
    """Whether what is known of a user message is only that there was one: neither for whom nor in which scope."""
    return bool(record.process_id) or bool(record.message)


def _at(number: Number, sequence: int) -> Number:
    return Number(number.process_id, number.agent, sequence)


def _met(call: Merged, place: int, number: int) -> Met:
    record = call.record
    told, trace_id, span_id = record.call, record.trace_id, record.span_id
    return Met(
        place,
        number,
        call_reference(trace_id, span_id, record.process_id, told.call_id, told.turn, record.sequence),
        trace_id,
        span_id,
        call.numbers,
        record.findings,
        (),
        told.fingerprint or "",
        told.key_id if told.fingerprint else "",
    )
