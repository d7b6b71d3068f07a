"""What a server is told that is one of several workers.

Not the workers' parent (`supervisor`).
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from otel_loopguard.service.partition import Share

__all__ = ["Crew"]


@dataclass(frozen=True, slots=True)
class Crew:
    """A worker's place among the others."""

    share: Share
    wires: socket.socket
    """Where the ends of wires to other workers come from."""
    spare_key: bytes
    """The secret of all workers where none is set."""
    closed: Callable[[], Awaitable[None]]
    """Says that nobody comes in here any more; returns when that holds of all workers."""
