"""One hosted run with what its host must know about it: when it was heard, whether it ended, when to wake it.

Not the run: what it holds is its own, and its snapshot is made by itself.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.engine import Engine
from otel_loopguard.runtimes.packed import Packed
from otel_loopguard.stream.run import Run

__all__ = ["Key", "Seat"]

Key = tuple[str, str]
"""Tenant and run id: one tenant's runs are never another's, whatever they are called."""


_THEIRS: Final = 64
"""Reported findings that are remembered."""


class Seat:
    """A run as an object."""

    __slots__ = ("ended", "last", "run", "strongest", "theirs", "timer", "told")

    def __init__(self, run: Run, now: int) -> None:
        self.run = run
        self.last = now
        """When its last record came."""
        self.ended = False
        """Its end was reported and no call came since."""
        self.told = False
        """A process reports its next end itself."""
        self.strongest = 0
        """0 no finding so far, 1 a nudge, 2 a stop."""
        self.theirs: dict[tuple[str, str], None] = {}
        """Agent and kind of the last findings that processes reported: how those went on, they report too."""
        self.timer: int | None = None
        """The wake-up that is set."""

    def note(self, agent: str, kind: str, *, theirs: bool) -> None:
        """Take note of who reported a finding."""
        self.theirs.pop((agent, kind), None)
        if theirs:
            self.theirs[agent, kind] = None
            if len(self.theirs) > _THEIRS:
                del self.theirs[next(iter(self.theirs))]

    def due(self, idle: int, age: int) -> int:
        """When its host must look after it."""
        at = self.last + (age if self.ended else idle)
        waits = self.run.due()
        return at if waits is None or at < waits else waits

    def pack(self) -> Packed:
        """The same as bytes."""
        state = self.run.snapshot()
        return Packed(state, self.last, self.ended, self.told, self.strongest, self.timer, list(self.theirs))

    @classmethod
    def unpack(cls, packed: Packed, run_id: str, engine: Engine, lateness: int) -> Seat:
        """A packed run as an object again; raises `StateError` for bytes that are no state."""
        seat = cls(Run.restore(packed.state, run_id, engine, lateness), packed.last)
        seat.ended, seat.told, seat.strongest = packed.ended, packed.told, packed.strongest
        seat.timer, seat.theirs = packed.timer, dict.fromkeys(packed.theirs)
        return seat
