"""What came in together, as bytes: one row of the journal.

Not the store: it turns arrivals into bytes and back. They are calls after reading and fingerprint, so no content is
in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from otel_loopguard.runtimes import Arrival
from otel_loopguard.stream.reader import Ending
from otel_loopguard.stream.trace import Span

__all__ = ["pack_arrivals", "unpack_arrivals"]

_FORMAT: Final = 1
"""Of a row: the first thing in it, so that older rows can be told apart."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(tuple[int, list[tuple[str, list[Span], list[Ending]]]])


def pack_arrivals(arrivals: Sequence[Arrival]) -> bytes:
    """Arrivals as bytes; their order is kept."""
    groups: list[tuple[str, list[Span], list[Ending]]] = []
    for tenant, item in arrivals:
        if not groups or groups[-1][0] != tenant or (groups[-1][2] and isinstance(item, Span)):
            groups.append((tenant, [], []))
        if isinstance(item, Span):
            groups[-1][1].append(item)
        else:
            groups[-1][2].append(item)
    return _ENCODER.encode((_FORMAT, groups))


def unpack_arrivals(data: bytes) -> list[Arrival]:
    """The arrivals of `pack_arrivals`; raises `msgspec.DecodeError` for other bytes."""
    form, groups = _DECODER.decode(data)
    if form != _FORMAT:
        raise msgspec.ValidationError("a row of the journal has an unknown format")
    arrivals: list[Arrival] = []
    for tenant, spans, endings in groups:
        arrivals.extend(Arrival(tenant, span) for span in spans)
        arrivals.extend(Arrival(tenant, ending) for ending in endings)
    return arrivals
