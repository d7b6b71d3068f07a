"""One recorded call and one finished turn, as a history keeps them: small, keyed, without content.

Not the call itself: fingerprints are cut to 64 bits here, which is enough to compare within one run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

from .call import Outcome, ToolCall
from .policy import ToolPolicy

__all__ = ["Entry", "TurnMark", "answer_of", "handoff_symbol", "key_of", "symbol_of", "tag_of"]

_MASK: Final = (1 << 64) - 1
_ODD: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: spreads sums of keys (Knuth, volume 3, section 6.4)."""


def key_of(fingerprint: str | None, key_id: str) -> int | None:
    """The first 64 bits of a fingerprint, bound to its key id so that other keys' fingerprints are never equal."""
    if fingerprint is None:
        return None
    return int(fingerprint[:16], 16) ^ (crc32(key_id.encode("utf-8", "surrogatepass")) * _ODD & _MASK)


def answer_of(outcome: Outcome) -> int | None:
    """What came back as one number: equal for equal results; None where no result is known."""
    if outcome.fingerprint is None:
        return None if outcome.kind != "error" else _error_number(outcome)
    number = int(outcome.fingerprint[:16], 16)
    return number ^ _error_number(outcome) if outcome.kind == "error" else number


def _error_number(outcome: Outcome) -> int:
    return (crc32(f"{outcome.error_type}/{outcome.category}".encode("utf-8", "surrogatepass")) * _ODD + 1) & _MASK


def tag_of(*numbers: int | None) -> int:
    """A 32-bit tag of some numbers, for memories of what was ever seen."""
    mixed = 0
    for number in numbers:
        mixed = ((mixed ^ (number or 0)) * _ODD) & _MASK
    return mixed >> 32


def handoff_symbol(receiver: str, key: int) -> int:
    """One number for a hand-off: who receives it and what is handed over."""
    return tag_of(crc32(receiver.encode("utf-8", "surrogatepass")), key)


class Entry:
    """One recorded call. Plain slots: several are made a call, and a history holds at most 64."""

    __slots__ = (
        "advanced", "answer", "call_id", "category", "counts", "error", "fingerprint", "fresh", "group", "handoff",
        "informative", "key", "kind", "linked", "news", "outcome", "payload", "place", "refusal", "resets", "shape",
        "stated", "thought", "tool", "turn", "waits", "word_count", "words",
    )  # fmt: skip

    def __init__(self, call: ToolCall, outcome: Outcome, settings: ToolPolicy, place: int, turn: int) -> None:
        self.place = place
        """Of the call in its history, from 1."""
        self.turn = turn
        """Number of the turn in its history, from 1."""
        self.tool = call.tool
        self.kind = settings.kind
        self.fingerprint = call.fingerprint
        self.call_id = call.call_id
        self.key = key_of(call.fingerprint, call.key_id)
        self.group = key_of(call.group, call.key_id) if call.group is not None else self.key
        self.words = call.words
        self.word_count = call.word_count
        self.payload = call.payload
        self.thought = call.thought or settings.kind == "none"
        self.outcome = outcome.kind
        self.category = outcome.category
        self.answer = answer_of(outcome)
        self.error = key_of(outcome.error, call.key_id)
        self.shape = key_of(outcome.shape, call.key_id)
        self.refusal = outcome.refusal
        self.informative = outcome.informative
        self.advanced = False
        """A declared value moved beyond its best."""
        self.news = False
        """A first-time read with a result never seen before."""
        self.resets = False
        """The call may have changed the world."""
        self.counts = True
        """False for passing failures and missing results: transparent for repeats."""
        self.linked = False
        """The call continues the streak of equal calls before it."""
        self.waits = False
        """A declared poll within its budget."""
        self.stated = outcome.state is not None
        """The application's own state came with the call: it alone tells whether the turn brought anything."""
        self.fresh = False
        """A result, or a state where one came along, that was never seen before."""
        self.handoff = call.handoff_to is not None

    @property
    def succeeded(self) -> bool:
        """The call ran and something came back that is no error."""
        return self.outcome in ("ok", "empty", "noop")


class TurnMark:
    """One finished turn: its set of calls as one symbol."""

    __slots__ = (
        "advanced", "answers", "fingerprints", "first", "fresh", "last", "number", "only", "symbol", "tool", "waits",
    )  # fmt: skip

    def __init__(self, number: int, entries: Iterable[Entry]) -> None:
        members = list(entries)
        keys = {entry.key for entry in members}
        self.number = number
        self.first = members[0].place
        self.last = members[-1].place
        self.tool = members[-1].tool
        self.fingerprints = tuple(sorted({entry.fingerprint[:16] for entry in members if entry.fingerprint}))
        self.symbol = symbol_of(keys)
        """The set of keys; None where one is unknown: such a turn equals no other."""
        self.answers = answers_of(members) if self.symbol is not None else None
        """The set of keys with what came back; None where something is missing."""
        self.only = members[0].key if len(keys) == 1 else None
        self.advanced = any(entry.advanced for entry in members)
        self.waits = any(entry.waits for entry in members)
        """A declared poller within its budget was among the calls."""
        self.fresh = _fresh(members)
        """Whether the turn brought anything new; None where nothing is known of it."""


def _fresh(members: list[Entry]) -> bool | None:
    stated = [entry for entry in members if entry.stated]
    if stated:
        return any(entry.fresh for entry in stated)
    known = [entry for entry in members if entry.key is not None and entry.outcome != "missing"]
    return any(entry.fresh or entry.resets or entry.waits for entry in known) if known else None


def symbol_of(keys: Iterable[int | None]) -> int | None:
    """One number for a set of keys, whatever their order; None where one is unknown."""
    total = 0
    for key in keys:
        if key is None:
            return None
        total += ((key ^ (key >> 29)) * _ODD) & _MASK
    return total & _MASK


def answers_of(entries: Iterable[Entry]) -> int | None:
    """One number for a set of calls with their results; None where a result is not known."""
    total = 0
    for key, answer in {(entry.key, entry.answer) for entry in entries}:
        if key is None or answer is None:
            return None
        total += tag_of(key, answer) * tag_of(answer, key, 1)
    return total & _MASK
