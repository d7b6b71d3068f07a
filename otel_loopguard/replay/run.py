"""One recorded run, judged: what the engine says about each of its agents.

Not the engine and not the order of calls: it hands a run's records to the same `Run` that a stream hosts, all at
once, and puts what it says into one report for each agent.
"""

from __future__ import annotations

from collections.abc import Iterator
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


_PIECE: Final = 5_000
"""Records of a run; two pieces are held at once, and a longer run is judged piece by piece."""


@dataclass(slots=True)
class Report:
    """What the engine says about one agent of one run."""

    run_id: str
    agent: str
    termination_reason: str | None = None
    """Only where it was recorded."""
    calls: int = 0
    """Records of calls, copies included."""
    observations: int = 0
    """Distinct calls."""
    unknown: int = 0
    """Calls whose arguments are not known."""
    missing: int = 0
    """Calls without a result."""
    observed: list[Observed] = field(default_factory=list)
    """Every distinct call, where they were asked for."""
    findings: list[Found] = field(default_factory=list)
    integrity: list[Integrity] = field(default_factory=list)
    """What turns enforcement off for the run."""

    def observe(self, call: Observed, *, keep: bool) -> None:
        """One distinct call more."""
        self.calls += call.copies
        self.observations += 1
        self.unknown += call.fingerprint is None
        self.missing += call.outcome == "missing"
        if keep:
            self.observed.append(call)

    @property
    def verdict(self) -> RunVerdict:
        """The strongest word over all calls."""
        actions = {found.finding.action for found in self.findings}
        if "stop" in actions:
            return "stop"
        if "nudge" in actions:
            return "nudge"
        if self.unknown:
            return "unknown"
        return "incomplete" if self.missing else "clean"

    def first(self, action: Literal["nudge", "stop"]) -> Found | None:
        """The finding that says so of the earliest call."""
        found = [found for found in self.findings if found.finding.action == action]
        return min(found, key=lambda one: one.number, default=None)

    @property
    def primary(self) -> Found | None:
        """The finding that gives the verdict."""
        return self.first("stop") or self.first("nudge")


def judge(recorded: RecordedRun, engine: Engine, *, calls: bool = False) -> list[Report]:
    """One report for each agent, in the order in which they first call; with ``calls``, each keeps its calls."""
    reports: dict[str, Report] = {}
    doubts: list[Integrity] = []
    for event in _events(recorded, engine):
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
                report.observe(event, keep=calls)
    for doubt in doubts:
        # A doubt about a record whose agent another copy named belongs to the run.
        for report in [reports[doubt.agent]] if doubt.agent in reports else reports.values():
            report.integrity.append(doubt)
    return list(reports.values())


def _events(recorded: RecordedRun, engine: Engine) -> Iterator[RunEvent]:
    """What a run says. Its time counts pieces: a record waits until the piece after its own is there too.

    Of a run that fits into two pieces everything is known before anything is judged.
    """
    run = Run(recorded.run_id, engine, lateness=2)
    now = 0
    for place, record in enumerate(recorded.records() if len(recorded) <= 2 * _PIECE else recorded.by_time()):
        now = place // _PIECE
        yield from run.on_record(record, now)
    run.on_end(recorded.reason, now)
    yield from run.on_time(now + 2)
