"""What we say about a run, as plain values: one function for each event of `names.EVENTS`.

Not their delivery: `live` hands them to the OpenTelemetry logs API, a service encodes them as OTLP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from otel_loopguard import names
from otel_loopguard.core.decision import Finding, NudgeOutcome

__all__ = [
    "Emitted", "Judged", "Origin", "Totals", "blocked_event", "finding_event", "guard_event", "integrity_event",
    "nudge_event", "run_end_event",
]  # fmt: skip

Severity = Literal["INFO", "WARN"]
Value = str | int | bool
_SEVERITIES: Mapping[str, Severity] = {name.name: "WARN" if name.type == "WARN" else "INFO" for name in names.EVENTS}


@dataclass(frozen=True, slots=True)
class Emitted:
    """One event: a log record's event name, severity and attributes."""

    name: str
    severity: Severity
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an event belongs; empty texts are left out of it."""

    run_id: str
    agent: str = ""
    process_id: str = ""
    key_id: str = ""
    policy_version: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The call that a finding is about, as far as it is known where the finding is reported."""

    finding_id: str
    sequence: int
    """The number that the call's span carries, which may differ from its origin in the history."""
    first_sequence: int
    fingerprint: str = ""
    call_id: str = ""
    more: Mapping[str, Value] = field(default_factory=dict)
    """What a call without a span must carry here, because no other record does."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a whole run came to."""

    calls: int
    repeat_max: int
    progressed: bool
    """Something new came after the last finding."""
    wasted_calls: int
    """After the first finding."""
    wasted_tokens: int | None = None
    """After the first finding; None where no model span told its tokens."""


def _emitted(name: str, origin: Origin, attributes: Mapping[str, Value]) -> Emitted:
    belongs = {
        names.RUN_ID: origin.run_id,
        names.AGENT_NAME: origin.agent,
        names.PROCESS_ID: origin.process_id,
        names.KEY_ID: origin.key_id,
        names.POLICY_VERSION: origin.policy_version,
    }
    known = {key: value for key, value in belongs.items() if value}
    return Emitted(name, _SEVERITIES[name], {**known, **attributes})


def finding_event(finding: Finding, origin: Origin, judged: Judged) -> Emitted:
    """The loop event: one per step of an episode."""
    attributes: dict[str, Value] = {
        names.FINDING_ID: judged.finding_id,
        names.FINDING_KIND: finding.kind,
        names.FINDING_ACTION: finding.action,
        names.FINDING_SEQUENCE: judged.sequence,
        names.FINDING_FIRST_SEQUENCE: judged.first_sequence,
        names.FINDING_COUNT: finding.count,
        names.FINDING_LIMIT: finding.limit,
        names.TOOL_NAME: finding.tool,
    }
    if finding.period > 1:
        attributes[names.FINDING_PERIOD] = finding.period
    if judged.fingerprint:
        attributes[names.FINGERPRINT] = judged.fingerprint
    if judged.call_id:
        attributes[names.TOOL_CALL_ID] = judged.call_id
    attributes.update(judged.more)
    return _emitted(names.FINDING, origin, attributes)


def nudge_event(nudge: NudgeOutcome, origin: Origin, sequence: int) -> Emitted:
    """How a nudged episode went on; ``sequence`` is the number of the call that decided it."""
    return _emitted(
        names.NUDGE,
        origin,
        {
            names.NUDGE_OUTCOME: nudge.result,
            names.FINDING_KIND: nudge.kind,
            names.FINDING_SEQUENCE: sequence,
            names.TOOL_NAME: nudge.tool,
        },
    )


def run_end_event(origin: Origin, totals: Totals, reason: str) -> Emitted:
    """The totals of a run that ended; ``reason`` is empty where nobody recorded one."""
    attributes: dict[str, Value] = {
        names.RUN_CALLS: totals.calls,
        names.RUN_REPEAT_MAX: totals.repeat_max,
        names.RUN_PROGRESSED: totals.progressed,
        names.RUN_WASTED_CALLS: totals.wasted_calls,
    }
    if reason:
        attributes[names.TERMINATION_REASON] = reason
    if totals.wasted_tokens is not None:
        attributes[names.RUN_WASTED_TOKENS] = totals.wasted_tokens
    return _emitted(names.RUN_END, origin, attributes)


def integrity_event(origin: Origin, kind: str, *, level: str = "error", sequence: int | None = None) -> Emitted:
    """The run's telemetry is in doubt; level `error` turns enforcement off for the run, `info` does not."""
    attributes: dict[str, Value] = {names.INTEGRITY_KIND: kind, names.INTEGRITY_LEVEL: level}
    if sequence is not None:
        attributes[names.SEQUENCE] = sequence
    return _emitted(names.INTEGRITY, origin, attributes)


def guard_event(name: str, origin: Origin, kind: str, judged: Judged, tool: str) -> Emitted:
    """A checkpoint of a guard (`names.DENIED`, `names.STOPPED`); ``kind`` is the finding's it acts on."""
    attributes: dict[str, Value] = {names.FINDING_KIND: kind, names.TOOL_NAME: tool}
    if judged.sequence:
        attributes[names.FINDING_SEQUENCE] = judged.sequence
    if judged.finding_id:
        attributes[names.FINDING_ID] = judged.finding_id
    if judged.call_id:
        attributes[names.TOOL_CALL_ID] = judged.call_id
    return _emitted(name, origin, attributes)


def blocked_event(origin: Origin, kind: str, needed: str = "") -> Emitted:
    """An agent said that it cannot go on; ``needed`` holds its words only where content may leave."""
    attributes: dict[str, Value] = {names.BLOCKED_KIND: kind}
    if needed:
        attributes[names.BLOCKED_NEEDED] = needed
    return _emitted(names.BLOCKED, origin, attributes)
