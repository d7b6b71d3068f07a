"""Kills a detector again and again under load, and counts the findings that are lost or told under another id.

Not a simulation: `loopguard serve` is a process that gets SIGKILL at random moments while the exporter of the
OpenTelemetry SDK sends spans to it, with its own retries; the detector starts again on the same state file. What it
writes in the end is compared with what one that nobody disturbs writes of the same spans.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

KEY: Final = "0123456789abcdef" * 4
LATENESS: Final = {1: 3}
"""Seconds by workers; more than a restart and a retry take, where a parent and its workers start one after the other
and exporters have waited longer and longer meanwhile."""
LATENESS_OF_MORE: Final = 12
RUNS: Final = 12
ONE_OF_THEM: Final = 0.7
"""Of the kills of several workers, those of one alone."""
CALLS: Final = 30


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Detector:
    """`loopguard serve`, started and killed."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.workers = workers
        self.lateness = LATENESS.get(workers, LATENESS_OF_MORE)
        self.out = folder / "out.jsonl"
        self.grpc, self.http, self.page = free_port(), free_port(), free_port()
        self._command = [
            sys.executable, "-m", "otel_loopguard", "serve",
            "--grpc-address", f"127.0.0.1:{self.grpc}", "--http-address", f"127.0.0.1:{self.http}",
            "--page-address", f"127.0.0.1:{self.page}", "--state-file", str(folder / "state"),
            "--json-file", str(self.out), "--lateness", f"{self.lateness}s",
            "--workers", str(workers),
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Until it says that it is ready."""
        environ = {**os.environ, "LOOPGUARD_KEY": KEY}
        self._process = subprocess.Popen(self._command, env=environ, stderr=subprocess.DEVNULL)
        for _ in range(400):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/readyz", timeout=1):
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the detector did not start")

    def kill(self, chance: random.Random) -> None:
        """SIGKILL to all of it, or to one of its workers, which its parent starts again."""
        members = self._members()
        if len(members) > 1 and chance.random() < ONE_OF_THEM:
            os.kill(chance.choice(members[1:]), signal.SIGKILL)
            return
        self.end(signal.SIGKILL)
        while any(Path(f"/proc/{member}").exists() for member in members[1:]):
            time.sleep(0.01)  # workers whose parent is gone end by themselves
        self.start()

    def _members(self) -> list[int]:
        """Process ids: the parent's first."""
        if self._process is None or self.workers == 1:
            return []
        parent = self._process.pid
        found = [parent]
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(path.parent.name))
            except OSError:
                continue  # it has ended
        return found

    def end(self, how: int) -> None:
        """By a signal."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()

    def findings(self) -> Counter[str]:
        """How often each id was written."""
        lines = self.out.read_text().splitlines() if self.out.exists() else []
        return Counter(
            found["id"] for found in map(json.loads, filter(_is_whole, lines)) if found["event"] == "loopguard.finding"
        )


def _is_whole(line: str) -> bool:
    return line.startswith("{") and line.endswith("}")


def recorded(seed: int) -> list[ReadableSpan]:
    """The spans of some runs, most of them stuck sooner or later, shuffled a little as batches are."""
    chance = random.Random(seed)
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "agent"}), shutdown_on_exit=False)
    tracer = provider.get_tracer("crash-test")
    begun = time.time_ns() - CALLS * 1_000_000_000
    found: list[tuple[float, ReadableSpan]] = []
    for run in range(RUNS):
        for call in range(CALLS):
            question = chance.choice(["a", "b"]) if run % 3 else f"{call}"
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "gen_ai.conversation.id": f"run-{run}",
                "gen_ai.tool.call.arguments": json.dumps({"q": question}),
                "gen_ai.tool.call.result": "[]",
            }
            at = begun + call * 1_000_000_000 + run * 1000
            span = tracer.start_span("execute_tool search", attributes=attributes, start_time=at)
            span.end(at + 500_000_000)
            found.append((call + chance.random(), exporter_of(span)))
    exporter.shutdown()
    return [span for _, span in sorted(found, key=lambda one: one[0])]


def exporter_of(span: object) -> ReadableSpan:
    """A span as exporters get it."""
    return span._readable_span()  # type: ignore[attr-defined, no-any-return]


def send(exporters: Sequence[SpanExporter], spans: Sequence[ReadableSpan], seconds: float) -> int:
    """Export in batches over some seconds, each until it is taken; how many exports had to be made again."""
    again = 0
    batches = [spans[at : at + 5] for at in range(0, len(spans), 5)]
    for number, batch in enumerate(batches):
        exporter = exporters[number % len(exporters)]
        while exporter.export(batch) is not SpanExportResult.SUCCESS:
            again += 1
        time.sleep(seconds / len(batches))
    return again


def trial(
    spans: Sequence[ReadableSpan], kills: int, seed: int, seconds: float, workers: int
) -> tuple[Counter[str], int]:
    """The findings of one detector that is killed so many times while it is sent all spans; and exports made again."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        detector = Detector(Path(folder), workers)
        detector.start()
        exporters = [
            GrpcExporter(endpoint=f"http://127.0.0.1:{detector.grpc}", insecure=True),
            HttpExporter(endpoint=f"http://127.0.0.1:{detector.http}/v1/traces"),
        ]
        counts: list[int] = []
        sender = threading.Thread(target=lambda: counts.append(send(exporters, spans, seconds)))
        sender.start()
        for _ in range(kills):
            time.sleep(chance.uniform(0.05, seconds / max(1, kills)))
            detector.kill(chance)
        sender.join()
        time.sleep(detector.lateness * 2 + 1)
        detector.end(signal.SIGTERM)
        for exporter in exporters:
            exporter.shutdown()
        return detector.findings(), counts[0]


def main() -> int:
    """Print the figures; exit code 1 where a finding was lost or has another id."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--trials", type=int, default=6, help="detectors (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=5, help="of each detector (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of load (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="of each detector (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the exporters tell of every retry
    spans = recorded(options.seed)
    print("crash test: undisturbed", file=sys.stderr)
    expected, _ = trial(spans, 0, 0, 0.5, 1)
    lost = other = twice = again = 0
    for number in range(options.trials):
        print(f"crash test: trial {number + 1} of {options.trials}", file=sys.stderr)
        found, made_again = trial(spans, options.kills, options.seed + number + 1, options.seconds, options.workers)
        lost += len(expected.keys() - found.keys())
        other += len(found.keys() - expected.keys())
        twice += sum(count - 1 for count in found.values())
        again += made_again
    figures = {
        "workers": options.workers,
        "points": options.trials * options.kills,
        "findings": len(expected),
        "lost": lost,
        "doubled": other,
        "delivered_again": twice,
        "exports_again": again,
    }
    if options.json:
        print(json.dumps(figures))
    else:
        print(
            f"{figures['points']} kills, {len(expected)} findings each time: {lost} lost, {other} under another id; "
            f"{twice} lines written again under the same id, {again} exports made again"
        )
    return 1 if lost or other or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
