"""What every query in SQL must answer about the afternoon of `tests.support.incident`, whatever the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.support.incident import Incident

__all__ = ["ANSWERS", "TRACES", "traces_of"]

Row = tuple[str | int, ...]

ANSWERS: Final[Mapping[str, list[Row]]] = {
    "Which runs loop now?": [
        ("ticket-4711", "triage", "search_logs", 2),
        ("ticket-4711", "triage", "get_order", 1),
        ("ticket-4712", "triage", "search_logs", 1),
    ],
    "Which tools loop?": [("search_logs", "identical", 3), ("get_order", "identical", 1)],
    # 4711: two searches after the first finding and two orders; 4712: one order. A thousand tokens before each.
    "What was wasted, by agent?": [("triage", 2, 5, 5000)],
    "Which nudges were ignored?": [
        ("ticket-4711", "triage", "search_logs", 4),
        ("ticket-4711", "triage", "get_order", 9),
    ],
    "All findings of one run, over all its processes": [
        (3, "search_logs", "identical", "nudge", "support"),
        (5, "search_logs", "identical", "stop", "support"),
        (8, "get_order", "identical", "nudge", "otel-loopguard"),
    ],
    "Every call with the same fingerprint": [("support", "ticket-4711", 5, 5)],
    "Is the telemetry of a run in doubt?": [("ticket-4714", "gap", "error")],
    # All but one call had arguments, all had a result.
    "What was redacted?": [("gen_ai.tool.call.arguments", 17), ("gen_ai.tool.call.result", 18)],
    "Which tool calls were not judged?": [("support", 1)],
}

TRACES: Final[Mapping[str, list[str]]] = {
    "Where are loops of one kind?": ["support ticket-4711", "support ticket-4712", "worker ticket-4711"],
    "The looping trace of a run": ["support ticket-4711"],
}
"""Answers that are trace ids: whose trace each is."""


def traces_of(incident: Incident, answer: list[tuple[str]]) -> list[str]:
    """Whose traces were answered: service and run."""
    return sorted(incident.owners[trace] for (trace,) in answer)
