"""`collector_config/jaeger.py` says what it lacks and leaves nothing half done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.queries import COLLECTOR_CONFIG
from tests.support.required import missing

PROGRAM: Final = COLLECTOR_CONFIG / "jaeger.py"


def run(cache: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it with a cache of its own."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache), **variables}
    command = [sys.executable, PROGRAM, *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_what_is_built_is_found(tmp_path: Path) -> None:
    """`--find` looks where a build is kept: an error with the way out at first, then the path on standard output."""
    absent = run(tmp_path, "--find")
    assert (absent.returncode, absent.stdout) == (1, "")
    assert absent.stderr == "error: Jaeger is not built\nhint: make jaeger\n"
    program = tmp_path / "otel-loopguard" / "jaeger" / "v1.76.0" / "jaeger"
    program.parent.mkdir(parents=True)
    program.write_text("")
    assert run(tmp_path, "--find").returncode == 1  # no program
    program.chmod(0o755)
    for arguments in (("--find",), ()):
        found = run(tmp_path, *arguments)
        assert (found.returncode, found.stdout) == (0, f"{program}\n")


def test_without_go(tmp_path: Path) -> None:
    """Whoever lacks Go is told which and where from."""
    told = run(tmp_path, PATH=str(tmp_path))
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith("error: Go is not installed\nhint: install Go 1.24 or newer from https://go.dev/dl/")


def test_without_a_network(tmp_path: Path) -> None:
    """Where modules cannot be fetched the step, its last words and the log are named, and no program is left."""
    if shutil.which("go") is None:
        missing("Go is not installed (https://go.dev/dl/)")
    told = run(tmp_path, GOPROXY="off", GOMODCACHE=str(tmp_path / "modules"), GOFLAGS="-modcacherw")
    assert told.returncode == 1
    assert "error: fetching the modules failed: `" in told.stderr
    assert "module lookup disabled by GOPROXY=off" in told.stderr
    assert f"hint: the whole log is `{tmp_path}" in told.stderr
    assert run(tmp_path, "--find").returncode == 1
