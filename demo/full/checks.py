"""What must hold of the full demo: the checks that decide the exit code of `make demo-full ONCE=1`."""

from __future__ import annotations

import contextlib
import json
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from demo.fleet import PROCESSES
from demo.full import prometheus
from demo.full.agents import CALLS, Round
from demo.full.backend import Backend
from demo.full.process import ProcessError, until
from demo.full.stack import Stack
from demo.report import Check
from demo.run import Run

__all__ = ["ALERT", "check", "is_complete", "jaeger_search"]

ALERT: Final = "LoopguardAgentStuck"
WAIT: Final = 30.0
"""Seconds for an alert; it takes some."""


def is_complete(backend: Backend, played: Round) -> bool:
    """Whether the backend has every call and the stops of both loops."""
    stopped = {found.run for found in backend.findings() if found.action == "stop"}
    return len(backend.calls()) >= CALLS and stopped >= {"demo-stuck", played.fleet_run}


def check(stack: Stack, played: Round) -> list[Check]:
    """All of them, after one round."""
    backend = Backend.read(stack.output)
    findings = backend.findings()
    healthy = Run.read("healthy", backend.spans, backend.logs)
    own = [found for found in findings if found.agent == "stuck"]
    fleet = [found for found in findings if found.run == played.fleet_run]
    alone = {str(span.attributes.get("loopguard.verdict")) for span in backend.calls("fleet")}
    found = [
        Check(len(backend.calls()) == CALLS, f"the backend has {len(backend.calls())} of {CALLS} tool calls"),
        Check(
            {one.action for one in own} >= {"nudge", "stop"} and not any(one.by_detector for one in own),
            "the stuck agent's own process found its loop, and the detector did not say it again",
        ),
        Check(alone == {"allow"}, f"none of the fleet's {PROCESSES} processes saw a loop"),
        Check(
            [one.action for one in fleet if one.by_detector] == ["nudge", "stop"],
            "the detector saw it over all of them: a nudge and a stop",
        ),
        Check(
            all(call.verdict == "allow" for call in healthy.calls)
            and not [one for one in findings if one.agent == "healthy"],
            f"the healthy agent is left alone in {len(healthy.calls)} calls",
        ),
        Check(not backend.copies(), f"{len(findings)} findings came, each once"),
        Check(
            not (readable := _readable(stack.folder, played.customer.encode())),
            "no argument or result is readable in any file: outputs, queues, state, logs"
            + "".join(f" ({path})" for path in readable),
        ),
    ]
    if stack.prometheus is not None:
        found.append(_check_alert(stack.prometheus))
    if stack.jaeger is not None:
        found.append(_check_jaeger(stack.jaeger))
    return found


def jaeger_search(address: str) -> str:
    """The URL that finds the stuck agent's trace: its API's, since Jaeger is built without pages."""
    tags = json.dumps({"loopguard.finding.action": "stop"})
    return f"http://{address}/api/traces?" + urllib.parse.urlencode(
        {"service": "stuck", "tags": tags, "lookback": "1h"}
    )


def _readable(folder: Path, text: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text in path.read_bytes()]


def _check_alert(address: str) -> Check:
    """One for the stuck agent, one for the fleet, whose spans name no agent."""

    def firing() -> set[str]:
        alerts = prometheus.query(address, f'ALERTS{{alertname="{ALERT}", alertstate="firing", job="otel-loopguard"}}')
        return {alert.get("gen_ai_agent_name", "") for alert in alerts}

    _wait_for(lambda: len(firing()) > 1)
    return Check(firing() == {"stuck", ""}, f"the alert {ALERT} fires for both loops and not for the healthy agent")


def _check_jaeger(address: str) -> Check:
    def traces() -> int:
        with urllib.request.urlopen(jaeger_search(address), timeout=20) as answer:  # noqa: S310 - our own address
            return len(json.load(answer)["data"])

    _wait_for(lambda: traces() > 0)
    return Check(traces() == 1, "Jaeger finds the stuck agent's trace by loopguard.finding.action=stop")


def _wait_for(holds: Callable[[], bool]) -> None:
    """Wait; whoever asks finds out whether it came to hold."""
    with contextlib.suppress(ProcessError):
        until(holds, "", WAIT)
