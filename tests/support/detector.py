"""`loopguard serve` as a process of its own, which can be killed and started again on the same ports and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.support.collector import free_port, page, samples, until
from tests.support.serving import KEY

__all__ = ["Detector"]

_STOP: Final = 30
"""Seconds for a stop, which itself may take ten."""


class Detector:
    """From entering to leaving; ``environ`` adds variables, ``flags`` arguments."""

    def __init__(self, folder: Path, *flags: str, **environ: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "detector.log"
        self.state = folder / "state"
        self.grpc, self.http, self.page = (f"127.0.0.1:{free_port()}" for _ in range(3))
        self._environ = {"LOOPGUARD_KEY": KEY, **environ}
        self._command = [
            sys.executable, "-m", "otel_loopguard", "serve", "--grpc-address", self.grpc, "--http-address", self.http,
            "--page-address", self.page, "--state-file", str(self.state), "--json-file", str(folder / "out.jsonl"),
            *flags,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Detector:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, again after a kill, and wait until it takes requests."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "LOOPGUARD_"))}
        with self.log.open("ab") as log:
            process = subprocess.Popen(self._command, env=kept | self._environ, stdout=log, stderr=log)
        self._process = process
        until(lambda: process.poll() is not None or self._is_ready(), "the detector is ready")
        assert process.poll() is None, self.log.read_text()[-3000:]

    def stop(self) -> None:
        """SIGTERM, and its end: everything is kept and sent."""
        code = self._end(signal.SIGTERM)
        assert code in {None, 0}, self.log.read_text()[-3000:]

    def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(how)
        try:
            return process.wait(_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the detector did not stop\n{self.log.read_text()[-3000:]}") from None

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.page}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def numbers(self) -> dict[str, float]:
        """The samples of its page: name with labels, sorted, to value."""
        return samples(page(self.page))

    def lines(self) -> list[dict[str, Any]]:
        """The events that it wrote as JSON lines until now."""
        path = self.folder / "out.jsonl"
        *whole, _ = path.read_text().split("\n") if path.exists() else [""]  # the last one may be half written
        return [json.loads(line) for line in whole]

    def told(self, event: str) -> list[dict[str, Any]]:
        """The attributes of those of one name."""
        return [line["attributes"] for line in self.lines() if line["event"] == event]

    def written(self) -> bytes:
        """Everything in its folder: state, lines, what it said; while it runs its page as well."""
        held = b"".join(path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file())
        return held if self._process is None else held + page(self.page).encode()
