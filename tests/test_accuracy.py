"""The accuracy benchmark on a folder of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ASKED = {"tool": "look", "arguments": {"page": 1}, "observation": "nothing on this page"}
LOOP = [ASKED] * 6
WORK = [{**ASKED, "arguments": {"page": number}, "observation": f"page {number}"} for number in range(6)]
LATE = [*WORK[:3], *LOOP]


def lines(run_id: str, calls: list[dict[str, Any]]) -> str:
    """The lines of one run."""
    return "".join(json.dumps({"run_id": run_id, "sequence": place, **call}) + "\n" for place, call in enumerate(calls))


def accuracy(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The benchmark, started as a user starts it."""
    command = [sys.executable, str(root / "benchmarks" / "accuracy.py"), *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_a_folder_of_recorded_runs(root: Path, tmp_path: Path) -> None:
    """Runs with a label each: a loop found, one found later, work left alone; the exit code tells what is over."""
    runs = {"a": LOOP, "b": LATE, "c": WORK, "d": WORK}
    (tmp_path / "own.jsonl").write_text("".join(lines(name, calls) for name, calls in runs.items()))
    labels = tmp_path / "own.labels.json"
    labels.write_text(json.dumps({"a": True, "b": {"loop": True}, "c": False}))
    done = accuracy(root, str(tmp_path), "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert told["name"] == "accuracy"
    assert told["ratios"] == {"wrong": 0.0, "missed": 0.0, "clean_stopped": 0.0}
    ours = told["figures"]["rules"]["ours"]["corpora"]["own"]
    assert (ours["runs"], ours["flagged"], ours["stopped"], ours["loops"], ours["clean"]) == (4, 2, 2, 2, 1)
    assert ours["calls_to_detection"] == 4.5
    assert told["figures"]["rules"]["5 in row"]["all"]["calls_to_detection"] == 6.5
    labels.write_text(json.dumps({"c": True, "d": True, "a": False}))
    assert accuracy(root, str(tmp_path), "--json").returncode == 1


def test_a_folder_without_runs(root: Path, tmp_path: Path) -> None:
    """An empty folder and one that is not there are told with the way out."""
    assert "one call a line" in accuracy(root, str(tmp_path)).stderr
    assert "LOOPGUARD_SHARED" in accuracy(root, str(tmp_path / "none")).stderr
