"""A real Jaeger with `collector_config/jaeger.yaml`, on free ports, and its search."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.collector import RECIPES, free_port, until
from tests.support.required import missing

__all__ = ["Jaeger", "jaeger_binary"]


@cache
def jaeger_binary() -> Path:
    """The built Jaeger; skips the test where there is none."""
    command = [sys.executable, str(RECIPES / "jaeger.py"), "--find"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        missing("Jaeger is not built: make test-jaeger, an hour at most, once", variable="LOOPGUARD_TEST_BACKENDS")
    return Path(found.stdout.splitlines()[-1])


class Jaeger:
    """From entering to leaving."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "jaeger.log"
        self.grpc = f"127.0.0.1:{free_port()}"
        """Target of its OTLP receiver."""
        self.query = f"127.0.0.1:{free_port()}"
        self._program = jaeger_binary()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Jaeger:
        environ = {
            "PATH": os.environ.get("PATH", ""),
            "OTLP_GRPC_ADDRESS": self.grpc,
            "OTLP_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
            "QUERY_ADDRESS": self.query,
            "QUERY_GRPC_ADDRESS": f"127.0.0.1:{free_port()}",
            "OTEL_TRACES_SAMPLER": "always_off",
        }
        with self.log.open("wb") as log:
            command = [self._program, "--config", RECIPES / "jaeger.yaml"]
            process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        self._process = process
        until(lambda: process.poll() is not None or self._answers(), f"Jaeger answers\n{self.log.read_text()[-3000:]}")
        if process.poll() is not None:
            raise AssertionError(f"Jaeger ended with {process.returncode}\n{self.log.read_text()[-3000:]}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(40) == 0

    def get(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - parsed JSON
        """The `data` of an answer; raises `urllib.error.HTTPError`."""
        url = f"http://{self.query}{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def search(self, service: str, tags: Mapping[str, str]) -> list[str]:
        """The ids of the traces that have all tags, as the search form asks."""
        found = self.get("/api/traces", service=service, tags=json.dumps(tags), lookback="1h", limit="100")
        return sorted(trace["traceID"] for trace in found)

    def _answers(self) -> bool:
        try:
            self.get("/api/services")
        except OSError:
            return False
        return True
