"""Calls and spans as few bytes, while they wait to be judged.

Not a format to keep: the bytes live as long as one command. What all items of a group share, trace and run id, is left
out of them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from otel_loopguard.conventions import Role
from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.value import array_of, value_of
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Hints, Span

__all__ = ["pack_call", "pack_span", "unpack_call", "unpack_span"]


class _Record(msgspec.Struct, gc=False, array_like=True):
    """A call record, its two parts apart."""

    rest: tuple[Any, ...]
    call: ToolCall
    outcome: Outcome
    findings: tuple[tuple[str, str], ...]
    findings_elsewhere: tuple[tuple[str, str, int], ...]


class _Span(msgspec.Struct, gc=False, array_like=True):
    """A span, its call apart."""

    span_id: str
    parent_span_id: str
    start_ns: int | None
    end_ns: int | None
    role: Role | None
    record: _Record | None
    hints: Hints | None


_PLAIN: Final = tuple(
    name for name in CallRecord.names if name not in ("run_id", "call", "outcome", "findings", "findings_elsewhere")
)
_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=array_of)
_SPANS: Final = msgspec.msgpack.Decoder(tuple[int, _Span], dec_hook=value_of)
_CALLS: Final = msgspec.msgpack.Decoder(tuple[int, _Record], dec_hook=value_of)


def pack_call(record: CallRecord, index: int) -> bytes:
    """A placed call and where it came; its run id is the group's."""
    return _encoded(index, _record(record))


def unpack_call(item: bytes, run_id: str) -> tuple[int, CallRecord]:
    """What `pack_call` packed."""
    index, record = _CALLS.decode(item)
    return index, _whole(record, run_id)


def pack_span(span: Span, index: int) -> bytes:
    """A span and where it came; its trace id is the group's."""
    packed = _Span(
        span.span_id,
        span.parent_span_id,
        span.start_ns,
        span.end_ns,
        span.role,
        None if span.call is None else _record(span.call.changed(trace_id="")),
        span.hints,
    )
    return _encoded(index, packed)


def unpack_span(item: bytes, trace_id: str) -> tuple[int, Span]:
    """What `pack_span` packed."""
    index, span = _SPANS.decode(item)
    call = None
    if span.record is not None:
        call = _whole(span.record, "")
        if call.span_id:
            call = call.changed(trace_id=trace_id)
    return index, Span(
        trace_id, span.span_id, span.parent_span_id, span.start_ns, span.end_ns, span.role, call, span.hints
    )


def _encoded(index: int, item: _Record | _Span) -> bytes:
    try:
        return _ENCODER.encode((index, item))
    except UnicodeEncodeError:
        return _ENCODER.encode((index, _spelled(msgspec.to_builtins(item, enc_hook=array_of))))


def _spelled(value: object) -> object:
    """Names that hold lone surrogates, which no encoding has, with these spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (list, tuple)):
        return [_spelled(member) for member in value]
    return {name: _spelled(member) for name, member in value.items()} if isinstance(value, dict) else value


def _record(record: CallRecord) -> _Record:
    return _Record(
        tuple(getattr(record, name) for name in _PLAIN),
        record.call,
        record.outcome,
        record.findings,
        record.findings_elsewhere,
    )


def _whole(record: _Record, run_id: str) -> CallRecord:
    return CallRecord(
        run_id,
        record.call,
        record.outcome,
        **dict(zip(_PLAIN, record.rest, strict=True)),
        findings=record.findings,
        findings_elsewhere=record.findings_elsewhere,
    )
