"""What a run remembers of calls that it has judged: enough to know a copy that comes late.

Not the calls: each is a few 48-bit tags with a 32-bit tag of its content, and the oldest are forgotten.
"""

from __future__ import annotations

import struct
from itertools import groupby
from typing import Final, Literal
from zlib import crc32

from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.errors import StateError
from otel_loopguard.stream.held import Merged, Number
from otel_loopguard.stream.record import CallRecord

__all__ = ["Identity", "Settled", "identity_of", "series_of"]

_LIMIT: Final = 256
"""Tags: about a hundred calls."""

_UNKNOWN: Final = 0
"""The content tag of a call whose arguments are not known: it contradicts nothing."""

_TAG_BYTES: Final = 6
_TAG: Final = (1 << 8 * _TAG_BYTES) - 1
"""48 bits: a tag of a new record is that of another call by chance once in 10^11 records."""
_MIX: Final = 0x9E3779B97F4A7C15
_MIX_TOO: Final = 0xC2B2AE3D27D4EB4F
"""Odd numbers without a pattern (the golden ratio's, and a prime of xxHash): ids that are counted spread by them."""
_MASK: Final = (1 << 64) - 1
"""Of the bits above these none comes into a tag."""
_PRIME: Final = (1 << 8 * _TAG_BYTES) - 59
"""The greatest prime of 48 bits: a text as a number modulo a prime takes a quarter of the time of a hash. Whoever looks
for two that are equal finds them, and hides a call of its own."""
_TRACE_DIGITS: Final = 32
_SPAN_DIGITS: Final = 16

Tags = tuple[int, ...]


@mypyc_attr(acyclic=True)
class Identity:
    """What tells a record's call from others, as tags that are worked out once."""

    __slots__ = ("around", "number", "span", "tags")

    def __init__(self, tags: Tags, span: int, number: int, around: int) -> None:
        self.tags: Final = tags
        """Of its span, its number, its call id within a turn. Of a record that has neither span nor number, of all that
        it has in common with its copies."""
        self.span: Final = span
        """Of its span; 0 where it has none."""
        self.number: Final = number
        """Of its number; 0 where it has none."""
        self.around: Final = around
        """Of the span around it; 0 where there is none."""


class Settled:
    """The identities of judged calls, newest last."""

    __slots__ = ("_agent", "_content", "_process_id", "_series")

    def __init__(self) -> None:
        self._content: dict[int, int] = {}
        self._process_id = ""
        self._agent = ""
        self._series: int | None = None
        """Of the process and agent whose number came last: mostly the only one."""

    def state(self) -> bytes:
        """All of it as bytes: how many tags each content has, the contents, the tags."""
        groups = [(content, sum(1 for _ in tags)) for content, tags in groupby(self._content.values())]
        counts = [(content, min(255, count - done)) for content, count in groups for done in range(0, count, 255)]
        return b"".join((
            struct.pack(">H", len(counts)),
            bytes(count for _, count in counts),
            struct.pack(f">{len(counts)}I", *(content for content, _ in counts)),
            *(tag.to_bytes(_TAG_BYTES, "big") for tag in self._content),
        ))  # fmt: skip

    @classmethod
    def from_state(cls, state: bytes) -> Settled:
        """What bytes were made of; raises `StateError`."""
        settled = cls()
        try:
            (groups,) = struct.unpack_from(">H", state)
            counts = state[2 : 2 + groups]
            contents = struct.unpack_from(f">{groups}I", state, 2 + groups)
        except struct.error:
            raise StateError("a run that is damaged") from None
        place = 2 + 5 * groups
        if len(state) != place + _TAG_BYTES * sum(counts):
            raise StateError("a run that is damaged")
        for count, content in zip(counts, contents, strict=True):
            for _ in range(count):
                settled._content[int.from_bytes(state[place : place + _TAG_BYTES], "big")] = content
                place += _TAG_BYTES
        return settled

    def add(self, call: Merged) -> None:
        """A call has been judged."""
        content, held = _content(call.record), self._content
        for tag in call.tags or _tags_of_call(call):
            if tag in held:
                del held[tag]
            elif len(held) >= _LIMIT:
                del held[next(iter(held))]
            held[tag] = content

    def identify(self, record: CallRecord, number: Number | None) -> Identity:
        """What `identity_of` gives."""
        if number is None:
            return identity_of(record, None)
        if self._series is None or number.process_id != self._process_id or number.agent != self._agent:
            self._process_id, self._agent = number.process_id, number.agent
            self._series = series_of(number.process_id, number.agent)
        return identity_of(record, number, self._series)

    def knows(self, record: CallRecord, identity: Identity) -> Literal["", "copy", "conflict"]:
        """Whether a record is a late copy of a judged call, or contradicts one."""
        held = self._content
        if not held:
            return ""
        for tag in identity.tags:
            if tag in held:
                return "copy" if _agree(held[tag], record) else "conflict"
        return "copy" if identity.around in held and self._is_inner(record, held[identity.around]) else ""

    @staticmethod
    def _is_inner(record: CallRecord, outer: int) -> bool:
        """Whether the record is a layer inside a judged call of that content: of the same tool and arguments."""
        if record.delegated or record.is_event:
            return False
        return _agree(outer, record) and _UNKNOWN not in (outer, _content(record))


def identity_of(record: CallRecord, number: Number | None, series: int | None = None) -> Identity:
    """A record's identity; ``number`` is its own (`number_of`), ``series`` that number's process and agent
    (`series_of`), where it is known already.
    """
    trace_id, span_id = record.trace_id, record.span_id
    trace = _trace(trace_id)
    enclosing = record.enclosing_span_id or record.parent_span_id
    span = _span(trace, trace_id, span_id) if span_id else 0
    around = _span(trace, trace_id, enclosing) if enclosing else 0
    numbered = 0
    if number is not None:
        if series is None:
            series = series_of(number.process_id, number.agent)
        numbered = series + number.sequence * _MIX & _TAG
    if record.is_event:
        tags: Tags = () if number is None else (numbered,)
    elif span_id:
        tags = (span, *_call_id(record)) if number is None else (span, numbered, *_call_id(record))
    else:
        tags = (*_call_id(record), *_likeness(record)) if number is None else (numbered, *_call_id(record))
    return Identity(tags, span, numbered, around)


def _tags_of_call(call: Merged) -> Tags:
    tags = [_span(_trace(trace_id), trace_id, span_id) for trace_id, span_id in call.spans]
    tags += [series_of(one.process_id, one.agent) + one.sequence * _MIX & _TAG for one in call.numbers]
    tags += _call_id(call.record)
    return tuple(tags) if call.spans or call.numbers else (*tags, *_likeness(call.record))


def _agree(content: int, record: CallRecord) -> bool:
    other = _content(record)
    return content == other or _UNKNOWN in (content, other)


def _content(record: CallRecord) -> int:
    call = record.call
    if call.fingerprint is None:
        return _UNKNOWN
    return crc32(f"{call.key_id}/{call.tool}/{call.fingerprint}".encode("utf-8", "surrogatepass")) or 1


def _trace(trace_id: str) -> int:
    """The trace's part of the tags of its spans; -1 where the id is none of OpenTelemetry's."""
    if len(trace_id) != _TRACE_DIGITS:
        return -1
    try:
        return int(trace_id, 16) * _MIX & _MASK
    except ValueError:  # no hex digits
        return -1


def _span(trace: int, trace_id: str, span_id: str) -> int:
    if trace >= 0 and len(span_id) == _SPAN_DIGITS:
        try:
            return (trace + int(span_id, 16) * _MIX_TOO >> 16) & _TAG
        except ValueError:  # no hex digits
            pass
    return _tag(f"span\0{trace_id}\0{span_id}")


def series_of(process_id: str, agent: str) -> int:
    """The part of a process and agent in the tags of their numbers."""
    return _tag(f"number\0{process_id}\0{agent}")


def _call_id(record: CallRecord) -> Tags:
    call = record.call
    if call.call_id is None or call.turn is None:
        return ()
    return (_tag(f"call\0{record.process_id}\0{call.call_id}\0{call.turn!r}"),)


def _likeness(record: CallRecord) -> Tags:
    call = record.call
    if record.start_ns is None or (call.fingerprint is None and call.call_id is None):
        return ()
    outcome = record.outcome
    parts = (
        record.process_id, call.call_id, call.turn, call.tool, call.fingerprint, call.key_id, record.start_ns,
        record.end_ns, outcome.kind, outcome.fingerprint,
    )  # fmt: skip
    return (_tag(f"alike\0{parts!r}"),)


def _tag(text: str) -> int:
    data = text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass")
    return int.from_bytes(data, "big") % _PRIME
