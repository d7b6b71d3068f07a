"""The seam of a sink: messages go in, and it returns once they are where they should be.

Not the retrying: a sink says whether it is worth trying again, the delivery does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from otel_loopguard.service.message import Message

__all__ = ["Sink", "SinkRefusedError", "SinkUnavailableError"]


class SinkUnavailableError(Exception):
    """Not now: try the same messages again, after ``retry_after`` seconds where the other side says so."""

    def __init__(self, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


class SinkRefusedError(Exception):
    """Never: the other side does not want these messages, however often they come."""


class Sink(Protocol):
    """One place where messages go. Used by one thread."""

    name: str
    """Under which its progress is kept: another name is another sink."""
    batch: int
    """Messages that it takes at a time."""

    def send(self, messages: Sequence[Message]) -> None:
        """Deliver; raises `SinkUnavailableError` or `SinkRefusedError`."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...
