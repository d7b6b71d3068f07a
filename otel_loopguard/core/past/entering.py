"""What of a call that has ended goes into its entry: fingerprints are cut to tags here."""

from __future__ import annotations

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.policy import ToolKind
from otel_loopguard.core.tag import FAILED, MASK, key_of, number_of, salt_of

from .entry import Entry

__all__ = ["answer_of", "entry_of"]


def entry_of(  # noqa: PLR0913, PLR0917 - made once a call, from what was worked out about it already
    call: ToolCall, outcome: Outcome, kind: ToolKind, key: int | None, tool: int, place: int, turn: int
) -> Entry:
    """The entry of a call that has ended, before it is judged."""
    group = key if call.group is None else key_of(call.group, call.key_id)
    return Entry(
        place, turn, tool, kind, key, salt_of(call.key_id), None if group is None else group >> 32, outcome.kind,
        outcome.category, answer_of(outcome), None if outcome.error is None else number_of(outcome.error) >> 32,
        None if outcome.shape is None else number_of(outcome.shape) >> 32,
        call.words, call.word_count, call.payload, call.thought or kind == "none", outcome.refusal,
        outcome.informative, outcome.state is not None, call.handoff_to is not None, approval=outcome.approval,
        gist=None if outcome.gist is None else number_of(outcome.gist) >> 32,
    )  # fmt: skip


def answer_of(outcome: Outcome) -> int | None:
    """What came back as 64 bits, told apart by whether it is an error; one without a text is told by its type."""
    failed = FAILED << 32
    if outcome.kind != "error":
        return None if outcome.fingerprint is None else number_of(outcome.fingerprint) & ~failed
    kind = salt_of(f"{outcome.error_type}/{outcome.category}")
    return (kind if outcome.fingerprint is None else kind ^ number_of(outcome.fingerprint)) & MASK | failed
