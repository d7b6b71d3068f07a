"""What the engine says about a call: a finding with its evidence, a decision.

Evidence is identifiers, fingerprints and counts; turning it into words is `explain`'s work.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

import msgspec

from .call import Turn

__all__ = [
    "Action",
    "Allow",
    "Closing",
    "Decision",
    "Finding",
    "Kind",
    "Nudge",
    "NudgeOutcome",
    "NudgeResult",
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


class Finding(msgspec.Struct, frozen=True, gc=False):
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
    """Of the calls that count and are still held, oldest first, each once, the judged call's last: of every one the
    first 64 bits (16 hex digits), which is what a history keeps. A span's `loopguard.fingerprint` begins with them."""
    call_id: str | None = None
    """Of the judged call."""
    premature: bool = False
    """The call would have been nudged before dispatch, and its recorded result then differed."""
    of_call: bool = False
    """A `no_progress` of one call that came to one outcome so often, or to ``period`` outcomes by turns; else it is of
    turns that brought nothing new."""


class Allow(msgspec.Struct, frozen=True, gc=False):
    """Dispatch the call."""


class Nudge(msgspec.Struct, frozen=True, gc=False):
    """Tell the agent once, with this finding's evidence."""

    finding: Finding
    subject: tuple[str, int] = ("", 0)
    """The episode, opaque to hosts: handed back with the decision when the call is recorded."""
    until: int = 0
    """As `subject`."""


class Refuse(msgspec.Struct, frozen=True, gc=False):
    """Do not dispatch."""

    finding: Finding
    subject: tuple[str, int] = ("", 0)
    """The episode, opaque to hosts: handed back with the decision when the call is recorded."""
    until: int = 0
    """As `subject`."""
    repeated: bool = False
    """The same stop was already found at an earlier call of this episode."""


Decision = Allow | Nudge | Refuse


class NudgeOutcome(msgspec.Struct, frozen=True, gc=False):
    """How a nudged episode went on."""

    kind: Kind
    result: NudgeResult
    tool: str
    """Of the nudged call."""
    sequence: int
    """Of the call that closed or escalated the episode; of the nudged call where it stays open."""


class Closing(msgspec.Struct, frozen=True, gc=False):
    """What is left to say of a history when its run ends, or a user starts it anew."""

    findings: tuple[Finding, ...] = ()
    """Of the last turn."""
    nudges: tuple[NudgeOutcome, ...] = ()
    """How the last nudges went on; `open` where nothing came after them."""


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
