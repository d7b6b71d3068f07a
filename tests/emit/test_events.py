"""Events are plain values that say where they belong and what they are, and nothing else."""

from __future__ import annotations

import pytest

from otel_loopguard import names
from otel_loopguard.core.decision import Finding, NudgeOutcome
from otel_loopguard.emit import (
    Judged,
    Origin,
    Totals,
    blocked_event,
    finding_event,
    guard_event,
    integrity_event,
    nudge_event,
    run_end_event,
)

HERE = Origin("run-1", agent="researcher", process_id="p1", key_id="k1", policy_version="7")
FINDING = Finding("cycle", "stop", "search", sequence=6, first_sequence=1, count=3, limit=3, period=2)


def test_finding_event_in_full() -> None:
    """A finding says what was found, about which call, and where it belongs."""
    event = finding_event(FINDING, HERE, Judged("f" * 32, 8, 2, fingerprint="a" * 32, call_id="call_6"))
    assert event.name == "loopguard.finding"
    assert event.severity == "WARN"
    assert event.attributes == {
        "loopguard.run.id": "run-1",
        "gen_ai.agent.name": "researcher",
        "loopguard.process.id": "p1",
        "loopguard.key.id": "k1",
        "loopguard.policy.version": "7",
        "loopguard.finding.id": "f" * 32,
        "loopguard.finding.kind": "cycle",
        "loopguard.finding.action": "stop",
        "loopguard.finding.sequence": 8,
        "loopguard.finding.first_sequence": 2,
        "loopguard.finding.count": 3,
        "loopguard.finding.limit": 3,
        "loopguard.finding.period": 2,
        "gen_ai.tool.name": "search",
        "loopguard.fingerprint": "a" * 32,
        "gen_ai.tool.call.id": "call_6",
    }


def test_unknown_parts_are_left_out() -> None:
    """What is not known is no attribute: neither an empty text nor a period of one."""
    plain = Finding("identical", "nudge", "search", sequence=3, first_sequence=1, count=3, limit=3)
    event = finding_event(plain, Origin("r"), Judged("f" * 32, 3, 1))
    absent = {names.AGENT_NAME, names.PROCESS_ID, names.KEY_ID, names.POLICY_VERSION, names.FINDING_PERIOD,
              names.FINGERPRINT, names.TOOL_CALL_ID}  # fmt: skip
    assert absent.isdisjoint(event.attributes)


@pytest.mark.parametrize("result", ["recovered", "escalated", "open"])
def test_nudge_event(result: str) -> None:
    """How a nudged episode went on names the kind, the tool and the call that decided it."""
    event = nudge_event(NudgeOutcome("drift", result, "search", 5), Origin("r"), 9)  # type: ignore[arg-type]
    assert (event.name, event.severity) == ("loopguard.nudge.outcome", "INFO")
    assert event.attributes == {
        "loopguard.run.id": "r",
        "loopguard.nudge.outcome": result,
        "loopguard.finding.kind": "drift",
        "loopguard.finding.sequence": 9,
        "gen_ai.tool.name": "search",
    }


def test_run_end_event() -> None:
    """A run's end carries its totals, and a reason only where one was recorded."""
    totals = Totals(calls=7, repeat_max=5, progressed=False, wasted_calls=4, wasted_tokens=1200)
    event = run_end_event(Origin("r"), totals, "loop_detected")
    assert (event.name, event.severity) == ("loopguard.run.end", "INFO")
    assert event.attributes == {
        "loopguard.run.id": "r",
        "loopguard.run.calls": 7,
        "loopguard.run.repeat.max": 5,
        "loopguard.run.progressed": False,
        "loopguard.run.wasted.calls": 4,
        "loopguard.run.wasted.tokens": 1200,
        "loopguard.termination.reason": "loop_detected",
    }
    silent = run_end_event(Origin("r"), Totals(7, 5, progressed=False, wasted_calls=4), "")
    assert {names.TERMINATION_REASON, names.RUN_WASTED_TOKENS}.isdisjoint(silent.attributes)


def test_integrity_event() -> None:
    """Doubt about telemetry names its kind and whether enforcement goes off."""
    event = integrity_event(Origin("r"), "clock", sequence=4)
    assert (event.name, event.severity) == ("loopguard.integrity", "WARN")
    assert event.attributes == {
        "loopguard.run.id": "r",
        "loopguard.integrity.kind": "clock",
        "loopguard.integrity.level": "error",
        "loopguard.sequence": 4,
    }


def test_every_emitted_attribute_is_registered() -> None:
    """No event carries an attribute that the registry of names does not explain."""
    registered = {name.name for name in names.ATTRIBUTES}
    events = (
        finding_event(FINDING, HERE, Judged("f" * 32, 8, 2, fingerprint="a", call_id="c")),
        nudge_event(NudgeOutcome("drift", "open", "search", 5), HERE, 9),
        run_end_event(HERE, Totals(1, 1, progressed=True, wasted_calls=0, wasted_tokens=0), "budget"),
        integrity_event(HERE, "gap", sequence=1),
        guard_event(names.DENIED, HERE, "identical", Judged("f" * 32, 8, 2, call_id="c"), "search"),
        guard_event(names.STOPPED, HERE, "identical", Judged("f" * 32, 8, 2), "search"),
        blocked_event(HERE, "permission", "permission: the refund limit"),
    )
    assert {event.name for event in events} == {name.name for name in names.EVENTS}
    for event in events:
        assert registered.issuperset(event.attributes)
