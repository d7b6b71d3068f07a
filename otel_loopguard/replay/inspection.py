"""How recorded spans are read: by which convention, as which call, and what looks like a call and was not read.

Not a judge of runs: what a contributor needs to write the next convention. Values of arguments and results are looked
at and not kept: what is told of them is their form and a fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from otel_loopguard.conventions import CONVENTIONS, RawCall, Record, read, role
from otel_loopguard.core.canonical import Unknown, load
from otel_loopguard.core.reader import CallReader
from otel_loopguard.correlate import Ancestor, Place, place

__all__ = ["Inspected", "InspectedCall", "inspect_records", "looks_like_a_call"]

ReadAs = Literal["call", "agent", "model", "step", "no call", "unread call", "other"]
"""`no call`: a convention knows it as something beside a call; `unread call`: it looks like one and nobody reads it."""

_DEPTH: Final = 64
"""Ancestors followed; broken recordings may run in circles."""
_MEMBERS: Final = 8
"""Members of arguments whose kinds are told."""
_WORD: Final = re.compile(
    r"(?:^|[._\-\s])(?:tool|tools|function|functions|toolcall|tool_call|execute_tool)(?:$|[._\-\s(:])"
)
_DESCRIBING: Final = re.compile(r"definitions?$|descriptions?$|schema|available|choice|count$|tokens?")
"""Attributes that tell of tools that could be called, not of one that was."""
_MARKS: Final = frozenset(["tool", "tool_call", "execute_tool", "function", "function_call"])
_KINDS: Final = (
    (type(None), "null"), (bool, "boolean"), (str, "text"), (Mapping, "object"), (list, "list"), (tuple, "list"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class InspectedCall:
    """A call without its content."""

    tool: str
    fingerprint: str | None
    unknown: str | None
    """Why there is no fingerprint: absent, redacted, truncated or too_large."""
    arguments: str
    """Their form, such as `object of 2: number, text`."""
    result: str
    call_id: str | None
    is_error: bool
    error_type: str | None
    agent: str
    run_id: str
    run_named: bool
    inside: str | None
    """Name of the enclosing span that is the same call; the call counts once."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """One span or log record."""

    name: str
    signal: str
    scope: str
    read_as: ReadAs
    conventions: tuple[str, ...]
    """Those that know it, the one that decides first."""
    call: InspectedCall | None = None
    looks: tuple[str, ...] = ()
    """Attribute keys, `name` for the span's name, by which an unread span looks like a call."""


def inspect_records(records: Sequence[Record], reader: CallReader) -> Iterator[Inspected]:
    """What becomes of each record; ancestors are looked for among all of them."""
    by_id = {record.span_id: record for record in records if record.signal == "span" and record.span_id}
    calls = [record for record in records if record.signal == "span" and read(record) is not None]
    around = {one.span_id for record in calls for one in _above(record, by_id)}
    for record in records:
        yield _inspect(record, _above(record, by_id), reader, is_around=record.span_id in around)


def _inspect(record: Record, above: Sequence[Record], reader: CallReader, *, is_around: bool) -> Inspected:
    call = read(record)
    known = tuple(one.name for one in CONVENTIONS if one.read(record) is not None)
    if call is not None:
        first = tuple(dict.fromkeys([call.family, *known]))
        told = _call(call, record, above, reader)
        return Inspected(record.name, record.signal, record.scope, "call", first, told)
    if known:
        return Inspected(record.name, record.signal, record.scope, "no call", known)
    found = role(record)
    if found is not None and found.kind != "step":
        names = tuple(one.name for one in CONVENTIONS if one.role(record) is not None)
        return Inspected(record.name, record.signal, record.scope, found.kind, names)
    names = () if found is None else tuple(one.name for one in CONVENTIONS if one.role(record) is not None)
    # what has a call inside is the step that made it
    looks = () if is_around else looks_like_a_call(record)
    read_as: ReadAs = "unread call" if looks else "other" if found is None else "step"
    return Inspected(record.name, record.signal, record.scope, read_as, names, looks=looks)


def looks_like_a_call(record: Record) -> tuple[str, ...]:
    """The attribute keys, and `name`, by which a record looks like a tool call; guesses for people, not for engines."""
    keys = [
        key
        for key, value in record.attributes.items()
        if (_WORD.search(key.lower()) and not _DESCRIBING.search(key.lower()))
        or (isinstance(value, str) and value.strip('"').lower() in _MARKS)
    ]
    if _WORD.search(record.name.lower()):
        keys.insert(0, "name")
    return tuple(keys)


def _call(call: RawCall, record: Record, above: Sequence[Record], reader: CallReader) -> InspectedCall:
    where = _place(call, record, above)
    keyed = reader.call(call.tool, call.arguments, truncated=call.truncated, call_id=call.call_id)
    return InspectedCall(
        tool=call.tool,
        fingerprint=keyed.fingerprint,
        unknown=keyed.unknown,
        arguments="truncated" if call.truncated else _form(call.arguments),
        result=_form(call.result),
        call_id=call.call_id,
        is_error=call.is_error,
        error_type=call.error_type,
        agent=where.agent,
        run_id=where.run_id,
        run_named=where.run_named,
        inside=next((one.name for one in above if _is_same(call, read(one))), None),
    )


def _place(call: RawCall, record: Record, above: Sequence[Record]) -> Place:
    ancestors = [Ancestor(one.span_id, None if read(one) is not None else role(one)) for one in above]
    return place(call, trace_id=record.trace_id, parent_span_id=record.parent_span_id, ancestors=ancestors)


def _is_same(call: RawCall, other: RawCall | None) -> bool:
    if other is None:
        return False
    if call.call_id is not None and other.call_id is not None:
        return call.call_id == other.call_id
    return call.tool == other.tool


def _above(record: Record, by_id: Mapping[str, Record]) -> list[Record]:
    """The enclosing spans, nearest first."""
    found: list[Record] = []
    parent = by_id.get(record.parent_span_id)
    while parent is not None and parent is not record and len(found) < _DEPTH:
        found.append(parent)
        parent = by_id.get(parent.parent_span_id)
    return found


def _form(value: object) -> str:
    """What a value is, never the value: not the names of its members either, which may be content."""
    data = load(value)
    if isinstance(data, Unknown):
        return data.reason
    if isinstance(data, Mapping) and data:
        kinds = sorted(map(_kind, data.values()))[:_MEMBERS]
        more = ", ..." if len(data) > _MEMBERS else ""
        return f"object of {len(data)}: {', '.join(kinds)}{more}"
    return "empty object" if isinstance(data, Mapping) else _kind(data)


def _kind(value: object) -> str:
    return next((kind for type_, kind in _KINDS if isinstance(value, type_)), "number")
