"""The seam between receivers and the detector: a request goes in, an answer comes back once its effect is kept.

Not a protocol: gRPC and HTTP say the same answers in their own words, by the one table that each has of them.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

__all__ = ["Accepted", "Answer", "Intake", "Refused", "Request", "Signal"]

Signal = Literal["traces", "logs", "metrics"]


class Request(NamedTuple):
    """One request of a sender, unpacked but not decoded. It holds content: it is never printed."""

    tenant: str
    signal: Signal
    is_json: bool
    body: bytes

    def __repr__(self) -> str:
        return f"Request(tenant={self.tenant!r}, signal={self.signal!r}, {len(self.body)} bytes)"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The effect of the request is kept."""

    rejected: int = 0
    """Spans or log records that were not taken, for good: sending them again would not help."""
    message: str = ""
    """Why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing of the request has any effect."""

    reason: Literal["malformed", "too_large", "overloaded", "unavailable"]
    """`malformed` and `too_large` for good; `overloaded` and `unavailable` for now."""
    message: str
    retry_after: float = 1.0
    """Seconds after which it is worth trying again."""


Answer = Accepted | Refused


class Intake(Protocol):
    """What receivers hand requests to."""

    def submit(self, request: Request) -> Awaitable[Answer]:
        """Take in a request; the answer comes when it is kept or refused. Never raises."""
        ...
