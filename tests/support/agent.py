"""Instrumented agents as a user starts them: `opentelemetry-instrument` around a program, ours switched on by
variables.

Not the programs: those are modules that make spans and know nothing of otel-loopguard.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

from tests.support.collector import ROOT
from tests.support.serving import KEY

__all__ = ["Stepwise", "environment", "run"]

_WAIT: Final = 60
"""Seconds for an agent: a hanging one is an error, a slow machine is not."""


def environment(service: str, endpoint: str, protocol: str = "grpc", **variables: str) -> dict[str, str]:
    """What a user sets: OTLP to a host and port, and otel-loopguard unless ``LOOPGUARD_ENABLED`` is `false`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "LOOPGUARD_"))}
    return kept | {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{endpoint}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
        "LOOPGUARD_ENABLED": "true",
        "LOOPGUARD_KEY": KEY,
        "PYTHONPATH": str(ROOT),
        **variables,
    }  # fmt: skip


def run(module: str, *arguments: str, environ: Mapping[str, str]) -> None:
    """One agent from its first call to its end."""
    with _start(module, *arguments, environ=environ) as process:
        _, errors = process.communicate(timeout=_WAIT)
    assert process.returncode == 0, errors


class Stepwise:
    """A process of `tests.support.stepwise_agent`, from entering to leaving."""

    def __init__(self, seed: str, environ: Mapping[str, str]) -> None:
        self._seed, self._environ = seed, environ
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Stepwise:
        self._process = _start("tests.support.stepwise_agent", self._seed, environ=self._environ)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            self._process.kill()
        _, errors = self._process.communicate(timeout=_WAIT)
        if error is None:
            assert self._process.returncode == 0, errors

    def begin(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """Let it make some calls and export them; `finish` waits for the end of that."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(calls) + "\n")
        self._process.stdin.flush()

    def finish(self) -> None:
        """Wait until what was begun is with the receiver."""
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if said != "exported\n":
            self._process.kill()
            raise AssertionError(f"the agent said {said!r}: {self._process.communicate()[1]}")

    def make(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """Both."""
        self.begin(calls)
        self.finish()


def _start(module: str, *arguments: str, environ: Mapping[str, str]) -> subprocess.Popen[str]:
    instrument = Path(sys.executable).with_name("opentelemetry-instrument")
    command = [sys.executable, str(instrument), sys.executable, "-m", module, *arguments]
    pipe: Literal[-1] = subprocess.PIPE
    return subprocess.Popen(command, env=dict(environ), text=True, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT)
