"""Records of telemetry into spans of calls: the last place of the stream that sees content.

Not the conventions (how instrumentations write calls) nor the placing of a call in its run, which waits for the spans
around it (`trace`). Marks that our own processor wrote replace what is read here: fingerprints made elsewhere are taken
as they are, with their key id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast, get_args

from otel_loopguard import conventions, names
from otel_loopguard.conventions import Marks, RawCall, Record
from otel_loopguard.core.call import Outcome, OutcomeKind, ToolCall
from otel_loopguard.core.fingerprint import Keyring, KeyScope, fingerprinter
from otel_loopguard.core.identifier import bounded
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Hints, Span

__all__ = ["Ending", "RecordReader", "call_readers", "read_ending", "service_of"]

_READERS: Final = 256
"""Readers kept ready: one for each service or run, where the key scope says so."""
_OUTCOMES: Final = frozenset(get_args(OutcomeKind))
_ASKING: Final = frozenset(["read", "poll"])
"""Kinds of tools that are asked something and never handed anything."""
_SERVICE: Final = "service.name"


@dataclass(frozen=True, slots=True)
class Ending:
    """A recorded end of a run."""

    run_id: str
    reason: str
    """Empty where the record gives none."""


def read_ending(record: Record) -> Ending | None:
    """The end of a run, where the record is our own event about it."""
    if record.signal != "log" or record.name != names.RUN_END:
        return None
    run_id, reason = record.attributes.get(names.RUN_ID), record.attributes.get(names.TERMINATION_REASON)
    if not isinstance(run_id, str):
        return None
    return Ending(bounded(run_id), reason if isinstance(reason, str) else "")


def call_readers(policy: Policy, keyring: Keyring, scope: KeyScope) -> Callable[[str, str], CallReader]:
    """Gives the reader for a service and run, with the key that the key scope derives for them."""

    def made(value: str) -> CallReader:
        return CallReader(policy, fingerprinter(keyring, scope, value))

    reader_of = lru_cache(maxsize=_READERS)(made)  # no decorator: compiled, `reader` would not find it

    def reader(service: str, run_id: str) -> CallReader:
        return reader_of({"environment": "", "service": service, "run": run_id}[scope])

    return reader


class RecordReader:
    """Reads records under one policy and keyring; holds no content between records."""

    def __init__(self, policy: Policy, keyring: Keyring, scope: KeyScope = "environment") -> None:
        self._scope = policy.scope
        self.reader_of = call_readers(policy, keyring, scope)
        """The reader for a service and run."""

    def read(self, record: Record) -> Span | None:
        """What the record tells: a call, or a span around calls; None for a log record that is neither.

        Never raises on what an instrumentation wrote.
        """
        raw = conventions.read(record)
        if raw is None and record.signal == "log":
            return None
        is_span = record.signal == "span"
        return Span(
            trace_id=record.trace_id,
            span_id=record.span_id if is_span else "",
            parent_span_id=record.parent_span_id if is_span else record.span_id,
            start_ns=record.start_ns,
            end_ns=record.end_ns,
            role=conventions.role(record),
            call=None if raw is None else self._call(raw, record),
            hints=None if raw is None else _hints(raw),
        )

    def _call(self, raw: RawCall, record: Record) -> CallRecord:
        reader = self.reader_of(service_of(record.resource), _own_run(raw) or record.trace_id)
        marks = raw.marks
        attributes = self._attributes(record)
        call = reader.call(
            raw.tool,
            raw.arguments,
            truncated=raw.truncated,
            call_id=raw.call_id,
            turn=raw.turn,
            attributes=attributes,
            user_message=raw.user_message,
            handoff_to=raw.handoff_to,
            start_ns=record.start_ns,
        )
        outcome = reader.outcome(
            call,
            raw.arguments,
            raw.result,
            is_error=raw.is_error or (marks is not None and marks.outcome == "error"),
            error_type=raw.error_type,
            error_message=raw.error_message,
            ours=marks is not None and marks.outcome == "ours",
            end_ns=record.end_ns,
        )
        is_event = marks is not None and marks.is_event
        if marks is not None:
            outcome = _marked_outcome(outcome, marks, same_key=marks.key_id == call.key_id)
            call = self._marked_call(reader, call, marks, attributes)
        is_span = record.signal == "span"
        return CallRecord(
            run_id="",
            call=call,
            outcome=outcome,
            sequence=None if marks is None else marks.sequence,
            process_id="" if marks is None else marks.process_id,
            trace_id=record.trace_id if is_span else "",
            span_id=record.span_id if is_span else "",
            parent_span_id=record.parent_span_id if is_span else "",
            start_ns=None if is_event else record.start_ns,
            end_ns=record.end_ns if is_span else None if is_event else record.start_ns,
            findings=() if marks is None else marks.findings,
            findings_elsewhere=() if marks is None else marks.findings_elsewhere,
            is_event=is_event,
        )

    @staticmethod
    def _marked_call(reader: CallReader, call: ToolCall, marks: Marks, attributes: Mapping[str, object]) -> ToolCall:
        """The call with the fingerprints that were made where its arguments were known."""
        if marks.fingerprint is None:
            return call
        bare = call.bare
        if call.fingerprint is None and marks.key_id == call.key_id:
            bare = reader.call(call.tool, {}, attributes=attributes).fingerprint == marks.fingerprint
        settings = reader.policy.for_tool(call.tool)
        # Within one group the fingerprint tells idempotency keys apart, because they are all that differs in it.
        keyed = settings.idempotency_key is not None and marks.group_fingerprint is not None
        # Without its content a call may have carried a payload: then its receipt is no evidence of a loop.
        hidden = call.fingerprint is None and settings.kind not in _ASKING
        return call.changed(
            fingerprint=marks.fingerprint,
            key_id=marks.key_id,
            unknown=None,
            group=marks.group_fingerprint,
            idempotency=marks.fingerprint if keyed else None,
            bare=bare,
            payload=call.payload or hidden,
        )

    def _attributes(self, record: Record) -> Mapping[str, object]:
        """What the policy's scope may name: the record's own attributes before its resource's."""
        if not self._scope:
            return {}
        return {
            name: held[name] for name in self._scope for held in (record.resource, record.attributes) if name in held
        }


def service_of(resource: Mapping[str, object]) -> str:
    """The name of the service whose resource this is; empty where it says none."""
    service = resource.get(_SERVICE)
    return bounded(service) if isinstance(service, str) else ""


def _own_run(raw: RawCall) -> str:
    """The run as far as the record itself names one: its key must be derived before the spans around it are known."""
    return raw.run_id or raw.agent_call_id or raw.conversation_id or raw.channel_id or ""


def _hints(raw: RawCall) -> Hints:
    return Hints(
        run_id=raw.run_id,
        agent_call_id=raw.agent_call_id,
        conversation_id=raw.conversation_id,
        channel_id=raw.channel_id,
        prompt_id=raw.prompt_id,
        agent=raw.agent,
        turn=raw.turn,
    )


def _marked_outcome(outcome: Outcome, marks: Marks, *, same_key: bool) -> Outcome:
    """The outcome as the process saw it; what was read here stays where it is known better and under the same key."""
    done = outcome.kind == "empty" and outcome.approval and marks.outcome == "ok"  # as an annotation has it
    kind = cast("OutcomeKind", marks.outcome) if marks.outcome in _OUTCOMES and not done else outcome.kind
    own = outcome if same_key else Outcome(kind)
    return outcome.changed(
        kind=kind,
        fingerprint=marks.result_fingerprint or own.fingerprint,
        error=marks.error_fingerprint or own.error,
        shape=marks.error_shape or own.shape,
        state=marks.state_fingerprint or own.state,
        refusal=outcome.refusal or kind == "error" or marks.error_fingerprint is not None,
        declared=outcome.declared or marks.items_unseen is not None,
        unseen=marks.items_unseen,
    )
