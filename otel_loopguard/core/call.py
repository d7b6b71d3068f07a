"""One tool call and its outcome, keyed: what everything past the fingerprint sees.

Not the call's content: neither class has a field that could hold arguments, a result or an error text.
Texts that name things (tool, agent, call id, error type) are names, everything else is a keyed
fingerprint, a number or a flag. Both are msgspec structs, because one of each is made for every call on the host's own
time, and a frozen dataclass of that many fields takes fifteen times as long to make.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = [
    "ABSENT", "MISSING", "OURS", "Absent", "Category", "Outcome", "OutcomeKind", "ToolCall", "Turn", "UnknownReason",
]  # fmt: skip

OutcomeKind = Literal["ok", "empty", "noop", "error", "missing", "ours"]
"""``noop``: a declared ``changed: false``; ``missing``: no result was recorded; ``ours``: a refusal or a
cached answer of this package."""

Category = Literal[
    "", "transient", "unknown_outcome", "validation", "permission", "not_found", "unknown_tool", "unknown"
]
"""What kind of failure an error is, from structured fields alone; ``""`` for no error."""

UnknownReason = Literal["absent", "redacted", "truncated", "too_large"]
"""Why a call has no fingerprint."""

Turn = str | int | None
"""One model decision, by whatever token the source has; only equality counts. None: a turn of its own."""


class Absent:
    """The type of `ABSENT`: nothing was recorded, which is not the same as null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call before its result."""

    tool: str
    fingerprint: str | None
    """Keyed, 32 lowercase hex digits; None where the arguments are not known."""
    key_id: str
    """The key that made the fingerprint: fingerprints under different ids are never compared."""
    unknown: UnknownReason | None = None
    group: str | None = None
    """Fingerprint without the cursor and the idempotency key; None where it equals ``fingerprint``."""
    idempotency: str | None = None
    """Fingerprint of the idempotency key's value, where the policy declares one and the call has it."""
    words: tuple[int, ...] = ()
    """Keyed bottom-k sketch of the words in the arguments, ascending 32-bit numbers; never emitted."""
    word_count: int = 0
    """Distinct words sketched (at most 256): the sketch is exact up to its length."""
    bare: bool = False
    """The canonical arguments are empty."""
    payload: bool = False
    """The call says something rather than asks something."""
    thought: bool = False
    """The only argument is a thought: the call changes nothing."""
    call_id: str | None = None
    turn: Turn = None
    scope: str = ""
    """Tag of the values that the policy's ``scope`` names; calls of different tags never meet."""
    user_message: bool = False
    """A user message came just before this call."""
    handoff_to: str | None = None
    """The agent that the call hands work to."""
    start_ns: int | None = None
    """Unix time in nanoseconds."""

    @property
    def group_fingerprint(self) -> str | None:
        """The fingerprint without cursor and idempotency key."""
        return self.group or self.fingerprint


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What came back, without content."""

    kind: OutcomeKind
    fingerprint: str | None = None
    """Keyed, after the policy's result rules; equal for equal results."""
    error_type: str | None = None
    category: Category = ""
    error: str | None = None
    """Fingerprint of the error's message key: volatile parts and the call's own arguments masked."""
    shape: str | None = None
    """Fingerprint of the message's shape: quoted parts, own words and numbers masked. Of what says that a search had no
    hit, too, which is no error."""
    refusal: bool = False
    """An error, or a text that says no without an error flag."""
    informative: bool = False
    """The answer holds a digit or at least four words."""
    approval: bool = False
    """The answer says that all is well, and so is another answer for each thing that it approves; beside a refusal: it
    counts what is well and what is not."""
    hitless: bool = False
    """A text that says that a search ran and had no hit."""
    tells: bool = False
    """A short answer that is neither a refusal nor about nothing: one that several things may well have in common."""
    moving: bool = False
    """Something volatile was masked in an answer that is no refusal: where it is what was asked for, as a benchmark's
    times are, the answer only looks equal to the one before."""
    said: int = 0
    """Outline of the keyed long words of a long answer, 64 bits; never emitted. 0: not long enough."""
    measure: float | None = None
    """Declared progress as a number that grows with progress (version, rank of a state, percent, minus the
    number of errors)."""
    declared: bool = False
    """The tool declares progress: the declaration alone decides."""
    terminal: bool = False
    """A declared state that nothing can follow."""
    items: tuple[int, ...] | None = None
    """Keyed 32-bit tags of the declared items."""
    unseen: int | None = None
    """Items never seen before, counted by another process (``loopguard.items.unseen``)."""
    state: str | None = None
    """Fingerprint of the application's own state after the call."""
    end_ns: int | None = None
    gist: str | None = None
    """Fingerprint of an answer with what it repeats of the call masked; never emitted. None: it repeats nothing, or
    says little else."""
    page: bool = False
    """An answer of many words that is no refusal: more than a receipt."""
    counter: int | None = None
    """How far something has come, where an answer counts it: shifted by a number of the key's, so that only differences
    tell anything; never emitted, as the next."""
    beside: str | None = None
    """Fingerprint of such an answer without its counts."""


MISSING = Outcome("missing")
"""No result was recorded."""

OURS = Outcome("ours", error_type="loop_detected")
"""The call was answered by this package and not executed."""
