"""What several workers take in, against one: a real server, senders over HTTP, and the processor time of every worker.

Not the cost of a span in the detector alone (`bench_stream`): here receiving, acknowledging and handing on count too.
The speed-up is that of the busiest worker's processor time, since wall time on a machine that does other things says
little; with a core for each worker both are the same.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

__all__ = ["speed_up"]

SENDERS: Final = 32
"""Connections: the kernel divides them among the workers by chance, so few ones may all end at one."""
_TICK: Final = os.sysconf("SC_CLK_TCK")


def speed_up(bodies: Sequence[bytes], spans: int, workers: Sequence[int] = (1, 2)) -> Mapping[str, object]:
    """Microseconds of the busiest worker for one span, wall time, and how many times as much several take in."""
    shown: dict[str, object] = {}
    first = 0.0
    for count in workers:
        print(f"stream: {count} worker{'s' if count > 1 else ''}", file=sys.stderr)
        wall, times = _measured(bodies, count)
        busiest = max(times)
        first = first or busiest
        total = len(bodies) * spans
        shown[f"{count} workers, spans a second of wall time"] = round(total / wall)
        shown[f"{count} workers, us of the busiest a span"] = round(busiest / total * 1e6, 2)
        shown[f"{count} workers, us of all a span"] = round(sum(times) / total * 1e6, 2)
        shown[f"{count} workers, times as much as one"] = round(first / busiest, 2)
    return shown


def _measured(bodies: Sequence[bytes], workers: int) -> tuple[float, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "otel_loopguard", "serve", "--grpc-address", "off", "--http-address", "127.0.0.1:0",
            "--page-address", "off", "--state-file", str(Path(folder) / "state"), "--lateness", "1s",
            "--workers", str(workers),
        ]  # fmt: skip
        environ = {**os.environ, "LOOPGUARD_KEY": "0123456789abcdef" * 4}
        with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
            found = re.search(r"OTLP/HTTP on port (\d+)", process.stderr.readline() if process.stderr else "")
            if found is None:
                process.kill()
                raise RuntimeError("the detector did not start")
            members = _children(process.pid) if workers > 1 else [process.pid]
            before = [_seconds(member) for member in members]
            begun = time.monotonic()
            senders = [
                threading.Thread(target=_send, args=(int(found[1]), bodies[number::SENDERS]))
                for number in range(SENDERS)
            ]
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()
            wall = time.monotonic() - begun
            time.sleep(3)  # until the last calls are judged
            after = [_seconds(member) for member in members]
            process.send_signal(signal.SIGTERM)
            process.wait()
        return wall, [now - then for now, then in zip(after, before, strict=True)]


def _send(port: int, bodies: Sequence[bytes]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for body in bodies:
        while True:
            connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                break
            time.sleep(float(answer.headers.get("retry-after", "1")))
    connection.close()


def _children(parent: int) -> list[int]:
    stats = {path: path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")}
    return [int(path.parent.name) for path, fields in stats.items() if int(fields[1]) == parent]


def _seconds(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK
