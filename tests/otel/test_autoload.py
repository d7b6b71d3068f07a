"""Switching on by the environment alone, under `opentelemetry-instrument`, and costing nothing when off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

import otel_loopguard_autoload
from otel_loopguard_autoload import LoopGuardInstrumentor, is_enabled

APPLICATION: Final = """
import json, sys
from opentelemetry import trace
tracer = trace.get_tracer("app")
with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
    for _ in range(3):
        with tracer.start_as_current_span("execute_tool search", attributes={
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments": '{"q": "canary"}', "gen_ai.tool.call.result": "[]"}):
            pass
print("MODULES " + json.dumps(sorted(name for name in sys.modules if name.startswith("otel_loopguard"))))
"""


def run(tmp_path: Path, environ: Mapping[str, str], source: str = APPLICATION) -> subprocess.CompletedProcess[str]:
    """Run an application under `opentelemetry-instrument` with the console exporter."""
    script = tmp_path / "app.py"
    script.write_text(source)
    command = [Path(sys.executable).parent / "opentelemetry-instrument", sys.executable, script]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPGUARD_", "OTEL_"))}
    exporters = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    return subprocess.run(
        command,
        cwd=tmp_path,
        env={**own, **exporters, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def modules(finished: subprocess.CompletedProcess[str]) -> list[str]:
    """Our modules that the application had loaded."""
    (line,) = [line for line in finished.stdout.splitlines() if line.startswith("MODULES ")]
    loaded: list[str] = json.loads(line.removeprefix("MODULES "))
    return loaded


needs_command = pytest.mark.skipif(
    not (Path(sys.executable).parent / "opentelemetry-instrument").exists(),
    reason="needs `opentelemetry-instrument`: pip install opentelemetry-distro",
)


@needs_command
@pytest.mark.parametrize("environ", [{}, {"LOOPGUARD_ENABLED": "false"}, {"LOOPGUARD_ENABLED": ""}])
def test_off_means_one_module(tmp_path: Path, environ: Mapping[str, str]) -> None:
    """With the variable unset or off, the entry point's module is all of ours that is imported."""
    finished = run(tmp_path, environ)
    assert finished.returncode == 0, finished.stderr
    assert modules(finished) == ["otel_loopguard_autoload"]
    assert "canary" in finished.stdout
    assert "loopguard.fingerprint" not in finished.stdout


@needs_command
@pytest.mark.parametrize("word", ["true", "1", "TRUE", "yes"])
def test_one_variable_is_enough(tmp_path: Path, word: str) -> None:
    """Switched on, tool spans are annotated and redacted and a loop is found; an unknown word is on, with a warning."""
    finished = run(tmp_path, {"LOOPGUARD_ENABLED": word, "LOOPGUARD_KEY": "0123456789abcdef" * 4})
    assert finished.returncode == 0, finished.stderr
    assert "canary" not in finished.stdout
    assert finished.stdout.count('"loopguard.fingerprint"') == 3
    assert '"loopguard.verdict": "nudge"' in finished.stdout
    assert ("`LOOPGUARD_ENABLED`" in finished.stderr) == (word == "yes")
    assert "Failed to auto initialize" not in finished.stderr


@needs_command
def test_wrong_values_are_told_and_read_as_the_most_private(tmp_path: Path) -> None:
    """One warning for each wrong value, naming the variable and what is allowed; the agent runs on, redacted."""
    environ = {
        "LOOPGUARD_ENABLED": "true",
        "LOOPGUARD_KEY": "short",
        "LOOPGUARD_CONTENT": "everything",
        "LOOPGUARD_EXCEPTIONS": "maybe",
        "LOOPGUARD_KEY_SCOPE": "world",
        "LOOPGUARD_POLICY": str(tmp_path / "missing.yaml"),
    }
    finished = run(tmp_path, environ)
    assert finished.returncode == 0, finished.stderr
    assert "canary" not in finished.stdout
    assert '"loopguard.key.id": "ephemeral"' in finished.stdout
    for name in environ.keys() - {"LOOPGUARD_ENABLED", "LOOPGUARD_POLICY"}:
        assert finished.stderr.count(f"`{name}`") == 1, finished.stderr
    assert "missing.yaml" in finished.stderr
    assert "`redact`, `redact_all`, `keep`" in finished.stderr


@needs_command
def test_no_provider_is_no_trouble(tmp_path: Path) -> None:
    """Where OpenTelemetry itself is disabled, the application runs and we say that there is nothing to watch."""
    finished = run(tmp_path, {"LOOPGUARD_ENABLED": "true", "OTEL_SDK_DISABLED": "true"})
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("word", "expected"),
    [("", False), ("false", False), ("0", False), (" False ", False), ("true", True), ("1", True), ("on", True)],
)
def test_words(word: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only the negative words switch off; unset does, too."""
    assert is_enabled({"LOOPGUARD_ENABLED": word}) is expected
    assert is_enabled({}) is False


def test_the_loader_finds_what_it_asks_for() -> None:
    """The loader's protocol without its base class."""
    assert LoopGuardInstrumentor().instrumentation_dependencies() == ()


def test_an_error_at_set_up_is_told_without_its_message() -> None:
    """What goes wrong while we are switched on does not stop the application; it runs in a process of its own."""
    source = (
        "import otel_loopguard.otel, otel_loopguard_autoload as autoload; "
        "otel_loopguard.otel.instrument = lambda _: {}['secret']; "
        "autoload.LoopGuardInstrumentor().instrument(skip_dep_check=True)"
    )
    command, environ = [sys.executable, "-c", source], {**os.environ, "LOOPGUARD_ENABLED": "true"}
    finished = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    assert "not started: KeyError" in finished.stderr
    assert "secret" not in finished.stderr


def test_the_module_imports_the_standard_library_alone() -> None:
    """Nothing of ours and nothing of OpenTelemetry's is imported by importing the entry point."""
    source = (
        "import sys; before = set(sys.modules); import otel_loopguard_autoload; "
        "print([n for n in set(sys.modules) - before if n.split('.')[0] not in sys.stdlib_module_names])"
    )
    finished = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, cwd=Path(
        otel_loopguard_autoload.__file__).parent)  # fmt: skip
    assert finished.stdout.strip() == "['otel_loopguard_autoload']"
