"""What the detector keeps and takes up again: when states are saved, how far the journal goes back, and the restart.

Not the file (`store`): here it is decided what is written to it. What runs say is a function of the journal, so a
restart takes the saved states, gives them again what came in since, and passes over what they know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from otel_loopguard.errors import StoreError
from otel_loopguard.runtimes import LocalRuntime, Said
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.exchange import Exchange
from otel_loopguard.service.journal import unpack_arrivals
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.store import Entry, Mark, Saved, Store

__all__ = ["Keeper", "Pace"]

_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the detector does what it need not do at once."""

    queue_bytes: int = 64 << 20
    """Bytes of requests that wait; more are refused."""
    save_after: int = 30 * _SECOND
    """Age of a change at which its run's state is saved: the journal is as long as this."""
    save_every: int = _SECOND
    saves: int = 512
    """States written at a time."""
    journal_bytes: int = 256 << 20
    """Size of the journal above which states are saved at once."""
    heartbeat: int = 60 * _SECOND
    """How often the time is written where nothing else is."""
    heartbeat_shared: int = _SECOND
    """The same while calls wait, where other workers go by their own clocks."""


class Keeper:
    """Used by one thread."""

    def __init__(  # noqa: PLR0913, PLR0917 - its parts
        self,
        runtime: LocalRuntime,
        outbox: Outbox,
        numbers: Numbers,
        clock: Clock,
        wall: Callable[[], int],
        pace: Pace,
        store: Store | None,
        exchange: Exchange | None,
    ) -> None:
        self._runtime = runtime
        self._outbox = outbox
        self._numbers = numbers
        self._clock = clock
        self._wall = wall
        self._pace = pace
        self._store = store
        self._exchange = exchange
        self._saved_at = 0
        self._beat_at = 0
        self._cut_at = 0
        self._journal_bytes = 0
        self.number = 0
        """Of the last arrivals."""
        self.trouble: StoreError | None = None
        """Why nothing can be kept at present."""

    @property
    def keeps(self) -> bool:
        """Whether there is a file at all."""
        return self._store is not None

    def commit(self, now: int, data: bytes | None, *, everything: bool) -> bool:
        """Write what is to be written, with what came in; False where it cannot be."""
        runtime = self._runtime
        changes = self._outbox.changes()
        if self._store is None:
            self._outbox.stored(changes)
            runtime.roster.unsaved.clear()
            return True
        saving = everything or now - self._saved_at >= self._pace.save_every
        beat = now - self._beat_at >= self._heartbeat()
        if not (data or everything or beat or self._outbox.has_changes or (saving and runtime.roster.unsaved)):
            return True
        urgent = everything or self._journal_bytes > self._pace.journal_bytes
        keys = runtime.unsaved(now if urgent else now - self._pace.save_after) if saving else []
        keys = keys if everything else keys[: self._pace.saves]
        before = runtime.roster.unsaved.copy() if keys else {}
        mark = Mark(runtime.time, runtime.number, self._handed())
        saved = [Saved(key, packed, mark) for key, packed in runtime.save(keys)]
        entry = None if data is None else Entry(self.number + 1, now, data)
        try:
            self._store.commit(mark, changes, entry, saved, self._keep_from(now) if saving else None)
        except StoreError as error:
            if keys:
                runtime.roster.unsaved = before
            self.trouble = error
            self._numbers.store_failed(error)
            return False
        self.trouble = None
        self._outbox.stored(changes)
        self._beat_at = now
        if data is not None:
            self._journal_bytes += len(data)
        if saving:
            self._saved_at = now
            if now - self._cut_at > 10 * self._pace.save_every:
                self._cut_at, self._journal_bytes = now, self._store.journal_bytes()
        return True

    def _heartbeat(self) -> int:
        """How old the time that is written may be: a clock that a crash sets back hands calls over late."""
        shared = self._exchange is not None and self._exchange.share.workers > 1
        return self._pace.heartbeat_shared if shared and self._runtime.due() is not None else self._pace.heartbeat

    def _handed(self) -> int:
        """Up to which time all calls that were handed over have arrived; more may come at the present moment."""
        since = None if self._exchange is None else self._exchange.open_since
        return (self._runtime.time if since is None else min(since, self._runtime.time)) - 1

    def _keep_from(self, now: int) -> int:
        needed = self._runtime.needs(now)
        since = None if self._exchange is None else self._exchange.open_since
        return needed if since is None else min(needed, since - self._runtime.window.memory)

    def recover(self) -> list[Said]:
        """The runs as they were: their saved states, and what came in since. What they say that nobody has heard.

        Calls of others' runs that may not have arrived there are in the runtime's `handovers`.
        """
        if self._store is None:
            self._clock.resume(self._wall())
            return []
        runtime = self._runtime
        mark = self._store.mark()
        for saved in self._store.runs():
            if saved.packed is not None:
                runtime.put(saved.key, saved.packed, *saved.mark[:2])
        self._outbox.load(*self._store.outbox())
        said = self._replay(mark)
        runtime.number = self.number
        runtime.caught_up()
        runtime.handovers = [call for call in runtime.handovers if call.time > mark.handed]
        self._clock.resume(runtime.time if runtime.time > 0 else self._wall())
        return said

    def _replay(self, mark: Mark) -> list[Said]:
        runtime = self._runtime
        said: list[Said] = []
        told = False
        self.number = mark.number
        for entry in self._store.journal() if self._store is not None else ():
            if entry.number > mark.number and not told:
                runtime.on_time(mark.time)
                told = True
            found = runtime.take(unpack_arrivals(entry.data), entry.time, entry.number)
            self.number = max(self.number, entry.number)
            self._journal_bytes += len(entry.data)
            if told:
                said += found
        if not told:
            runtime.on_time(mark.time)
        return said
