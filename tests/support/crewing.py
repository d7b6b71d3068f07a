"""`loopguard serve` as a process with its workers, on free ports: a test sends to it, kills workers, and stops it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.serving import KEY

_PORTS = {"OTLP/gRPC": "grpc", "OTLP/HTTP": "http", "pages": "page"}


class Crewing:
    """A detector from entering to leaving; every setting may be given."""

    def __init__(self, folder: Path, workers: int, **settings: str) -> None:
        self.json = folder / "out.jsonl"
        given = {
            "grpc_address": "127.0.0.1:0",
            "http_address": "127.0.0.1:0",
            "page_address": "127.0.0.1:0",
            "state_file": str(folder / "state"),
            "lateness": "2s",
            "json_file": str(self.json),
            "workers": str(workers),
        } | settings
        self._command = [sys.executable, "-m", "otel_loopguard", "serve"]
        for name, value in given.items():
            self._command += ["--" + name.replace("_", "-"), value]
        self.ports: dict[str, int] = {}
        self.told: list[str] = []
        self.code: int | None = None

    def __enter__(self) -> Crewing:
        environ = {**os.environ, "LOOPGUARD_KEY": KEY}
        self.process = subprocess.Popen(self._command, env=environ, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        late = threading.Timer(60, self.process.kill)
        late.start()
        for line in self.process.stderr:
            self.told.append(line.strip())
            if line.startswith("loopguard: ready: "):
                break
        else:
            late.cancel()
            self.code = self.process.wait()
            self.process.stderr.close()
            raise AssertionError(self.told)
        late.cancel()
        for what, port in re.findall(r"(OTLP/gRPC|OTLP/HTTP|pages) on port (\d+)", self.told[-1]):
            self.ports[_PORTS[what]] = int(port)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End it by a signal."""
        if self.code is None:
            self.process.send_signal(how)
            self.code = self.process.wait(60)
            self._reader.join()
            assert self.process.stderr is not None
            self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.told.append(line.strip())  # each at once

    def workers(self) -> list[int]:
        """Process ids of the workers, in no order."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = path.read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue  # it has ended
            if int(parent) == self.process.pid:
                found.append(int(path.parent.name))
        return found

    def request(self, method: str, path: str, body: bytes = b"", port: str = "http") -> tuple[int, str]:
        """One request on a connection of its own: status and text."""
        connection = HTTPConnection("127.0.0.1", self.ports[port], timeout=20)
        try:
            connection.request(method, path, body, {"content-type": "application/x-protobuf"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def page(self, path: str) -> str:
        """A page."""
        return self.request("GET", path, port="page")[1]

    def send(self, body: bytes, path: str = "/v1/traces") -> int:
        """A request, again and again until it is acknowledged, as exporters do; how often it was refused."""
        pause = threading.Event()
        for refused in range(600):
            try:
                if self.request("POST", path, body)[0] == 200:
                    return refused
            except (OSError, HTTPException):
                pass
            pause.wait(0.05)
        raise AssertionError("it was never acknowledged")

    def findings(self) -> Counter[str]:
        """How often the finding of each id was written."""
        return Counter(line["id"] for line in self.lines() if line["event"] == "loopguard.finding")

    def lines(self) -> list[dict[str, Any]]:
        """What was written."""
        text = self.json.read_text() if self.json.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    @staticmethod
    def until(holds: Callable[[], bool], seconds: float = 60) -> None:
        """Wait for what must come to hold."""
        waiting = threading.Event()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return
            waiting.wait(0.05)
        raise AssertionError("it did not come to hold")
