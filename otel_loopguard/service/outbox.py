"""What is to be delivered, in order, until every sink has it: bounded, and the same after a restart.

Not the delivering and not the store: it says which rows to write and to delete, and whoever commits asks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from otel_loopguard.service.message import Message

__all__ = ["Changes", "Outbox", "Row"]

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Message)


class Row(NamedTuple):
    """A message as it is stored."""

    position: int
    data: bytes


class Changes(NamedTuple):
    """What the store does not know yet."""

    rows: list[Row]
    delivered: int
    """Rows up to this position are of no use any more."""
    cursors: dict[str, int]


class Outbox:
    """Messages by position; every sink has a cursor of its own."""

    def __init__(self, sinks: Iterable[str], limit: int) -> None:
        """``limit``: messages; the oldest makes room, whoever has not had it."""
        self._limit = limit
        self._cursors: dict[str, int] = dict.fromkeys(sinks, 0)
        self._messages: deque[tuple[int, Message]] = deque()
        self._unstored: list[Row] = []
        self._unstored_cursors: set[str] = set()
        self._next = 1
        self._kept = 0
        """Positions up to this one are stored: sinks may have them."""
        self._changed = threading.Condition()
        self.dropped = 0

    def load(self, rows: Iterable[Row], cursors: dict[str, int]) -> None:
        """What was stored before a restart; a sink that is new gets what is still there."""
        for name in self._cursors:
            self._cursors[name] = cursors.get(name, 0)
        for row in rows:
            self._messages.append((row.position, _DECODER.decode(row.data)))
            self._next = row.position + 1
        self._next = max(self._next, *(position + 1 for position in cursors.values()), 1)
        self._kept = self._next - 1

    def add(self, messages: Sequence[Message]) -> None:
        """Messages to deliver once they are stored."""
        with self._changed:
            if not self._cursors:
                return
            for message in messages:
                self._messages.append((self._next, message))
                self._unstored.append(Row(self._next, _ENCODER.encode(message)))
                self._next += 1
            while len(self._messages) > self._limit:
                self._messages.popleft()
                self.dropped += 1

    def changes(self) -> Changes:
        """What is to be written."""
        with self._changed:
            first = self._messages[0][0] if self._messages else self._next
            delivered = max(min(self._cursors.values(), default=0), first - 1)
            cursors = {name: self._cursors[name] for name in self._unstored_cursors}
            return Changes(list(self._unstored), delivered, cursors)

    def stored(self, changes: Changes) -> None:
        """The changes are written: sinks may have the messages."""
        with self._changed:
            del self._unstored[: len(changes.rows)]
            if changes.rows:
                self._kept = changes.rows[-1].position
            for name, position in changes.cursors.items():
                if self._cursors[name] == position:
                    self._unstored_cursors.discard(name)
            while self._messages and self._messages[0][0] <= changes.delivered:
                self._messages.popleft()
            self._changed.notify_all()

    @property
    def has_changes(self) -> bool:
        """Whether something is to be written."""
        return bool(self._unstored or self._unstored_cursors)

    @property
    def is_unstored(self) -> bool:
        """Whether a message waits to be stored."""
        return bool(self._unstored)

    # Sinks --------------------------------------------------------------------------------------------------------

    def wait(self, sink: str, most: int, timeout: float) -> list[tuple[int, Message]]:
        """The next stored messages that a sink has not had, oldest first; none after ``timeout`` seconds."""
        with self._changed:
            found = self._pending(sink, most)
            if not found:
                self._changed.wait(timeout)
                found = self._pending(sink, most)
            return found

    def _pending(self, sink: str, most: int) -> list[tuple[int, Message]]:
        if not self._messages:
            return []
        first = self._messages[0][0]  # positions follow each other without gaps
        begin = max(0, self._cursors[sink] + 1 - first)
        end = min(begin + most, self._kept + 1 - first)
        return list(islice(self._messages, begin, max(begin, end)))

    def nudge(self) -> None:
        """Let whoever waits look again."""
        with self._changed:
            self._changed.notify_all()

    def done(self, sink: str, position: int) -> None:
        """A sink has everything up to a position."""
        with self._changed:
            self._cursors[sink] = max(self._cursors[sink], position)
            self._unstored_cursors.add(sink)

    def waiting(self, sink: str) -> int:
        """Messages that a sink has not had."""
        with self._changed:
            return max(0, self._next - 1 - max(self._cursors[sink], self._next - 1 - len(self._messages)))
