"""What a run remembers of calls that it has judged: enough to know a copy that comes late.

Not the calls: each is a few 64-bit tags with a 32-bit tag of its content, and the oldest are forgotten.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, Literal
from zlib import crc32

from otel_loopguard.errors import StateError
from otel_loopguard.stream.copies import number_of
from otel_loopguard.stream.held import Merged
from otel_loopguard.stream.record import CallRecord

__all__ = ["Settled"]

_LIMIT: Final = 256
"""Tags: about a hundred calls."""

_UNKNOWN: Final = 0
"""The content tag of a call whose arguments are not known: it contradicts nothing."""


_TAG_BYTES: Final = 12


class Settled:
    """The identities of judged calls, newest last."""

    def __init__(self) -> None:
        self._content: dict[int, int] = {}

    def state(self) -> bytes:
        """All of it as bytes."""
        count = len(self._content)
        return struct.pack(f">{count}Q{count}I", *self._content, *self._content.values())

    @classmethod
    def from_state(cls, state: bytes) -> Settled:
        """What bytes were made of; raises `StateError`."""
        count, rest = divmod(len(state), _TAG_BYTES)
        if rest:
            raise StateError("a run that is damaged")
        numbers = struct.unpack(f">{count}Q{count}I", state)
        settled = cls()
        settled._content = dict(zip(numbers[:count], numbers[count:], strict=True))
        return settled

    def add(self, call: Merged) -> None:
        """A call has been judged."""
        content = _content(call.record)
        tags = [_span(*span) for span in call.spans]
        tags += [_tag("number", one.process_id, one.agent, str(one.sequence)) for one in call.numbers]
        tags += _call_id(call.record)
        for tag in tags:
            self._content.pop(tag, None)
            self._content[tag] = content
        while len(self._content) > _LIMIT:
            del self._content[next(iter(self._content))]

    def knows(self, record: CallRecord) -> Literal["", "copy", "conflict"]:
        """Whether a record is a late copy of a judged call, or contradicts one."""
        if record.span_id and not record.is_event:
            found = self._content.get(_span(record.trace_id, record.span_id))
            if found is not None:
                return "copy" if _agree(found, record) else "conflict"
        for tag in self._others(record):
            found = self._content.get(tag)
            if found is not None:
                return "copy" if _agree(found, record) else "conflict"
        return "copy" if self._is_inner(record) else ""

    @staticmethod
    def _others(record: CallRecord) -> Iterator[int]:
        number = number_of(record)
        if number is not None:
            yield _tag("number", number.process_id, number.agent, str(number.sequence))
        if not record.is_event:
            yield from _call_id(record)

    def _is_inner(self, record: CallRecord) -> bool:
        """Whether the record is a layer inside a judged call of the same tool and arguments."""
        outer = record.enclosing_span_id or record.parent_span_id
        if not outer or record.delegated or record.is_event:
            return False
        found = self._content.get(_span(record.trace_id, outer))
        return found is not None and _agree(found, record) and _UNKNOWN not in (found, _content(record))


def _agree(content: int, record: CallRecord) -> bool:
    other = _content(record)
    return content == other or _UNKNOWN in (content, other)


def _content(record: CallRecord) -> int:
    call = record.call
    if call.fingerprint is None:
        return _UNKNOWN
    return crc32(f"{call.key_id}/{call.tool}/{call.fingerprint}".encode("utf-8", "surrogatepass")) or 1


def _span(trace_id: str, span_id: str) -> int:
    return _tag("span", trace_id, span_id)


def _call_id(record: CallRecord) -> list[int]:
    call = record.call
    if call.call_id is None or call.turn is None:
        return []
    return [_tag("call", record.process_id, call.call_id, repr(call.turn))]


def _tag(*parts: str) -> int:
    """64 bits: of a hundred tags two are equal by chance once in 10^15 runs."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
