"""What the engine says about a call: a finding with its evidence, a decision, an observation.

Evidence is identifiers, fingerprints and counts; turning it into words is `explain`'s work.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

import msgspec

from .call import OutcomeKind, Turn

__all__ = [
    "Action",
    "Allow",
    "Decision",
    "Finding",
    "Kind",
    "Nudge",
    "NudgeOutcome",
    "Observation",
    "Progress",
    "Refuse",
    "Verdict",
    "call_reference",
    "finding_id",
    "verdict_of",
]

Kind = Literal[
    "identical", "cycle", "drift", "same_error", "no_progress", "poll", "page", "write", "indeterminate",
    "unknown_tool", "ask_again", "parallel_duplicate",
]  # fmt: skip
Action = Literal["info", "nudge", "stop"]
Verdict = Literal["allow", "nudge", "stop", "unknown"]
Progress = Literal["", "advanced", "unchanged", "unknown"]
NudgeResult = Literal["recovered", "escalated", "open"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One step of one episode: a call (or a turn) that repeats without progress."""

    kind: Kind
    action: Action
    tool: str
    sequence: int
    """Of the judged call: its place in this history, from 1."""
    first_sequence: int
    """Of the earliest call that counts."""
    count: int
    """How many calls, laps or turns count, the judged one included."""
    limit: int
    """The threshold that was reached."""
    period: int = 1
    """Turns a lap; 1 where nothing cycles."""
    fingerprints: tuple[str, ...] = ()
    """Of the judged call, or of the calls of a lap in order as 64-bit prefixes (16 hex digits)."""
    call_ids: tuple[str, ...] = ()
    premature: bool = False
    """The call would have been nudged before dispatch, and its recorded result then differed."""


@dataclass(frozen=True, slots=True)
class Allow:
    """Dispatch the call."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Tell the agent once, with this finding's evidence."""

    finding: Finding
    subject: object = None
    """The episode, opaque to hosts: handed back with the decision when the call is recorded."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not dispatch."""

    finding: Finding
    subject: object = None
    """The episode, opaque to hosts: handed back with the decision when the call is recorded."""
    repeated: bool = False
    """The same stop was already found at an earlier call of this episode."""


Decision = Allow | Nudge | Refuse


@dataclass(frozen=True, slots=True)
class NudgeOutcome:
    """How a nudged episode went on."""

    kind: Kind
    result: NudgeResult
    tool: str
    sequence: int
    """Of the call that closed or escalated the episode."""


class Observation(msgspec.Struct, frozen=True):
    """One recorded call, judged."""

    sequence: int
    """Place of the call in this history, from 1."""
    repeat: int
    """How often the key stands in window and history, this call included; 0 where it is unknown."""
    consecutive: int
    """How often in a row, this call included."""
    progress: Progress
    outcome: OutcomeKind
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    """The strongest first, at equal strength in the detectors' order."""
    nudges: tuple[NudgeOutcome, ...] = ()


def verdict_of(decision: Decision) -> Verdict:
    """The verdict that a decision stands for."""
    if isinstance(decision, Refuse):
        return "stop"
    return "nudge" if isinstance(decision, Nudge) else "allow"


def finding_id(run_id: str, agent: str, kind: Kind, action: Action, reference: str) -> str:
    """The stable id of a finding: 32 hex digits, the same whichever host reports it.

    The first 128 bits of SHA-256 over the canonical JSON array of the arguments; unkeyed, and without any
    fingerprint. ``reference`` names the judged call (see `call_reference`).
    """
    text = json.dumps([run_id, agent, kind, action, reference], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def call_reference(  # noqa: PLR0913, PLR0917 - a record's whole identity
    trace_id: str, span_id: str, process_id: str, call_id: str | None, turn: Turn, sequence: int | None
) -> str:
    """What names a call in a finding's id.

    Trace and span id of its earliest-started span, else process, call id and turn, else process and sequence.
    """
    if trace_id and span_id:
        return f"{trace_id}/{span_id}"
    if call_id is not None:
        return f"{process_id}/{call_id}/{'' if turn is None else turn}"
    return f"{process_id}//{'' if sequence is None else sequence}"
