"""Whose call it is: what one conversation got goes to no other, and a write in flight is not sent again."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import otel_loopguard
from otel_loopguard.guards import Allow, Guard, Refuse
from otel_loopguard.guards.anthropic_loop import ToolUses
from otel_loopguard.guards.functions import guarded
from otel_loopguard.guards.openai_loop import ToolCalls
from tests.guards.script import POLICY, Boom, Tools, guard_for, process_for

PAY = POLICY + "  pay: {kind: write, idempotency_key: key}\n  log: {kind: write, duplicate_after_success: allow}\n"


def use(tool: str, **arguments: object) -> dict[str, Any]:
    """A block of a response."""
    return {"type": "tool_use", "id": "t1", "name": tool, "input": arguments}


def make_loop(kind: str, guard: Guard, user: str) -> Any:  # noqa: ANN401 - either kind
    """A conversation's tools and how one read is answered."""
    tools = {"search": lambda: f"secret of {user}"}
    if kind == "anthropic":
        uses = ToolUses(guard, tools)
        return lambda: uses.answer([use("search")]).content[0]["content"]
    calls = ToolCalls(guard, tools)
    asked = [{"id": "c", "function": {"name": "search", "arguments": "{}"}}]
    return lambda: calls.answer(asked).messages[0]["content"]


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_conversations_in_one_trace_share_nothing(kind: str) -> None:
    """A worker whose span is around many conversations is none of them."""
    guard = guard_for(process_for())
    with TracerProvider().get_tracer("worker").start_as_current_span("batch"):
        answered = [make_loop(kind, guard, f"user {number}")() for number in range(5)]
    assert answered == [f"secret of user {number}" for number in range(5)]


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_conversation_over_many_traces_is_one(kind: str) -> None:
    """An application with a root span for each step does not hide that one step is like the other."""
    tracer, ask = TracerProvider().get_tracer("app"), make_loop(kind, guard_for(process_for()), "a")
    answered = []
    for _ in range(3):
        with tracer.start_as_current_span("step"):
            answered.append(ask())
    assert answered[0] == "secret of a"
    assert ["[loopguard]" in text for text in answered] == [False, True, True]
    assert "Not run" in answered[2]


@pytest.mark.parametrize("is_one_session", [False, True])
def test_sessions_and_traces_tell_conversations_apart(*, is_one_session: bool) -> None:
    """Of MCP, each session in one trace is a conversation, and each trace over one session."""
    pytest.importorskip("mcp", reason="needs `mcp`: make test-guards")
    from mcp.types import CallToolResult, TextContent

    from otel_loopguard.guards.mcp import GuardedSession

    tracer, guard = TracerProvider().get_tracer("server"), guard_for(process_for())
    users = iter("abcde")

    class Server:
        async def call_tool(self, name: str, arguments: object) -> CallToolResult:  # noqa: ARG002 - the session's own
            return CallToolResult(content=[TextContent(type="text", text=f"secret of {next(users)}")])

    session = GuardedSession(Server(), guard)
    heard = []
    with tracer.start_as_current_span("batch") if not is_one_session else nullcontext():
        for _ in range(5):
            session = session if is_one_session else GuardedSession(Server(), guard)
            with tracer.start_as_current_span("request") if is_one_session else nullcontext():
                heard.append(asyncio.run(session.call_tool("search", {})).content[0].text)
    assert heard == [f"secret of {user}" for user in "abcde"]


def test_what_another_agent_has_written_is_read_anew() -> None:
    """A read is not answered with what was there before an agent of the same run wrote."""
    guard, done, seen = guard_for(process_for()), list[str](), list[str]()
    search = guarded(guard, name="search")(lambda: f"{len(done)} refunds")

    @guarded(guard)
    def refund(order: str) -> str:
        done.append(order)
        return "refunded"

    with otel_loopguard.run("r1", agent="supervisor"):
        for order in "abcd":
            seen.append(search())
            with otel_loopguard.run(None, agent="worker"):
                refund(order)
    assert [text.split("\n")[0] for text in seen] == ["0 refunds", "1 refunds", "2 refunds", "3 refunds"]


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_conversations_of_one_guard_share_nothing(kind: str) -> None:
    """With no run named, each conversation has a run of its own, and its repeats are still found."""
    guard = guard_for(process_for())
    loops = {user: make_loop(kind, guard, user) for user in ("alice", "bob", "carol")}
    assert [loop() for loop in loops.values()] == ["secret of alice", "secret of bob", "secret of carol"]
    assert loops["bob"]().startswith("secret of bob\n\n[loopguard]")
    assert "Not run" in loops["bob"]()


def test_calls_of_no_run_are_let_through(caplog: pytest.LogCaptureFixture) -> None:
    """Where nothing tells whose a call is, every one is dispatched as it is, and one warning says how to name a run."""
    guard = guard_for(process_for())
    users = iter(f"user {place}" for place in range(9))
    search = guarded(guard, name="search")(lambda: f"secret of {next(users)}")
    with caplog.at_level(logging.WARNING, logger="otel_loopguard"):
        assert [search() for _ in range(9)] == [f"secret of user {place}" for place in range(9)]
    assert [record.getMessage().count("otel_loopguard.run(") for record in caplog.records] == [1]


def test_a_loop_inside_a_named_run_is_that_runs() -> None:
    """A loop's own run is the last resort: what the application names wins."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        first, second = (make_loop("anthropic", guard, "alice") for _ in range(2))
        assert first() == "secret of alice"
        assert "[loopguard]" in second()


# Writes in flight -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "first", "second", "answer"),
    [
        ("refund", {"order": "A1"}, {"order": "A1"}, Refuse),
        ("refund", {"order": "A1"}, {"order": "B2"}, Allow),
        ("pay", {"order": "A1", "key": "k1"}, {"order": "A1", "key": "k1"}, Allow),
        ("pay", {"order": "A1", "key": "k1"}, {"order": "A1", "key": "k2"}, Refuse),
        ("pay", {"order": "A1"}, {"order": "A1"}, Refuse),
        ("log", {"order": "A1"}, {"order": "A1"}, Allow),
        ("search", {"query": "x"}, {"query": "x"}, Allow),
    ],
)
def test_an_equal_write_in_flight_is_not_sent_again(
    tool: str, first: dict[str, str], second: dict[str, str], answer: type
) -> None:
    """A declared write that has not ended may take effect, unless its key or the policy makes it safe to repeat."""
    guard = guard_for(process_for(PAY))
    with otel_loopguard.run("r1"):
        assert isinstance(guard.before(tool, first), Allow)
        assert isinstance(guard.before(tool, second), answer)
    with otel_loopguard.run("r2"):
        assert isinstance(guard.before(tool, second), Allow)


@pytest.mark.parametrize("times", [2, 3, 4])
def test_the_same_write_again_in_one_response_runs_once(times: int) -> None:
    """The first is dispatched, the others are refused, and the conversation goes on."""
    tools = Tools()
    uses = ToolUses(guard_for(process_for()), {"refund": tools.refund})
    answered = uses.answer([use("refund", order="A1")] * times)
    texts = [block["content"] for block in answered.content]
    assert tools.ran == {"refund": 1}
    assert texts[0].startswith("refunded A1")
    assert all("Not run" in text for text in texts[1:])
    assert answered.stop is None


def test_the_same_write_at_once_runs_once() -> None:
    """Of three coroutines that start together one writes; the others hear that it is on its way."""
    ran = []

    @guarded(guard_for(process_for()))
    async def refund(order: str) -> str:
        ran.append(order)
        await asyncio.sleep(0)
        return "refunded"

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(refund("A1") for _ in range(3)))

    with otel_loopguard.run("r1"):
        texts = asyncio.run(all_of_them())
    assert ran == ["A1"]
    assert texts[0].startswith("refunded")
    assert all("Not run" in text for text in texts[1:])


def test_the_same_write_of_two_decisions_at_once_runs_once() -> None:
    """Two responses of one conversation that are answered together: the write of the first is on its way."""
    ran = []

    async def refund(order: str) -> str:
        ran.append(order)
        await asyncio.sleep(0)
        return "refunded"

    uses = ToolUses(guard_for(process_for()), {"refund": refund})

    async def both() -> list[str]:
        answered = await asyncio.gather(*(uses.answer_async([use("refund", order="A1")]) for _ in range(2)))
        return [one.content[0]["content"] for one in answered]

    first, second = asyncio.run(both())
    assert ran == ["A1"]
    assert (first, "Not run" in second) == ("refunded", True)


def test_a_write_that_failed_for_sure_may_be_sent_again() -> None:
    """The end of a write closes it: what comes then is the engine's to judge."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        first = guard.before("refund", {"order": "A1"})
        guard.after(first.call, "no such order", is_error=True, error_type="validation")
        assert isinstance(guard.before("refund", {"order": "A1"}), Allow)


def test_a_write_that_was_never_dispatched_may_be_sent() -> None:
    """Another call of its decision raised first, so at the next decision it is no write in flight."""
    tools = Tools()
    uses = ToolUses(guard_for(process_for()), {"refund": tools.refund, "fail": tools.fail})
    with pytest.raises(Boom):
        uses.answer([use("fail", query="wrong"), use("refund", order="A1")])
    assert uses.answer([use("refund", order="A1")]).content[0]["content"] == "refunded A1"
    assert tools.ran == {"fail": 1, "refund": 1}


# Exceptions that cannot be printed --------------------------------------------------------------------------------


class Silent(Exception):  # noqa: N818 - it is not our error
    """An exception without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("mode", ["observe", "nudge", "enforce"])
def test_an_exception_that_cannot_be_printed_passes(mode: str) -> None:
    """Its own `__str__` raises, and it still reaches the caller as what it is."""

    def fail() -> str:
        raise Silent

    guard = guard_for(process_for(), mode=mode)
    with otel_loopguard.run("r1"), pytest.raises(Silent):
        guarded(guard)(fail)()
    with pytest.raises(Silent):
        ToolUses(guard, {"fail": fail}).answer([use("fail")])
    told = ToolUses(guard, {"fail": fail}, on_error=lambda _: "it failed").answer([use("fail")])
    assert told.content[0]["content"] == "it failed"
    with pytest.raises(Silent):
        ToolUses(guard, {"fail": fail}, on_error=str_of).answer([use("fail")])


def str_of(error: Exception) -> str:
    """A handler of the application that raises itself."""
    raise error
