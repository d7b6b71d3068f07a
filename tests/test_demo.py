"""The demo: it shows the loop, leaves the healthy run alone, and fails when either does not hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demo.run import Call, Run, saving
from demo.scripts import SCRIPTS, STEPS


def demo(root: Path, *changes: str) -> tuple[int, list[str], str]:
    """Exit code, the checks that failed, and all that was shown."""
    done = subprocess.run(
        [sys.executable, "-m", "demo", *changes], cwd=root, capture_output=True, text=True, check=False, timeout=120
    )
    lines = done.stdout.splitlines()
    return done.returncode, [line[5:] for line in lines if line.startswith("FAIL")], done.stdout + done.stderr


def test_demo_succeeds(root: Path) -> None:
    """Switched on by the environment alone, the stuck agent is found at steps 5 and 6 and the healthy one is not."""
    code, failed, shown = demo(root)
    assert (code, failed) == (0, []), shown
    assert "nudge at step 5, stop at step 6" in shown
    assert "The same agent with a guard ended at step 7 after 4 tool calls" in " ".join(shown.split())
    assert "Stopping the stuck run at step 6 instead of 40 saves 34 steps" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ("LOOPGUARD_ENABLED=false", ["one fingerprint", "loop is found", "loop events", "left alone", "readable"]),
        ("LOOPGUARD_CONTENT=keep", ["readable"]),
    ],
)
def test_demo_fails_by_itself(root: Path, change: str, failed: list[str]) -> None:
    """A loop that is missed and an argument that can be read each end in exit code 1 and are named."""
    code, lines, shown = demo(root, change)
    assert code == 1, shown
    assert len(lines) == len(failed), shown
    assert all(words in line for words, line in zip(failed, lines, strict=True))


def test_demo_fails_when_the_healthy_run_is_flagged(root: Path, tmp_path: Path) -> None:
    """A policy that does not know the poller flags the healthy run, and the demo says so."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ntools:\n  get_export_status: {kind: read}\n  search_logs: {kind: read}\n")
    code, lines, shown = demo(root, f"LOOPGUARD_POLICY={policy}")
    assert code == 1, shown
    assert [line for line in lines if "left alone" in line] == lines


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_scripts_hold_the_customer_everywhere(script: object) -> None:
    """Every argument text holds the name that must not arrive, so that one search proves its absence."""
    assert callable(script)
    steps = list(script("NAME"))
    assert len(steps) == STEPS
    assert [step.tool for step in steps if "NAME" not in step.arguments] == []


def test_saving_counts_what_comes_after_the_stop() -> None:
    """The step that is refused has been paid for; what stopping saves are the steps after it."""
    calls = [Call(step, "t", "f", step, "stop" if step > 2 else "allow", "[REDACTED]") for step in range(1, 6)]
    saved = saving(Run(calls, [1.0, 2.0, 4.0, 8.0, 16.0], [], 0))
    assert saved == (3, 2, 24.0, 31.0)


def test_nothing_is_saved_without_a_stop() -> None:
    """A run that is never stopped saves nothing."""
    assert saving(Run([Call(1, "t", "f", 1, "nudge", "")], [1.0], [], 0)) is None
