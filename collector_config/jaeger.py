#!/usr/bin/env python3
"""Finds or builds Jaeger, a backend to try the queries of QUERIES.md with, and prints where it is.

Jaeger has no release as a module that `go install` takes, so it is built as the tool of a module of its own, once a
version, and kept in the user's cache; nothing is written here. It has all APIs and no pages. Standard library alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collector_config.building import BuildError, Steps, alone, cache, go_environ, go_version
else:  # a script finds what lies beside it
    from building import BuildError, Steps, alone, cache, go_environ, go_version

VERSION: Final = "v1.76.0"
"""The tag of Jaeger 2.13.0; its modules are numbered on from those of Jaeger 1."""
PACKAGE: Final = "github.com/jaegertracing/jaeger/cmd/jaeger"
LEAST_GO: Final = (1, 24)
"""What its go.mod file asks for."""
_PAUSE: Final = 30.0
"""Seconds between two lines of progress."""


def builds() -> Path:
    """The folder of this version's build."""
    return cache() / "jaeger" / VERSION


def find() -> Path | None:
    """The built Jaeger, or None."""
    program = builds() / "jaeger"
    return program if os.access(program, os.X_OK) else None


def build() -> Path:
    """Jaeger's path, built where it is missing. Raises `BuildError`."""
    held = find()
    if held is not None:
        return held
    go_version(LEAST_GO, "Jaeger")
    module = builds() / "module"
    module.mkdir(parents=True, exist_ok=True)
    with alone(builds() / "lock", _tell):
        held = find()  # another one may have built it while this one waited
        if held is not None:
            return held
        _tell(f"building {VERSION}: 20 to 60 minutes on two cores and 4 GB of disk, once")
        start = time.monotonic()
        with (builds() / "build.log").open("w") as log:
            steps = Steps(_tell, module, go_environ(), log, _PAUSE)
            if not (module / "go.mod").exists():
                steps.run("beginning a module", ["go", "mod", "init", "jaeger"])
            steps.run("fetching the modules", ["go", "get", "-tool", f"{PACKAGE}@{VERSION}"])
            command = ["go", "build", "-p", "2", "-trimpath", "-ldflags=-s -w", "-v", "-o", "jaeger.part", PACKAGE]
            steps.run("compiling some 2300 packages", command)
        os.replace(module / "jaeger.part", builds() / "jaeger")  # noqa: PTH105 - atomic: nobody sees half a binary
        _tell(f"built in {time.monotonic() - start:.0f} s")
    return builds() / "jaeger"


def _tell(words: str) -> None:
    print(f"jaeger: {words}", file=sys.stderr, flush=True)


def main() -> int:
    """The command; 0 with the path on standard output, 1 where there is none."""
    parser = argparse.ArgumentParser(
        prog="collector_config/jaeger.py",
        description="Finds or builds Jaeger, with which the queries of QUERIES.md are tested, and prints its path as "
        "the last line on standard output. Start it with: PATH --config collector_config/jaeger.yaml",
        epilog=f"Needs Go 1.24 or newer for building. The build is kept in {builds()}; remove the folder to be rid of "
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
