"""The programs that the full demo runs: found, built where that takes minutes, or named with the way to get them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["RECIPES", "MissingError", "Programs"]

RECIPES: Final = Path(__file__).resolve().parent.parent.parent / "collector_config"
COLLECTOR_HINT: Final = (
    "name one that you have, such as COLLECTOR=/usr/bin/otelcol-contrib; `make collector` builds one"
)
PROMETHEUS_HINT: Final = "apt-get install -y --no-install-recommends prometheus, or https://prometheus.io/download/"
JAEGER_HINT: Final = "make jaeger builds it, once, in up to an hour"


class MissingError(Exception):
    """What the demo cannot do without is not there; the words say how to get it."""


class Programs(NamedTuple):
    """Where they are."""

    collector: str
    prometheus: str | None
    jaeger: str | None

    @classmethod
    def find(cls, collector: str | None = None) -> Programs:
        """Look, and build the Collector where it is missing and none is given. Raises `MissingError`."""
        found = _collector() if collector is None else _given(collector)
        return cls(found, shutil.which("prometheus"), _jaeger())

    def missing(self) -> list[str]:
        """A line for each program that is left out."""
        found = []
        if self.prometheus is None:
            found.append(f"Prometheus is not installed, so there are no graphs and alerts: {PROMETHEUS_HINT}")
        if self.jaeger is None:
            found.append(f"Jaeger is not built, so traces are in files alone: {JAEGER_HINT}")
        return found


def _collector() -> str:
    """Its path; a build tells on standard error how far it is."""
    build = [sys.executable, str(RECIPES / "build.py")]
    done = subprocess.run(build, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise MissingError(f"the OpenTelemetry Collector is neither built nor can be\nhint: {COLLECTOR_HINT}")
    return done.stdout.splitlines()[-1]


def _given(collector: str) -> str:
    found = shutil.which(collector)
    if found is None:
        raise MissingError(f"`{collector}` is no program\nhint: {COLLECTOR_HINT}")
    return str(Path(found).resolve())


def _jaeger() -> str | None:
    done = subprocess.run(
        [sys.executable, str(RECIPES / "jaeger.py"), "--find"], capture_output=True, text=True, check=False
    )
    return None if done.returncode else done.stdout.splitlines()[-1]
