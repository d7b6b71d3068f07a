"""The detector: requests become arrivals, arrivals are kept, runs judge them, and what they say is kept for the sinks.

Not a receiver and not a sink. One thread does everything in steps: read what came in, commit it together with what
was said in the step before, answer, let the runs judge. A crash between any two of these loses nothing: what was
answered is in the journal, and what runs say is a function of the journal (see `runtimes.local`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from otel_loopguard.errors import StoreError
from otel_loopguard.runtimes import Arrival, LocalRuntime, Said
from otel_loopguard.service.intake import Accepted, Answer, Refused, Request
from otel_loopguard.service.journal import pack_arrivals, unpack_arrivals
from otel_loopguard.service.message import Message, message_of
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.reading import MalformedError, Read, Reading, TooManyError
from otel_loopguard.service.store import Entry, Mark, Saved, Store

__all__ = ["Clock", "Detector", "Pace"]

_SECOND: Final = 1_000_000_000
_PER_STEP: Final = 64
"""Requests of one commit: enough that its sync is cheap for each, few enough that the first does not wait long."""


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


class Clock:
    """Time as runs know it: it stands still while the detector is down, so that a restart makes nothing late."""

    def __init__(self, wall: Callable[[], int], tick: int) -> None:
        """``tick``: what comes within it came at one time, so that a busy run is judged a few times a second."""
        self._wall = wall
        self._tick = max(1, tick)
        self._behind = 0
        self._last = 0

    def resume(self, at: int) -> None:
        """Go on from a time."""
        self._behind = max(0, self._wall() - at)
        self._last = at

    def now(self) -> int:
        """The time: never less than before."""
        time = self._wall() - self._behind
        self._last = max(self._last, time - time % self._tick)
        return self._last

    def until(self, at: int) -> float:
        """Seconds until a time comes."""
        return max(0.0, (at - (self._wall() - self._behind)) / _SECOND)


class _Waiting(NamedTuple):
    request: Request
    answer: Callable[[Answer], None]
    since: int


class Detector:
    """Requests in, messages out."""

    def __init__(  # noqa: PLR0913, PLR0917 - its parts
        self,
        runtime: LocalRuntime,
        reading: Reading,
        outbox: Outbox,
        numbers: Numbers,
        clock: Clock,
        wall: Callable[[], int],
        *,
        store: Store | None = None,
        pace: Pace | None = None,
        policy_version: Callable[[], str] = str,
        died: Callable[[], None] = lambda: None,
    ) -> None:
        """``died`` is called when the thread ends by a mistake of ours: what was answered is on the disk, a new
        process takes it up.
        """
        self._died = died
        self._runtime = runtime
        self._reading = reading
        self._outbox = outbox
        self._numbers = numbers
        self._clock = clock
        self._wall = wall
        self._store = store
        self._pace = Pace() if pace is None else pace
        self._policy_version = policy_version
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._saved_at = 0
        self._beat_at = 0
        self._cut_at = 0
        self._number = 0
        self._journal_bytes = 0
        self.trouble: StoreError | None = None
        """Why nothing can be kept at present."""
        self._thread = threading.Thread(target=self._work, name="loopguard-detector", daemon=True)

    # From other threads -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what was saved, then work until `stop`. Raises `StoreError`."""
        self._recover()
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, save everything, end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def close(self) -> None:
        """Write what sinks have had since; after `stop`."""
        self._commit(self._clock.now(), None, everything=True)

    def submit(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Take in a request; ``answer`` is called once, from any thread."""
        with self._changed:
            too_much = self._waiting_bytes + len(request.body) > self._pace.queue_bytes and bool(self._waiting)
            refused = self._stopping or too_much
            if not refused:
                self._waiting.append(_Waiting(request, answer, self._wall()))
                self._waiting_bytes += len(request.body)
                if len(self._waiting) == 1:
                    self._changed.notify()
        if refused:
            words = "the detector is stopping" if self._stopping else "too many requests are waiting"
            self._numbers.refused("unavailable" if self._stopping else "overloaded")
            answer(Refused("unavailable" if self._stopping else "overloaded", words))

    def wake(self) -> None:
        """There is something to write."""
        with self._changed:
            self._changed.notify()

    @property
    def queued(self) -> int:
        """Requests that wait."""
        return len(self._waiting)

    @property
    def runtime(self) -> LocalRuntime:
        """The runs; to be counted, not touched."""
        return self._runtime

    # The thread ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while True:
                batch, stopping = self._gather()
                self._step(batch, everything=stopping and not self._waiting)
                if stopping and not self._waiting:
                    self._step([], everything=True)
                    return
        except BaseException:
            self._died()
            raise

    def _gather(self) -> tuple[list[_Waiting], bool]:
        with self._changed:
            if not self._waiting and not self._stopping and not self._outbox.is_unstored:
                self._changed.wait(self._pause())
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _PER_STEP))]
            self._waiting_bytes -= sum(len(one.request.body) for one in batch)
            return batch, self._stopping

    def _pause(self) -> float:
        due = self._runtime.due()
        return min(1.0, 1.0 if due is None else self._clock.until(due) + 0.001)

    def _step(self, batch: Sequence[_Waiting], *, everything: bool = False) -> None:
        now = self._clock.now()
        arrivals: list[Arrival] = []
        answers: list[tuple[_Waiting, Answer]] = [(one, self._read(one.request, arrivals)) for one in batch]
        entry = self._entry(now, arrivals)
        if not self._commit(now, entry, everything=everything):
            reason = str(self.trouble)
            self._numbers.refused("unavailable", len(answers))
            for one, _ in answers:
                one.answer(Refused("unavailable", reason, 5.0))
            with self._changed:
                self._changed.wait(0.2)  # senders try again; a disk that is full stays so for a while
            return
        for one, answer in answers:
            self._numbers.answered(answer)  # first: who has an answer finds it counted
            one.answer(answer)
        if arrivals:
            self._number += 1
            self._numbers.last_record = self._wall()
            said = self._runtime.take(arrivals, now, self._number)
        else:
            said = self._runtime.on_time(now)
        self._say(said)
        if batch:
            self._numbers.took(self._wall() - batch[0].since)

    def _entry(self, now: int, arrivals: list[Arrival]) -> Entry | None:
        """What the journal gets. An arrival that cannot be written, by a mistake of ours, is left out and counted."""
        if not arrivals or self._store is None:
            return None
        try:
            data = pack_arrivals(arrivals)
        except Exception as error:  # noqa: BLE001 - one sender's span must not take all others with it
            self._numbers.mistaken(error)
            arrivals[:] = [one for one in arrivals if _is_packable(one)]
            data = pack_arrivals(arrivals)
        return Entry(self._number + 1, now, data)

    def _read(self, request: Request, arrivals: list[Arrival]) -> Answer:
        try:
            read = self._reading.read(request)
        except MalformedError as error:
            return Refused("malformed", str(error))
        except TooManyError as error:
            return Refused("too_large", str(error))
        tenant = request.tenant
        if self._runtime.roster.is_full and not self._room(tenant, read):
            limits = self._runtime.limits
            return Refused("overloaded", f"no room for another run: the limit is {limits.runs:,} runs", 30.0)
        arrivals.extend(Arrival(tenant, span) for span in read.spans)
        arrivals.extend(Arrival(tenant, ending) for ending in read.endings)
        self._numbers.items += read.items
        if read.rejected:
            why = "a termination reason is longer than 256 characters, or a span could not be read"
            return Accepted(read.rejected, why)
        return Accepted()

    def _room(self, tenant: str, read: Read) -> bool:
        """Whether a request begins no run that there is no room for."""
        if not any(span.call is not None and self._runtime.is_new(tenant, span) for span in read.spans):
            return True
        return self._runtime.roster.make_room()

    def _say(self, said: Sequence[Said]) -> None:
        if not said:
            return
        wall, version = self._wall(), self._policy_version()
        messages: list[Message] = []
        for one in said:
            self._numbers.count(one)
            message = message_of(one, version, wall)
            if message is not None:
                messages.append(message)
        self._outbox.add(messages)

    # Keeping ------------------------------------------------------------------------------------------------------

    def _commit(self, now: int, entry: Entry | None, *, everything: bool) -> bool:
        """Write what is to be written; False where it cannot be."""
        runtime = self._runtime
        changes = self._outbox.changes()
        if self._store is None:
            self._outbox.stored(changes)
            runtime.roster.unsaved.clear()
            return True
        saving = everything or now - self._saved_at >= self._pace.save_every
        beat = now - self._beat_at >= self._pace.heartbeat
        if not (entry or everything or beat or self._outbox.has_changes or (saving and runtime.roster.unsaved)):
            return True
        urgent = everything or self._journal_bytes > self._pace.journal_bytes
        keys = runtime.unsaved(now if urgent else now - self._pace.save_after) if saving else []
        keys = keys if everything else keys[: self._pace.saves]
        before = runtime.roster.unsaved.copy() if keys else {}
        mark = Mark(runtime.time, runtime.number)
        saved = [Saved(key, packed, mark) for key, packed in runtime.save(keys)]
        keep_from = runtime.needs(now) if saving else None
        try:
            self._store.commit(mark, changes, entry, saved, keep_from)
        except StoreError as error:
            if keys:
                runtime.roster.unsaved = before
            self.trouble = error
            self._numbers.store_failed(error)
            return False
        self.trouble = None
        self._outbox.stored(changes)
        self._beat_at = now
        if entry is not None:
            self._journal_bytes += len(entry.data)
        if saving:
            self._saved_at = now
            if now - self._cut_at > 10 * self._pace.save_every:
                self._cut_at, self._journal_bytes = now, self._store.journal_bytes()
        return True

    def _recover(self) -> None:
        """The runs as they were: their saved states, and what came in since."""
        if self._store is None:
            self._clock.resume(self._wall())
            return
        mark = self._store.mark()
        for saved in self._store.runs():
            if saved.packed is not None:
                self._runtime.put(saved.key, saved.packed, *saved.mark)
        self._outbox.load(*self._store.outbox())
        said: list[Said] = []
        told = False
        self._number = mark.number
        for entry in self._store.journal():
            if entry.number > mark.number and not told:
                self._runtime.on_time(mark.time)
                told = True
            found = self._runtime.take(unpack_arrivals(entry.data), entry.time, entry.number)
            self._number = max(self._number, entry.number)
            self._journal_bytes += len(entry.data)
            if told:
                said += found
        if not told:
            self._runtime.on_time(mark.time)
        self._runtime.number = self._number
        self._runtime.caught_up()
        self._say(said)
        self._clock.resume(self._runtime.time if self._runtime.time > 0 else self._wall())


def _is_packable(arrival: Arrival) -> bool:
    try:
        pack_arrivals([arrival])
    except Exception:  # noqa: BLE001 - whatever it is, it cannot be kept
        return False
    return True
