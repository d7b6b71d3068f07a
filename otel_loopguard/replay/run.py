"""One recorded run, judged: what the engine says about each of its agents.

Not the engine and not the order of calls: it hands a run's records to the same `Run` that a stream hosts, all at
once, and puts what it says into one report for each agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from otel_loopguard.core.engine import Engine
from otel_loopguard.replay.traces import RecordedRun
from otel_loopguard.stream.events import Found, Integrity, Observed, RunEvent
from otel_loopguard.stream.run import Run

__all__ = ["VERDICTS", "Report", "RunVerdict", "judge"]

RunVerdict = Literal["clean", "incomplete", "unknown", "nudge", "stop"]

VERDICTS: Final[tuple[RunVerdict, ...]] = ("clean", "incomplete", "unknown", "nudge", "stop")
"""From the weakest to the strongest."""


@dataclass(slots=True)
class Report:
    """What the engine says about one agent of one run."""

    run_id: str
    agent: str
    termination_reason: str | None = None
    """Only where it was recorded."""
    observed: list[Observed] = field(default_factory=list)
    findings: list[Found] = field(default_factory=list)
    integrity: list[Integrity] = field(default_factory=list)
    """What turns enforcement off for the run."""

    @property
    def calls(self) -> int:
        """Records of calls, copies included."""
        return sum(call.copies for call in self.observed)

    @property
    def verdict(self) -> RunVerdict:
        """The strongest word over all calls."""
        actions = {found.finding.action for found in self.findings}
        if "stop" in actions:
            return "stop"
        if "nudge" in actions:
            return "nudge"
        if any(call.fingerprint is None for call in self.observed):
            return "unknown"
        return "incomplete" if any(call.outcome == "missing" for call in self.observed) else "clean"

    def first(self, action: Literal["nudge", "stop"]) -> Found | None:
        """The finding that says so of the earliest call."""
        found = [found for found in self.findings if found.finding.action == action]
        return min(found, key=lambda one: one.number, default=None)

    @property
    def primary(self) -> Found | None:
        """The finding that gives the verdict."""
        return self.first("stop") or self.first("nudge")


def judge(recorded: RecordedRun, engine: Engine) -> list[Report]:
    """One report for each agent, in the order in which they first call.

    The whole run is known, so nothing is waited for: its records come at one moment and are judged at the next.
    """
    run = Run(recorded.run_id, engine, lateness=1)
    for record in recorded.records:
        run.on_record(record, 0)
    run.on_end(recorded.reason, 0)
    return _reports(recorded, run.on_time(1))


def _reports(recorded: RecordedRun, events: Iterable[RunEvent]) -> list[Report]:
    reports: dict[str, Report] = {}
    doubts: list[Integrity] = []
    for event in events:
        if isinstance(event, Integrity):
            if event.level == "error":
                doubts.append(event)
        elif isinstance(event, (Observed, Found)):
            report = reports.get(event.agent)
            if report is None:
                report = reports[event.agent] = Report(recorded.run_id, event.agent, recorded.reason or None)
            if isinstance(event, Found):
                report.findings.append(event)
            else:
                report.observed.append(event)
    for doubt in doubts:
        # A doubt about a record whose agent another copy named belongs to the run.
        for report in [reports[doubt.agent]] if doubt.agent in reports else reports.values():
            report.integrity.append(doubt)
    return list(reports.values())
