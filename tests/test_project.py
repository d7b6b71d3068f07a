"""The project as a stranger finds it: versions that are what the README says, targets that refuse with a way out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points, requires, version
from pathlib import Path

import pytest


def bounds() -> dict[str, set[str]]:
    """Lower bounds of every runtime dependency, by lowercase name."""
    found: dict[str, set[str]] = {}
    for text in requires("otel-loopguard") or ():
        if "extra ==" not in text:
            name, lower = re.search(r"^([A-Za-z0-9-]+).*?>=([0-9.]+)", text).groups()
            found.setdefault(name.lower(), set()).add(lower)
    return found


def pins(constraints: Path) -> dict[str, set[str]]:
    """Pinned versions by name; several where markers tell Pythons apart."""
    found: dict[str, set[str]] = {}
    for line in constraints.read_text(encoding="utf-8").splitlines():
        name, pinned = re.split("==", line.split(";")[0].strip())
        found.setdefault(name, set()).add(pinned)
    return found


def test_oldest_versions_are_the_lower_bounds(root: Path) -> None:
    """What the range of a dependency promises is what the tests on the oldest versions install."""
    oldest = pins(root / "constraints" / "oldest.txt")
    assert {name: oldest[name] for name in bounds()} == bounds()


def test_newest_versions_are_locked(root: Path) -> None:
    """Every dependency, those of tests and development included, has a pin."""
    newest = {**pins(root / "constraints" / "guards-newest.txt"), **pins(root / "constraints" / "newest.txt")}
    wanted = {re.split(r"[<>=;! ]", text, maxsplit=1)[0].lower() for text in requires("otel-loopguard") or ()}
    assert {name for name in wanted if name not in newest} == set()


def test_readme_states_the_supported_sdk(root: Path) -> None:
    """The README's range of the SDK is the one that the constraints install."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    low, high = (
        min(pins(root / "constraints" / f"{name}.txt")["opentelemetry-sdk"]).rsplit(".", 1)[0]
        for name in ("oldest", "newest")
    )
    assert f"OpenTelemetry SDK {low} to {high}" in readme


def test_version_has_changes(root: Path) -> None:
    """The version that is installed is the newest one of the change log."""
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## ([0-9.]+)", log, re.MULTILINE)[1] == version("otel-loopguard")


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("opentelemetry_instrumentor", "loopguard", "otel_loopguard_autoload:LoopGuardInstrumentor"),
        ("console_scripts", "loopguard", "otel_loopguard.cli:main"),
    ],
)
def test_entry_point(group: str, name: str, value: str) -> None:
    """What others find by name is where we say and can be loaded."""
    (found,) = entry_points(group=group, name=name)
    assert found.value == value
    assert found.load()


def test_types_are_shipped(root: Path) -> None:
    """Type checkers of users find our annotations."""
    assert (root / "otel_loopguard" / "py.typed").exists()


PYTHON_OF_3_9 = """#!/bin/sh
case "$2" in
  *print*) echo 3.9 ;;
  *) exit 1 ;;
esac
"""
PYTHON_WITHOUT_VENV = """#!/bin/sh
case "$2" in
  *print*) echo 3.12 ;;
  *venv*) exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    ("python", "error", "hint"),
    [
        (PYTHON_OF_3_9, "is Python 3.9, otel-loopguard needs 3.10 or newer", "apt install python3.12 python3.12-venv"),
        (PYTHON_WITHOUT_VENV, "cannot make virtual environments", "apt install python3.12-venv"),
        (None, "does not run", "apt install python3 python3-venv"),
    ],
)
def test_unfit_python_is_refused(root: Path, tmp_path: Path, python: str | None, error: str, hint: str) -> None:
    """A Python that is too old, lacks venv or is not there is refused with the package to install."""
    program = tmp_path / "python"
    if python is not None:
        program.write_text(python)
        program.chmod(0o755)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "install", f"PYTHON={program}", f"VENV={tmp_path / 'venv'}"],
        cwd=root, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert error in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "venv").exists()


def test_help_names_every_target(root: Path) -> None:
    """`make` alone lists what there is."""
    targets = re.findall(r"^\.PHONY: ([a-z-]+)$", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["make"], cwd=root, env=environ, capture_output=True, text=True, check=True)
    assert re.findall(r"^  make ([a-z-]+)", done.stdout, re.MULTILINE) == targets


def test_one_python_is_enough_for_the_collectors_tests(root: Path) -> None:
    """Where the environment says that another Python runs them none is loaded, and each file says why."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/collector"],
        cwd=root,
        env=os.environ | {"LOOPGUARD_TEST_COLLECTOR": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    files = len(list((root / "tests" / "collector").glob("test_*.py")))
    assert f"\n{files} skipped in" in done.stdout
    assert "another Python runs these: LOOPGUARD_TEST_COLLECTOR=false" in done.stdout
