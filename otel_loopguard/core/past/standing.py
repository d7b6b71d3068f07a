"""How far a call that polls or declares progress has come, and a list that is paged through.

Not a budget: what is too many is the policy's to say and a detector's to judge.
"""

from __future__ import annotations

import msgspec

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.policy import PollRule, ToolPolicy
from otel_loopguard.core.tag import key_of, tag_of_two

from .entry import Entry
from .memory import Seen

__all__ = ["Standing", "brings_unseen", "over_budget", "unseen_items"]

_LATEST = 1 << 63
"""Nanoseconds since 1970 that still are a time: the year 2262."""


class Standing(msgspec.Struct, gc=False, eq=False):
    """One key's declared progress and polls so far."""

    best: float | None = None
    answer: int | None = None
    """The last answer that was no failure."""
    total: int = 0
    """Calls so far."""
    same: int = 0
    """Answers in a row that brought nothing new, the first of them included."""
    first_start: int | None = None
    """Unix nanoseconds, as the two below."""
    last_start: int | None = None
    previous_start: int | None = None
    """Of the call before the last, as long as that is being judged."""
    terminal: bool = False
    was_terminal: bool = False
    """The state was terminal before the last call, as long as that is being judged."""

    def add(self, entry: Entry, start_ns: int | None, outcome: Outcome, seen: Seen) -> tuple[bool, bool]:
        """Take in one more answer: whether it moved, and whether declared progress advanced.

        The first answer moves, and advances nothing: there is nothing that it could be beyond. A failure moves nothing,
        and where no result is known there is nothing to compare.
        """
        first = self.total == 0
        self.total += 1
        moved = self._moved(entry, outcome, seen)
        self.was_terminal = self.terminal
        self.terminal = self.terminal or outcome.terminal
        if entry.outcome != "missing":
            self.same = 1 if moved or first else self.same + 1
        start = start_ns if start_ns is not None and 0 <= start_ns < _LATEST else None
        self.previous_start, self.last_start = self.last_start, start
        if first:
            self.first_start = start
        return moved, moved and not first and outcome.declared

    def _moved(self, entry: Entry, outcome: Outcome, seen: Seen) -> bool:
        if outcome.items is not None or outcome.unseen is not None:
            return brings_unseen(entry.key or 0, outcome, seen)
        if outcome.declared:
            if outcome.measure is None or (self.best is not None and outcome.measure <= self.best):
                return False
            self.best = outcome.measure
            return True
        if entry.answer is None or entry.outcome == "error" or entry.answer == self.answer:
            return False
        self.answer = entry.answer
        return True


def brings_unseen(subject: int, outcome: Outcome, seen: Seen) -> bool:
    """Whether an answer holds an item that was never seen in the list of this subject; its items are remembered."""
    if outcome.items is None:
        return (outcome.unseen or 0) > 0
    new = False
    for item in outcome.items:
        new = seen.add(tag_of_two(subject, item)) or new
    return new


def unseen_items(call: ToolCall, outcome: Outcome, settings: ToolPolicy, seen: Seen) -> int | None:
    """How many items of an answer `brings_unseen` would find; None where none are declared. Remembers nothing."""
    if outcome.items is None or call.fingerprint is None:
        return None
    if settings.cursor is None:
        subject = key_of(call.fingerprint, call.key_id) or 0
    else:  # a page's list is told by as much of the key as a history keeps
        subject = (key_of(call.group_fingerprint, call.key_id) or 0) >> 32
    return sum(tag_of_two(subject, item) not in seen for item in set(outcome.items))


def over_budget(standing: Standing, rule: PollRule, start_ns: int | None, *, polls: int, same: int) -> str | None:
    """Which budget of a poller is overdrawn by a poll that starts at ``start_ns``, or None.

    ``polls`` and ``same`` count that poll too: they are one more than the standing's where it has not ended yet.
    """
    if rule.max_total is not None and polls > rule.max_total:
        return "max_total"
    since = None if start_ns is None or standing.first_start is None else start_ns - standing.first_start
    if rule.deadline is not None and since is not None and since > rule.deadline:
        return "deadline"
    if rule.max_unchanged is not None and same > rule.max_unchanged:
        return "max_unchanged"
    return None
