"""One call record: a line of JSON about one tool call, in the words of whoever recorded it.

Not telemetry: no span stands behind it, so its run, agent, turn and number are what the line says. Fields: ``run_id``
and ``tool``; ``agent``, ``sequence`` (the run's own order), ``turn``, ``call_id``, ``arguments`` (a JSON value, or text
as it was recorded; absent: not captured), ``observation`` (any JSON value; absent: no result), ``is_error``,
``error_type``, ``trace_id``, ``span_id``, ``parent_span_id``, ``start_ns``, ``end_ns``, ``user_message`` (a user spoke
just before), ``parallel_group``, ``state`` (the application's own, after the call), ``answered_by`` (``loopguard``: it
was not executed), ``handoff_to``, ``attributes``. Others are ignored, and told where they look like one of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from otel_loopguard.core.call import ABSENT
from otel_loopguard.core.fingerprint import Keyring, KeyScope
from otel_loopguard.core.identifier import LONGEST, bounded
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.errors import RecordError
from otel_loopguard.replay.line import members, repeated
from otel_loopguard.stream.reader import call_readers
from otel_loopguard.stream.record import CallRecord

__all__ = ["CallRecordReader", "Fields"]

_OURS: Final = "loopguard"
_MOST: Final = (1 << 63) - 1
"""Of a signed integer of 64 bits, as what counts and what tells time fits into everywhere."""
_LEAST: Final = {"sequence": 0, "turn": -_MOST - 1, "parallel_group": -_MOST - 1, "start_ns": 0, "end_ns": 0}
"""Of each field that may hold a whole number."""


class Fields(msgspec.Struct, frozen=True):
    """The fields of a line; content stays the text that it is until it is fingerprinted."""

    run_id: str
    tool: str
    agent: str | None = None
    sequence: int | None = None
    turn: int | str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    observation: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    is_error: bool | None = None
    error_type: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    user_message: bool | None = None
    parallel_group: int | str | None = None
    state: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    answered_by: str | None = None
    handoff_to: str | None = None
    attributes: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"Fields(run_id={self.run_id!r}, tool={self.tool!r})"


class CallRecordReader:
    """Reads call records under one policy and keyring; holds no content between records."""

    def __init__(self, policy: Policy, keyring: Keyring, scope: KeyScope = "environment") -> None:
        self._reader: Callable[[str, str], CallReader] = call_readers(policy, keyring, scope)
        self._decoder = msgspec.json.Decoder(Fields)

    def read(self, line: bytes) -> CallRecord:
        """The call of a line that is known to be a JSON object; `RecordError` names the field that is wrong."""
        fields = _decoded(self._decoder, line)
        twice = repeated(line, Fields.__struct_fields__)
        if twice is not None:
            raise RecordError(f"a field stands twice - at `$.{twice}`")
        for name, least in _LEAST.items():
            value = getattr(fields, name)
            if isinstance(value, int) and not least <= value <= _MOST:
                raise RecordError(f"expected a whole number from {least} to {_MOST} - at `$.{name}`")
        if len(line) > LONGEST:
            fields = msgspec.structs.replace(fields, **_shortened(fields))
        return self._record(fields)

    def _record(self, fields: Fields) -> CallRecord:
        reader = self._reader("", fields.run_id)
        arguments = _content(fields.arguments)
        call = reader.call(
            fields.tool,
            arguments,
            call_id=fields.call_id,
            turn=fields.turn if fields.turn is not None else fields.parallel_group,
            attributes=fields.attributes or {},
            user_message=bool(fields.user_message),
            handoff_to=fields.handoff_to,
            start_ns=fields.start_ns,
        )
        outcome = reader.outcome(
            call,
            arguments,
            _content(fields.observation),
            is_error=bool(fields.is_error),
            error_type=fields.error_type,
            ours=fields.answered_by == _OURS,
            state=_content(fields.state),
            end_ns=fields.end_ns,
        )
        return CallRecord(
            run_id=fields.run_id,
            call=call,
            outcome=outcome,
            agent=fields.agent or "",
            agent_named=bool(fields.agent),
            sequence=fields.sequence,
            trace_id=fields.trace_id or "",
            span_id=fields.span_id or "",
            parent_span_id=fields.parent_span_id or "",
            start_ns=fields.start_ns,
            end_ns=fields.end_ns,
        )


def _shortened(fields: Fields) -> dict[str, str]:
    """The names and ids that are too long to be kept, as they are kept."""
    found = {name: getattr(fields, name) for name in _NAMES}
    return {name: bounded(value) for name, value in found.items() if isinstance(value, str) and len(value) > LONGEST}


_NAMES: Final = (
    "run_id", "tool", "agent", "turn", "call_id", "error_type", "trace_id", "span_id", "parent_span_id",
    "parallel_group", "handoff_to",
)  # fmt: skip


def _decoded(decoder: msgspec.json.Decoder[Fields], line: bytes) -> Fields:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise RecordError(_readable(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        held = {name: msgspec.Raw(text) for name, text in members(line).items()}
    content = {name: held.pop(name) for name in _CONTENT if name in held}
    try:
        fields = {name: json.loads(bytes(text)) for name, text in held.items() if name in Fields.__struct_fields__}
    except RecursionError:
        raise RecordError("values are nested too deep") from None
    except ValueError:
        raise RecordError("a number has too many digits") from None
    try:
        return msgspec.structs.replace(msgspec.convert(fields, Fields), **content)
    except msgspec.ValidationError as error:
        raise RecordError(_readable(str(error))) from None


_CONTENT: Final = ("arguments", "observation", "state")


def _readable(message: str) -> str:
    """A message of msgspec in the style of ours."""
    message = message[:1].lower() + message[1:]
    return message.replace("object missing required field", "a call record must have a field")


def _content(raw: msgspec.Raw | msgspec.UnsetType) -> object:
    """A value as the reader takes it: a JSON string is the text that was recorded, anything else its JSON text."""
    if isinstance(raw, msgspec.UnsetType):
        return ABSENT
    text = bytes(raw)
    if not text.startswith(b'"'):
        return None if text == b"null" else text.decode("utf-8", "replace")
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return json.loads(text)
