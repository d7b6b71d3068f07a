"""What a call, a dropped agent or a run's end gives rise to: events to hand over, and their counts.

Not their delivery: it is filled while the lock is held and handed over afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from otel_loopguard import names
from otel_loopguard.core.decision import Finding, NudgeOutcome, finding_id
from otel_loopguard.core.engine import Engine
from otel_loopguard.emit import Counters, Emitted, Judged, Origin, finding_event, nudge_event, run_end_event

from .lane import Lane
from .run_state import RunState
from .taken import Found

__all__ = ["Report"]

NOTHING: Final[Mapping[str, str]] = {}


class Report:
    """Events under one policy, in order."""

    __slots__ = ("_counters", "_engine", "calls_to_detection", "events")

    def __init__(self, engine: Engine, counters: Counters) -> None:
        self._engine = engine
        self._counters = counters
        self.events: list[Emitted] = []
        self.calls_to_detection: list[int] = []

    def found(
        self, run: RunState, lane: Lane, findings: Iterable[Finding], unseen: Mapping[str, str] = NOTHING
    ) -> tuple[Found, ...]:
        """The nudges and stops among findings, with their names; all are counted, an `info` is nothing but counted.

        ``unseen`` is what the newest call's span would say, where it has none.
        """
        found = []
        for finding in findings:
            self._counters.add(names.FINDINGS, (finding.kind, finding.action, finding.tool, lane.agent))
            if finding.action == "info":
                continue
            seat = lane.seat_of(finding.sequence)
            one = Found(
                finding,
                finding_id(run.run_id, lane.agent, finding.kind, finding.action, seat.reference),
                seat.number,
                lane.seat_of(finding.first_sequence).number,
            )
            found.append(one)
            lane.found[finding.kind] = one.id
            self.calls_to_detection.append(finding.sequence)
            more = unseen if finding.sequence == lane.history.place else NOTHING
            judged = Judged(one.id, one.number, one.first_number, seat.fingerprint, seat.call_id, more)
            self.events.append(finding_event(finding, self._origin(run, lane, seat.key_id), judged))
        return tuple(found)

    def followed(self, run: RunState, lane: Lane, nudges: Iterable[NudgeOutcome]) -> None:
        """How nudged episodes went on."""
        for nudge in nudges:
            self._counters.add(names.NUDGES, (nudge.result,))
            number = lane.seat_of(nudge.sequence).number
            self.events.append(nudge_event(nudge, self._origin(run, lane), number))

    def close(self, run: RunState, lane: Lane) -> None:
        """Judge a lane's last turn, and say of its nudges that they stayed open."""
        closing = self._engine.close(lane.history)
        run.found(closing.findings)
        self.found(run, lane, closing.findings)
        self.followed(run, lane, closing.nudges)

    def end(self, run: RunState, reason: str) -> None:
        """A run's last turns and its totals."""
        for lane in run.lanes():
            self.close(run, lane)
        self._counters.add(names.RUNS, (run.verdict,))
        origin = Origin(run.run_id, policy_version=self._engine.policy.revision or "")
        self.events.append(run_end_event(origin, run.totals(), reason))

    def _origin(self, run: RunState, lane: Lane, key_id: str = "") -> Origin:
        return Origin(run.run_id, lane.agent, lane.process_id, key_id, self._engine.policy.revision or "")
