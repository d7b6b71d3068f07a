"""Agents of one name in one run: which conversations are one history, and which begin anew."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.guards import Allow, Guard, Nudge, Refuse
from otel_loopguard.guards.functions import guarded, step
from tests.guards.script import ANSWER, Model, Script, Tools, guard_for, process_for

README = {"query": "README"}


def asked(guard: Guard, conversation: str | None, *, agent: str | None = None, turn: str | None = None) -> str:
    """One read of a conversation, which ends at once."""
    decision = guard.before("search", README, conversation=conversation, agent=agent, turn=turn)
    if isinstance(decision, Allow):
        guard.after(decision.call, "2 hits")
    return type(decision).__name__


@pytest.mark.parametrize("agent", [None, "researcher"])
def test_each_conversation_of_an_agent_begins_anew(agent: str | None) -> None:
    """Ten sub-agents that read the same first are let through; the same in one of them is a repeat."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        assert [asked(guard, f"c{place}", agent=agent) for place in range(10)] == ["Allow"] * 10
        assert [asked(guard, "c3", agent=agent) for _ in range(2)] == ["Nudge", "Refuse"]
        assert asked(guard, "c4", agent=agent) == "Nudge"


def test_conversations_that_nobody_names_are_one() -> None:
    """Where no framework tells them apart, what one agent does in a run is one history."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        assert [asked(guard, None) for _ in range(3)] == ["Allow", "Nudge", "Refuse"]


def test_after_a_stop_a_new_conversation_goes_on_until_a_user_speaks() -> None:
    """Who starts a stopped agent again has it stopped where it was; a message to its name frees all of that name."""
    guard = guard_for(process_for(), refusals=0)
    with otel_loopguard.run("r1"):
        assert [asked(guard, "c1", agent="a") for _ in range(3)] == ["Allow", "Nudge", "Refuse"]
        assert asked(guard, "c2", agent="a") == "Refuse"
        guard.user_message(agent="a")
        assert asked(guard, "c3", agent="a") == "Allow"
        assert asked(guard, "c4", agent="a") == "Allow"
        assert asked(guard, "c1", agent="a") == "Nudge"


def test_a_message_to_an_agent_reaches_all_conversations_of_its_name() -> None:
    """Whichever of them calls first: what the others repeated before is no repetition any more."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        for conversation in ("c1", "c2"):
            assert [asked(guard, conversation, agent="a") for _ in range(2)] == ["Allow", "Nudge"]
        guard.user_message(agent="a")
        assert [asked(guard, conversation, agent="a") for conversation in ("c1", "c2")] == ["Allow", "Allow"]


def test_conversations_side_by_side_have_steps_of_their_own() -> None:
    """A read of one is no twin of the other's, equal ids are no conflict, and a write of both is one write."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        for place in range(2):
            turn, conversation = f"t{place}", f"c{place}"
            read = guard.before("search", README, call_id="call_1", turn=turn, conversation=conversation)
            assert isinstance(read, Allow)
            other = guard.before("note", {"text": conversation}, call_id="call_2", turn=turn, conversation=conversation)
            assert isinstance(other, Allow)
        twin = guard.before("search", README, call_id="call_3", turn="t1", conversation="c1")
        assert isinstance(twin, Nudge)
        assert isinstance(guard.before("refund", {"order": "A1"}, conversation="c0"), Allow)
        assert isinstance(guard.before("refund", {"order": "A1"}, conversation="c1"), Refuse)
    assert process.live.counters.total(names.INTEGRITY_FINDINGS) == 0


def test_more_sub_agents_than_are_remembered_cost_the_agent_above_nothing() -> None:
    """The ones that are forgotten are theirs: who started them is still known to repeat itself."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        assert asked(guard, None) == "Allow"
        for place in range(200):
            outer = guard.before("delegate", {"task": place})
            with guard.inside(outer.call):
                assert asked(guard, guard.call_around()) == "Allow"
        assert asked(guard, None) == "Nudge"


def test_what_a_tool_asks_for_begins_anew_with_each_call_of_the_tool() -> None:
    """A helper that many tools call is no repetition of the agent; within one call of one tool it is."""
    guard = guard_for(process_for())
    search = guarded(guard, name="search")(lambda query: f"hits for {query}")

    @guarded(guard)
    def research(topic: str, times: int) -> list[str]:
        return [search(f"{topic[:0]}README") for _ in range(times)]

    with otel_loopguard.run("r1"):
        assert [research(f"topic {place}", 1) for place in range(4)] == [["hits for README"]] * 4
        first, second = research("another", 2)
    assert (first, "[loopguard]" in second) == ("hits for README", True)


@pytest.mark.parametrize("has_own_steps", [False, True])
def test_what_a_tool_asks_for_is_of_no_step_around_it(*, has_own_steps: bool) -> None:
    """A tool calls one after the other, whatever decision it is of itself, unless it says steps too."""
    guard = guard_for(process_for())
    search = guarded(guard, name="search")(lambda query: f"hits for {query}")

    @guarded(guard)
    def research(topic: str) -> list[str]:
        if not has_own_steps:
            return [search(topic) for _ in range(3)]
        with step():
            return [search(topic) for _ in range(3)]

    with otel_loopguard.run("r1"), step():
        said = [research("x"), [search("x"), search("x")]]
    twin = "this step holds the same call already"
    assert [twin in text for text in said[0]] == [False, has_own_steps, has_own_steps]
    assert ("Not run" in said[0][2]) is True
    assert [twin in text for text in said[1]] == [False, True]


def test_calls_that_a_tool_makes_at_once_are_each_their_own() -> None:
    """Coroutines of a tool that run beside each other, and functions in its threads: all counted, inside and ended."""
    process = process_for()
    guard = guard_for(process)

    @guarded(guard)
    async def note(text: str) -> str:
        await asyncio.sleep(0)
        return f"noted {text} in {guard.inside_of()}"

    @guarded(guard, name="search")
    def search(query: str) -> str:
        return f"hits for {query} in {guard.inside_of()}"

    @guarded(guard)
    async def work(place: int) -> list[str]:
        noted = await asyncio.gather(*(note(f"{place}.{one}") for one in range(3)))
        found = await asyncio.gather(*(asyncio.to_thread(search, f"{place}.{one}") for one in range(3)))
        return [*noted, *found, guard.inside_of()]

    async def both() -> list[list[str]]:
        with otel_loopguard.run("r1"):
            return list(await asyncio.gather(work(1), work(2)))

    for place, said in enumerate(asyncio.run(both()), start=1):
        noted = [f"noted {place}.{one} in note" for one in range(3)]
        assert said == [*noted, *(f"hits for {place}.{one} in search" for one in range(3)), "work"]
    assert process.live.counters.total(names.TOOL_CALLS) == 14
    assert guard.inside_of() == ""


def test_the_same_conversation_inside_of_its_own_call_is_the_agent_itself() -> None:
    """A tool that lets the model's code call the agent's other tools: those are the agent's calls."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        said = []
        for place in range(2):
            outer = guard.before("run_code", {"code": place}, conversation="c1")
            with guard.inside(outer.call):
                said.append(asked(guard, "c1"))
        assert said == ["Allow", "Nudge"]


def test_spans_of_calls_in_each_other_are_told_apart_though_their_ids_are_equal() -> None:
    """The agent inside of a tool numbers its calls as the one outside: each span is annotated as its own call."""
    process = process_for()
    guard = guard_for(process)

    def call(tool: str, inner: Callable[[], None] | None = None) -> str:
        decision = guard.before(tool, {"query": tool}, call_id="call_1", turn="t1", conversation=f"of {tool}")
        with process.tool(tool, {"query": tool}, **{"gen_ai.tool.call.id": "call_1"}):
            guard.reached(decision.call)
            with guard.inside(decision.call):
                if inner is not None:
                    inner()
        guard.after(decision.call, f"{tool} done")
        guarded = decision.call.guarded
        assert guarded is not None
        return str(guarded.call.fingerprint)

    prints: list[str] = []
    with otel_loopguard.run("r1"):
        outer = call("consult", lambda: prints.append(call("search")))
    assert process.written(names.FINGERPRINT) == [*prints, outer]
    assert process.live.counters.total(names.TOOL_CALLS) == 2


# In a framework ---------------------------------------------------------------------------------------------------


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


@pytest.mark.parametrize("is_fresh", [True, False])
def test_runs_of_pydantic_ai_are_conversations(*, is_fresh: bool) -> None:
    """An orchestrator in code starts its agent anew for each task; with the messages of the task before it goes on."""
    need("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.errors import LoopDetected
    from otel_loopguard.guards.pydantic_ai import guarding
    from tests.guards.drivers.pydantic_ai import Scripted

    tools, guard = Tools(), guard_for(process_for(), refusals=0)

    def model() -> FunctionModel:
        return FunctionModel(Scripted(Model(Script.stubborn(("search", README), times=1))).answer)

    async def tasks() -> list[str]:
        agent, messages, said = Agent(model(), tools=[tools.search]), None, []
        with otel_loopguard.run("r1"), guarding(agent, guard):
            for place in range(4):
                result = await agent.run(f"task {place}", model=model(), message_history=messages)
                messages = None if is_fresh else result.all_messages()
                said.append(result.output)
        return said

    if is_fresh:
        assert asyncio.run(tasks()) == [ANSWER] * 4
        assert tools.ran == {"search": 4}
    else:
        with pytest.raises(LoopDetected):
            asyncio.run(tasks())
        assert tools.ran == {"search": 1}
