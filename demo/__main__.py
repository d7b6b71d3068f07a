"""`make demo`: runs three agents as a user would, shows what a backend saw, and checks it. Exit 1 when a check fails.

The agents are processes under `opentelemetry-instrument` with otel-loopguard switched on by the environment alone.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rich.console import Console

from demo.receiver import Receiver
from demo.report import check_guarded, checks, show
from demo.run import Run

HERE: Final = Path(__file__).resolve().parent
AGENTS: Final = ("stuck", "healthy", "guarded")
TIMEOUT: Final = 60
"""Seconds for an agent, hundred times what it needs: a hanging one is an error, a slow machine is not."""
LOG_EVENTS_SINCE: Final = (1, 38)
"""The first SDK whose logs API takes an event as we send it."""


def environment(name: str, endpoint: str, key: str) -> dict[str, str]:
    """What a user would set: OTLP as for any instrumented program, and three variables of ours."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "LOOPGUARD_"))}
    return mine | {
        "OTEL_SERVICE_NAME": name,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "otlp",
        "LOOPGUARD_ENABLED": "true",
        "LOOPGUARD_KEY": key,
        "LOOPGUARD_POLICY": str(HERE / "policy.yaml"),
        "PYTHONPATH": str(HERE.parent),
    }


def start(name: str, customer: str, variables: dict[str, str]) -> subprocess.Popen[str]:
    """One agent in its own process."""
    instrument = Path(sys.executable).with_name("opentelemetry-instrument")
    module = "demo.guarded" if name == "guarded" else "demo.agent"
    command = [sys.executable, str(instrument), sys.executable, "-m", module, name, customer]
    return subprocess.Popen(command, env=variables, text=True, stderr=subprocess.PIPE, cwd=HERE.parent)


def main(*changes: str) -> int:
    """Run, show, check; the exit code. `changes` are variables of the agents, such as `LOOPGUARD_CONTENT=keep`."""
    console = Console(highlight=False)
    secret = f"customer-{secrets.token_hex(8)}"
    receiver = Receiver()
    endpoint = receiver.start()
    key = secrets.token_hex(32)
    console.print(f"Three scripted agents run with LOOPGUARD_ENABLED=true and send OTLP to {endpoint} ...")
    changed = dict(change.split("=", 1) for change in changes)
    agents = {
        name: start(name, secret, environment(name, endpoint, key) | changed)
        for name in ("stuck", "healthy", "guarded")
    }
    for name, agent in agents.items():
        _, errors = agent.communicate(timeout=TIMEOUT)
        if errors.strip():
            console.print(f"[{name}] {errors.strip()}", markup=False)
        if agent.returncode:
            console.print(f"error: the agent `{name}` ended with exit code {agent.returncode}", markup=False)
            return 1
    receiver.stop()
    stuck, healthy, guarded = (Run.read(name, receiver.spans, receiver.logs) for name in agents)
    show(console, stuck, healthy, guarded)
    logs = tuple(int(part) for part in version("opentelemetry-sdk").split(".")[:2]) >= LOG_EVENTS_SINCE
    results = checks(stuck, healthy, receiver.raw, secret, logs=logs)
    results.append(check_guarded(guarded, logs=logs))
    for check in results:
        console.print(f"{'[green]ok  [/]' if check.holds else '[bold red]FAIL[/]'} {check.words}")
    held = sum(check.holds for check in results)
    console.print(f"demo: {held} of {len(results)} checks hold")
    return 0 if held == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
