"""The compiled package and the interpreted one: the same modules, the same answers.

`make test-compiled` runs these and all other tests of what is compiled; elsewhere the first ones are skipped.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import compiling

PLACE = os.environ.get("LOOPGUARD_TEST_COMPILED", "")
"""The folder of the compiled package, where these tests run on it."""
compiled_only = pytest.mark.skipif(not PLACE, reason="runs on the compiled package: make test-compiled")

ANSWERS = """
import json, random, sys
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader

chance = random.Random(4711)
WORDS = ["open", "Berlin", "3.5 s", "not found", "", " a ", "é", "\\ud800", "<a>1</a>", "2026-12-01T10:00:00Z", "null"]


def value(levels):
    kind = chance.randrange(9 if levels else 6)
    if kind == 0:
        return chance.choice([None, True, False])
    if kind == 1:
        return chance.choice([0, -1, 7, 2**53, 2**63, 2**70, -(2**64)])
    if kind == 2:
        return chance.choice([0.0, -0.0, 1.5, 1e300, float("nan"), float("inf"), 12.0])
    if kind in (3, 4, 5):
        return " ".join(chance.choice(WORDS) for _ in range(chance.randrange(6)))
    if kind == 6:
        return [value(levels - 1) for _ in range(chance.randrange(4))]
    if kind == 7:
        return tuple(value(levels - 1) for _ in range(chance.randrange(3)))
    return {chance.choice(WORDS): value(levels - 1) for _ in range(chance.randrange(4))}


def told(answer):
    return repr(answer)


engine = Engine(Policy())
reader = CallReader(Policy(), fingerprinter(Keyring(SecretKey(bytes(range(32)))), "environment"))
for _ in range(60):
    history, pool = History(), [value(3) for _ in range(4)]
    for turn in range(40):
        arguments, result = chance.choice(pool), chance.choice([*pool, value(2)])
        call = reader.call(chance.choice(["search", "read_file", "edit", "Bash"]), arguments, turn=turn // 2)
        outcome = reader.outcome(call, arguments, result, is_error=chance.random() < 0.3)
        print(told(call), told(outcome), told(engine.decide(history, call)))
        print(told(engine.record(history, call, outcome)))
"""
"""Prints what generated calls come to: fingerprints, sketches, outcomes, verdicts and findings."""


@compiled_only
@pytest.mark.parametrize("name", compiling.modules())
def test_every_module_is_the_compiled_one(name: str) -> None:
    """Each listed module is loaded from the build, as an extension module."""
    module = importlib.import_module(f"{compiling.PACKAGE}.{name.removesuffix('.py').replace('/', '.')}")
    assert str(module.__file__).startswith(PLACE)
    assert str(module.__file__).endswith(compiling.SUFFIX)


@compiled_only
def test_both_give_the_same_answers(root: Path, tmp_path: Path) -> None:
    """2400 generated calls have the same fingerprints, outcomes, verdicts and findings on both."""
    script = tmp_path / "answers.py"
    script.write_text(ANSWERS, encoding="utf-8")

    def answers(path: str) -> list[str]:
        environ = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8:backslashreplace"}
        done = subprocess.run([sys.executable, script], env=environ, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    ours, theirs = answers(PLACE), answers(str(root))
    assert len(theirs) == 2 * 2400
    assert ours == theirs


def test_the_list_names_modules_of_the_package(root: Path) -> None:
    """What stays interpreted by name is there, and so is every folder of which modules are compiled."""
    package = root / compiling.PACKAGE
    assert [name for name in sorted(compiling.INTERPRETED) if not (package / name).is_file()] == []
    assert [name for name in compiling.FOLDERS if not any(package.joinpath(name).glob("*.py"))] == []


def test_a_missing_c_compiler_is_told(root: Path, tmp_path: Path) -> None:
    """Who asks for compiling where no C compiler is gets an error that names one and the way without."""
    pytest.importorskip("mypyc", reason="only the environment for development compiles")
    package = tmp_path / compiling.PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("def one() -> int:\n    return 1\n", encoding="utf-8")
    script = "import compiling, pathlib\n"
    script += f"try:\n    compiling.compile_in(pathlib.Path({str(tmp_path)!r}), ['one.py'])\n"
    script += "except compiling.CompilingError as error:\n    print(error)\n"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "CC": "/nowhere/cc", "PYTHONPATH": str(root)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "the C compiler failed" in done.stdout
    assert "apt install gcc python3-dev" in done.stdout
    assert "the interpreted package is the same code" in done.stdout
