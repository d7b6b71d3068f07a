"""Processes that come and go: each counts for itself, and none of them hangs at its end."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

ON: Final = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": "0123456789abcdef" * 4}
AGENT: Final = '''
import json, os, sys
import otel_loopguard
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


class Lines(SpanExporter):
    """Prints what counts of each tool span, in one write."""

    def export(self, spans):
        for span in spans:
            names = ("sequence", "process.id", "repeat.count")
            told = {name: span.attributes.get(f"loopguard.{name}") for name in names}
            os.write(1, (json.dumps({"pid": os.getpid(), **told}) + "\\n").encode())
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines()))


def call(times=1):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": "{}"}
    with otel_loopguard.run("one run"):
        for _ in range(times):
            with provider.get_tracer("t").start_as_current_span("execute_tool t", attributes=attributes):
                pass
'''


def start(tmp_path: Path, source: str, environ: Mapping[str, str] = ON) -> subprocess.Popen[str]:
    """Start a program below the agent's code."""
    script = tmp_path / "app.py"
    script.write_text(AGENT + source)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPGUARD_", "OTEL_", "COV"))}
    return subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, env={**own, **environ}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(tmp_path: Path, source: str) -> dict[int, list[dict[str, Any]]]:
    """The calls that a program printed, by process, in their order; it must end well and quietly."""
    with start(tmp_path, source) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    found: dict[int, list[dict[str, Any]]] = {}
    for line in out.splitlines():
        told = json.loads(line)
        found.setdefault(told["pid"], []).append(told)
    return found


def sequences(calls: list[dict[str, Any]]) -> list[int]:
    """The numbers of some calls."""
    return [told["sequence"] for told in calls]


METHODS: Final = [
    method for method in ("spawn", "fork", "forkserver") if method in multiprocessing.get_all_start_methods()
]


@pytest.mark.parametrize("method", METHODS)
def test_children_of_multiprocessing(tmp_path: Path, method: str) -> None:
    """Each child counts from 1 under a process id of its own, the parent goes on with its own count."""
    source = f"""
import multiprocessing, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forking a process that has threads
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    call(2)
    children = [context.Process(target=call, args=(3,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    call()
"""
    found = run(tmp_path, source)
    counts = sorted(sequences(calls) for calls in found.values())
    assert counts == [[1, 2, 3]] * 3
    assert all(sequences(calls) == [told["repeat.count"] for told in calls] for calls in found.values())
    ids = [{told["process.id"] for told in calls} for calls in found.values()]
    assert [len(one) for one in ids] == [1, 1, 1]
    assert len(set.union(*ids)) == 3


def test_a_pool_of_workers(tmp_path: Path) -> None:
    """Workers that serve several tasks count on over them."""
    source = """
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(call, [1, 2]))
"""
    (calls,) = run(tmp_path, source).values()
    assert sequences(calls) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_inside_a_span(tmp_path: Path) -> None:
    """A child that is forked while a tool's span is open ends it for itself, the parent too."""
    source = """
attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": "{}"}
span = provider.get_tracer("t").start_span("execute_tool t", attributes=attributes)
child = os.fork()
span.end()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    found = run(tmp_path, source)
    assert [sequences(calls) for calls in found.values()] == [[1], [1]]
    assert len({calls[0]["process.id"] for calls in found.values()}) == 2


@pytest.mark.parametrize(
    "source",
    [
        "import atexit\natexit.register(call)\ncall()\nprovider.shutdown()",
        "import atexit\natexit.register(call, 2)",
        "import threading\nthread = threading.Thread(target=call, args=(2,))\nthread.start()",
    ],
    ids=["after the shutdown", "at the end", "in a thread that outlives the program"],
)
def test_the_end_of_a_process(tmp_path: Path, source: str) -> None:
    """What is called while a process ends is annotated or not, but nothing hangs and nothing is raised."""
    with start(tmp_path, source) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in err


def test_a_notebook_that_runs_its_cells_again(tmp_path: Path) -> None:
    """A cell that sets everything up is run three times: each provider is watched once, one history goes on."""
    source = '''
cell = """
from opentelemetry import trace
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines()))
otel_loopguard.instrument(provider)
from otel_loopguard_autoload import LoopGuardInstrumentor
LoopGuardInstrumentor().instrument(tracer_provider=provider)
call()
"""
for _ in range(3):
    exec(cell, globals())
'''
    (calls,) = run(tmp_path, source).values()
    assert sequences(calls) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_process_that_is_frozen(tmp_path: Path) -> None:
    """Stopped in the middle and thawed, as functions in the cloud are, it counts on and ends."""
    source = "call()\nsys.stdin.readline()\ncall()\n"
    with start(tmp_path, source) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate("\n", timeout=60)
    assert [first["sequence"], json.loads(out)["sequence"]] == [1, 2]
    assert process.returncode == 0
