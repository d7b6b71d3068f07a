"""What one worker and the others have for each other: parts of requests, calls whose runs others have, and answers.

Not the wires (`links`) and not the detector, in whose thread everything here but `heard` happens. What is sent are
arrivals without content, as the journal packs them. A part of a request that is lost with a worker is refused to the
sender, who sends it again; a call that is handed over is kept in mind until its owner has kept it, and comes out of
the journal again after a crash, as far as `Mark.handed` does not say that it has arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, Protocol, cast

import msgspec

from otel_loopguard.runtimes import Arrival, Handover
from otel_loopguard.service.intake import Accepted, Answer, Refused
from otel_loopguard.service.journal import pack_arrivals
from otel_loopguard.service.partition import Share

__all__ = ["AWAY", "GREETING", "Exchange", "Parcel", "Part"]

_HELLO: Final = 0
_PARCEL: Final = 1
_REPLY: Final = 2
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(tuple[int, int, msgspec.Raw])
_PARTS: Final = msgspec.msgpack.Decoder(list[bytes])
_ANSWERS: Final = msgspec.msgpack.Decoder(list[tuple[str, str, float]])


GREETING: Final = _ENCODER.encode((_HELLO, 0, []))
"""The first frame of a wire: a worker sends it once it is ready to take parts."""
AWAY: Final = Refused("unavailable", "a part of the detector is starting again", 1.0)
"""The answer while a worker is missing."""
_AGAIN: Final = 0.5
"""Seconds until a call that could not be handed over is tried again."""
_AT_A_TIME: Final = 1024
"""Calls of a parcel."""

Reason = Literal["malformed", "too_large", "overloaded", "unavailable"]


class Part(Protocol):
    """What waits for the answer of another worker."""

    def add(self, part: Answer) -> None:
        """The answer."""
        ...


class Parcel(NamedTuple):
    """Parts of requests, or calls, that another worker wants to be kept."""

    peer: int
    wire: int
    id: int
    parts: list[bytes]
    size: int


class _Handed:
    """Calls on their way to their owner."""

    def __init__(self, exchange: Exchange, peer: int, calls: Sequence[Handover]) -> None:
        self._exchange = exchange
        self.peer = peer
        self.calls = calls

    def add(self, part: Answer) -> None:
        """They have arrived, or must be sent again."""
        self._exchange.handed_over(self, done=isinstance(part, Accepted))


class Exchange:
    """One worker's dealings with the others."""

    def __init__(self, share: Share, send: Callable[[int, int, bytes], None], now: Callable[[], float]) -> None:
        """``send`` takes a peer, the number of a wire and a frame; ``now`` gives seconds and never runs backwards."""
        self.share = share
        self._send = send
        self._now = now
        self._wires: dict[int, int] = {}
        """The wire to each peer that said hello."""
        self._posted: dict[int, list[tuple[bytes, Part]]] = {}
        self._waiting: dict[tuple[int, int], tuple[int, list[Part]]] = {}
        """Parcels without an answer by wire and number: the peer, and who waits."""
        self._next = 0
        self._open: list[_Handed] = []
        """Calls that no owner has kept yet, oldest first."""
        self._again: deque[_Handed] = deque()
        self._again_at = 0.0
        self.whole = share.workers == 1
        """All workers are there."""

    # What others send ---------------------------------------------------------------------------------------------

    def hear(self, peer: int, wire: int, frame: bytes | None) -> Parcel | None:
        """A frame of a wire, None for its end; what is to be kept is given back."""
        if frame is None:
            if self._wires.get(peer) == wire:
                del self._wires[peer]
                self._lost(peer)
            return None
        kind, number, rest = _DECODER.decode(frame)
        if kind == _HELLO:
            self._meet(peer, wire)
        elif kind == _PARCEL:
            return Parcel(peer, wire, number, _PARTS.decode(rest), len(frame))
        else:
            _, parts = self._waiting.pop((wire, number), (peer, []))
            for part, answer in zip(parts, _ANSWERS.decode(rest), strict=False):
                part.add(_answer(*answer))
        return None

    def _meet(self, peer: int, wire: int) -> None:
        """A worker is there; of two wires to it, whose readers are two threads, the newer counts."""
        known = self._wires.get(peer, -1)
        if known >= 0:
            self._lost(peer)
        self._wires[peer] = max(known, wire)
        self.whole = len(self._wires) == self.share.workers - 1

    def _lost(self, peer: int) -> None:
        """A worker is gone: what it was asked to keep may be lost."""
        self.whole = False
        for key in [key for key, (held, _) in self._waiting.items() if held == peer]:
            for part in self._waiting.pop(key)[1]:
                part.add(AWAY)

    def reply(self, parcel: Parcel, answers: Iterable[Answer]) -> None:
        """What became of a parcel's parts."""
        told = [
            ("", "", 0.0) if isinstance(one, Accepted) else (one.reason, one.message, one.retry_after)
            for one in answers
        ]
        self._send(parcel.peer, parcel.wire, _ENCODER.encode((_REPLY, parcel.id, told)))

    # What others get ----------------------------------------------------------------------------------------------

    def sort(self, arrivals: Iterable[Arrival]) -> dict[int, list[Arrival]]:
        """What came in, by the worker that takes it."""
        found: dict[int, list[Arrival]] = {}
        for arrival in arrivals:
            found.setdefault(self.share.owner_of(arrival), []).append(arrival)
        return found

    def post(self, peer: int, arrivals: Sequence[Arrival], part: Part) -> None:
        """Have another worker keep something; sent with `flush`."""
        self._posted.setdefault(peer, []).append((pack_arrivals(arrivals), part))

    def flush(self) -> None:
        """Send what was posted."""
        posted, self._posted = self._posted, {}
        for peer, parts in posted.items():
            wire = self._wires.get(peer)
            if wire is None:
                for _, part in parts:
                    part.add(AWAY)
                continue
            self._next += 1
            self._waiting[wire, self._next] = peer, [part for _, part in parts]
            self._send(peer, wire, _ENCODER.encode((_PARCEL, self._next, [data for data, _ in parts])))

    # Calls of others' runs ----------------------------------------------------------------------------------------

    def hand_over(self, calls: Iterable[Handover]) -> None:
        """Bring calls to the owners of their runs, now and as often as it takes."""
        by_owner: dict[int, list[Handover]] = {}
        for call in calls:
            by_owner.setdefault(self.share.owner(call.tenant, call.record.run_id), []).append(call)
        for peer, some in by_owner.items():
            for begin in range(0, len(some), _AT_A_TIME):
                handed = _Handed(self, peer, some[begin : begin + _AT_A_TIME])
                self._open.append(handed)
                self._post_calls(handed)
        if self._again and self._now() >= self._again_at:
            again, self._again = self._again, deque()
            for handed in again:
                self._post_calls(handed)
        self.flush()

    def _post_calls(self, handed: _Handed) -> None:
        self.post(handed.peer, [Arrival(call.tenant, call.record) for call in handed.calls], handed)

    def handed_over(self, handed: _Handed, *, done: bool) -> None:
        """An owner has kept some calls, or not."""
        if done:
            self._open.remove(handed)
        else:
            self._again.append(handed)
            self._again_at = self._now() + _AGAIN

    @property
    def open_since(self) -> int | None:
        """The time of the oldest call that no owner has kept yet."""
        return min((handed.calls[0].time for handed in self._open), default=None)


def _answer(reason: str, message: str, retry_after: float) -> Answer:
    return Refused(cast("Reason", reason), message, retry_after) if reason else Accepted()
