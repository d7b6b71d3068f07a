"""What every adapter must do, as functions over a driver: a new adapter is one driver and one line in the table.

Not the tests: those run each function with each driver, and with broken guards, which must not pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.guards import Guard
from otel_loopguard.live import LOGS_SUPPORTED
from tests.guards.script import (
    ANSWER,
    Boom,
    Driver,
    Lost,
    Rejected,
    Script,
    Tools,
    Transcript,
    guard_for,
    process_for,
)
from tests.guards.side_by_side import RULES

__all__ = ["CHECKS"]

SAME = {"query": "why"}
MARK = "[loopguard]"

Make = Callable[..., Guard]


def _run(driver: Driver, script: Script, make: Make, run_id: str = "r1", **options: object) -> Transcript:
    tools = Tools()
    with otel_loopguard.run(run_id):
        return driver.run(script, tools, guard_for(process_for(), make, **options))


def told_once_then_stopped(driver: Driver, make: Make = Guard) -> None:
    """A declared read runs once; its repeat is answered with the earlier result and a word, then it is refused and the
    agent stopped.
    """
    seen = _run(driver, Script.stubborn(("search", SAME)), make)
    assert seen.ran == {"search": 1}
    assert seen.stop is not None
    assert (seen.stop.tool, seen.stop.kind, seen.stop.count, seen.stop.run_id) == ("search", "identical", 4, "r1")
    assert len(seen.stop.finding_id) == 32
    first, second, third = seen.heard[:3]
    assert first == "2 hits for why"
    assert "2 hits for why" in second
    assert MARK in second
    assert "2 times" in second
    assert "Not run" in third
    assert seen.unanswered == 0


def undeclared_is_run_until_the_fifth(driver: Driver, make: Make = Guard) -> None:
    """An undeclared tool runs four times, gets its word with the third result, and is refused at the fifth call."""
    seen = _run(driver, Script.stubborn(("ask", SAME)), make)
    assert seen.ran == {"ask": 4}
    assert [MARK in text for text in seen.heard[:5]] == [False, False, True, False, True]
    assert "the answer to why is 42" in seen.heard[2]
    assert "Not run" in seen.heard[4]
    assert "The earlier result: the answer to why is 42" in seen.heard[4]
    assert seen.stop is not None
    assert seen.stop.count == 6


def first_refusal_may_stop(driver: Driver, make: Make = Guard) -> None:
    """With no refusal allowed, the first one stops the agent."""
    seen = _run(driver, Script.stubborn(("search", SAME)), make, refusals=0)
    assert seen.ran == {"search": 1}
    assert seen.stop is not None
    assert seen.stop.count == 3


def nudge_mode_tells_and_refuses_nothing(driver: Driver, make: Make = Guard) -> None:
    """In mode `nudge` everything is dispatched that is not answered from an earlier result, and nothing stops."""
    seen = _run(driver, Script.stubborn(("ask", SAME), times=5), make, mode="nudge")
    assert seen.ran == {"ask": 5}
    assert [MARK in text for text in seen.heard] == [False, False, True, False, True]
    assert (seen.stop, seen.answer) == (None, ANSWER)


def observe_mode_changes_no_bytes(driver: Driver, make: Make = Guard) -> None:
    """In mode `observe` the conversation is the one that it is without a guard, byte for byte."""
    for script in (Script.stubborn(("search", SAME)), Script.stubborn(("ask", SAME), ("note", {"text": "x"}), times=6)):
        plain, watched = Tools(), Tools()
        without = driver.run(script, plain, None)
        process = process_for()
        with otel_loopguard.run("r1"):
            seen = driver.run(script, watched, guard_for(process, make, mode="observe"))
        assert seen.conversation == without.conversation
        assert (watched.ran, seen.answer) == (plain.ran, without.answer)
        assert process.live.counters.total(names.TOOL_CALLS) == sum(watched.ran.values())
        assert process.live.counters.total(names.FINDINGS) > 0


def exceptions_pass_untouched(driver: Driver, make: Make = Guard) -> None:
    """What a tool raises reaches whoever it reached without a guard, unchanged."""
    script = Script(((("fail", {"query": "wrong"}),),))
    without = driver.run(script, Tools(), None)
    seen = _run(driver, script, make)
    assert seen.ran == {"fail": 1}
    assert (type(seen.raised), str(seen.raised)) == (type(without.raised), str(without.raised))
    assert driver.raises == isinstance(seen.raised, Boom)
    assert seen.conversation == without.conversation


def batch_with_one_looping_member(driver: Driver, make: Make = Guard) -> None:
    """Each call of a decision gets exactly one answer; the word goes to the call that repeats, and to no other."""
    script = Script(tuple((("search", SAME), ("note", {"text": f"n{place}"})) for place in range(3)))
    seen = _run(driver, script, make)
    assert seen.unanswered == 0
    # In the third decision the other call still teaches something, so the repeat is let through.
    assert seen.ran == {"search": 2, "note": 3}
    assert sorted(text.split("\n")[0] for text in seen.heard) == sorted(
        ["2 hits for why"] * 3 + [f"noted {place + 1}: n{place}" for place in range(3)]
    )
    assert [MARK in text for text in seen.heard if text.startswith("2 hits")] == [False, True, False]
    assert not any(MARK in text for text in seen.heard if text.startswith("noted"))


def stop_covers_the_batch(driver: Driver, make: Make = Guard) -> None:
    """In the step that stops the agent nothing is dispatched any more, and no call is left without an answer."""
    script = Script(tuple((("refund", {"order": "A1"}), ("note", {"text": f"n{place}"})) for place in range(6)))
    seen = _run(driver, script, make, refusals=0)
    assert seen.stop is not None
    assert (seen.stop.tool, seen.stop.kind) == ("refund", "write")
    assert seen.ran == {"refund": 1, "note": 1}
    assert seen.unanswered == 0


def stop_covers_what_stands_before_it(driver: Driver, make: Make = Guard) -> None:
    """Where the calls of a step are seen together, those before the one that stops the agent do not run either."""
    script = Script(tuple((("note", {"text": f"n{place}"}), ("refund", {"order": "A1"})) for place in range(6)))
    seen = _run(driver, script, make, refusals=0)
    assert seen.stop is not None
    assert (seen.stop.tool, seen.stop.kind) == ("refund", "write")
    assert seen.ran == {"refund": 1, "note": 1 if driver.batches else 2}
    assert seen.unanswered == 0
    if driver.batches:
        assert "another call of the same step, `refund`" in next(
            text for text in seen.heard[2:] if "Stopped" not in text
        )


def twins_run_once(driver: Driver, make: Make = Guard) -> None:
    """A read that stands twice in one step is dispatched once, and each of the two has its answer."""
    seen = _run(driver, Script(((("search", SAME), ("note", {"text": "n"}), ("search", SAME)),)), make)
    assert seen.ran == {"search": 1, "note": 1}
    assert seen.unanswered == 0
    assert sum("2 hits for why" in text and MARK not in text for text in seen.heard) == 1
    assert sum("this step holds the same call already" in text for text in seen.heard) == 1
    assert (seen.stop, seen.answer) == (None, ANSWER)


def news_elsewhere_excuses_no_call_for_ever(driver: Driver, make: Make = Guard) -> None:
    """A write that is refused each time is no way to spend a run, whatever the call beside it brings."""
    script = Script(tuple((("refund", {"order": "A1"}), ("note", {"text": f"n{place}"})) for place in range(12)))
    seen = _run(driver, script, make)
    assert seen.stop is not None
    assert (seen.stop.tool, seen.stop.kind) == ("refund", "write")
    assert seen.ran == {"refund": 1, "note": 4}
    assert seen.unanswered == 0


def agents_are_separate(driver: Driver, make: Make = Guard) -> None:
    """What one agent did is no repetition of another one, in the same run."""
    tools, guard = Tools(), guard_for(process_for(), make)
    script = Script.stubborn(("search", SAME), times=1)
    for agent in ("planner", "writer", "critic", "tester"):
        with otel_loopguard.run("r1", agent=agent):
            seen = driver.run(script, tools, guard, agent=agent)
        assert [MARK in text for text in seen.heard] == [False]
    assert tools.ran == {"search": 4}


def user_message_resets(driver: Driver, make: Make = Guard) -> None:
    """After a user message the agent may ask again; without one a stopped agent stays stopped."""
    process = process_for()
    tools, guard = Tools(), guard_for(process, make)
    script = Script.stubborn(("search", SAME), times=6)
    with otel_loopguard.run("r1"):
        assert driver.run(script, tools, guard).stop is not None
        assert driver.run(script, tools, guard).stop is not None
        assert tools.ran == {"search": 1}
        guard.user_message()
        again = driver.run(script, tools, guard)
    assert tools.ran == {"search": 2}
    assert MARK not in again.heard[0]
    assert again.stop is not None


def runs_are_counted_exactly(driver: Driver, make: Make = Guard) -> None:
    """Fifty runs at once: in each the read runs once and the fourth call stops it."""
    process = process_for()
    guard = guard_for(process, make)

    def one(number: int) -> Transcript:
        with otel_loopguard.run(f"run-{number}"):
            return driver.run(Script.stubborn(("search", SAME)), Tools(), guard)

    with ThreadPoolExecutor(50) as pool:
        seen = list(pool.map(one, range(50)))
    assert [one.ran for one in seen] == [{"search": 1}] * 50
    assert [one.stop and (one.stop.run_id, one.stop.count) for one in seen] == [(f"run-{n}", 4) for n in range(50)]
    assert process.live.counters.total(names.TOOL_CALLS) == 200
    assert process.live.counters.total(names.DENIALS) == 100


def writes_are_never_answered_from_memory(driver: Driver, make: Make = Guard) -> None:
    """A write that may be repeated after a word is done twice; one that may not is refused, not answered."""
    seen = _run(driver, Script.stubborn(("submit", {"order": "A1"}), times=2), make)
    assert seen.ran == {"submit": 2}
    assert seen.heard[1].startswith("submitted A1, receipt 2")
    assert MARK in seen.heard[1]
    seen = _run(driver, Script.stubborn(("refund", {"order": "A1"}), times=2), make)
    assert seen.ran == {"refund": 1}
    assert "Not run" in seen.heard[1]
    assert "refunded A1" not in seen.heard[1]


def one_tool_is_never_locked_out(driver: Driver, make: Make = Guard) -> None:
    """After a refusal for one error, arguments not tried since go through, and their success starts the count anew."""
    if driver.raises:
        return  # the exception ends the conversation before there is anything to refuse
    steps = [(("fail", {"query": f"wrong {place}"}),) for place in range(6)]
    seen = _run(driver, Script((*steps, (("fail", {"query": "right"}),))), make, refusals=3)
    assert seen.ran == {"fail": 6}
    assert "Not run" in seen.heard[5]
    assert "found it" in seen.heard[6]
    assert (seen.stop, seen.answer) == (None, ANSWER)


def _raising(error: type[Exception], *, times: int = 99) -> Tools:
    """Tools whose transfer raises that often."""
    tools = Tools()

    def in_transfer() -> None:
        if tools.ran["transfer"] <= times:
            raise error("no answer from the bank")

    tools.in_transfer = in_transfer
    return tools


def a_write_of_unknown_outcome_is_not_sent_again(driver: Driver, make: Make = Guard) -> None:
    """After a timeout or an exception that nobody knows, a person has to look: the agent is stopped at the retry."""
    for error in (Lost, Boom):
        tools, guard = _raising(error), guard_for(process_for(), make, refusals=5)
        script = Script.stubborn(("transfer", {"order": "A1"}), times=3)
        with otel_loopguard.run("r1"):
            seen = driver.run(script, tools, guard)
            if driver.raises:
                assert isinstance(seen.raised, error)
                seen = driver.run(script, tools, guard)
        assert tools.ran == {"transfer": 1}
        assert seen.stop is not None
        assert (seen.stop.tool, seen.stop.kind) == ("transfer", "indeterminate")
        assert seen.unanswered == 0


def a_write_that_was_rejected_may_be_sent_again(driver: Driver, make: Make = Guard) -> None:
    """It has not happened; where the framework hides the exception, that cannot be told from an unknown outcome."""
    tools, guard = _raising(Rejected, times=1), guard_for(process_for(), make)
    script = Script.stubborn(("transfer", {"order": "A1"}), times=1 if driver.raises else 2)
    with otel_loopguard.run("r1"):
        seen = driver.run(script, tools, guard)
        if driver.raises:
            seen = driver.run(script, tools, guard)
    assert tools.ran == {"transfer": 2 if driver.tells_rejections else 1}
    assert (seen.stop is None) == driver.tells_rejections


def a_write_under_way_is_not_sent_again(driver: Driver, make: Make = Guard) -> None:
    """An equal write of another conversation of the run is refused while the first has no result, and stops nobody."""
    guard = guard_for(process_for(), make)
    script, others = Script.stubborn(("transfer", {"order": "A1"}), times=1), Tools()
    heard: list[Transcript] = []

    def beside() -> None:
        with otel_loopguard.run("r1"):
            heard.append(driver.run(script, others, guard))

    def in_transfer() -> None:
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()

    tools = Tools()
    tools.in_transfer = in_transfer
    with otel_loopguard.run("r1"):
        seen = driver.run(script, tools, guard)
    assert (tools.ran, others.ran) == ({"transfer": 1}, {})
    assert seen.heard[0].startswith("transferred A1")
    assert "Not run" in heard[0].heard[0]
    assert [(one.stop, one.unanswered) for one in (seen, *heard)] == [(None, 0)] * 2


def a_write_stands_once_in_a_step(driver: Driver, make: Make = Guard) -> None:
    """Of equal writes of one decision one is dispatched, each has its answer, and the agent goes on."""
    seen = _run(driver, Script(((("refund", {"order": "A1"}),) * 2,)), make)
    assert seen.ran == {"refund": 1}
    assert sorted("Not run" in text for text in seen.heard) == [False, True]
    assert (seen.unanswered, seen.stop, seen.answer) == (0, None, ANSWER)


def doubt_turns_enforcement_off(driver: Driver, make: Make = Guard) -> None:
    """Where telemetry of a run tells two stories nothing is refused in it, and an event says so; others go on."""
    process = process_for()
    guard = guard_for(process, make)
    script = Script.stubborn(("search", SAME), times=6)
    with otel_loopguard.run("r1"):
        stories = [guard.before("note", {"text": text}, call_id="c1", turn="t1") for text in ("a", "b")]
        for story in stories:
            guard.after(story.call, "ok")
        tools = Tools()
        seen = driver.run(script, tools, guard)
    assert (tools.ran, seen.stop, seen.answer) == ({"search": 6}, None, ANSWER)
    assert not any(MARK in text for text in seen.heard)
    assert process.live.counters.total(names.INTEGRITY_FINDINGS) == 1
    if LOGS_SUPPORTED:
        told = [(event[names.RUN_ID], event[names.INTEGRITY_LEVEL]) for event in process.events(names.INTEGRITY)]
        assert told == [("r1", "error")]
    with otel_loopguard.run("r2"):
        assert driver.run(script, Tools(), guard).stop is not None


def a_report_is_a_call_of_its_run(driver: Driver, make: Make = Guard) -> None:
    """With no run named, a report of being blocked is told under the run and agent that its calls are counted in."""
    process = process_for()
    guard = guard_for(process, make)
    report = ("report_blocked", {"tried": ["search"], "needed": ["tool: another index"]})
    driver.run(Script(((("search", SAME),), (("search", SAME),), (report,))), Tools(), guard)
    assert process.live.counters.total(names.BLOCKED_REPORTS) == 1
    if LOGS_SUPPORTED:
        told = process.events(names.FINDING) + process.events(names.BLOCKED)
        assert len(told) == 2
        assert len({(event[names.RUN_ID], event.get(names.AGENT_NAME)) for event in told}) == 1


def reports_have_an_end(driver: Driver, make: Make = Guard) -> None:
    """Who says again and again that it is blocked is stuck: told at the third report, refused at the fifth, stopped."""
    process = process_for()
    steps = [(("report_blocked", {"tried": [], "needed": [f"tool: {place}"]}),) for place in range(9)]
    with otel_loopguard.run("r1"):
        seen = driver.run(Script(tuple(steps)), Tools(), guard_for(process, make))
    assert seen.stop is not None
    assert (seen.stop.tool, seen.stop.kind, seen.stop.count) == ("report_blocked", "identical", 6)
    assert [text.startswith("Recorded") for text in seen.heard[:5]] == [True, True, True, True, False]
    assert [MARK in text for text in seen.heard[:5]] == [False, False, True, False, True]
    assert process.live.counters.total(names.BLOCKED_REPORTS) == 4


CHECKS: tuple[Callable[..., None], ...] = (
    told_once_then_stopped, undeclared_is_run_until_the_fifth, first_refusal_may_stop,
    nudge_mode_tells_and_refuses_nothing, observe_mode_changes_no_bytes, exceptions_pass_untouched,
    batch_with_one_looping_member, stop_covers_the_batch, stop_covers_what_stands_before_it, twins_run_once,
    news_elsewhere_excuses_no_call_for_ever, agents_are_separate, user_message_resets, runs_are_counted_exactly,
    writes_are_never_answered_from_memory, one_tool_is_never_locked_out,
    a_write_of_unknown_outcome_is_not_sent_again, a_write_that_was_rejected_may_be_sent_again,
    a_write_under_way_is_not_sent_again, a_write_stands_once_in_a_step, doubt_turns_enforcement_off,
    a_report_is_a_call_of_its_run, reports_have_an_end, *RULES,
)  # fmt: skip
"""Every rule."""
