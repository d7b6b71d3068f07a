"""What we write on a tool span: our attributes in the order in which they matter, and the span event of a finding.

Not the writing: the limits of the span decide how much of it fits.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_loopguard import names
from otel_loopguard.conventions import RawCall
from otel_loopguard.core.observation import Observation
from otel_loopguard.live import Found, Taken

__all__ = ["Value", "annotation", "event_of"]

Value = str | bool | int | tuple[str, ...]


def annotation(
    taken: Taken, raw: RawCall, present: Mapping[str, object], *, redacted: tuple[str, ...], policy_version: str
) -> dict[str, Value]:
    """The attributes of a call, the most important first; ``present`` is what its span has already."""
    call, outcome, observation = taken.call, taken.outcome, taken.observation
    written: dict[str, Value] = {}
    if call.fingerprint is not None:
        written[names.FINGERPRINT] = call.fingerprint
    if observation is not None and observation.repeat:
        written[names.REPEAT_COUNT] = observation.repeat
    written[names.VERDICT] = "unknown" if observation is None else observation.verdict
    if outcome.fingerprint is not None:
        written[names.RESULT_FINGERPRINT] = outcome.fingerprint
    done = outcome.kind == "empty" and outcome.approval  # whoever sees no content would take it for a search in vain
    written[names.OUTCOME] = "ok" if done else outcome.kind
    written[names.KEY_ID] = call.key_id
    written[names.RUN_ID] = taken.run.run_id
    written[names.SEQUENCE] = taken.number
    written[names.PROCESS_ID] = taken.lane.process_id
    if redacted:
        written[names.REDACTED_KEYS] = redacted
    if observation is not None:
        _judged(written, taken, observation)
    if taken.turn is not None:
        written[names.TURN] = taken.turn
    if policy_version:
        written[names.POLICY_VERSION] = policy_version
    _for_others(written, taken)
    _lacking(written, taken, raw, present)
    return written


def _lacking(written: dict[str, Value], taken: Taken, raw: RawCall, present: Mapping[str, object]) -> None:
    """The names that conventions have and the span has not."""
    if taken.lane.agent and names.AGENT_NAME not in present:
        written[names.AGENT_NAME] = taken.lane.agent
    if names.TOOL_NAME not in present:
        written[names.TOOL_NAME] = raw.tool
    if raw.call_id is not None and names.TOOL_CALL_ID not in present:
        written[names.TOOL_CALL_ID] = raw.call_id
    if taken.outcome.error_type is not None and names.ERROR_TYPE not in present:
        written[names.ERROR_TYPE] = taken.outcome.error_type


def _judged(written: dict[str, Value], taken: Taken, observation: Observation) -> None:
    """What the engine says, where it says something."""
    if observation.repeat:
        if observation.repeat > 1 and observation.progress:
            written[names.PROGRESS] = observation.progress
        if observation.consecutive > 1:
            written[names.REPEAT_CONSECUTIVE] = observation.consecutive
    if taken.found:
        kinds = [found.finding.kind for found in taken.found if found.finding.sequence == observation.sequence]
        if kinds:
            written[names.FINDING_KIND] = kinds[0]
            written[names.FINDING_KINDS] = tuple(sorted(set(kinds)))


def _for_others(written: dict[str, Value], taken: Taken) -> None:
    """What a detector elsewhere needs in order to judge the call without its content."""
    call, outcome = taken.call, taken.outcome
    if outcome.error is not None:
        written[names.ERROR_FINGERPRINT] = outcome.error
    if outcome.shape is not None:
        written[names.ERROR_SHAPE] = outcome.shape
    if call.group is not None and call.group != call.fingerprint:
        written[names.GROUP_FINGERPRINT] = call.group
    if taken.unseen is not None:
        written[names.ITEMS_UNSEEN] = taken.unseen
    if call.user_message:
        written[names.USER_MESSAGE] = True
    if call.handoff_to is not None:
        written[names.HANDOFF_AGENT] = call.handoff_to
    if outcome.state is not None:
        written[names.STATE_FINGERPRINT] = outcome.state


def event_of(found: Found) -> dict[str, str | int]:
    """The attributes of the span event `loopguard.finding`."""
    finding = found.finding
    attributes: dict[str, str | int] = {
        names.FINDING_ID: found.id,
        names.FINDING_KIND: finding.kind,
        names.FINDING_ACTION: finding.action,
        names.FINDING_SEQUENCE: found.number,
        names.FINDING_FIRST_SEQUENCE: found.first_number,
        names.FINDING_COUNT: finding.count,
        names.FINDING_LIMIT: finding.limit,
    }
    if finding.period > 1:
        attributes[names.FINDING_PERIOD] = finding.period
    return attributes
