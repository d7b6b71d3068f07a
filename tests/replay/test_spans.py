"""The behaviour cases once more, each call as an OTLP/JSON span with content: the findings are the same."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.replay.run import judge
from otel_loopguard.replay.traces import Traces

KEYS = Keyring(SecretKey(bytes(range(32))))
NO_ATTRIBUTE = frozenset(["state", "answered_by"])
"""Fields of call records that no instrumentation writes on a span."""
CASES = {
    case["id"]: case
    for file in sorted((Path(__file__).parent.parent / "vectors" / "behaviour").glob("*.json"))
    if file.stem != "telemetry"  # about how call records come, which spans do in other ways
    for case in json.loads(file.read_text())
    if "error" not in case["expect"]
    and not any(NO_ATTRIBUTE.intersection(call) or "span_id" in call for call in case["calls"])
}
BETWEEN_CALLS = 10_000_000_000
"""Nanoseconds from call to call where a case gives no times: longer than any poller's least interval."""


@pytest.mark.parametrize("name", CASES)
def test_spans_give_what_call_records_give(name: str) -> None:
    """Run, agent, verdict and every finding with its calls, whichever form the calls have."""
    case = CASES[name]
    policy = parse_policy(json.dumps(case["policy"])) if "policy" in case else Policy()
    spans = [{"resourceSpans": [{"scopeSpans": [{"spans": [span(call)]}]}]} for call in case["calls"]]
    assert judged(spans, policy) == judged(case["calls"], policy)


def span(call: dict[str, Any]) -> dict[str, Any]:
    """A call as the gen-AI conventions write it, with our marks for what they have no attribute for."""
    held: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call["tool"],
        "loopguard.run.id": call["run_id"],
    }
    names = {
        "call_id": "gen_ai.tool.call.id", "agent": "gen_ai.agent.name", "error_type": "error.type",
        "turn": "loopguard.turn", "user_message": "loopguard.user.message", "handoff_to": "loopguard.handoff.agent",
    }  # fmt: skip
    held |= {attribute: call[name] for name, attribute in names.items() if name in call}
    content = {"arguments": "gen_ai.tool.call.arguments", "observation": "gen_ai.tool.call.result"}
    held |= {attribute: as_text(call[name]) for name, attribute in content.items() if name in call}
    start = call.get("start_ns", call.get("sequence", 0) * BETWEEN_CALLS) + 1
    return {
        "traceId": hashlib.sha256(call["run_id"].encode()).hexdigest()[:32],
        "spanId": hashlib.sha256(call["call_id"].encode()).hexdigest()[:16],
        "name": f"execute_tool {call['tool']}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(max(start, call.get("end_ns", 0) + 1)),
        "attributes": [
            {"key": key, "value": as_value(value)} for key, value in {**held, **call.get("attributes", {})}.items()
        ],
        "status": {"code": 2 if call.get("is_error") else 0},
    }


def as_text(value: object) -> str:
    """Content as an instrumentation writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def as_value(value: object) -> dict[str, object]:
    """An AnyValue."""
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def judged(lines: list[dict[str, Any]], policy: Policy) -> list[Any]:
    """What replay says of some lines, calls named by their ids."""
    traces = Traces(policy, KEYS, "environment", 1 << 20)
    for line in lines:
        traces.add(json.dumps(line).encode())
    engine = Engine(policy)
    said = []
    for report in (report for run in traces.runs() for report in judge(run, engine, calls=True)):
        ids = {call.number: call.call_id for call in report.observed}
        findings = [
            (one.finding.kind, one.finding.action, one.finding.count, ids[one.number], ids[one.first_number])
            for one in report.findings
        ]
        calls = [(call.call_id, call.fingerprint, call.repeat, call.outcome) for call in report.observed]
        said.append((report.run_id, report.agent, report.verdict, findings, calls))
    return said
