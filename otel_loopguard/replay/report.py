"""A report as the object that programs read.

Not the table for people (`cli.replay`). The names and their order are stable.
"""

from __future__ import annotations

from otel_loopguard.replay.run import Report
from otel_loopguard.stream.events import DOUBTS, Found, Integrity, Observed

__all__ = ["as_object"]


def as_object(report: Report, *, calls: bool = False) -> dict[str, object]:
    """A report as plain JSON values; with ``calls``, one entry for each call too."""
    nudge, stop = report.first("nudge"), report.first("stop")
    result: dict[str, object] = {"run_id": report.run_id, "agent": report.agent, "calls": report.calls}
    if calls:
        result["call_records"] = [_call(call) for call in report.observed]
    result |= {
        "observations": report.observations,
        "verdict": report.verdict,
        "nudge_at": None if nudge is None else nudge.number,
        "stop_at": None if stop is None else stop.number,
        "findings": [_finding(found) for found in report.findings],
        "integrity": [_doubt(doubt) for doubt in report.integrity],
        "termination_reason": report.termination_reason,
    }
    return result


def _call(call: Observed) -> dict[str, object]:
    return {
        "sequence": call.number,
        "call_id": call.call_id,
        "tool": call.tool,
        "fingerprint": call.fingerprint,
        "repeat": call.repeat,
    }


def _finding(found: Found) -> dict[str, object]:
    finding = found.finding
    return {
        "id": found.id,
        "kind": finding.kind,
        "action": finding.action,
        "sequence": found.number,
        "first_sequence": found.first_number,
        "count": finding.count,
        "period": finding.period,
        "tool": finding.tool,
        "fingerprints": list(finding.fingerprints),
        "premature": finding.premature,
    }


def _doubt(doubt: Integrity) -> dict[str, object]:
    return {
        "kind": doubt.kind,
        "sequence": doubt.number,
        "tool": doubt.tool,
        "call_id": doubt.call_id,
        "reason": DOUBTS[doubt.kind],
    }
