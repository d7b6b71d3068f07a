"""Hand-written loops: every call has its answer, whatever the model wrote and whatever a tool does."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.guards import Guard
from otel_loopguard.guards.anthropic_loop import ToolResults, ToolUses
from otel_loopguard.guards.openai_loop import ToolCalls
from otel_loopguard.live import LOGS_SUPPORTED, Edge
from tests.guards.script import Boom, guard_for, process_for

needs_logs = pytest.mark.skipif(not LOGS_SUPPORTED, reason="the installed API sends no events")


def use(tool: Any, arguments: Any = None, call_id: str = "t1") -> dict[str, Any]:  # noqa: ANN401 - what a model may write
    """A block of a response."""
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def texts(results: ToolResults | None) -> list[str]:
    """What the model gets."""
    assert results is not None
    return [block["content"] for block in results.content]


# What the model wrote ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("{", "The arguments of `echo` are no JSON."),
        ("[" * 100_000, "The arguments of `echo` are no JSON."),
        ("[1]", "The arguments of `echo` are no JSON object."),
        ("null", "()"),
        ("", "()"),
        ("{}", "()"),
        ('{"x": NaN}', "x=nan"),
        ('{"x": 1, "x": 2}', "x=2"),
        ('{"x": "\\ud800"}', "x=\ud800"),
        (json.dumps({"x": "y" * 10_000_000}), "x=" + "y" * 10_000_000),
    ],
    ids=["broken", "deep", "list", "null", "empty", "object", "NaN", "twice", "surrogate", "ten megabytes"],
)
def test_arguments_of_every_form(arguments: str, answer: str) -> None:
    """Broken arguments are the model's mistake and answered; others reach the tool as Python's reader reads them."""

    def echo(**arguments: object) -> str:
        return ",".join(f"{name}={value}" for name, value in arguments.items()) or "()"

    calls = ToolCalls(guard_for(process_for()), {"echo": echo})
    asked = [{"id": "c1", "function": {"name": "echo", "arguments": arguments}}]
    assert [message["content"] for message in calls.answer(asked).messages] == [answer]


def cyclic() -> dict[str, Any]:
    """An object that holds itself."""
    held: dict[str, Any] = {}
    held["self"] = held
    return held


@pytest.mark.parametrize(
    "arguments", [None, {}, cyclic(), [1], {1: 2}, {"x": {1, 2}}, {"x": float("nan")}, {"x": b"\xff"}, 7, "text"]
)
@pytest.mark.parametrize("tool", ["search", "nothing", None, ["search"], ""])
def test_blocks_of_every_form(tool: Any, arguments: Any) -> None:  # noqa: ANN401
    """Each block has its answer, three times over, and nothing raises."""
    uses = ToolUses(guard_for(process_for(edge=Edge)), {"search": lambda **_: "2 hits"})
    for _ in range(3):
        results = uses.answer([use(tool, arguments), use("search", {"query": "y"}, "t2")])
        assert [block["tool_use_id"] for block in results.content] == ["t1", "t2"]


class Mute:
    """Nothing of it can be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("hits", "hits"),
        (None, "null"),
        ({"a": 1, "b": "é"}, '{"a": 1, "b": "é"}'),
        (cyclic(), "{'self': {...}}"),
        ({"at": Mute()}, "<dict>"),
        (Mute(), "<Mute>"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (float("nan"), "NaN"),
        (b"\xff", "\"b'\\\\xff'\""),
    ],
)
@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_results_of_every_form(mode: str, result: Any, text: str) -> None:  # noqa: ANN401
    """A result that is no JSON is what Python prints of it, and no exception."""
    uses = ToolUses(guard_for(process_for(edge=Edge), mode=mode), {"ask": lambda: result})
    assert texts(uses.answer([use("ask")])) == [text]


# What a tool does -------------------------------------------------------------------------------------------------


class Wide(BaseException):
    """What no handler of `Exception` catches."""


def answered(uses: ToolUses, content: list[Any]) -> ToolResults:
    """By the coroutine."""
    return asyncio.run(uses.answer_async(content))


@pytest.mark.parametrize("error", [Boom, Wide, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_the_answers_of_the_others(error: type[BaseException]) -> None:
    """It passes as what it is, and what the calls before it brought is not lost; those after it did not run."""
    ran: list[str] = []

    def note() -> str:
        ran.append("note")
        return "noted"

    def fail() -> str:
        raise error("secret")

    uses = ToolUses(guard_for(process_for()), {"note": note, "fail": fail})
    with pytest.raises(error, match="secret"):
        uses.answer([use("note"), use("fail"), use("note", {})])
    assert texts(uses.interrupted) == [
        "noted", f"The tool failed: `{error.__qualname__}`.", "Not run: another call of the same step failed."
    ]  # fmt: skip
    assert [block.get("is_error", False) for block in uses.interrupted.content] == [False, True, True]  # type: ignore[union-attr]
    assert texts(uses.answer([use("note")])) == ["noted"]
    assert uses.interrupted is None
    assert ran == ["note", "note"]


@pytest.mark.parametrize("error", [Boom, Wide, asyncio.CancelledError, GeneratorExit])
def test_an_exception_waits_for_the_calls_beside_it(error: type[BaseException]) -> None:
    """Coroutines that run beside it end first: none goes on behind the application's back."""
    order: list[str] = []

    async def slow() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        order.append("slow")
        return "done"

    async def fail() -> str:
        order.append("fail")
        raise error("secret")

    uses = ToolUses(guard_for(process_for()), {"slow": slow, "fail": fail})
    with pytest.raises(error) as raised:
        answered(uses, [use("slow"), use("fail")])
    is_new = error is asyncio.CancelledError and sys.version_info < (3, 11)  # asyncio made another one, without words
    assert str(raised.value) == ("" if is_new else "secret")
    assert order == ["fail", "slow"]
    assert texts(uses.interrupted) == ["done", f"The tool failed: `{error.__qualname__}`."]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_process_leaves_an_answer_for_each_call(error: type[BaseException]) -> None:
    """What ends the event loop passes; a write under way is of unknown outcome, and the rest did not run."""
    guard = guard_for(process_for())
    ran: list[str] = []

    async def refund(order: str) -> str:
        ran.append(order)
        await asyncio.Event().wait()
        return order

    async def fail() -> str:
        raise error("now")

    uses = ToolUses(guard, {"refund": refund, "fail": fail}, run="r1")
    asked = [use("refund", {"order": "A1"}, "a"), use("fail", {}, "b"), use("refund", {"order": "B2"}, "c")]
    with pytest.raises(error, match="now"):
        answered(uses, asked)
    said = texts(uses.interrupted)
    assert said == [
        "The tool failed: `CancelledError`.", f"The tool failed: `{error.__qualname__}`.", said[2]
    ]  # fmt: skip
    assert ran == ["A1"]
    assert said[2] == "Not run: another call of the same step failed."
    again = uses.answer([use("refund", {"order": "A1"})])
    assert again.stop is not None
    assert again.stop.kind == "indeterminate"


@pytest.mark.parametrize(("at", "said"), [(0, "The tool was broken off: `KeyboardInterrupt`."), (1, "noted")])
def test_an_interrupt_between_the_calls_leaves_an_answer_for_each(at: int, said: str) -> None:
    """A signal may come while the guard itself works: nothing stays under way, and the rest did not run."""
    signals = [at]

    class Interrupted(Guard):
        """The signal comes when a result is taken in."""

        def after(self, *held: Any, **more: Any) -> Any:  # noqa: ANN401
            signals[0] -= 1
            if signals[0] == -1:
                raise KeyboardInterrupt
            return super().after(*held, **more)

    process = process_for()
    tools = {"note": lambda: "noted", "refund": lambda: "done"}
    uses = ToolUses(guard_for(process, Interrupted), tools, run="r1")
    with pytest.raises(KeyboardInterrupt):
        uses.answer([use("note", {}, "a"), use("refund", {}, "b"), use("refund", {"order": "B2"}, "c")])
    rest = "Not run: another call of the same step failed."
    broken = "The tool was broken off: `KeyboardInterrupt`."
    assert texts(uses.interrupted) == [said, rest if at == 0 else broken, rest]
    stop = uses.answer([use("refund", {}, "d")]).stop
    assert (stop and stop.kind) == (None if at == 0 else "indeterminate")


def test_cancelling_the_answer_cancels_its_calls() -> None:
    """Whoever waits is cancelled, and so are all calls of the response; a write among them has an unknown outcome."""
    process = process_for()
    guard = guard_for(process)

    async def both() -> None:
        have_started = {"A": asyncio.Event(), "B": asyncio.Event()}

        async def refund(order: str) -> str:
            have_started[order].set()
            await asyncio.Event().wait()
            return order

        uses = ToolUses(guard, {"refund": refund}, run="r1")
        task = asyncio.create_task(uses.answer_async([use("refund", {"order": one}, one) for one in have_started]))
        for one in have_started.values():
            await one.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert texts(uses.interrupted) == ["The tool failed: `CancelledError`."] * 2
        results = await uses.answer_async([use("refund", {"order": "A"})])
        assert results.stop is not None
        assert results.stop.kind == "indeterminate"

    asyncio.run(both())
    assert process.live.counters.total(names.TOOL_CALLS) == 3


# What the application tells ---------------------------------------------------------------------------------------


def ask(uses: ToolUses, times: int) -> ToolResults:
    """One read so many times; the last answer."""
    return [uses.answer([use("search", {"query": "x"})]) for _ in range(times)][-1]


def search() -> dict[str, Callable[..., Any]]:
    """The tools of an agent that never finds more."""
    return {"search": lambda query: f"2 hits for {query}"}


@pytest.mark.parametrize("agent", [None, "triage"])
def test_a_message_reaches_the_run_that_a_loop_made(agent: str | None) -> None:
    """Nobody named a run: the message is for the conversation that this code has just worked on."""
    guard = guard_for(process_for())
    uses = ToolUses(guard, search(), agent=agent)
    assert ask(uses, 4).stop is not None
    guard.user_message()
    assert texts(ask(uses, 1)) == ["2 hits for x"]
    assert ask(uses, 3).stop is not None


def test_a_message_reaches_a_conversation_that_is_taken_up_again() -> None:
    """A worker that served another conversation last: the message is for the one whose calls follow."""
    guard = guard_for(process_for())
    uses, other = ToolUses(guard, search()), ToolUses(guard, search())
    assert ask(uses, 4).stop is not None
    ask(other, 1)
    guard.user_message()
    assert texts(ask(uses, 1)) == ["2 hits for x"]


def test_a_message_before_the_first_call_reaches_it() -> None:
    """A conversation that another task works on hears it all the same."""
    guard = guard_for(process_for())
    uses = ToolUses(guard, search())

    async def work(then: Callable[[], Awaitable[None]]) -> None:
        await asyncio.create_task(then())

    async def first() -> None:
        assert ask(uses, 4).stop is not None

    async def second() -> None:
        assert texts(ask(uses, 1)) == ["2 hits for x"]

    async def both() -> None:
        await work(first)
        guard.user_message()
        await work(second)

    asyncio.run(both())


@needs_logs
@pytest.mark.parametrize("is_named", [False, True])
def test_the_end_and_the_state_reach_the_run_that_a_loop_made(*, is_named: bool) -> None:
    """By the last call of this code, or by the run that the loop itself names."""
    process = process_for()
    guard = guard_for(process, mode="observe")
    uses, other = (ToolUses(guard, search(), agent="triage") for _ in range(2))
    run = {"run": uses.run} if is_named else {}
    whose = {**run, "agent": "triage"} if is_named else {}
    for place in range(9):
        if is_named:
            ask(other, 1)
        uses.answer([use("search", {"query": place})])
        guard.state({"left": 3}, **whose)  # type: ignore[arg-type]
    guard.finish("budget", **run)
    (end,) = process.events(names.RUN_END)
    assert (end[names.RUN_ID], end[names.TERMINATION_REASON]) == (uses.run, "budget")
    found = [event for event in process.events(names.FINDING) if event[names.RUN_ID] == uses.run]
    assert "no_progress" in [event[names.FINDING_KIND] for event in found]


def test_what_reaches_no_run_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """An end and a state that are nobody's are no secret: one warning each says how to name the run."""
    guard = Guard(live=process_for().live)

    async def elsewhere() -> None:
        for _ in range(2):
            guard.finish("budget")
            guard.state({})

    with caplog.at_level(logging.WARNING, logger="otel_loopguard"):
        contextvars.Context().run(asyncio.run, elsewhere())
    said = [record.getMessage() for record in caplog.records if "no run" in record.getMessage()]
    assert ["`guard.finish`" in text or "`guard.state`" in text for text in said] == [True, True]
    assert all("run=" in text for text in said)


@pytest.mark.parametrize("is_offered", [False, True])
def test_the_report_is_named_where_it_is_offered(*, is_offered: bool) -> None:
    """A word about a tool that the model was never shown would send it after another unknown tool."""
    process = process_for()
    uses = ToolUses(guard_for(process), search(), report_blocked=is_offered)
    ask(uses, 2)
    assert ("`report_blocked`" in texts(ask(uses, 1))[0]) == is_offered
    assert texts(uses.answer([use("report_blocked", {"tried": ["x"], "needed": ["tool: y"]})]))[0].startswith(
        "Recorded"
    )
    assert process.live.counters.total(names.BLOCKED_REPORTS) == 1


@pytest.mark.parametrize(
    "said", [{}, {"tried": "x"}, {"needed": ["tool: y"], "why": "z"}, {"tried": None, "needed": 3}, {"tried": [1, {}]}]
)
def test_a_report_is_taken_whatever_the_model_wrote_in_it(said: dict[str, object]) -> None:
    """What is missing, unknown or of another type does no harm."""
    uses = ToolUses(guard_for(process_for()), search(), report_blocked=True)
    assert texts(uses.answer([use("report_blocked", said)]))[0].startswith("Recorded.")


def test_an_agents_own_tool_of_that_name_is_its_own() -> None:
    """`report_blocked` of the application is called, not ours."""
    uses = ToolUses(guard_for(process_for()), {"report_blocked": lambda **_: "own"})
    assert texts(uses.answer([use("report_blocked", {})])) == ["own"]


def test_a_loop_in_a_named_run_says_whose_it_is() -> None:
    """What `otel_loopguard.run()` names wins over the loop's own run."""
    guard = guard_for(process_for())
    uses = ToolUses(guard, search())
    with otel_loopguard.run("r1"):
        stop = ask(uses, 4).stop
    assert stop is not None
    assert stop.run_id == "r1" != uses.run
