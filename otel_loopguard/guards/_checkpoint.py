"""What a guard did, as facts in telemetry: a dispatch denied, a turn ended, an agent that says it is blocked.

Not the findings: `live` tells those when the call is counted, so before anything here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time_ns
from typing import Final

from opentelemetry import trace

from otel_loopguard import names
from otel_loopguard.core.decision import Finding, Refuse
from otel_loopguard.core.detectors import LASTING
from otel_loopguard.core.explain import Remaining
from otel_loopguard.core.tag import key_of, print_of_fingerprint
from otel_loopguard.emit import Judged, Origin, blocked_event, guard_event
from otel_loopguard.errors import LoopDetected
from otel_loopguard.live import Guarded, Live, Taken

__all__ = [
    "BLOCKED_KINDS", "REPORT_BLOCKED_SCHEMA", "REPORT_BLOCKED_WORDS", "blocked", "denied", "in_flight", "loop_detected",
    "stopped",
]  # fmt: skip

BLOCKED_KINDS: Final = ("information", "permission", "credentials", "tool", "decision", "other")
"""What a blocked agent may need: its words begin with one of these, anything else counts as the last."""

REPORT_BLOCKED_WORDS: Final = "Say that you cannot go on, what you tried and what you need. Ends the task for now."
REPORT_BLOCKED_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "tried": {"type": "array", "items": {"type": "string"}, "description": "what you tried, one entry each"},
        "needed": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"what you need, each entry begins with one of {', '.join(BLOCKED_KINDS)} and a colon",
        },
    },
    "required": ["tried", "needed"],
}
"""JSON schema of the arguments of `report_blocked`."""

_LONGEST_NEED: Final = 500
_MOST_NEEDS: Final = 20
_MOST_TOOLS: Final = 20


def denied(live: Live, guarded: Guarded, kind: str, taken: Taken | None) -> None:
    """A call was counted and is not dispatched, because of a finding of a kind."""
    run, lane, call = guarded.run, guarded.lane, guarded.call
    origin = Origin(run.run_id, lane.agent, lane.process_id, call.key_id, live.policy_version)
    number = 0 if taken is None else taken.number
    judged = Judged(lane.found.get(kind, ""), number, number, "", call.call_id or "")
    live.counters.add(names.DENIALS, (kind, call.tool, lane.agent))
    event = guard_event(names.DENIED, origin, kind, judged, call.tool)
    live.outlet.emit(event, None if taken is None else taken.span, time_ns())


def stopped(live: Live, stop: LoopDetected) -> None:
    """What ended an agent's turn is out, and so the run has ended: it may go on with a new message."""
    origin = Origin(stop.run_id, stop.agent, policy_version=live.policy_version)
    span = trace.get_current_span().get_span_context()
    event = guard_event(names.STOPPED, origin, stop.kind, Judged(stop.finding_id, 0, 0), stop.tool)
    live.outlet.emit(event, span if span.is_valid else None, time_ns())
    live.finish(stop.run_id, "", "loop_detected", span if span.is_valid else None)


def blocked(live: Live, origin: Origin, needed: Sequence[object], *, may_quote: bool) -> None:
    """An agent needs these things; its words leave only where content may."""
    for need in [str(one) for one in needed[:_MOST_NEEDS]]:
        kind = need.split(":", 1)[0].strip().casefold()
        kind = kind if kind in BLOCKED_KINDS else "other"
        live.counters.add(names.BLOCKED_REPORTS, (kind,))
        live.outlet.emit(blocked_event(origin, kind, need[:_LONGEST_NEED] if may_quote else ""), None, time_ns())


def in_flight(guarded: Guarded) -> Refuse:
    """An equal write has been dispatched and has not ended: nobody knows whether it takes effect.

    The engine, which knows calls that have ended, cannot say so. Its step of an episode is the engine's own for a write
    that ended with an unknown outcome, so that both are told once.
    """
    call, place = guarded.call, guarded.lane.history.place + 1
    shown = (print_of_fingerprint(call.fingerprint),) if call.fingerprint else ()
    finding = Finding("indeterminate", "stop", call.tool, place, place, 2, 2, fingerprints=shown, call_id=call.call_id)
    group = key_of(call.group_fingerprint, call.key_id) or 0
    return Refuse(finding, (finding.kind, group), LASTING)


def loop_detected(guarded: Guarded, finding: Finding, remaining: Remaining) -> LoopDetected:
    """The error of a stop, with what a person who takes over needs to know."""
    run, lane = guarded.run, guarded.lane
    unused = [name for name in remaining.tools if name not in remaining.exhausted and name != finding.tool]
    finding_id = lane.found.get(finding.kind, "")
    who = f"agent `{lane.agent}`" if lane.agent else "the agent"
    summary = (
        f"{who} was stopped in run `{run.run_id}`: `{finding.tool}` again, {finding.kind}, {finding.count} times"
        f" (limit {finding.limit}), {lane.refused} refused; finding {finding_id}"
        + (f"; not tried or not exhausted: {', '.join(unused[:_MOST_TOOLS])}" if unused else "")
    )
    return LoopDetected(
        summary, tool=finding.tool, kind=finding.kind, count=finding.count, run_id=run.run_id, agent=lane.agent,
        finding_id=finding_id,
    )  # fmt: skip
