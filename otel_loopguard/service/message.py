"""One thing to deliver: an event of a run, with the id by which receivers tell copies apart.

Not an OTLP log record and not a line: sinks make those of it. It holds no content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from otel_loopguard import names
from otel_loopguard.emit import (
    Emitted,
    Judged,
    Origin,
    Totals,
    finding_event,
    integrity_event,
    nudge_event,
    run_end_event,
)
from otel_loopguard.runtimes import Said
from otel_loopguard.stream.events import Found, Integrity, Nudged, RunEnd

__all__ = ["Message", "message_of"]

Value = str | int | bool


class Message(msgspec.Struct, frozen=True, array_like=True):
    """An event that somebody outside is to hear; delivered at least once."""

    id: str
    """32 hex digits, the same however often it is delivered; of a finding its `loopguard.finding.id`."""
    tenant: str
    name: str
    severity: str
    time_ns: int
    """Unix time at which it was made."""
    trace_id: str
    span_id: str
    attributes: dict[str, Value]


_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def message_of(said: Said, policy_version: str, time_ns: int) -> Message | None:
    """What to deliver of what a run says; None for what is only counted or was said by a process already."""
    event = said.event
    if said.reported:
        return None
    if isinstance(event, Found):
        if event.finding.action == "info":
            return None
        judged = Judged(
            event.id,
            event.number,
            event.first_number,
            fingerprint=event.fingerprint,
            call_id=event.finding.call_id or "",
        )
        origin = Origin(event.run_id, event.agent, key_id=event.key_id, policy_version=policy_version)
        emitted = finding_event(event.finding, origin, judged)
        return _message(said, emitted, time_ns, event.id, event.trace_id, event.span_id)
    if isinstance(event, Nudged):
        emitted = nudge_event(event.outcome, _origin(event, policy_version), event.number)
    elif isinstance(event, Integrity):
        origin = _origin(event, policy_version)
        emitted = integrity_event(origin, event.kind, level=event.level, sequence=event.number)
    elif isinstance(event, RunEnd):
        totals = Totals(event.calls, event.repeat_max, event.progressed, event.wasted_calls)
        emitted = run_end_event(Origin(event.run_id, policy_version=policy_version), totals, event.reason)
    else:
        return None
    return _message(said, emitted, time_ns, _id(said.tenant, emitted.name, emitted.attributes))


def _origin(event: Nudged | Integrity, policy_version: str) -> Origin:
    return Origin(event.run_id, event.agent, policy_version=policy_version)


def _message(  # noqa: PLR0913, PLR0917 - the parts of a message
    said: Said, emitted: Emitted, time_ns: int, id_: str, trace_id: str = "", span_id: str = ""
) -> Message:
    attributes = dict(emitted.attributes)
    return Message(id_, said.tenant, emitted.name, emitted.severity, time_ns, trace_id, span_id, attributes)


def _id(tenant: str, name: str, attributes: Mapping[str, Value]) -> str:
    """The id of an event that has none of its own: the same for the same event of the same run."""
    told = {key: value for key, value in attributes.items() if key != names.POLICY_VERSION}
    return hashlib.sha256(_ENCODER.encode((tenant, name, told))).hexdigest()[:32]
