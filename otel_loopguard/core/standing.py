"""How far a call that polls, pages or declares progress has come.

Not a budget: what is too many is the policy's to say and a detector's to judge.
"""

from __future__ import annotations

from typing import Final

from .call import Outcome, ToolCall
from .entry import Entry, tag_of
from .memory import Seen
from .policy import PollRule

__all__ = ["ITEM_LIMIT", "Pages", "Standing", "over_budget", "standing_after"]

ITEM_LIMIT: Final = 256
"""Item tags remembered for one list."""


class Standing:
    """One key's declared progress and polls so far."""

    __slots__ = (
        "answer", "best", "first_start", "items", "last_start", "previous_start", "same", "terminal", "total",
        "was_terminal",
    )  # fmt: skip

    def __init__(self) -> None:
        self.best: float | None = None
        self.terminal = False
        self.was_terminal = False
        """The state was terminal before the last call."""
        self.answer: int | None = None
        self.items: Seen | None = None
        self.total = 0
        """Calls so far."""
        self.same = 0
        """Answers in a row that brought nothing new, the first of them included."""
        self.first_start: int | None = None
        """Unix nanoseconds, as the two below."""
        self.last_start: int | None = None
        self.previous_start: int | None = None


class Pages:
    """One list that is paged through: what was seen of it, and how many pages in a row brought nothing."""

    __slots__ = ("barren", "seen")

    def __init__(self) -> None:
        self.seen = Seen(ITEM_LIMIT)
        self.barren = 0

    def add(self, entry: Entry, outcome: Outcome) -> bool:
        """Take in one more page; whether it brought anything unseen."""
        if outcome.items is not None:
            new = sum([self.seen.add(tag) for tag in outcome.items]) > 0
        elif outcome.unseen is not None:
            new = outcome.unseen > 0
        else:
            new = entry.answer is not None and self.seen.add(tag_of(entry.answer))
        self.barren = 0 if new else self.barren + 1
        return new


def standing_after(
    standing: Standing | None, entry: Entry, call: ToolCall, outcome: Outcome
) -> tuple[Standing, bool, bool]:
    """The standing after one more answer, whether it moved, and whether declared progress advanced.

    The first answer moves, and advances nothing: there is nothing that it could be beyond.
    """
    now = Standing() if standing is None else standing
    first = now.total == 0
    now.total += 1
    if outcome.items is not None or outcome.unseen is not None:
        moved = _unseen(now, outcome) > 0
    elif outcome.declared:
        moved = outcome.measure is not None and (now.best is None or outcome.measure > now.best)
        if moved:
            now.best = outcome.measure
    else:
        moved = entry.answer is not None and entry.answer != now.answer
    now.was_terminal = now.terminal
    now.terminal = now.terminal or outcome.terminal
    now.answer = entry.answer
    now.same = 1 if moved or first else now.same + 1
    now.previous_start, now.last_start = now.last_start, call.start_ns
    if first:
        now.first_start = call.start_ns
    return now, moved, moved and not first and outcome.declared


def _unseen(standing: Standing, outcome: Outcome) -> int:
    if outcome.items is None:
        return outcome.unseen or 0
    if standing.items is None:
        standing.items = Seen(ITEM_LIMIT)
    return sum([standing.items.add(tag) for tag in outcome.items])


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
