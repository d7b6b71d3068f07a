"""What a run is between two records, as bytes: for state files, checkpoints and runs that wait.

Not a wire format: only this package reads it. It holds tags, numbers and names, no content. The first byte is the
version; a release reads all versions up to its own and refuses newer ones.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from otel_loopguard.core.value import mapping_of
from otel_loopguard.errors import StateError
from otel_loopguard.stream.events import Doubt
from otel_loopguard.stream.held import Held, Number
from otel_loopguard.stream.line import Met
from otel_loopguard.stream.record import CallRecord, record_of

__all__ = [
    "VERSION",
    "HeldState",
    "LineState",
    "MetState",
    "NumberingState",
    "RunState",
    "held_of",
    "held_state_of",
    "met_of",
    "pack_run",
    "state_of",
    "unpack_run",
]

VERSION: Final = 2
"""2: what is remembered of judged calls takes half the bytes; of version 1 it is left out."""

_TRACE_ID: Final = re.compile("[0-9a-f]{32}")
_SPAN_ID: Final = re.compile("[0-9a-f]{16}")
_BOTH: Final = 24
"""Bytes of a trace and a span id."""


class MetState(msgspec.Struct, array_like=True, omit_defaults=True):
    """A judged call of which findings may still be made."""

    place: int
    offset: int
    span: bytes
    """Trace and span id as bytes; empty where they are none, and then `names` has them."""
    numbers: list[tuple[str, str, int]]
    reported: tuple[tuple[str, str], ...] = ()
    found: list[tuple[str, str]] = []
    names: tuple[str, str, str] | None = None
    """Reference, trace and span id, where they are not made of ``span``."""


class LineState(msgspec.Struct, array_like=True):
    """The history of one agent and scope."""

    agent: str
    scope: str
    history: bytes
    recent: list[MetState]
    stretches: list[tuple[int, int]]


class NumberingState(msgspec.Struct, array_like=True):
    """What is known of the processes' numbers."""

    forgot: bool
    numbered: list[str]
    unnumbered: list[str]
    series: list[tuple[str, str, int, int, list[int]]]
    """Process, agent, next number, latest start, numbers heard of."""


class HeldState(msgspec.Struct, gc=False):
    """A record that waits."""

    record: CallRecord
    arrived: int
    index: int
    copies: int = 1
    indexes: tuple[int, ...] = ()
    tags: tuple[int, ...] = ()


class RunState(msgspec.Struct, array_like=True):
    """All of a run."""

    memory: bytes
    lines: list[LineState]
    dropped: int
    held: list[HeldState]
    arrivals: int
    numbering: NumberingState
    settled: bytes
    """Of `Settled`."""
    place: int
    totals: tuple[int, int, int, bool, bool]
    doubted: list[tuple[Doubt, str]]
    reported: list[tuple[str, str, int, str, str]]
    message: str
    ending: tuple[int, str] | None


_NOTHING_SETTLED: Final = bytes(2)
_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=mapping_of)
_DECODER: Final = msgspec.msgpack.Decoder(RunState, dec_hook=record_of)


def pack_run(state: RunState) -> bytes:
    """A run's state as bytes."""
    return bytes([VERSION]) + _ENCODER.encode(state)


def unpack_run(data: bytes) -> RunState:
    """The state that bytes were made of; raises `StateError` for a newer release's, and for what is none."""
    if data[:1] > bytes([VERSION]):
        raise StateError(
            f"a run of version {data[0]}, which a newer release wrote; this one reads up to {VERSION}, "
            "so use that release or start with an empty state"
        )
    if data[:1] not in (b"\1", bytes([VERSION])):
        raise StateError("not a run")
    try:
        state = _DECODER.decode(data[1:])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StateError("a run that is damaged") from None
    if data[:1] == b"\1":
        state.settled = _NOTHING_SETTLED
    return state


def state_of(met: Met) -> MetState:
    """A judged call as its state; the times of its numbers are of no use any more."""
    numbers = [(one.process_id, one.agent, one.sequence) for one in met.numbers]
    is_span = bool(_TRACE_ID.fullmatch(met.trace_id) and _SPAN_ID.fullmatch(met.span_id))
    is_plain = is_span and met.reference == f"{met.trace_id}/{met.span_id}"
    return MetState(
        met.place,
        met.number - met.place,
        bytes.fromhex(met.trace_id + met.span_id) if is_plain else b"",
        numbers,
        met.reported,
        sorted(met.found),
        None if is_plain else (met.reference, met.trace_id, met.span_id),
    )


def met_of(state: MetState) -> Met:
    """The judged call of a state; raises `StateError`."""
    if state.names is not None:
        reference, trace_id, span_id = state.names
    elif len(state.span) == _BOTH:
        trace_id, span_id = state.span[:16].hex(), state.span[16:].hex()
        reference = f"{trace_id}/{span_id}"
    else:
        raise StateError("a run that is damaged")
    numbers = tuple(Number(*number) for number in state.numbers)
    number = state.place + state.offset
    return Met(state.place, number, reference, trace_id, span_id, numbers, state.reported, tuple(state.found))


def held_state_of(held: Held) -> HeldState:
    """A record that waits as its state."""
    return HeldState(held.record, held.arrived, held.index, held.copies, held.indexes, held.tags)


def held_of(state: HeldState) -> Held:
    """The record of a state."""
    return Held(state.record, state.arrived, state.index, state.copies, state.indexes, state.tags)
