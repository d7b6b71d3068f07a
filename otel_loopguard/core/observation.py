"""What the engine says of a call that it took in, whether it found anything or not: one a call."""

from __future__ import annotations

from typing import ClassVar, Final

from .call import OutcomeKind
from .compiled import mypyc_attr
from .decision import Finding, NudgeOutcome, Progress, Verdict
from .value import Value

__all__ = ["Observation"]


@mypyc_attr(acyclic=True)
class Observation(Value):
    """One recorded call, judged."""

    names: ClassVar = (
        "sequence", "repeat", "consecutive", "progress", "outcome", "verdict", "findings", "nudges",
    )  # fmt: skip
    __slots__ = names

    def __init__(
        self,
        sequence: int,
        repeat: int,
        consecutive: int,
        progress: Progress,
        outcome: OutcomeKind,
        verdict: Verdict,
        findings: tuple[Finding, ...] = (),
        nudges: tuple[NudgeOutcome, ...] = (),
    ) -> None:
        self.sequence: Final = sequence
        """Place of the call in this history, from 1."""
        self.repeat: Final = repeat
        """How often the key stands in window and history, this call included; 0 where it is unknown."""
        self.consecutive: Final = consecutive
        """How often in a row, this call included."""
        self.progress: Final = progress
        self.outcome: Final = outcome
        self.verdict: Final = verdict
        self.findings: Final = findings
        """The strongest first, at equal strength in the detectors' order; before them those of the turn that it
        ends."""
        self.nudges: Final = nudges
