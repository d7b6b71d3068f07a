"""The seam of a host of runs: arrivals and the time go in, what runs say comes out.

Not a server: a host of runs does no input or output of its own, reads no clock and starts no thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.stream.events import RunEvent
from otel_loopguard.stream.reader import Ending
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Span

__all__ = ["Arrival", "Handover", "Limits", "Runtime", "Said", "arrivals_of"]

_SECOND = 1_000_000_000


@mypyc_attr(acyclic=True)
class Arrival:
    """One thing that came in for a tenant."""

    __slots__ = ("item", "tenant")

    def __init__(self, tenant: str, item: Span | Ending | CallRecord) -> None:
        self.tenant: Final = tenant
        self.item: Final = item
        """A call record is one whose run, agent and turn another host has found already."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arrival) and self.tenant == other.tenant and self.item == other.item

    def __hash__(self) -> int:
        return hash((self.tenant, self.item))


def arrivals_of(tenant: str, spans: Sequence[Span], endings: Sequence[Ending]) -> list[Arrival]:
    """What one request of a tenant tells, as arrivals."""
    return [Arrival(tenant, span) for span in spans] + [Arrival(tenant, ending) for ending in endings]


class Handover(NamedTuple):
    """A call whose run another host has."""

    time: int
    """When its place was found."""
    tenant: str
    record: CallRecord


@mypyc_attr(acyclic=True)
class Said:
    """One thing that a tenant's run says."""

    __slots__ = ("event", "reported", "strongest", "tenant")

    def __init__(self, tenant: str, event: RunEvent, reported: bool, strongest: int) -> None:
        self.tenant: Final = tenant
        self.event: Final = event
        self.reported: Final = reported
        """A process has said the same."""
        self.strongest: Final = strongest
        """Of the run's findings so far: 0 none, 1 a nudge, 2 a stop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a host; times in nanoseconds."""

    lateness: int = 10 * _SECOND
    """How long copies and earlier calls are waited for, and, half as long before that, the spans around a call."""
    idle: int = 30 * 60 * _SECOND
    """A run that is silent for so long has ended; it may go on."""
    age: int = 24 * 60 * 60 * _SECOND
    """A run that is silent for so long is forgotten."""
    runs: int = 100_000
    """Runs at a time; the one that ended and was silent longest makes room for a new one."""
    state: int = 1 << 30
    """Bytes of all runs' packed state, as `runs`."""
    awake: int = 100_000
    """Runs that are held as objects, 10 to 20 kB each; others are held packed, which takes a sixth of the memory.

    Packing one and unpacking another costs several times what a call does, so live runs should all be objects.
    """
    waiting: int = 4096
    """Records of one run that wait for its other records."""


class Runtime(Protocol):
    """A host of runs."""

    def take(self, arrivals: Sequence[Arrival], now: int) -> list[Said]:
        """Take in what came at one moment."""
        ...

    def on_time(self, now: int) -> list[Said]:
        """Do what is due by now."""
        ...

    def due(self) -> int | None:
        """When `on_time` wants to be called; None while nothing waits."""
        ...
