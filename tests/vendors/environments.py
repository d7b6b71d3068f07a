"""Virtual environments with the real packages, made once and kept under `.cache/vendors`, and a wheel of ours in each.

Not the environment of the tests: packages that exclude each other are tried beside each other.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache" / "vendors"
REQUIREMENTS: Final = Path(__file__).parent / "requirements"
AGENTS: Final = Path(__file__).parent / "agents"
KEY: Final = "0123456789abcdef" * 4


def pinned(name: str) -> dict[str, str]:
    """Versions of an environment by distribution."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").split()
    return {distribution.lower(): version for distribution, _, version in (line.partition("==") for line in lines)}


def uv(*arguments: str | Path) -> None:
    """Run uv, which makes an environment in seconds."""
    beside = Path(sys.executable).parent / "uv"
    program = str(beside) if beside.exists() else shutil.which("uv")
    assert program is not None, "uv is not installed: `make test-vendors` installs it"
    done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def wheel(folder: Path) -> Path:
    """Build the wheel that a user would install."""
    uv("build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


def environment(name: str, built: Path) -> Path:
    """The Python of an environment: made if need be, with the wheel installed anew."""
    wanted = (REQUIREMENTS / f"{name}.txt").read_bytes() + sys.version.encode()
    stamp = hashlib.sha256(wanted).hexdigest()
    folder = CACHE / name
    python = folder / "bin" / "python"
    held = folder / "stamp"
    if not held.exists() or held.read_text() != stamp:
        uv("venv", "--quiet", "--clear", "--python", sys.executable, folder)
        uv("pip", "install", "--quiet", "--python", python, "--no-deps", "-r", REQUIREMENTS / f"{name}.txt")
        held.write_text(stamp)
    uv("pip", "install", "--quiet", "--python", python, "--no-deps", "--reinstall", built)
    return python


def run(python: Path, *command: str | Path, environ: Mapping[str, str] | None = None) -> str:
    """What a program prints in an environment that has nothing of ours set but what is given; it must end well."""
    drop = ("LOOPGUARD_", "OTEL_", "PYTHON", "COV", "VIRTUAL_ENV")
    own = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
    path = {"PATH": f"{python.parent}{os.pathsep}{own.get('PATH', '')}"}
    done = subprocess.run(
        [python, *command], cwd=AGENTS, env={**own, **path, **(environ or {})}, capture_output=True, text=True,
        timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "otel-loopguard: " not in done.stderr, done.stderr
    return done.stdout
