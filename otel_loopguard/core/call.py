"""One tool call and its outcome, keyed: what everything past the fingerprint sees.

Not the call's content: neither class has a field that could hold arguments, a result or an error text.
Texts that name things (tool, agent, call id, error type) are names, everything else is a keyed
fingerprint, a number or a flag. Both are plain classes, because one of each is made for every call on the host's own
time and read all over the judging.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from .compiled import mypyc_attr
from .value import Value

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


@mypyc_attr(acyclic=True)
class ToolCall(Value):
    """A tool call before its result."""

    names: ClassVar = (
        "tool", "fingerprint", "key_id", "unknown", "group", "idempotency", "words", "word_count", "bare",
        "payload", "thought", "call_id", "turn", "scope", "user_message", "handoff_to", "start_ns",
    )  # fmt: skip
    __slots__ = names

    def __init__(
        self,
        tool: str,
        fingerprint: str | None,
        key_id: str,
        unknown: UnknownReason | None = None,
        group: str | None = None,
        idempotency: str | None = None,
        words: tuple[int, ...] = (),
        word_count: int = 0,
        bare: bool = False,
        payload: bool = False,
        thought: bool = False,
        call_id: str | None = None,
        turn: Turn = None,
        scope: str = "",
        user_message: bool = False,
        handoff_to: str | None = None,
        start_ns: int | None = None,
    ) -> None:
        self.tool: Final = tool
        self.fingerprint: Final = fingerprint
        """Keyed, 32 lowercase hex digits; None where the arguments are not known."""
        self.key_id: Final = key_id
        """The key that made the fingerprint: fingerprints under different ids are never compared."""
        self.unknown: Final = unknown
        self.group: Final = group
        """Fingerprint without the cursor and the idempotency key; None where it equals ``fingerprint``."""
        self.idempotency: Final = idempotency
        """Fingerprint of the idempotency key's value, where the policy declares one and the call has it."""
        self.words: Final = words
        """Keyed bottom-k sketch of the words in the arguments, ascending 32-bit numbers; never emitted."""
        self.word_count: Final = word_count
        """Distinct words sketched (at most 256): the sketch is exact up to its length."""
        self.bare: Final = bare
        """The canonical arguments are empty."""
        self.payload: Final = payload
        """The call says something rather than asks something."""
        self.thought: Final = thought
        """The only argument is a thought: the call changes nothing."""
        self.call_id: Final = call_id
        self.turn: Final = turn
        self.scope: Final = scope
        """Tag of the values that the policy's ``scope`` names; calls of different tags never meet."""
        self.user_message: Final = user_message
        """A user message came just before this call."""
        self.handoff_to: Final = handoff_to
        """The agent that the call hands work to."""
        self.start_ns: Final = start_ns
        """Unix time in nanoseconds."""

    def fields(self) -> tuple[object, ...]:
        """All fields in order, each read directly: every call is packed once."""
        return (
            self.tool, self.fingerprint, self.key_id, self.unknown, self.group, self.idempotency, self.words,
            self.word_count, self.bare, self.payload, self.thought, self.call_id, self.turn, self.scope,
            self.user_message, self.handoff_to, self.start_ns,
        )  # fmt: skip

    def in_turn(self, turn: Turn) -> ToolCall:
        """The same call in another turn."""
        return ToolCall(
            self.tool, self.fingerprint, self.key_id, self.unknown, self.group, self.idempotency, self.words,
            self.word_count, self.bare, self.payload, self.thought, self.call_id, turn, self.scope, self.user_message,
            self.handoff_to, self.start_ns,
        )  # fmt: skip

    @property
    def group_fingerprint(self) -> str | None:
        """The fingerprint without cursor and idempotency key."""
        return self.group or self.fingerprint


@mypyc_attr(acyclic=True)
class Outcome(Value):
    """What came back, without content."""

    names: ClassVar = (
        "kind", "fingerprint", "error_type", "category", "error", "shape", "refusal", "informative", "approval",
        "hitless", "tells", "moving", "said", "measure", "declared", "terminal", "items", "unseen", "state",
        "end_ns", "gist", "page", "counter", "beside",
    )  # fmt: skip
    __slots__ = names

    def __init__(
        self,
        kind: OutcomeKind,
        fingerprint: str | None = None,
        error_type: str | None = None,
        category: Category = "",
        error: str | None = None,
        shape: str | None = None,
        refusal: bool = False,
        informative: bool = False,
        approval: bool = False,
        hitless: bool = False,
        tells: bool = False,
        moving: bool = False,
        said: int = 0,
        measure: float | None = None,
        declared: bool = False,
        terminal: bool = False,
        items: tuple[int, ...] | None = None,
        unseen: int | None = None,
        state: str | None = None,
        end_ns: int | None = None,
        gist: str | None = None,
        page: bool = False,
        counter: int | None = None,
        beside: str | None = None,
    ) -> None:
        self.kind: Final = kind
        self.fingerprint: Final = fingerprint
        """Keyed, after the policy's result rules; equal for equal results."""
        self.error_type: Final = error_type
        self.category: Final = category
        self.error: Final = error
        """Fingerprint of the error's message key: volatile parts and the call's own arguments masked."""
        self.shape: Final = shape
        """Fingerprint of the message's shape: quoted parts, own words and numbers masked. Of what says that a search
        had no hit, too, which is no error."""
        self.refusal: Final = refusal
        """An error, or a text that says no without an error flag."""
        self.informative: Final = informative
        """The answer holds a digit or at least four words."""
        self.approval: Final = approval
        """The answer says that all is well, and so is another answer for each thing that it approves; beside a
        refusal: it counts what is well and what is not."""
        self.hitless: Final = hitless
        """A text that says that a search ran and had no hit."""
        self.tells: Final = tells
        """A short answer that is neither a refusal nor about nothing: one that several things may well have in
        common."""
        self.moving: Final = moving
        """Something volatile was masked in an answer that is no refusal: where it is what was asked for, as a
        benchmark's times are, the answer only looks equal to the one before."""
        self.said: Final = said
        """Outline of the keyed long words of a long answer, 64 bits; never emitted. 0: not long enough."""
        self.measure: Final = measure
        """Declared progress as a number that grows with progress (version, rank of a state, percent, minus the
        number of errors)."""
        self.declared: Final = declared
        """The tool declares progress: the declaration alone decides."""
        self.terminal: Final = terminal
        """A declared state that nothing can follow."""
        self.items: Final = items
        """Keyed 32-bit tags of the declared items."""
        self.unseen: Final = unseen
        """Items never seen before, counted by another process (``loopguard.items.unseen``)."""
        self.state: Final = state
        """Fingerprint of the application's own state after the call."""
        self.end_ns: Final = end_ns
        self.gist: Final = gist
        """Fingerprint of an answer with what it repeats of the call masked; never emitted. None: it repeats nothing, or
        says little else."""
        self.page: Final = page
        """An answer of many words that is no refusal: more than a receipt."""
        self.counter: Final = counter
        """How far something has come, where an answer counts it: shifted by a number of the key's, so that only
        differences tell anything; never emitted, as the next."""
        self.beside: Final = beside
        """Fingerprint of such an answer without its counts."""

    def fields(self) -> tuple[object, ...]:
        """All fields in order, each read directly: every call is packed once."""
        return (
            self.kind, self.fingerprint, self.error_type, self.category, self.error, self.shape, self.refusal,
            self.informative, self.approval, self.hitless, self.tells, self.moving, self.said, self.measure,
            self.declared, self.terminal, self.items, self.unseen, self.state, self.end_ns, self.gist, self.page,
            self.counter, self.beside,
        )  # fmt: skip


MISSING = Outcome("missing")
"""No result was recorded."""

OURS = Outcome("ours", error_type="loop_detected")
"""The call was answered by this package and not executed."""
