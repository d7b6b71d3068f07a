"""A forked child counts its own calls, under its own process id, and inherits no lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Final

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SOURCE: Final = """
import json, os, sys, threading
import otel_loopguard
from tests.support.process import Process

process = Process()

def calls(count):
    with otel_loopguard.run("r"):
        for _ in range(count):
            process.call(arguments={"q": "x"})

def said():
    keys = ("loopguard.sequence", "loopguard.repeat.count", "loopguard.process.id")
    counted = process.live.counters.total("loopguard.tool.calls")
    return {"spans": [[one[key] for key in keys] for one in process.attributes], "counted": counted}

calls(2)
holding, release = threading.Event(), threading.Event()

def hold():
    with process.live._lock, process.processor._watch.witness._lock, process.live.counters._lock:
        holding.set()
        release.wait()

thread = threading.Thread(target=hold)
thread.start()
holding.wait()
process.exporter.clear()
read, write = os.pipe()
child = os.fork()
if child == 0:
    calls(2)
    os.write(write, json.dumps(said()).encode())
    os._exit(0)
release.set()
thread.join()
os.waitpid(child, 0)
calls(1)
print(json.dumps({"child": json.loads(os.read(read, 65536)), "parent": said()}))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What parent and child say of their calls, forked while another thread held every lock of ours."""
    finished = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SOURCE],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    said: dict[str, Any] = json.loads(finished.stdout)
    return said


def test_the_child_starts_anew(told: dict[str, Any]) -> None:
    """Its numbers, repeats and counters start at one, and no lock that was held at the fork holds it up."""
    assert [span[:2] for span in told["child"]["spans"]] == [[1, 1], [2, 2]]
    assert told["child"]["counted"] == 2


def test_the_parent_goes_on(told: dict[str, Any]) -> None:
    """The parent's run is not disturbed."""
    assert [span[:2] for span in told["parent"]["spans"]] == [[3, 3]]
    assert told["parent"]["counted"] == 3


def test_their_process_ids_differ(told: dict[str, Any]) -> None:
    """Numbers of two processes are never mistaken for each other's."""
    assert told["child"]["spans"][0][2] != told["parent"]["spans"][0][2]
