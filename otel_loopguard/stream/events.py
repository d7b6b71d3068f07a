"""What a run says about its calls: observations, findings, doubts, nudge outcomes and its end.

Not events of OpenTelemetry: hosts turn these into log records, metrics, lines or tables. None of them holds content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from otel_loopguard.core.call import OutcomeKind
from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.core.decision import Finding, NudgeOutcome, Progress, Verdict

__all__ = ["DOUBTS", "Doubt", "Found", "Integrity", "IntegrityLevel", "Nudged", "Observed", "RunEnd", "RunEvent"]

Doubt = Literal["conflict", "gap", "unnumbered", "clock", "call_id"]
IntegrityLevel = Literal["error", "info"]

DOUBTS: dict[Doubt, str] = {
    "conflict": "two records of one call, or two calls under one number or call id, contradict each other",
    "gap": "numbers are missing: calls of the process were not delivered",
    "unnumbered": "calls without a number come from a process whose other calls have numbers",
    "clock": "the clock ran backwards, or the numbers do not follow the calls",
    "call_id": "one call id stands for calls of different turns",
}
"""What each doubt means."""


@mypyc_attr(acyclic=True)
class Observed:
    """One call, judged: several records of it count once."""

    __slots__ = (
        "agent", "call_id", "consecutive", "copies", "fingerprint", "key_id", "number", "outcome", "progress",
        "repeat", "run_id", "span_id", "tool", "trace_id", "verdict",
    )  # fmt: skip

    def __init__(
        self,
        run_id: str,
        agent: str,
        number: int,
        copies: int,
        call_id: str | None,
        tool: str,
        fingerprint: str | None,
        key_id: str,
        trace_id: str,
        span_id: str,
        repeat: int,
        consecutive: int,
        progress: Progress,
        outcome: OutcomeKind,
        verdict: Verdict,
    ) -> None:
        self.run_id: Final = run_id
        self.agent: Final = agent
        self.number: Final = number
        """The record's own number where all calls come from one process or none, else the place in the run's order."""
        self.copies: Final = copies
        """How many records of it there were."""
        self.call_id: Final = call_id
        self.tool: Final = tool
        self.fingerprint: Final = fingerprint
        self.key_id: Final = key_id
        self.trace_id: Final = trace_id
        self.span_id: Final = span_id
        self.repeat: Final = repeat
        self.consecutive: Final = consecutive
        self.progress: Final = progress
        self.outcome: Final = outcome
        self.verdict: Final = verdict

    def _parts(self) -> tuple[object, ...]:
        return (
            self.run_id, self.agent, self.number, self.copies, self.call_id, self.tool, self.fingerprint, self.key_id,
            self.trace_id, self.span_id, self.repeat, self.consecutive, self.progress, self.outcome, self.verdict,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observed) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"Observed{self._parts()!r}"

    def __reduce__(self) -> tuple[type[Observed], tuple[object, ...]]:
        return Observed, self._parts()


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, with the stable id and the numbers under which the outside knows its calls."""

    run_id: str
    agent: str
    id: str
    number: int
    """Of the judged call."""
    first_number: int
    """Of the first call of the episode."""
    finding: Finding
    trace_id: str
    span_id: str
    fingerprint: str = field(compare=False)
    """Of the judged call, whole; empty where the run was put aside since, which keeps first digits alone."""
    key_id: str = field(compare=False)
    """Of the fingerprint; empty where that is."""
    reported: bool
    """Another host has made this finding of this call already."""


@dataclass(frozen=True, slots=True)
class Nudged:
    """How a nudged episode went on."""

    run_id: str
    agent: str
    number: int
    outcome: NudgeOutcome


@dataclass(frozen=True, slots=True)
class Integrity:
    """The run's records are in doubt, said once for each kind and agent."""

    run_id: str
    agent: str
    kind: Doubt
    level: IntegrityLevel
    """`error` turns enforcement off for the run; `info` does not."""
    tool: str
    call_id: str | None
    number: int | None
    """The record's own number, where it has one."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The totals of a run that ended; it may go on afterwards."""

    run_id: str
    reason: str
    """Why it ended, as recorded; empty where nobody said."""
    calls: int
    repeat_max: int
    progressed: bool
    """Something new came after the last finding."""
    wasted_calls: int
    """After the first finding."""


RunEvent = Observed | Found | Nudged | Integrity | RunEnd
