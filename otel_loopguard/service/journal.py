"""What came in together, as bytes: one row of the journal, or one part of a parcel from worker to worker.

Not the store: it turns arrivals into bytes and back. They are calls after reading and fingerprint, so no content is
in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from otel_loopguard.core.value import array_of
from otel_loopguard.runtimes import Arrival, arrivals_of
from otel_loopguard.stream.reader import Ending
from otel_loopguard.stream.record import CallRecord, record_of
from otel_loopguard.stream.trace import Span

__all__ = ["pack_arrivals", "pack_parts", "unpack_arrivals"]

# The first thing in a row, so that older rows can be told apart.
_NAMED_ARRIVALS: Final = 1
"""As rows were, with the names of all fields; read still, as placed calls of that form."""
_PARTS: Final = 2
"""Several rows in one, as they came."""
_NAMED_PLACED: Final = 3
_ARRIVALS: Final = 4
_PLACED: Final = 5
"""Calls whose runs are known."""

_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=array_of)
_FORM: Final = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])
_GROUPS: Final = msgspec.msgpack.Decoder(list[tuple[str, list[Span], list[Ending]]], dec_hook=record_of)
_BYTES: Final = msgspec.msgpack.Decoder(list[bytes])
_RECORDS: Final = msgspec.msgpack.Decoder(list[tuple[str, CallRecord]], dec_hook=record_of)


def pack_arrivals(arrivals: Sequence[Arrival]) -> bytes:
    """Arrivals as bytes; their order is kept. Either all are placed calls or none is."""
    if arrivals and isinstance(arrivals[0].item, CallRecord):
        return _ENCODER.encode((_PLACED, [(one.tenant, one.item) for one in arrivals]))
    groups: list[tuple[str, list[Span], list[Ending]]] = []
    for arrival in arrivals:
        tenant, item = arrival.tenant, arrival.item
        if not groups or groups[-1][0] != tenant or (groups[-1][2] and isinstance(item, Span)):
            groups.append((tenant, [], []))
        if isinstance(item, Span):
            groups[-1][1].append(item)
        elif isinstance(item, Ending):
            groups[-1][2].append(item)
    return _ENCODER.encode((_ARRIVALS, groups))


def pack_parts(parts: Iterable[bytes]) -> bytes:
    """One row of several."""
    return _ENCODER.encode((_PARTS, list(parts)))


def unpack_arrivals(data: bytes) -> list[Arrival]:
    """The arrivals of `pack_arrivals` or `pack_parts`; raises `msgspec.DecodeError` for other bytes."""
    form, rest = _FORM.decode(data)
    if form == _PARTS:
        return [arrival for part in _BYTES.decode(rest) for arrival in unpack_arrivals(part)]
    if form in (_PLACED, _NAMED_PLACED):
        return [Arrival(tenant, record) for tenant, record in _RECORDS.decode(rest)]
    if form not in (_ARRIVALS, _NAMED_ARRIVALS):
        raise msgspec.ValidationError("a row of the journal has an unknown format")
    arrivals: list[Arrival] = []
    for tenant, spans, endings in _GROUPS.decode(rest):
        arrivals += arrivals_of(tenant, spans, endings)
    return arrivals
