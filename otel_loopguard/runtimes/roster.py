"""The runs of one host: some as objects, the rest packed, all of them bounded.

Not the time and not the routing (`local`): it finds, makes, packs and forgets runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from otel_loopguard.core.engine import Engine
from otel_loopguard.runtimes._base import Limits
from otel_loopguard.runtimes.packed import Packed
from otel_loopguard.runtimes.seat import Key, Seat
from otel_loopguard.stream.run import Run

__all__ = ["Roster"]

_AWAKE_BYTES: Final = 1024
"""Assumed of a run that was never packed."""


class Roster:
    """Runs by tenant and run id."""

    def __init__(self, engine: Engine, limits: Limits, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self._engine = engine
        self._limits = limits
        self._awake: dict[Key, Seat] = {}
        """The one heard last stands last."""
        self._asleep: dict[Key, Packed] = {}
        """The one packed last stands last."""
        self._bytes = 0
        self.unsaved: dict[Key, int | None] = {}
        """Runs that changed since they were saved, with the time of the first change; None: they are gone."""
        self.dropped: Counter[str] = Counter()
        """Runs that were forgotten, by the limit that did it."""

    def __len__(self) -> int:
        return len(self._awake) + len(self._asleep)

    def __contains__(self, key: Key) -> bool:
        return key in self._awake or key in self._asleep

    @property
    def awake(self) -> int:
        """Runs that are objects."""
        return len(self._awake)

    @property
    def state_bytes(self) -> int:
        """Bytes of all packed runs, and an estimate for the others."""
        return self._bytes + _AWAKE_BYTES * len(self._awake)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another run."""
        return len(self) >= self._limits.runs or self.state_bytes >= self._limits.state

    def rule(self, engine: Engine) -> None:
        """Judge by another policy from now on."""
        self._engine = engine
        for seat in self._awake.values():
            seat.run.rule(engine)

    def find(self, key: Key) -> Seat | None:
        """A run that is known, as an object and as the one heard last."""
        seat = self._awake.pop(key, None)
        if seat is None:
            packed = self._asleep.pop(key, None)
            if packed is None:
                return None
            self._bytes -= len(packed.state)
            seat = Seat.unpack(packed, key[1], self._engine, self._limits.lateness)
        self._awake[key] = seat
        return seat

    def awake_seat(self, key: Key) -> Seat | None:
        """A run that is an object already, wherever it stands among them."""
        return self._awake.get(key)

    def make(self, key: Key, now: int) -> Seat:
        """A new run."""
        seat = self._awake[key] = Seat(Run(key[1], self._engine, self._limits.lateness), now)
        return seat

    def forget(self, key: Key, reason: str) -> None:
        """A run is gone, its state with it."""
        packed = self._asleep.pop(key, None)
        if packed is not None:
            self._bytes -= len(packed.state)
        self._awake.pop(key, None)
        self.unsaved[key] = None
        self.dropped[reason] += 1

    def make_room(self) -> bool:
        """Forget the run that ended and was silent longest; False where every run goes on."""
        for key, packed in self._asleep.items():
            if packed.ended:
                self.forget(key, "max_runs")
                return True
        for key, seat in self._awake.items():
            if seat.ended:
                self.forget(key, "max_runs")
                return True
        return False

    def rest(self) -> None:
        """Pack the runs heard longest ago, down to as many objects as there may be."""
        while len(self._awake) > self._limits.awake:
            self._pack(next(iter(self._awake)))

    def _pack(self, key: Key) -> None:
        packed = self._packed(self._awake.pop(key))
        if packed is None:
            self.forget(key, "error")
        else:
            self.put(key, packed)

    def _packed(self, seat: Seat) -> Packed | None:
        """A run as bytes; None where that fails, by a mistake of ours."""
        try:
            return seat.pack()
        except Exception as error:  # noqa: BLE001 - one run must not take all others with it
            self._failed(error)
            return None

    def changed(self, key: Key, now: int) -> None:
        """A run's state has changed and must be saved again."""
        unsaved = self.unsaved
        if key not in unsaved:
            unsaved[key] = now
        elif unsaved[key] is None:
            del unsaved[key]  # so that the first changed stands first
            unsaved[key] = now

    def saved(self, keys: Iterable[Key]) -> Iterator[tuple[Key, Packed | None]]:
        """The states of unsaved runs, which count as saved from now on; None for one that is gone."""
        for key in keys:
            self.unsaved.pop(key, None)
            seat = self._awake.get(key)
            yield key, self._packed(seat) if seat is not None else self._asleep.get(key)

    def expired(self, key: Key, before: int) -> bool:
        """Whether a packed run ended and was silent since before a time."""
        packed = self._asleep.get(key)
        return packed is not None and packed.ended and packed.last <= before

    def put(self, key: Key, packed: Packed) -> None:
        """A run as it was saved."""
        self._asleep[key] = packed
        self._bytes += len(packed.state)

    def __iter__(self) -> Iterator[Key]:
        yield from self._awake
        yield from self._asleep
