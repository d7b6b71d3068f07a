"""What the builds of this folder have in common: a cache, a Go, steps whose progress is told, one build at a time.

For `build.py` and `jaeger.py` beside it, which run as they lie here. Standard library alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

_TAIL: Final = 25
"""Lines of a failed build's log that are shown."""


class BuildError(Exception):
    """What was to be built cannot be had; the words say why and what to do."""


def cache() -> Path:
    """The folder that holds every build."""
    held = os.environ.get("XDG_CACHE_HOME")
    base = Path(held) if held and Path(held).is_absolute() else Path.home() / ".cache"
    return base / "otel-loopguard"


def go_version(least: tuple[int, int], what: str) -> str:
    """The version of the Go that is installed, as `1.26.8`; raises `BuildError` where it is absent or too old."""
    wanted = f"{least[0]}.{least[1]} or newer"
    hint = f"hint: install Go {wanted} from https://go.dev/dl/ and put it on the PATH"
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"Go is not installed\n{hint}")
    told = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    found = re.search(r"go(\d+)\.(\d+)(\.\d+)?", told.stdout)
    if told.returncode or found is None:
        raise BuildError(f"`{go} version` does not say which Go it is: {(told.stderr or told.stdout).strip()}")
    if (int(found.group(1)), int(found.group(2))) < least:
        raise BuildError(f"`{go}` is {found.group(0)}, {what} needs {wanted}\n{hint}")
    return found.group(0).removeprefix("go")


def go_environ(**more: str) -> dict[str, str]:
    """The environment of a build; only what ocb itself would set: another flag would be another build to Go's cache."""
    flags = f"{os.environ.get('GOFLAGS', '')} -buildvcs=false".strip()
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": flags, **more}


@dataclass(frozen=True)
class Steps:
    """Runs the programs of a build in one folder, their words into one log."""

    tell: Callable[[str], None]
    folder: Path
    environ: Mapping[str, str]
    log: TextIO
    pause: float
    """Seconds between two lines of progress."""

    def run(self, what: str, command: list[str], folder: Path | None = None, of: int = 0) -> None:
        """Run one to its end, telling how far it is; ``of``: packages that it compiles at most."""
        start = told = time.monotonic()
        lines: list[str] = []
        self.tell(what)
        with subprocess.Popen(
            command,
            cwd=folder or self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            for line in process.stdout:
                lines.append(line)
                self.log.write(line)
                self.log.flush()
                now = time.monotonic()
                if now - told >= self.pause:
                    told = now
                    done = f"{len(lines)} of at most {of} packages" if of else f"{len(lines)} done"
                    self.tell(f"  {what}: {now - start:.0f} s, {done}")
        if process.returncode:
            tail = "".join(lines[-_TAIL:]).rstrip()
            raise BuildError(
                f"{what} failed: `{' '.join(command)}` ended with {process.returncode}\n{tail}\n"
                f"hint: the whole log is `{self.log.name}`; behind a proxy set GOPROXY, where modules are not found"
            )


@contextlib.contextmanager
def alone(path: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """One build at a time on this machine; the others wait and find it done."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where two builds at once waste time and do no harm
    except ImportError:
        yield
        return
    with path.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            tell("another build of it is running; waiting for its end")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
