"""The second half of `make demo`: one run over three processes. None of them sees a loop, the detector does.

Each process makes the same call twice, which is nothing; together they make it six times. The processes are agents
under `opentelemetry-instrument` as in the first half, and export to `loopguard serve`.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

__all__ = ["WORKER", "Fleet", "main", "watch"]

HERE: Final = Path(__file__).resolve().parent
PROCESSES: Final = 3
CALLS: Final = 2
RUN: Final = "incident-7731"
WAIT: Final = 30
"""Seconds for what takes one: a hanging process is an error, a slow machine is not."""

WORKER: Final = """
import sys, time
from opentelemetry import trace
tracer = trace.get_tracer("demo.fleet")
for _ in range(int(sys.argv[2])):
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_logs",
        "gen_ai.conversation.id": sys.argv[1],
        "gen_ai.tool.call.arguments": '{"service": "checkout", "customer": "%s"}' % sys.argv[3],
        "gen_ai.tool.call.result": "[]",
    }
    with tracer.start_as_current_span("execute_tool search_logs", attributes=attributes):
        pass
"""
"""One process of the run: its arguments are the run's id, the number of calls and the customer."""


class Fleet(NamedTuple):
    """What came of it."""

    calls: int
    """That the detector saw."""
    alone: int
    """Loop events that the processes sent themselves."""
    findings: list[Mapping[str, Any]]
    """Of the detector."""


def main() -> int:
    """Run, show, check; the exit code."""
    console = Console(highlight=False)
    console.print(f"Three processes share the run `{RUN}`, {CALLS} equal calls each; `loopguard serve` listens ...")
    with tempfile.TemporaryDirectory() as folder:
        fleet = watch(Path(folder))
    table = Table(title="What the detector says of the run", title_justify="left", title_style="bold")
    for heading in ("finding", "action", "call", "of the calls"):
        table.add_column(heading, no_wrap=True)
    for found in fleet.findings:
        table.add_row(
            str(found["loopguard.finding.kind"]),
            str(found["loopguard.finding.action"]),
            str(found["loopguard.finding.sequence"]),
            str(found["loopguard.finding.count"]),
        )
    console.print(table)
    found_it = {str(found["loopguard.finding.action"]) for found in fleet.findings} >= {"nudge", "stop"}
    checks = {
        f"the detector saw {fleet.calls} of {PROCESSES * CALLS} calls": fleet.calls == PROCESSES * CALLS,
        f"no process saw a loop alone ({fleet.alone} loop events)": fleet.alone == 0,
        "the detector saw it over all three: a nudge and a stop": found_it,
    }
    for words, holds in checks.items():
        console.print(f"{'[green]ok  [/]' if holds else '[bold red]FAIL[/]'} {words}")
    return 0 if all(checks.values()) else 1


def watch(folder: Path) -> Fleet:
    """Start a detector, run the processes, stop it, read what it wrote."""
    grpc, page = _free_port(), _free_port()
    out = folder / "findings.jsonl"
    command = [
        sys.executable, "-m", "otel_loopguard", "serve", "--grpc-address", f"127.0.0.1:{grpc}", "--http-address", "off",
        "--page-address", f"127.0.0.1:{page}", "--state-file", str(folder / "state"), "--json-file", str(out),
        "--lateness", "200ms",
    ]  # fmt: skip
    environ = _environment(grpc)
    detector = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
    try:
        _until(lambda: _page(page, "readyz") == "ok\n")
        instrument = Path(sys.executable).with_name("opentelemetry-instrument")
        worker = [sys.executable, str(instrument), sys.executable, "-c", WORKER, RUN, str(CALLS), secrets.token_hex(8)]
        processes = [subprocess.Popen(worker, env=environ) for _ in range(PROCESSES)]
        for process in processes:
            process.wait(WAIT)
        total = PROCESSES * CALLS
        _until(lambda: _total(_page(page, "metrics"), "loopguard_tool_calls_total") >= total)
        metrics = _page(page, "metrics")
    finally:
        detector.send_signal(signal.SIGTERM)
        detector.wait(WAIT)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    findings = [line["attributes"] for line in lines if line["event"] == "loopguard.finding"]
    calls = _total(metrics, "loopguard_tool_calls_total")
    # What a process reported itself is counted by the detector and not told again.
    alone = _total(metrics, "loopguard_findings_total") - len(findings)
    return Fleet(calls, alone, findings)


def _environment(port: int) -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "LOOPGUARD_"))}
    return mine | {
        "OTEL_SERVICE_NAME": "fleet",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_METRICS_EXPORTER": "none",
        "LOOPGUARD_ENABLED": "true",
        "LOOPGUARD_KEY": secrets.token_hex(32),
        "PYTHONPATH": str(HERE.parent),
    }


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _page(port: int, name: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=WAIT) as answer:
            text: str = answer.read().decode()
            return text
    except urllib.error.URLError:
        return ""


def _total(metrics: str, name: str) -> int:
    """The sum of a counter over its labels."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if line.startswith(name + "{"))


def _until(holds: Any) -> None:  # noqa: ANN401 - a condition
    until = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError("the detector did not get there")
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
