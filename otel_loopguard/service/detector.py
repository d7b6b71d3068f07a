"""The detector: requests become arrivals, arrivals are kept, runs judge them, and what they say is kept for the sinks.

Not a receiver and not a sink. One thread does everything in steps: read what came in, commit it together with what
was said in the step before, answer, let the runs judge. A crash between any two of these loses nothing: what was
answered is in the journal, and what runs say is a function of the journal (see `runtimes.local`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from otel_loopguard.errors import StoreError
from otel_loopguard.runtimes import Arrival, LocalRuntime, Said, arrivals_of
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.exchange import AWAY, Exchange, Parcel
from otel_loopguard.service.intake import Accepted, Answer, Refused, Request
from otel_loopguard.service.joint import Joint
from otel_loopguard.service.journal import pack_arrivals, pack_parts, unpack_arrivals
from otel_loopguard.service.keeper import Keeper, Pace
from otel_loopguard.service.message import Message, message_of
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.reading import MalformedError, Reading, TooManyError
from otel_loopguard.service.store import Store
from otel_loopguard.stream.trace import Span

__all__ = ["Detector"]

_REJECTED: Final = "a termination reason is longer than 256 characters, or a span could not be read"
_PER_STEP: Final = 64
"""Requests of one commit: enough that its sync is cheap for each, few enough that the first does not wait long."""
_REFUSED: Final = {
    "stopping": Refused("unavailable", "the detector is stopping"),
    "away": AWAY,
    "full": Refused("overloaded", "too many requests are waiting"),
}


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
        exchange: Exchange | None = None,
        pace: Pace | None = None,
        policy_version: Callable[[], str] = str,
        died: Callable[[], None] = lambda: None,
    ) -> None:
        """``exchange``: with the other workers, where this is one of several. ``died`` is called when the thread ends
        by a mistake of ours: what was answered is on the disk, a new process takes it up.
        """
        self._died = died
        self._runtime = runtime
        self._reading = reading
        self._outbox = outbox
        self._numbers = numbers
        self._clock = clock
        self._wall = wall
        self._exchange = exchange
        self._keeper = Keeper(runtime, outbox, numbers, clock, wall, pace or Pace(), store, exchange)
        self._queue_bytes = (pace or Pace()).queue_bytes
        self._mail: deque[tuple[int, int, bytes | None]] = deque()
        self._policy_version = policy_version
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="loopguard-detector", daemon=True)

    # From other threads -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what was saved, then work until `stop`. Raises `StoreError`."""
        self.recover()
        self._thread.start()

    def recover(self) -> None:
        """Take up what was saved. Raises `StoreError`."""
        self._say(self._keeper.recover())
        self._hand_over()

    def stop(self) -> None:
        """Answer what waits, save everything, end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def close(self) -> None:
        """Write what sinks have had since; after `stop`."""
        self._keeper.commit(self._clock.now(), None, everything=True)

    def submit(self, request: Request, answer: Callable[[Answer], None]) -> None:
        """Take in a request; ``answer`` is called once, from any thread."""
        with self._changed:
            refused = self._refusal(len(request.body))
            if refused is None:
                self._waiting.append(_Waiting(request, answer, self._wall()))
                self._waiting_bytes += len(request.body)
                if len(self._waiting) == 1:
                    self._changed.notify()
        if refused is not None:
            self._numbers.answered(refused)
            answer(refused)

    def _refusal(self, size: int) -> Refused | None:
        if self._stopping:
            return _REFUSED["stopping"]
        if not self.is_whole:
            return _REFUSED["away"]
        return _REFUSED["full"] if self._waiting_bytes > 0 and self._waiting_bytes + size > self._queue_bytes else None

    def hear(self, peer: int, wire: int, frame: bytes | None) -> None:
        """Another worker has sent a frame, or its wire has ended."""
        with self._changed:
            self._mail.append((peer, wire, frame))
            self._changed.notify()

    @property
    def is_whole(self) -> bool:
        """Whether all other workers are there."""
        return self._exchange is None or self._exchange.whole

    @property
    def trouble(self) -> StoreError | None:
        """Why nothing can be kept at present."""
        return self._keeper.trouble

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
            if not (self._waiting or self._mail or self._stopping or self._outbox.is_unstored):
                self._changed.wait(self._pause())
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), _PER_STEP))], self._stopping

    def _pause(self) -> float:
        due = self._runtime.due()
        return min(1.0, 1.0 if due is None else self._clock.until(due) + 0.001)

    def _step(self, batch: Sequence[_Waiting], *, everything: bool = False) -> None:
        parcels = self._open_mail()
        now = self._clock.now()
        arrivals: list[Arrival] = []
        answers = [self._take(one, arrivals) for one in batch]
        own, parts = len(arrivals), list[bytes]()
        replies = [(parcel, self._take_parcel(parcel, arrivals, parts)) for parcel in parcels]
        if self._exchange is not None:
            self._exchange.flush()  # so that the others write while we do
        if not self._keeper.commit(now, self._row(arrivals, own, parts), everything=everything):
            self._refuse([add for add, _ in answers], parcels)
            return
        for add, answer in answers:
            add(answer)
        for parcel, found in replies:
            self._exchange_of().reply(parcel, found)
        if arrivals:
            self._keeper.number += 1
            self._numbers.last_record = self._wall()
            said = self._runtime.take(arrivals, now, self._keeper.number)
        else:
            said = self._runtime.on_time(now)
        self._say(said)
        self._hand_over()
        if batch:
            self._numbers.took(self._wall() - batch[0].since)

    def _hand_over(self) -> None:
        """Bring calls of others' runs there."""
        if self._exchange is not None:
            handovers, self._runtime.handovers = self._runtime.handovers, []
            self._exchange.hand_over(handovers)

    def _refuse(self, answers: Iterable[Callable[[Answer], None]], parcels: Iterable[Parcel]) -> None:
        """Nothing could be written."""
        refused = Refused("unavailable", str(self.trouble), 5.0)
        for add in answers:
            add(refused)
        for parcel in parcels:
            self._exchange_of().reply(parcel, [refused] * len(parcel.parts))
        with self._changed:
            self._changed.wait(0.2)  # senders try again; a disk that is full stays so for a while

    def _row(self, arrivals: list[Arrival], own: int, parts: list[bytes]) -> bytes | None:
        """What the journal gets. An arrival that cannot be written, by a mistake of ours, is left out and counted."""
        if not arrivals or not self._keeper.keeps:
            return None
        try:
            data = pack_arrivals(arrivals[:own])
        except Exception as error:  # noqa: BLE001 - one sender's span must not take all others with it
            self._numbers.mistaken(error)
            kept = [one for one in arrivals[:own] if _is_packable(one)]
            arrivals[:own] = kept
            data = pack_arrivals(kept)
        return pack_parts([data, *parts]) if parts else data

    # Requests -----------------------------------------------------------------------------------------------------

    def _take(self, waiting: _Waiting, arrivals: list[Arrival]) -> tuple[Callable[[Answer], None], Answer]:
        """Read a request: what is ours is added to the arrivals. Who wants the answer, and the answer."""

        def answered(answer: Answer) -> None:
            self._numbers.answered(answer)  # first: who has an answer finds it counted
            with self._changed:
                self._waiting_bytes -= len(waiting.request.body)
            waiting.answer(answer)

        try:
            read = self._reading.read(waiting.request)
        except MalformedError as error:
            return answered, Refused("malformed", str(error))
        except TooManyError as error:
            return answered, Refused("too_large", str(error))
        tenant = waiting.request.tenant
        found = arrivals_of(tenant, read.spans, read.endings)
        answer = Accepted(read.rejected, read.why or (_REJECTED if read.rejected else ""))
        exchange = self._exchange
        if exchange is None:
            refused = self._admit(found, arrivals)
            self._numbers.items += 0 if refused else read.items
            return answered, refused or answer
        self._numbers.items += read.items
        sorted_ = exchange.sort(found)
        own = sorted_.pop(exchange.share.worker, [])
        joint = Joint(1 + len(sorted_), answered)
        for peer, others in sorted_.items():
            self._post(peer, others, joint)
        return joint.add, self._admit(own, arrivals) or answer

    def _post(self, peer: int, arrivals: list[Arrival], joint: Joint) -> None:
        exchange = self._exchange_of()
        try:
            exchange.post(peer, arrivals, joint)
        except Exception as error:  # noqa: BLE001 - as in the journal
            self._numbers.mistaken(error)
            exchange.post(peer, [one for one in arrivals if _is_packable(one)], joint)

    def _take_parcel(self, parcel: Parcel, arrivals: list[Arrival], parts: list[bytes]) -> list[Answer]:
        """What another worker wants us to keep; an answer for each part."""
        answers: list[Answer] = []
        for data in parcel.parts:
            refused = self._admit(unpack_arrivals(data), arrivals)
            if refused is None:
                parts.append(data)
            answers.append(refused or Accepted())
        return answers

    def _admit(self, found: list[Arrival], arrivals: list[Arrival]) -> Refused | None:
        """Add what came in to the arrivals, unless it begins a run that there is no room for."""
        runtime = self._runtime
        if (
            runtime.roster.is_full
            and any(_begins_run(one, runtime) for one in found)
            and not runtime.roster.make_room()
        ):
            limits = runtime.limits
            return Refused("overloaded", f"no room for another run: the limit is {limits.runs:,} runs", 30.0)
        arrivals.extend(found)
        return None

    def _open_mail(self) -> list[Parcel]:
        """What other workers want us to keep; time stands still while one of them is missing."""
        exchange = self._exchange
        if exchange is None:
            return []
        with self._changed:
            mail, self._mail = self._mail, deque()
        found = [parcel for letter in mail if (parcel := exchange.hear(*letter)) is not None]
        if exchange.whole:
            self._clock.release()
        else:
            self._clock.hold()
        return found

    def _exchange_of(self) -> Exchange:
        if self._exchange is None:
            raise RuntimeError("there are no other workers")
        return self._exchange

    # What runs say ------------------------------------------------------------------------------------------------

    def _say(self, said: Sequence[Said]) -> None:
        if not said:
            return
        wall, version = self._wall(), self._policy_version()
        messages: list[Message] = []
        for one in self._numbers.count(said):
            message = message_of(one, version, wall)
            if message is not None:
                messages.append(message)
        self._outbox.add(messages)


def _begins_run(arrival: Arrival, runtime: LocalRuntime) -> bool:
    item = arrival.item
    return isinstance(item, Span) and item.call is not None and runtime.is_new(arrival.tenant, item)


def _is_packable(arrival: Arrival) -> bool:
    try:
        pack_arrivals([arrival])
    except Exception:  # noqa: BLE001 - whatever it is, it cannot be kept
        return False
    return True
