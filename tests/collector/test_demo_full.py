"""`make demo-full`: one round with its checks, staying until Ctrl-C, and what it says where a program is missing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("h11", reason="needs the extra `serve`: make install")

from demo.full.address import Addresses
from demo.full.process import answers
from tests.support.collector import binary, until
from tests.support.programs import program

COMMAND: Final = [sys.executable, "-m", "demo.full"]
JAEGER: Final = "Jaeger finds the stuck agent's trace"


def only(folder: Path, *names: str) -> dict[str, str]:
    """The environment with no other programs on the PATH than those named, where they are there at all."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        if found is not None:
            (folder / name).symlink_to(found)
    return {**os.environ, "PATH": str(folder)}


def test_one_round_with_its_checks(root: Path, tmp_path: Path) -> None:
    """Exit 0: seven checks hold, the alert fires in a real Prometheus, and Jaeger is asked where it is there."""
    binary()
    program("prometheus")
    folder = tmp_path / "out"
    command = [*COMMAND, "--once", "--folder", str(folder)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    count = 8 + (JAEGER in shown)
    assert f"demo-full: {count} of {count} checks hold" in shown
    assert "the alert LoopguardAgentStuck fires for both loops and not for the healthy agent" in shown
    assert ("starting Jaeger" in shown) == (JAEGER in shown)
    found = re.findall(r"^(demo-stuck|incident)\S*\s+(its process|detector)\s+(\S+ \S+)", shown, re.MULTILINE)
    assert found == [
        ("demo-stuck", "its process", "identical nudge"),
        ("demo-stuck", "its process", "identical stop"),
        ("demo-stuck", "its process", "no_progress nudge"),
        ("demo-stuck", "its process", "no_progress nudge"),
        ("incident", "detector", "identical nudge"),
        ("incident", "detector", "identical stop"),
    ]
    assert re.search(r"^demo-healthy\s+none", shown, re.MULTILINE)
    assert "stopped, everything is kept" in (folder / "detector" / "log.txt").read_text()


def test_it_stays_until_ctrl_c(root: Path, tmp_path: Path) -> None:
    """Without Prometheus it goes on and says how to get it; its addresses answer; Ctrl-C ends every program, exit 0."""
    collector = binary()
    environ = only(tmp_path / "bin")
    folder = tmp_path / "out"
    said = tmp_path / "said"
    with said.open("w") as out:
        command = [*COMMAND, "--folder", str(folder), "--collector", str(collector)]
        process = subprocess.Popen(command, cwd=root, env=environ, stdout=out, stderr=subprocess.STDOUT)
        try:
            until(lambda: process.poll() is not None or "Ctrl-C ends it all" in said.read_text(), "a first round")
            assert process.poll() is None, said.read_text()
            shown = said.read_text()
            pages = re.findall(r"http://127\.0\.0\.1:\d+/metrics", shown)
            assert [answers(page) for page in pages] == [True, True, True]
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
    assert code == 0, said.read_text()
    assert "without: Prometheus is not installed, so there are no graphs and alerts: apt-get install" in shown
    assert "Where to look, and where to send to:" in shown
    assert said.read_text().endswith("stopped, every program has ended\n")
    assert [answers(page) for page in pages] == [False, False, False]
    assert "stopped, everything is kept" in (folder / "detector" / "log.txt").read_text()
    for name in ("gateway", "backend"):
        assert "Shutdown complete" in (folder / name / "log.txt").read_text()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], ["https://go.dev/dl/", "error: the OpenTelemetry Collector is neither built nor can be", "COLLECTOR="]),
        (["--collector", "otelcol-mine"], ["error: `otelcol-mine` is no program", "`make collector` builds one"]),
    ],
)
def test_a_collector_that_cannot_be_had_is_named(
    root: Path, tmp_path: Path, flags: list[str], words: list[str]
) -> None:
    """Neither built nor Go to build it with, or no such program: exit 1 with the ways out."""
    environ = only(tmp_path / "bin") | {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [*COMMAND, "--once", *flags], cwd=root, env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert [word for word in words if word not in done.stderr] == []
    assert "Traceback" not in done.stderr


def test_a_folder_with_something_in_it_is_refused(root: Path, tmp_path: Path) -> None:
    """What is there is not mixed with a demo's files."""
    binary()
    (tmp_path / "mine").write_text("")
    command = [*COMMAND, "--once", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"error: the folder `{tmp_path}` is not empty" in done.stderr


def test_a_usual_address_is_given_where_it_is_free() -> None:
    """Once; a port that was given, or that another program has, is replaced by another one."""
    usual, unusual = Addresses(usual=True), Addresses(usual=False)
    free = int(unusual.take(1).rpartition(":")[2])
    assert usual.take(free) == f"127.0.0.1:{free}"
    assert usual.take(free) != f"127.0.0.1:{free}"
    assert len({unusual.take(free) for _ in range(50)}) == 50


@pytest.mark.parametrize(("once", "flag"), [("", False), ("1", True)])
def test_make_runs_it(root: Path, once: str, flag: bool) -> None:  # noqa: FBT001 - a table of cases
    """`make demo-full` stays, `make demo-full ONCE=1` does not."""
    done = subprocess.run(
        ["make", "-n", "demo-full", f"ONCE={once}"], cwd=root, capture_output=True, text=True, check=True
    )
    assert "-m demo.full" in done.stdout
    assert ("--once" in done.stdout) == flag
