"""Hosts that do what they like: threads beside tasks, tools that call tools, processes that fork and die."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.errors import LoopDetected, SettingError
from otel_loopguard.guards import Allow
from otel_loopguard.guards.anthropic_loop import ToolUses
from otel_loopguard.guards.functions import guarded
from otel_loopguard.live import Edge
from tests.guards.script import guard_for, process_for

# Threads and tasks ------------------------------------------------------------------------------------------------


def test_threads_and_tasks_on_one_run_lose_no_call() -> None:
    """Eight threads, each with a loop of eight tasks, in one run: every call is counted once, and none raises."""
    process = process_for("version: 1\ndefaults: {identical: {nudge: 3, stop: 5}}\n")
    guard = guard_for(process, mode="observe")

    async def one(thread: int) -> None:
        async def call(task: int) -> None:
            for place in range(5):
                decision = guard.before("ask", {"of": [thread, task, place]}, run="r1", agent=f"a{thread}")
                await asyncio.sleep(0)
                guard.after(decision.call, f"{thread} {task} {place}")

        await asyncio.gather(*(call(task) for task in range(8)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda thread: asyncio.run(one(thread)), range(8)))
    assert process.live.counters.total(names.TOOL_CALLS) == 8 * 8 * 5


@pytest.mark.parametrize("mode", ["nudge", "enforce"])
def test_one_write_at_once_from_many_threads(mode: str) -> None:
    """In mode `enforce` exactly one of sixteen threads writes; in mode `nudge` nothing is refused."""
    guard = guard_for(process_for(), mode=mode)
    ready = threading.Barrier(16)

    def write() -> bool:
        ready.wait()
        return isinstance(guard.before("refund", {"order": "A1"}, run="r1"), Allow)

    with ThreadPoolExecutor(16) as pool:
        allowed = sum(pool.map(lambda _: write(), range(16)))
    assert allowed == (1 if mode == "enforce" else 16)


def test_twins_from_many_threads_run_once() -> None:
    """One of sixteen threads reads, the others are told so, and all sixteen are counted when that one has ended."""
    process = process_for()
    guard = guard_for(process)
    ready = threading.Barrier(16)

    def read() -> Any:  # noqa: ANN401 - a decision
        ready.wait()
        return guard.before("search", {"query": "x"}, run="r1", turn="t1")

    with ThreadPoolExecutor(16) as pool:
        decisions = list(pool.map(lambda _: read(), range(16)))
    (first,) = [one for one in decisions if isinstance(one, Allow)]
    assert process.live.counters.total(names.TOOL_CALLS) == 0
    guard.after(first.call, "2 hits")
    assert process.live.counters.total(names.TOOL_CALLS) == 16


# Tools that call tools --------------------------------------------------------------------------------------------


def test_a_tool_may_call_guarded_tools() -> None:
    """An outer tool that asks others, and itself with a smaller question: each is a call of its own."""
    process = process_for()
    guard = guard_for(process)
    ran: list[int] = []

    @guarded(guard)
    def ask(depth: int) -> str:
        ran.append(depth)
        return "bottom" if depth == 0 else f"{ask(depth - 1)} of {depth}"

    with otel_loopguard.run("r1"):
        assert ask(5) == "bottom of 1 of 2 of 3 of 4 of 5"
    assert ran == [5, 4, 3, 2, 1, 0]
    assert process.live.counters.total(names.TOOL_CALLS) == 6


def test_a_tool_that_calls_itself_with_the_same_is_one_call() -> None:
    """Guards around each other see one call, so a tool that is its own wrapper is neither refused nor counted twice."""
    process = process_for()
    guard = guard_for(process)

    def fetch(url: str) -> str:
        return f"page {url}"

    inner = guarded(guard, name="fetch")(fetch)
    outer = guarded(guard, name="fetch")(inner)
    with otel_loopguard.run("r1"):
        assert outer("a") == "page a"
    assert process.live.counters.total(names.TOOL_CALLS) == 1


def test_a_stop_inside_a_tool_passes_through_it() -> None:
    """An inner loop that is stopped raises through the outer tool, which counts as failed and not as looping."""
    guard = guard_for(process_for(), refusals=0)
    search = guarded(guard, name="search")(lambda query: f"hits for {query}")

    @guarded(guard)
    def research(topic: str) -> str:
        return " ".join(search(topic) for _ in range(5))

    with otel_loopguard.run("r1"), pytest.raises(LoopDetected) as stop:
        research("x")
    assert stop.value.tool == "search"


@pytest.mark.parametrize("kind", ["generator", "async generator"])
def test_generators_are_refused_when_they_are_decorated(kind: str) -> None:
    """Results that come in pieces cannot be judged whole: the error says what to guard instead."""

    def plain() -> Any:  # noqa: ANN401
        yield 1

    async def waiting() -> Any:  # noqa: ANN401
        yield 1

    with pytest.raises(SettingError, match="whole result"):
        guarded(guard_for(process_for()))(plain if kind == "generator" else waiting)


def test_a_result_that_is_read_once_reaches_the_caller_unread() -> None:
    """A plain function that returns an iterator: nothing is taken from it, in no mode."""
    for mode in ("observe", "nudge", "enforce"):
        rows = guarded(guard_for(process_for(), mode=mode), name="ask")(lambda: iter([1, 2, 3]))
        with otel_loopguard.run("r1"):
            assert list(rows()) == [1, 2, 3]


# Values that are no data ------------------------------------------------------------------------------------------


def cyclic() -> dict[str, Any]:
    """An object that holds itself."""
    held: dict[str, Any] = {}
    held["self"] = held
    return held


HUGE = "y" * 10_000_000


@pytest.mark.parametrize(
    "value",
    [
        cyclic(),
        float("nan"),
        float("-inf"),
        HUGE,
        b"\xff",
        {1: {2: {3}}},
        object(),
        "\ud800",
        [[]] * 300,
        -0.0,
        10**5000,
    ],
    ids=["cyclic", "nan", "inf", "huge", "bytes", "set", "object", "surrogate", "wide", "zero", "long"],
)
@pytest.mark.parametrize("mode", ["observe", "nudge", "enforce"])
def test_any_value_may_be_asked_and_answered(mode: str, value: Any) -> None:  # noqa: ANN401
    """As arguments and as result, of a read, a write and an undeclared tool, six times over: no exception is ours."""
    process = process_for(edge=Edge)
    guard = guard_for(process, mode=mode)
    with otel_loopguard.run("r1"):
        for tool in ("search", "submit", "ask"):
            for place in range(6):
                decision = guard.before(tool, {"value": value}, call_id=f"{tool}{place}")
                if isinstance(decision, Allow):
                    guard.after(decision.call, value)
    assert process.live.counters.total(names.ERRORS) == 0


def refusing(base: type, *names: str) -> Any:  # noqa: ANN401 - of a kind that is made for it
    """A value of which these members raise."""

    def refuse(*_: object) -> None:
        raise RuntimeError("it does not let itself be read")

    members = {name: property(refuse) if name == "__class__" else refuse for name in names}
    made = type("Refusing", (base,), members)
    return made("x") if base is str else made([("a", 1)]) if base in {dict, list} else made()


UNREADABLE = {
    "class": partial(refusing, object, "__class__"),
    "attributes": partial(refusing, object, "__getattribute__"),
    "object": partial(
        refusing, object, "__len__", "__bool__", "__iter__", "keys", "__str__", "__repr__", "__eq__", "__hash__"
    ),
    "dict": partial(refusing, dict, "__len__", "__bool__", "__iter__", "keys", "items", "__contains__", "__eq__"),
    "list": partial(refusing, list, "__len__", "__bool__", "__iter__", "__getitem__", "__eq__"),
    "text": partial(refusing, str, "__len__", "__bool__", "__iter__", "__getitem__", "__str__", "__format__", "__eq__"),
    "text without attributes": partial(refusing, str, "__getattribute__"),
}


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("tool", ["search", "submit", "ask"])
@pytest.mark.parametrize("mode", ["observe", "nudge", "enforce"])
def test_a_result_that_does_not_let_itself_be_read_raises_nowhere(
    mode: str, tool: str, make: Callable[[], Any]
) -> None:
    """Whatever of it raises, it reaches the caller, is counted, and gets an answer from a hand-written loop."""
    process, value = process_for(edge=Edge), make()
    call = guarded(guard_for(process, mode=mode), name=tool)(lambda query: value)  # noqa: ARG005
    with otel_loopguard.run("r1"):
        said = [call("x") for _ in range(2)]
    assert said[0] is value
    assert said[1] is value or mode != "observe"
    assert process.live.counters.total(names.TOOL_CALLS) == 2
    content = [{"type": "tool_use", "id": "t1", "name": tool, "input": {"query": "x"}}]
    uses = ToolUses(guard_for(process_for(edge=Edge), mode=mode), {tool: lambda query: value})  # noqa: ARG005
    for results in (uses.answer(content), asyncio.run(uses.answer_async(content))):
        assert [block["tool_use_id"] for block in results.content] == ["t1"]


# Copies -----------------------------------------------------------------------------------------------------------


class Connection:
    """A session that knows how it is copied itself."""

    title = "logs"

    def __deepcopy__(self, memo: object) -> Connection:
        raise TypeError("it is open")

    async def call_tool(self, name: str, arguments: object) -> None:
        """No answer."""


def test_a_session_is_copied_as_what_it_is() -> None:
    """A copy is a guarded session of the same conversation; what cannot be copied says so, and nothing recurses."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip("mcp", reason="needs `mcp`: make test-guards")
    from otel_loopguard.guards.mcp import GuardedSession

    session = GuardedSession(Connection(), guard_for(process_for()), server="logs")
    made = copy.copy(session)
    assert type(made) is GuardedSession
    assert (made.run, made.title, vars(made)) == (session.run, "logs", vars(session))
    for impossible in (copy.deepcopy, pickle.dumps):
        with pytest.raises((TypeError, pickle.PicklingError)):
            impossible(session)
    with pytest.raises(AttributeError, match="_session"):
        GuardedSession.__new__(GuardedSession).title  # noqa: B018 - asking is what is tested


# Processes --------------------------------------------------------------------------------------------------------

AGENT = """
import os, sys, otel_loopguard
from otel_loopguard.guards import Allow, Guard
guard = Guard(mode="enforce")
def work(times):
    said = []
    with otel_loopguard.run("job-1"):
        for _ in range(times):
            decision = guard.before("ask", {"q": "x"})
            said.append(type(decision).__name__)
            if isinstance(decision, Allow):
                if "--die" in sys.argv and len(said) == 4:
                    print(*said, flush=True)
                    os.kill(os.getpid(), 9)
                guard.after(decision.call, "nothing")
    return said
print(*work(6), flush=True)
"""


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    """An agent in a process of its own."""
    environ = {**os.environ, "LOOPGUARD_KEY": "0123456789abcdef" * 4}
    return subprocess.run(
        [sys.executable, "-c", AGENT, *arguments], env=environ, capture_output=True, text=True, check=False
    )


def test_a_run_that_was_killed_may_be_taken_up() -> None:
    """What a process knew dies with it: the next one of the same run starts its counts anew, and works."""
    killed = start("--die")
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout.split() == ["Allow", "Allow", "Allow", "Allow"]
    again = start()
    assert (again.stdout.split(), again.returncode) == (["Allow"] * 4 + ["Refuse"] * 2, 0), again.stderr


FORKING = """
import os, sys, threading, otel_loopguard
from otel_loopguard.guards import Allow, Guard
guard = Guard(mode="enforce")
stop = threading.Event()
def busy():
    while not stop.is_set():
        guard.after(guard.before("search", {"q": os.urandom(4).hex()}, run="busy", turn="t").call, "x")
threads = [threading.Thread(target=busy) for _ in range(4)]
[one.start() for one in threads]
codes = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        decision = guard.before("refund", {"order": "A1"}, run="r1", turn="t")
        guard.after(decision.call, "done")
        os._exit(0 if isinstance(decision, Allow) else 1)
    codes.append(os.waitpid(child, 0)[1])
stop.set()
[one.join() for one in threads]
print(codes.count(0))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_fork_amid_guarded_calls_waits_for_no_lock(tmp_path: Path) -> None:
    """Twenty children of a process whose threads are in the middle of guarded calls: each guards a call and ends."""
    script = tmp_path / "forking.py"
    script.write_text(FORKING)
    environ = {**os.environ, "LOOPGUARD_KEY": "0123456789abcdef" * 4}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.strip() == "20", done.stderr
