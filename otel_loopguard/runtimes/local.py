"""A host of runs in this process: what comes in finds its run, what is due is done, in the order of time.

Not a server and not a store: it is told what came, numbered, and what time it is, and gives back what runs say. That
is a function of its input alone, so a host that starts from saved states and is given again what came since says and
knows the same: an arrival or a wake-up that a run's state holds already is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from otel_loopguard.core.engine import Engine
from otel_loopguard.runtimes._base import Arrival, Handover, Limits, Said
from otel_loopguard.runtimes.packed import Packed
from otel_loopguard.runtimes.roster import Roster
from otel_loopguard.runtimes.seat import Key, Seat
from otel_loopguard.stream.events import Found, Nudged, Observed, RunEnd, RunEvent
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.timers import Timers
from otel_loopguard.stream.trace import Span
from otel_loopguard.stream.window import TraceEnd, Window

__all__ = ["LocalRuntime"]

_STRENGTH = {"info": 0, "nudge": 1, "stop": 2}


class LocalRuntime:
    """Runs by tenant and run id."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits | None = None,
        failed: Callable[[Exception], None] = lambda _: None,
        owns: Callable[[Key], bool] | None = None,
    ) -> None:
        """``failed`` hears of a run that could not be judged, by a mistake of ours; that run is given up.

        ``owns``: whether a run is this host's; None: all are. Calls of other runs become `handovers`.
        """
        self.limits = Limits() if limits is None else limits
        self._soonest = min(self.limits.lateness, self.limits.idle, self.limits.age)
        """No event makes a run want to be woken earlier than this after it, unless it wanted to be already."""
        self.window = Window(self.limits.lateness // 2)
        self.roster = Roster(engine, self.limits, failed)
        self._failed = failed
        self._owns = owns
        self.handovers: list[Handover] = []
        """Calls whose runs other hosts have, in the order of their times, for whoever brings them there."""
        self._timers = Timers()
        self.number = -1
        """Of the last arrivals."""
        self.time = -1
        """Everything that was due by then is done."""
        self._saved: dict[Key, tuple[int, int]] = {}
        """What is part of a run's saved state: wake-ups up to a time, arrivals up to a number."""

    # What comes in ------------------------------------------------------------------------------------------------

    def take(self, arrivals: Sequence[Arrival], now: int, number: int | None = None) -> list[Said]:
        """Take in what came at one moment, under a number that grows with every call."""
        said = self.on_time(now)
        self.number = self.number + 1 if number is None else number
        for arrival in arrivals:
            tenant, item = arrival.tenant, arrival.item
            if isinstance(item, Span):
                call = item.call
                if call is not None and call.run_id:  # its own marks placed it
                    self._place(tenant, call, now, said, is_arrival=True)
                    continue
                placed = self.window.add(tenant, item, now)
                if placed is not None:
                    self._place(tenant, placed.record, now, said, is_arrival=True)
            elif isinstance(item, CallRecord):
                self._seat_call(tenant, item, now, said, is_arrival=True)
            else:
                self._end((tenant, item.run_id), item.reason, now, told=True)
        self.roster.rest()
        return said

    def on_time(self, now: int) -> list[Said]:
        """Do what is due by now, each at its own time."""
        said: list[Said] = []
        timers = self._timers
        placing = self.window.due()
        while True:
            at = timers.due()
            if placing is not None and (at is None or placing <= at):
                at = placing
            if at is None or at > now:
                break
            self.time = max(self.time, at)
            if placing == at:
                for found in self.window.take(at):
                    if isinstance(found, TraceEnd):
                        self._end_trace(found, at)
                    else:
                        self._place(found.tenant, found.record, at, said, is_arrival=False)
                placing = self.window.due()
            else:
                for key in timers.take():
                    self._wake(at, key, said)
        self.roster.rest()
        self.time = max(self.time, now)
        return said

    def due(self) -> int | None:
        """When `on_time` has something to do."""
        return _earlier(self.window.due(), self._timers.due())

    def is_new(self, tenant: str, span: Span) -> bool:
        """Whether a call may begin a run that is not known yet."""
        named = None if span.hints is None else span.hints.run_id
        key = tenant, named or span.trace_id
        if self._owns is not None and not self._owns(key):
            return False
        return key not in self.roster and not self.window.knows(tenant, span.trace_id)

    def _place(self, tenant: str, record: CallRecord, now: int, said: list[Said], *, is_arrival: bool) -> None:
        if self._owns is not None and not self._owns((tenant, record.run_id)):
            self.handovers.append(Handover(now, tenant, record))
        else:
            self._seat_call(tenant, record, now, said, is_arrival=is_arrival)

    def _seat_call(self, tenant: str, record: CallRecord, now: int, said: list[Said], *, is_arrival: bool) -> None:
        key = tenant, record.run_id
        seat = self.roster.find(key) or self._seat(key, now)
        if self._saved and self._knows(key, now, is_arrival=is_arrival):
            return
        seat.last = now
        try:
            self._say(key, seat, seat.run.on_record(record, now), said)
        except Exception as error:  # noqa: BLE001 - one run must not take all others with it
            self._give_up(key, error)
            return
        self._after(key, seat, now)

    def _end(self, key: Key, reason: str, now: int, *, told: bool) -> None:
        """A process says that its run ended; calls of it may still wait for their places."""
        seat = self._seat(key, now)
        if self._saved and self._knows(key, now, is_arrival=told):
            return
        seat.told = seat.told or told
        seat.run.on_end(reason, now + self.limits.lateness // 2)
        self._after(key, seat, now)

    def _end_trace(self, end: TraceEnd, now: int) -> None:
        """The trace of a run ended that nobody named."""
        key = end.tenant, end.trace_id
        if key in self.roster:
            self._end(key, "", now, told=False)

    def _seat(self, key: Key, now: int) -> Seat:
        seat = self.roster.find(key)
        if seat is None:
            if self.roster.is_full:
                self.roster.make_room()
            seat = self.roster.make(key, now)
        return seat

    def _knows(self, key: Key, now: int, *, is_arrival: bool) -> bool:
        time, number = self._saved.get(key, (-1, -1))
        return self.number <= number if is_arrival else now <= time

    # Time ---------------------------------------------------------------------------------------------------------

    def _wake(self, at: int, key: Key, said: list[Said]) -> None:
        seat = self.roster.awake_seat(key)
        if seat is None:
            if self.roster.expired(key, at - self.limits.age):
                self.roster.forget(key, "age")
                return
            seat = self.roster.find(key)
        if seat is None or seat.timer != at:
            return
        seat.timer = None
        if seat.ended and seat.last + self.limits.age <= at:
            self.roster.forget(key, "age")
            return
        if not seat.ended and seat.last + self.limits.idle <= at:
            seat.ended = True
            seat.run.on_end("", at)
        try:
            self._say(key, seat, seat.run.on_time(at), said)
        except Exception as error:  # noqa: BLE001 - one run must not take all others with it
            self._give_up(key, error)
            return
        self._after(key, seat, at)

    def _give_up(self, key: Key, error: Exception) -> None:
        self.roster.forget(key, "error")
        self._failed(error)

    def _after(self, key: Key, seat: Seat, now: int) -> None:
        self.roster.changed(key, now)
        if seat.timer is not None and seat.timer <= now + self._soonest:
            return
        due = max(seat.due(self.limits.idle, self.limits.age), now)
        if seat.timer is None or due < seat.timer:
            seat.timer = due
            self._timers.set(due, key)

    # What runs say ------------------------------------------------------------------------------------------------

    @staticmethod
    def _say(key: Key, seat: Seat, events: list[RunEvent], said: list[Said]) -> None:
        for event in events:
            reported = False
            if isinstance(event, Observed):
                seat.ended = False
            elif isinstance(event, Found):
                seat.strongest = max(seat.strongest, _STRENGTH[event.finding.action])
                reported = event.reported
                seat.note(event.agent, event.finding.kind, theirs=reported)
            elif isinstance(event, Nudged):
                reported = (event.agent, event.outcome.kind) in seat.theirs
            elif isinstance(event, RunEnd):
                reported, seat.told, seat.ended = seat.told, False, True
            said.append(Said(key[0], event, reported, seat.strongest))

    # What is kept -------------------------------------------------------------------------------------------------

    def unsaved(self, until: int) -> list[Key]:
        """The runs that changed up to a time and were not saved since, and those that are gone."""
        return [key for key, since in self.roster.unsaved.items() if since is None or since <= until]

    def save(self, keys: Iterable[Key]) -> Iterator[tuple[Key, Packed | None]]:
        """The states of some unsaved runs, None for one that is gone; they count as saved from now on."""
        return self.roster.saved(keys)

    def needs(self, now: int) -> int:
        """Arrivals from this time on must be given again to a host that starts from the saved states."""
        first = next((since for since in self.roster.unsaved.values() if since is not None), now)
        return min(first, now) - self.window.memory

    def put(self, key: Key, packed: Packed, time: int, number: int) -> None:
        """A run as it was saved when the host had come to a time and a number; before anything is taken in."""
        self.roster.put(key, packed)
        self._saved[key] = time, number
        if packed.timer is not None:
            self._timers.set(packed.timer, key)

    def caught_up(self) -> None:
        """Everything since the states were saved has been given again."""
        self._saved.clear()


def _earlier(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
