#!/usr/bin/env python3
"""Finds or builds an OpenTelemetry Collector by a manifest of this folder, and prints where it is.

By `builder.yaml`, or by `contrib.yaml`: the stock distribution as far as its modules are to be had. It is built with
ocb, the Collector's own builder, once for a manifest, its stand-in and a version of Go, and kept in the user's cache;
nothing is written here. Standard library alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collector_config.building import BuildError, Steps, alone, cache, go_environ, go_version
else:  # a script finds what lies beside it
    from building import BuildError, Steps, alone, cache, go_environ, go_version

FOLDER: Final = Path(__file__).resolve().parent
_TARGETS: Final = {"builder.yaml": "make collector", "contrib.yaml": "make contrib"}
"""The manifests, and what builds them."""
STAND_IN: Final = FOLDER / "servicediscovery"
OCB: Final = "go.opentelemetry.io/collector/cmd/builder"
LEAST_GO: Final = (1, 26)
"""What the modules of the manifest's release ask for in their go.mod files."""
_PAUSE: Final = 15.0
"""Seconds between two lines of progress where there is no terminal."""


def builds() -> Path:
    """The folder that holds every build of a Collector."""
    return cache() / "collector"


@dataclass(frozen=True)
class Distribution:
    """A Collector as a manifest of ocb says what it is made of."""

    manifest: Path

    @property
    def name(self) -> str:
        """The program's name."""
        return self._told(r"""(?m)^  name: ["']?([\w.-]+)["']?(?:\s+#.*)?$""", "name of a program")

    @property
    def release(self) -> str:
        """The release of its components, as `v0.161.0`, which is the builder's as well."""
        return self._told(r"otlpreceiver (v[\d.]+)", "otlpreceiver")

    @property
    def tags(self) -> str:
        """Go's build tags, separated by commas; mostly none."""
        found = re.search(r'(?m)^  build_tags: "?([\w,]+)"?$', self._text())
        return found.group(1) if found else ""

    @property
    def hash(self) -> str:
        """The first 16 hex digits of SHA-256 over the manifest and the stand-in, names and contents."""
        if not STAND_IN.is_dir():
            raise BuildError(f"`{STAND_IN}` is not there\nhint: git checkout {STAND_IN}")
        self._text()
        found = hashlib.sha256()
        for path in [self.manifest, *sorted(path for path in STAND_IN.rglob("*") if path.is_file())]:
            content = path.read_bytes()
            found.update(f"{path.relative_to(FOLDER).as_posix()}\0{len(content)}\0".encode())
            found.update(content)
        return found.hexdigest()[:16]

    def folder_name(self, go: str) -> str:
        """The folder of a build in the cache; with `*` for Go a pattern for builds by any version of it."""
        return f"{self.hash}-go{go}-{platform.system().lower()}-{platform.machine().lower()}"

    def find(self) -> Path | None:
        """The built Collector, or None; without Go one that any version of Go has built."""
        try:
            go = go_version(LEAST_GO, "the Collector")
        except BuildError:
            go = "*"
        found = [path for path in builds().glob(f"{self.folder_name(go)}/{self.name}") if os.access(path, os.X_OK)]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)

    def build(self) -> Path:
        """The Collector's path, built where it is missing. Raises `BuildError`."""
        held = self.find()
        if held is not None:
            return held
        go = go_version(LEAST_GO, "the Collector")
        target = builds() / self.folder_name(go) / self.name
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(target.parent / "lock", _tell):
            if not target.exists():  # another one may have built it while this one waited
                _tell(f"building {self.name} {self.release} with Go {go}: 5 to 20 minutes and 2 GB of disk, once")
                self._build(target)
        return target

    def _build(self, target: Path) -> None:
        log = target.parent / "build.log"
        start = time.monotonic()
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="work-") as held, log.open("w") as written:
            work = Path(held)
            # ocb resolves the stand-in's place against the output, so both go where the output is.
            shutil.copy(self.manifest, work)
            shutil.copytree(STAND_IN, work / STAND_IN.name)
            environ = go_environ(GOBIN=str(work / "bin"))
            steps = Steps(_tell, work, environ, written, _PAUSE)
            steps.run("fetching the builder", ["go", "install", f"{OCB}@{self.release}"])
            ocb = str(work / "bin" / "builder")
            steps.run("fetching the modules", [ocb, "--config", self.manifest.name, "--skip-compilation"])
            code = work / "_build"
            command = ["go", "build", "-trimpath", "-ldflags=-s -w", f"-tags={self.tags}", "-v"]
            steps.run("compiling", [*command, "-o", str(work / self.name), "."], code, of=_packages(code, environ))
            os.replace(work / self.name, target)  # noqa: PTH105 - atomic: nobody sees half a binary
        _tell(f"built in {time.monotonic() - start:.0f} s")

    def _told(self, pattern: str, what: str) -> str:
        found = re.search(pattern, self._text())
        if found is None:
            raise BuildError(f"`{self.manifest}` names no {what}")
        return found.group(1)

    def _text(self) -> str:
        try:
            return self.manifest.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise BuildError(f"`{self.manifest}` cannot be read: {why}\nhint: git checkout {self.manifest}") from None


def _packages(code: Path, environ: Mapping[str, str]) -> int:
    """How many packages there are to compile, at most; 0 where Go does not say."""
    told = subprocess.run(
        ["go", "list", "-deps", "."], cwd=code, env=environ, capture_output=True, text=True, check=False
    )
    return len(told.stdout.splitlines())


def _tell(words: str) -> None:
    print(f"collector: {words}", file=sys.stderr, flush=True)


def main() -> int:
    """The command; 0 with the path on standard output, 1 where there is none."""
    parser = argparse.ArgumentParser(
        prog="collector_config/build.py",
        description="Finds or builds the OpenTelemetry Collector that the recipes of this folder are tested with, and "
        "prints its path as the last line on standard output.",
        epilog=f"Needs Go 1.26 or newer for building. Builds are kept in {builds()}, one for each content of "
        "a manifest and version of Go; remove the folder to be rid of them.",
    )
    parser.add_argument(
        "manifest",
        nargs="?",
        choices=list(_TARGETS),
        default="builder.yaml",
        help="what it is made of (default: %(default)s)",
    )
    parser.add_argument("--find", action="store_true", help="only look: exit 1 where it is not built")
    arguments = parser.parse_args()
    try:
        wanted = Distribution(FOLDER / arguments.manifest)
        found = wanted.find() if arguments.find else wanted.build()
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.strerror} - at `{error.filename}`", file=sys.stderr)
        if str(error.filename).startswith(str(builds().parent.parent)):
            hint = "builds are kept where XDG_CACHE_HOME says, else in ~/.cache; it must be writable"
            print(f"hint: {hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _tell("stopped; what Go has compiled so far is kept in its own cache")
        return 130
    if found is None:
        print(f"error: it is not built\nhint: {_TARGETS[arguments.manifest]}", file=sys.stderr)
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
