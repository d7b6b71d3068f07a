"""One program of the demo: started, known to be ready, stopped; what it says goes to a file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["Process", "ProcessError", "answers", "until"]

START: Final = 60.0
"""Seconds for what takes one: a hanging program is an error, a slow machine is not."""
STOP: Final = 20.0
_PAUSE: Final = 0.05
_TAIL: Final = 15
"""Lines of a log that are shown."""


class ProcessError(Exception):
    """A program did not start, or ended by itself; the words hold the end of its log."""


class Process:
    """A child of ours in a session of its own, so that Ctrl-C reaches it through us alone."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, environ: Mapping[str, str], is_ready: Callable[[], bool]
    ) -> None:
        """Starts it in ``folder`` and waits until it is ready. Raises `ProcessError`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = folder / "log.txt"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "LOOPGUARD_"))}
        with self.log.open("wb") as log:
            self._child = subprocess.Popen(
                command, cwd=folder, env={**kept, **environ}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        try:
            until(lambda: self._child.poll() is not None or is_ready(), f"{name} is ready", START)
            self.check()
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raises `ProcessError` where it has ended."""
        code = self._child.poll()
        if code is not None:
            tail = "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:])
            raise ProcessError(f"{self.name} ended with {code}\n{tail}\nhint: the whole log is `{self.log}`")

    def stop(self) -> None:
        """SIGTERM and its end; SIGKILL for what does not heed it."""
        if self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGTERM)
        try:
            self._child.wait(STOP)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def answers(url: str) -> bool:
    """Whether an address answers a GET with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def until(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Wait for what must come to hold. Raises `ProcessError`."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise ProcessError(f"it did not come to hold within {seconds:.0f} s: {what}")
        time.sleep(_PAUSE)
