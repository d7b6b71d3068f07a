"""Two records of one call: whether they agree, and what they say together.

Not which records are one call (`dedupe`).
"""

from __future__ import annotations

from typing import TypeVar

from otel_loopguard.stream.held import Held, Number
from otel_loopguard.stream.record import CallRecord

__all__ = [
    "as_bytes", "completed", "contradict", "differ", "number_of", "other_agents", "preference", "same_content",
    "same_result", "same_tool",
]  # fmt: skip

_Mark = TypeVar("_Mark", bound="tuple[str | int, ...]")


def preference(item: Held) -> tuple[bool, bool, bool, bool, bytes]:
    """Copies with a result first, then finished, numbered, fingerprinted ones, then any order that is always one."""
    record = item.record
    return (
        record.outcome.kind == "missing",
        not record.finished,
        record.sequence is None,
        record.call.fingerprint is None,
        as_bytes(record),
    )


def contradict(one: CallRecord, other: CallRecord) -> bool:
    """Whether two copies of a span differ in what both know, the result apart while only one is finished."""
    return (
        one.call.tool != other.call.tool
        or not same_content(one, other)
        or differ(one.call.call_id, other.call.call_id)
        or differ(one.start_ns, other.start_ns)
        or not same_result(one, other)
    )


def differ(one: object, other: object) -> bool:
    """Whether both are known and not equal."""
    return one is not None and other is not None and one != other


def same_content(one: CallRecord, other: CallRecord) -> bool:
    """Equal fingerprints; fingerprints under different keys, and unknown ones, contradict nothing."""
    mine, theirs = one.call, other.call
    return (
        mine.fingerprint is None
        or theirs.fingerprint is None
        or mine.key_id != theirs.key_id
        or mine.fingerprint == theirs.fingerprint
    )


def same_result(one: CallRecord, other: CallRecord) -> bool:
    """Equal outcomes and result fingerprints, as far as both records know one under the same key."""
    mine, theirs = one.outcome, other.outcome
    if "missing" in (mine.kind, theirs.kind) or one.call.key_id != other.call.key_id:
        return True
    if mine.kind != theirs.kind:
        return False
    return not differ(mine.fingerprint, theirs.fingerprint)


def completed(best: CallRecord, other: CallRecord) -> CallRecord:
    """``best`` with what only ``other`` knows."""
    call, theirs = best.call, other.call
    if call.fingerprint is None and theirs.fingerprint is not None:
        call = theirs.changed(tool=call.tool)
        theirs = best.call
    call = call.changed(
        call_id=call.call_id if call.call_id is not None else theirs.call_id,
        turn=call.turn if call.turn is not None else theirs.turn,
        user_message=call.user_message or theirs.user_message,
        handoff_to=call.handoff_to if call.handoff_to is not None else theirs.handoff_to,
    )
    numbered = best if best.sequence is not None else other
    named = best if best.agent_named or not other.agent_named else other
    return best.changed(
        call=call,
        outcome=best.outcome if best.outcome.kind != "missing" else other.outcome,
        agent=named.agent or best.agent or other.agent,
        agent_named=named.agent_named,
        run_named=best.run_named or other.run_named,
        sequence=numbered.sequence,
        process_id=numbered.process_id or best.process_id,
        parent_span_id=best.parent_span_id or other.parent_span_id,
        enclosing_span_id=best.enclosing_span_id or other.enclosing_span_id,
        start_ns=best.start_ns if best.start_ns is not None else other.start_ns,
        end_ns=best.end_ns if best.end_ns is not None else other.end_ns,
        message=best.message or other.message,
        findings=_union(best.findings, other.findings),
        findings_elsewhere=_union(best.findings_elsewhere, other.findings_elsewhere),
        is_event=best.is_event and other.is_event,
    )


def _union(one: tuple[_Mark, ...], other: tuple[_Mark, ...]) -> tuple[_Mark, ...]:
    return one if not other else tuple(sorted({*one, *other}))


def as_bytes(record: CallRecord) -> bytes:
    """A record as bytes: equal for equal records, and an order that does not depend on arrival."""
    return repr(record.fields()).encode("utf-8", "surrogatepass")


def other_agents(one: CallRecord, other: CallRecord) -> bool:
    """Whether the records name two agents."""
    return one.agent_named and other.agent_named and one.agent != other.agent


def same_tool(one: CallRecord, other: CallRecord) -> bool:
    """One name, or one fingerprint, which the name is part of: a process that merged two names says so."""
    mine, theirs = one.call, other.call
    return mine.tool == theirs.tool or (
        mine.fingerprint is not None and mine.fingerprint == theirs.fingerprint and mine.key_id == theirs.key_id
    )


def number_of(record: CallRecord) -> Number | None:
    """The number of a record; processes count for each agent that they know, call records for the whole run."""
    if record.sequence is None:
        return None
    agent = record.agent if record.process_id and record.agent_named else ""
    return Number(record.process_id, agent, record.sequence, record.start_ns, record.end_ns)
