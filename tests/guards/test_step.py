"""The calls of one step: reads that stand twice, writes that do, and a step that is stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.policy import Mode
from otel_loopguard.guards import Allow, Guard, Nudge, Refuse, Words
from otel_loopguard.guards._batch import Asked, judge
from otel_loopguard.guards.anthropic_loop import ToolUses
from otel_loopguard.live import LOGS_SUPPORTED
from tests.guards.script import POLICY, guard_for, process_for

needs_logs = pytest.mark.skipif(not LOGS_SUPPORTED, reason="the installed API sends no events")
X = {"query": "x"}


# Reads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "tool", "second"),
    [
        ("enforce", "search", Nudge),
        ("nudge", "search", Nudge),
        ("observe", "search", Allow),
        ("enforce", "ask", Allow),
        ("enforce", "now", Allow),
    ],
)
def test_a_read_that_stands_twice_in_a_step_runs_once(mode: str, tool: str, second: type) -> None:
    """A declared read alone: what is undeclared may have effects, and what moves fast must be asked each time."""
    guard = guard_for(process_for(POLICY + "  now: {kind: read, result: {cache: false}}\n"), mode=mode)
    with otel_loopguard.run("r1"):
        assert isinstance(guard.before(tool, X, turn="t1"), Allow)
        assert isinstance(guard.before(tool, X, turn="t1"), second)
        assert isinstance(guard.before(tool, {"query": "y"}, turn="t1"), Allow)
        assert isinstance(guard.before(tool, X), Allow)
    with otel_loopguard.run("r2"):
        assert isinstance(guard.before(tool, X, turn="t1"), Allow)


def test_the_twin_is_answered_with_what_is_there() -> None:
    """While the first is open the answer points to it; once it has ended the answer is its result."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        first = guard.before("search", X, turn="t1")
        early = guard.before("search", X, turn="t1")
        guard.after(first.call, "2 hits")
        late = guard.before("search", X, turn="t1")
    assert isinstance(early, Nudge)
    assert isinstance(late, Nudge)
    assert (early.answer, late.answer) == ("", "2 hits")
    assert early.text == late.text
    assert early.text == "[loopguard] Not run again: this step holds the same call already, and its answer is for both."


def test_a_read_that_failed_may_be_retried_in_its_step() -> None:
    """The retry of an application within one step is dispatched."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        first = guard.before("search", X, turn="t1")
        guard.failed(first.call, TimeoutError("busy"))
        assert isinstance(guard.before("search", X, turn="t1"), Allow)


@pytest.mark.parametrize(
    ("between", "ran"),
    [
        ("refund", ["search", "refund", "search"]),
        ("ask", ["search", "ask", "search"]),
        ("note", ["search", "note"]),
    ],
)
@pytest.mark.parametrize("mode", ["enforce", "nudge"])
def test_a_read_after_an_effect_is_no_twin_of_the_one_before(between: str, ran: list[str], mode: str) -> None:
    """A step reads, changes something and reads again, in the order of its calls: both reads run."""
    seen: list[str] = []

    def tool(name: str) -> Callable[..., str]:
        def run(**_: object) -> str:
            seen.append(name)
            return str(len(seen))

        return run

    tools = {name: tool(name) for name in ("search", "note", "refund", "ask")}
    uses = ToolUses(guard_for(process_for(), mode=mode), tools, run="r1")
    calls = [
        {"type": "tool_use", "id": f"c{place}", "name": name, "input": X}
        for place, name in enumerate(["search", between, "search"])
    ]
    answered = [one["content"] for one in uses.answer(calls).content]
    assert seen == ran
    assert answered[2].startswith("3" if len(ran) == 3 else "[loopguard] Not run again")


def test_an_effect_ends_the_twins_of_its_own_step_alone() -> None:
    """What another agent of the run does is in no order with the step's calls."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        assert isinstance(guard.before("search", X, turn="t1", agent="one"), Allow)
        assert isinstance(guard.before("refund", X, turn="t1", agent="other"), Allow)
        assert isinstance(guard.before("search", X, turn="t1", agent="one"), Nudge)
        assert isinstance(guard.before("refund", {"order": "A2"}, turn="t1", agent="one"), Allow)
        assert isinstance(guard.before("search", X, turn="t1", agent="one"), Allow)
        assert isinstance(guard.before("search", X, turn="t1", agent="one"), Nudge)


def test_twins_are_counted_after_the_call_that_ran() -> None:
    """They are calls, in this order, of one observation: the next step's repeat is the second, not the fourth."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        first, *twins = (guard.before("search", X, turn="t1") for _ in range(3))
        assert process.live.counters.total(names.TOOL_CALLS) == 0
        guard.after(first.call, "2 hits")
        assert process.live.counters.total(names.TOOL_CALLS) == 3
        assert [isinstance(twin, Nudge) for twin in twins] == [True, True]
        again = guard.before("search", X, turn="t2")
        assert isinstance(again, Nudge)
        assert "2 times" in again.text
        assert isinstance(guard.before("search", X, turn="t3"), Refuse)


# Writes -----------------------------------------------------------------------------------------------------------


@needs_logs
def test_a_write_in_flight_is_a_finding() -> None:
    """The refusal of a write that is on its way is told once a write, and every denial names that finding."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        first = guard.before("refund", {"order": "A1"}, call_id="c1", turn="t1")
        for place in (2, 3):
            assert isinstance(guard.before("refund", {"order": "A1"}, call_id=f"c{place}", turn="t1"), Refuse)
        guard.after(first.call, "refunded")
    (finding,) = process.events(names.FINDING)
    assert (finding[names.FINDING_KIND], finding[names.FINDING_ACTION]) == ("indeterminate", "stop")
    assert (finding[names.TOOL_CALL_ID], finding[names.OUTCOME]) == ("c2", "ours")
    denials = process.events(names.DENIED)
    assert [event[names.TOOL_CALL_ID] for event in denials] == ["c2", "c3"]
    assert {event[names.FINDING_ID] for event in denials} == {finding[names.FINDING_ID]}


def test_guards_of_one_process_know_each_others_open_writes() -> None:
    """Two guards, one run: what one of them has on its way the other refuses."""
    process = process_for()
    one, other = guard_for(process), guard_for(process)
    with otel_loopguard.run("r1"):
        first = one.before("refund", {"order": "A1"})
        assert isinstance(first, Allow)
        refused = other.before("refund", {"order": "A1"})
        assert isinstance(refused, Refuse)
        assert refused.stop is None
    with otel_loopguard.run("r2"):
        assert isinstance(other.before("refund", {"order": "A1"}), Allow)


def test_a_write_that_was_withdrawn_may_be_sent() -> None:
    """What waited for a person and did not run has no effect, and is no call."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        waiting = guard.before("refund", {"order": "A1"}, turn="t1")
        guard.withdraw(waiting.call)
        assert isinstance(guard.before("refund", {"order": "A1"}, turn="t1"), Allow)
    assert process.live.counters.total(names.TOOL_CALLS) == 0


# Patience ---------------------------------------------------------------------------------------------------------


def insist(guard: Guard, times: int) -> list[str]:
    """A write that is done, again and again, each time beside a read that brings news."""
    heard = []
    for place in range(times):
        for tool, arguments in (("refund", {"order": "A1"}), ("note", {"text": f"n{place}"})):
            answer = guard.before(tool, arguments, turn=f"t{place}")
            if isinstance(answer, Allow):
                guard.after(answer.call, f"{tool} {place}")
            elif isinstance(answer, Refuse):
                heard.append("stop" if answer.stop else "refuse")
    return heard


@pytest.mark.parametrize(
    ("refusals", "heard"), [(0, ["stop"]), (1, ["refuse"] * 3 + ["stop"]), (2, ["refuse"] * 4 + ["stop"])]
)
def test_news_elsewhere_does_not_excuse_one_call_for_ever(refusals: int, heard: list[str]) -> None:
    """Each refusal of the call is forgiven for the news beside it, but not the third after those that are answered."""
    with otel_loopguard.run("r1"):
        found = insist(guard_for(process_for(), refusals=refusals), 9)
    assert found[: len(heard)] == heard


def test_a_user_forgives_what_was_insisted_on() -> None:
    """After a message the counting of refusals starts anew."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        assert insist(guard, 4) == ["refuse"] * 3
        guard.user_message()
        assert insist(guard, 4) == ["refuse"] * 3


def test_a_probe_that_fails_is_the_last_before_the_next_refusal() -> None:
    """Arguments that drift buy no unlimited calls: refused, one probe, refused and stopped."""
    guard = guard_for(process_for())
    said = []
    with otel_loopguard.run("r1"):
        for place in range(9):
            answer = guard.before("fetch", {"page": place})
            said.append(type(answer).__name__ + ("!" if isinstance(answer, Refuse) and answer.stop else ""))
            if isinstance(answer, Allow):
                guard.failed(answer.call, ValueError("the gateway says no"))
            elif isinstance(answer, Refuse) and answer.stop:
                break
    assert said == ["Allow"] * 5 + ["Refuse", "Allow", "Refuse!"]


# Words ------------------------------------------------------------------------------------------------------------


def test_covered_calls_hear_why() -> None:
    """The template for them is filled in with the finding of the call that stops the step."""
    words = Words(covered="off: {tool} x{count}, {what}")
    guard = guard_for(process_for(), refusals=0, words=words)
    with otel_loopguard.run("r1"):
        first = guard.before("refund", {"order": "A1"}, turn="t1")
        guard.after(first.call, "refunded")
        beside = guard.before("ask", X, turn="t2")
        stop = guard.before("refund", {"order": "A1"}, turn="t2")
        assert isinstance(stop, Refuse)
        assert stop.stop is not None
        covered = [guard.cover(beside.call), guard.before("ask", {"query": "y"}, turn="t2")]
    assert isinstance(covered[1], Refuse)
    said = "off: refund x2, `refund` was done already with these arguments; doing it again would do it twice."
    assert [one.text for one in covered if isinstance(one, Refuse)] == [said, said]


MODES = "version: 1\nmode: observe\ntools: {refund: {kind: write, mode: enforce}, look: {kind: read}}\n"


@pytest.mark.parametrize("mode", [None, "observe"])
def test_a_step_ends_as_a_whole_whatever_its_tools_modes(mode: Mode | None) -> None:
    """A stop ends the agent's turn: a tool in mode `observe` is not dispatched in that step, and is in the next."""
    process = process_for(MODES)
    guard = Guard(live=process.live, settings=Settings(), refusals=0)
    other = Guard(live=process.live, settings=Settings(), mode=mode)
    with otel_loopguard.run("r1"):
        guard.after(guard.before("refund", {"order": "A1"}, turn="t1").call, "refunded")
        asked = [Asked("a", "look", {"q": 1}), Asked("b", "refund", {"order": "A1"}), Asked("c", "look", {"q": 2})]
        judged = judge(guard, asked, turn="t2")
        late = other.before("look", {"q": 3}, turn="t2")
        after = guard.before("look", {"q": 1}, turn="t3")
    assert judged.stop is not None
    assert [type(one) for one in judged.decisions] == [Refuse] * 3
    # One by one it is the same, but for a guard that is told to do nothing at all.
    assert isinstance(late, Allow if mode == "observe" else Refuse)
    assert isinstance(after, Allow)


def test_an_observed_tool_is_not_stopped_for_itself() -> None:
    """However often it is called and whatever else is refused beside it, its calls run."""
    guard = Guard(live=process_for(MODES).live, settings=Settings(), refusals=5)
    said = []
    with otel_loopguard.run("r1"):
        for place in range(6):
            asked = [Asked(f"a{place}", "refund", {"order": "A1"}), Asked(f"b{place}", "look", {"q": 1})]
            judged = judge(guard, asked, turn=f"t{place}")
            for one, decision in zip(asked, judged.decisions, strict=True):
                said.append(f"{one.tool} {type(decision).__name__}")
                if isinstance(decision, Allow):
                    guard.after(decision.call, "done")
    assert said == ["refund Allow", "look Allow"] + ["refund Refuse", "look Allow"] * 5


def test_tools_of_another_agent_are_not_offered() -> None:
    """Where a call says which tools its agent has, those that the guard knows of others are not named."""
    guard = guard_for(process_for(), tools=["handbook"])
    guard.knows("delete_everything")
    with otel_loopguard.run("r1"):
        for _ in range(2):
            answer = guard.before("search", X, tools=["search", "browse"])
            if isinstance(answer, Allow):
                guard.after(answer.call, "2 hits")
    assert isinstance(answer, Nudge)
    assert "(`browse`, `handbook`)" in answer.text
    assert "delete" not in answer.text
    assert "report_blocked" not in answer.text
