"""What a run remembers across its agents: writes, and hand-offs.

Not a history: it holds what counts for the run as a whole, whichever agent did it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from otel_loopguard.core.call import ToolCall
from otel_loopguard.core.tag import key_of, name_tag, number_of, tag_of_two

from .entry import Entry
from .memory import Recent
from .written import Written

__all__ = ["RunMemory", "Written", "handoff_symbol", "idempotency_of"]

_WRITES: Final = 64
_HANDOFFS: Final = 32
"""Eight agents in a circle, four laps."""


def idempotency_of(call: ToolCall) -> int | None:
    """32 bits of the idempotency key of a call."""
    return None if call.idempotency is None else number_of(call.idempotency) >> 32


def handoff_symbol(receiver: str, key: int) -> int:
    """One number for a hand-off: who receives it and what is handed over."""
    return tag_of_two(name_tag(receiver), key)


class RunMemory:
    """One a run."""

    __slots__ = ("changes", "handoffs", "writes")

    def __init__(
        self, writes: Iterable[tuple[int, Written]] = (), handoffs: Iterable[tuple[int, int]] = (), changes: int = 0
    ) -> None:
        self.writes: Recent[Written] = Recent(_WRITES, writes)
        """Declared writes by their call without the idempotency key, 64 bits."""
        self.handoffs: deque[tuple[int, int]] = deque(handoffs, _HANDOFFS)
        """Every hand-off: its symbol, and the changes of the world before it."""
        self.changes = changes
        """Calls of any agent so far that may have changed the world."""

    @property
    def weight(self) -> int:
        """Bytes that it would take, at most."""
        return 17 * len(self.writes.values) + 9 * len(self.handoffs)

    def add(self, entry: Entry, call: ToolCall) -> None:
        """Take in a call of any agent."""
        if entry.resets:
            self.changes += 1
        if entry.key is None or (entry.kind != "write" and call.handoff_to is None):
            return
        if entry.kind == "write":
            done = entry.outcome in ("ok", "empty")
            if done or entry.outcome == "missing" or entry.category == "unknown_outcome":
                group = key_of(call.group_fingerprint, call.key_id)
                if group is not None:
                    self.writes.set(group, Written(done, idempotency_of(call), name_tag(call.scope)))
        if call.handoff_to is not None:
            self.handoffs.append((handoff_symbol(call.handoff_to, entry.key), self.changes))

    def user_message(self, scope: str) -> None:
        """A user spoke in a scope: what was written there may be wanted again, and tasks are handed over anew."""
        tag = name_tag(scope)
        for group, written in list(self.writes.values.items()):
            if written.scope == tag:
                self.writes.discard(group)
        self.handoffs.clear()
