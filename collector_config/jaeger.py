#!/usr/bin/env python3
"""Finds or builds Jaeger, a backend to try the queries of QUERIES.md with, and prints where it is.

Jaeger has no release as a module that `go install` takes, so it is built as the tool of a module of its own, once a
version, and kept in the user's cache; nothing is written here. It has all APIs and no pages. Standard library alone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

VERSION: Final = "v1.76.0"
"""The tag of Jaeger 2.13.0; its modules are numbered on from those of Jaeger 1."""
PACKAGE: Final = "github.com/jaegertracing/jaeger/cmd/jaeger"
LEAST_GO: Final = (1, 24)
"""What its go.mod file asks for."""
INSTALL_GO: Final = "install Go 1.24 or newer from https://go.dev/dl/ and put it on the PATH"
_TAIL: Final = 25
"""Lines of a failed build's log that are shown."""
_PAUSE: Final = 30.0
"""Seconds between two lines of progress."""


class BuildError(Exception):
    """Jaeger cannot be had; the words say why and what to do."""


def cache() -> Path:
    """The folder of this version's build."""
    held = os.environ.get("XDG_CACHE_HOME")
    base = Path(held) if held and Path(held).is_absolute() else Path.home() / ".cache"
    return base / "otel-loopguard" / "jaeger" / VERSION


def find() -> Path | None:
    """The built Jaeger, or None."""
    program = cache() / "jaeger"
    return program if os.access(program, os.X_OK) else None


def build() -> Path:
    """Jaeger's path, built where it is missing. Raises `BuildError`."""
    held = find()
    if held is not None:
        return held
    go = _go()
    module = cache() / "module"
    module.mkdir(parents=True, exist_ok=True)
    with _alone(cache() / "lock"):
        held = find()  # another one may have built it while this one waited
        if held is not None:
            return held
        _tell(f"building {VERSION}: 20 to 60 minutes on two cores and 4 GB of disk, once")
        start = time.monotonic()
        with (cache() / "build.log").open("w") as log:
            if not (module / "go.mod").exists():
                _run("beginning a module", [go, "mod", "init", "jaeger"], module, log)
            _run("fetching the modules", [go, "get", "-tool", f"{PACKAGE}@{VERSION}"], module, log)
            command = [go, "build", "-p", "2", "-trimpath", "-ldflags=-s -w", "-v", "-o", "jaeger.part", PACKAGE]
            _run("compiling some 2300 packages", command, module, log)
        os.replace(module / "jaeger.part", cache() / "jaeger")  # noqa: PTH105 - atomic: nobody sees half a binary
        _tell(f"built in {time.monotonic() - start:.0f} s")
    return cache() / "jaeger"


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"Go is not installed\nhint: {INSTALL_GO}")
    told = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    found = re.search(r"go(\d+)\.(\d+)", told.stdout)
    if told.returncode or found is None:
        raise BuildError(f"`{go} version` does not say which Go it is: {(told.stderr or told.stdout).strip()}")
    if (int(found.group(1)), int(found.group(2))) < LEAST_GO:
        raise BuildError(f"`{go}` is {found.group(0)}, Jaeger needs 1.24 or newer\nhint: {INSTALL_GO}")
    return go


def _run(what: str, command: list[str], folder: Path, log: TextIO) -> None:
    """Run one step to its end, telling every half minute how far it is; its words go to the log."""
    environ = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    environ["GOFLAGS"] = f"{environ.get('GOFLAGS', '')} -buildvcs=false".strip()
    start = told = time.monotonic()
    lines: list[str] = []
    _tell(what)
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        for line in process.stdout:
            lines.append(line)
            log.write(line)
            log.flush()
            if time.monotonic() - told >= _PAUSE:
                told = time.monotonic()
                _tell(f"  {what}: {told - start:.0f} s, {len(lines)} done")
    if process.returncode:
        tail = "".join(lines[-_TAIL:]).rstrip()
        raise BuildError(
            f"{what} failed: `{' '.join(command)}` ended with {process.returncode}\n{tail}\n"
            f"hint: the whole log is `{log.name}`; behind a proxy set GOPROXY, where modules are not found"
        )


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
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
            _tell("another build of it is running; waiting for its end")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _tell(words: str) -> None:
    print(f"jaeger: {words}", file=sys.stderr, flush=True)


def main() -> int:
    """The command; 0 with the path on standard output, 1 where there is none."""
    parser = argparse.ArgumentParser(
        prog="collector_config/jaeger.py",
        description="Finds or builds Jaeger, with which the queries of QUERIES.md are tested, and prints its path as "
        "the last line on standard output. Start it with: PATH --config collector_config/jaeger.yaml",
        epilog=f"Needs Go 1.24 or newer for building. The build is kept in {cache()}; remove the folder to be rid of "
        "it.",
    )
    parser.add_argument("--find", action="store_true", help="only look: exit 1 where it is not built")
    arguments = parser.parse_args()
    try:
        found = find() if arguments.find else build()
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _tell("stopped; what Go has compiled so far is kept in its own cache")
        return 130
    if found is None:
        print("error: Jaeger is not built\nhint: make jaeger", file=sys.stderr)
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
