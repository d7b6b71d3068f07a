"""Servers that keep several workers: each counts for itself, and all end when they are asked to."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import pytest

from tests.vendors import environments

pytestmark = pytest.mark.vendors

ON: Final = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": environments.KEY}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the environment with the servers."""
    return environments.environment("servers", environments.wheel(tmp_path_factory.mktemp("wheel")))


@contextmanager
def serving(python: Path, *command: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A server until it is asked to end, which it does well."""
    drop = ("LOOPGUARD_", "OTEL_", "PYTHON", "COV", "VIRTUAL_ENV")
    own = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
    with subprocess.Popen(
        [python, "-m", *command], cwd=environments.AGENTS, env={**own, **ON, **environ}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                out, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        assert process.returncode in {0, -signal.SIGTERM}, out
        assert "otel-loopguard: " not in out, out


def said(process: subprocess.Popen[str], words: str) -> None:
    """Read what a server prints until it says that it is there."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"the server ended before it said: {words}")


@pytest.mark.parametrize(
    ("command", "ready"),
    [
        ("gunicorn -w 2 serving:wsgi --bind 127.0.0.1:{port}", "Booting worker"),
        ("gunicorn -w 2 --preload serving:wsgi --bind 127.0.0.1:{port}", "Booting worker"),
        ("uvicorn --workers 2 serving:asgi --port {port}", "Application startup complete"),
    ],
    ids=["gunicorn", "gunicorn with one application for all workers", "uvicorn"],
)
def test_workers_behind_a_port(python: Path, command: str, ready: str) -> None:
    """Whether a worker loads the application itself or is forked with it, it counts from 1 under its own process id."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    found: dict[int, list[dict[str, Any]]] = {}
    with serving(python, *command.format(port=port).split()) as process:
        for _ in range(2):
            said(process, ready)
        for _ in range(300):
            with urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                told = json.load(answer)
            found.setdefault(told["pid"], []).append(told)
            if len(found) == 2 and min(map(len, found.values())) > 1:
                break
    assert len(found) == 2
    for calls in found.values():
        assert [told["sequence"] for told in calls] == list(range(1, len(calls) + 1))
        assert len({told["process.id"] for told in calls}) == 1
    assert len({calls[0]["process.id"] for calls in found.values()}) == 2


def test_celery(python: Path, tmp_path: Path) -> None:
    """Prefork workers count each for itself."""
    broker, told = tmp_path / "broker", tmp_path / "told"
    broker.mkdir()
    environ = {"BROKER": str(broker), "TOLD": str(told)}
    environments.run(python, "-c", "import serving\nfor _ in range(8): serving.work.delay()", environ={**ON, **environ})
    command = ("celery", "-A", "serving:tasks", "worker", "--pool=prefork", "-c", "2", "-l", "INFO", "--without-mingle")
    with serving(python, *command, **environ) as process:
        for _ in range(8):
            said(process, "succeeded in")
    calls = [json.loads(line) for line in told.read_text().splitlines()]
    by_pid: dict[int, list[int]] = {}
    for one in calls:
        by_pid.setdefault(one["pid"], []).append(one["sequence"])
    assert len(calls) == 8
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_pid.values())
    assert len({one["process.id"] for one in calls}) == len(by_pid)
