"""What every adapter must do where agents start agents and runs go side by side, as functions over a driver.

Not the rules of one conversation: those are `conformance`, which counts these among its own.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from functools import partial

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.guards import Allow, Guard
from tests.guards.script import ANSWER, Driver, Script, Tools, Transcript, guard_for, process_for

__all__ = ["RULES"]

SAME = {"query": "why"}
MARK = "[loopguard]"
READS = Script.stubborn(("search", SAME), times=1)

Make = Callable[..., Guard]


def _elsewhere(work: Callable[[], None], *, inside: bool) -> None:
    """The work in a thread, where an event loop of its own may run: inside of what goes on here, or beside it."""
    context = contextvars.copy_context() if inside else contextvars.Context()
    thread = threading.Thread(target=context.run, args=(work,))
    thread.start()
    thread.join()


def fresh_sub_agents_begin_anew(driver: Driver, make: Make = Guard) -> None:
    """Each agent that a tool starts, of one name, may read what the others read; a loop of one of them is one still."""
    tools, guard = Tools(), guard_for(process_for(), make)
    scripts = [READS, READS, READS, Script.stubborn(("search", SAME)), READS]
    seen = []
    with otel_loopguard.run("r1"):  # the calls are open at the same time, so that none brings news to another
        calls = [guard.before("delegate", {"task": place}, turn="t1").call for place in range(len(scripts))]
        for call, script in zip(calls, scripts, strict=True):
            with guard.inside(call):
                seen.append(driver.run(script, tools, guard))
        for call in calls:
            guard.after(call, f"done with {call.arguments}")
    assert [one.stop is not None for one in seen] == [False, False, False, True, False]
    assert tools.ran == {"search": 5}
    for one in (*seen[:3], seen[4]):
        assert (one.answer, [MARK in text for text in one.heard]) == (ANSWER, [False])
    assert seen[3].stop is not None
    assert (seen[3].stop.run_id, seen[3].stop.count) == ("r1", 4)


def sub_agents_share_the_writes_of_the_run(driver: Driver, make: Make = Guard) -> None:
    """What one agent that a tool started has written another one does not write again."""
    tools, guard = Tools(), guard_for(process_for(), make)
    heard = []
    with otel_loopguard.run("r1"):
        for place in range(2):
            call = guard.before("delegate", {"task": place}).call
            with guard.inside(call):
                heard += driver.run(Script.stubborn(("refund", {"order": "A1"}), times=1), tools, guard).heard
            guard.after(call, f"done with {place}")
    assert tools.ran == {"refund": 1}
    assert ["Not run" in text for text in heard] == [False, True]


def an_agent_may_be_a_tool_of_another(driver: Driver, make: Make = Guard) -> None:
    """An agent whose tool runs another one: the inner ones begin anew, and neither counts the other's calls."""
    if not driver.nests:
        return
    process = process_for()
    guard, tools, others = guard_for(process, make), Tools(), Tools()
    inner: list[Transcript] = []
    tools.in_transfer = partial(_elsewhere, lambda: inner.append(driver.run(READS, others, guard)), inside=True)
    steps = tuple((("transfer", {"order": f"A{place}"}),) for place in range(3))
    with otel_loopguard.run("r1"):
        seen = driver.run(Script((*steps, (("search", SAME),))), tools, guard)
    assert (tools.ran, others.ran) == ({"transfer": 3, "search": 1}, {"search": 3})
    assert not any(MARK in text for one in (seen, *inner) for text in one.heard)
    assert (seen.stop, seen.answer, seen.unanswered) == (None, ANSWER, 0)
    assert [(one.stop, one.answer) for one in inner] == [(None, ANSWER)] * 3
    assert process.live.counters.total(names.TOOL_CALLS) == 7


def equal_ids_side_by_side_are_no_conflict(driver: Driver, make: Make = Guard) -> None:
    """Models number their calls alike in every conversation: runs at the same time are told apart, and none in doubt.

    Nor are two conversations of one run and agent.
    """
    for run_id in ("r2", "r1"):
        process = process_for()
        guard, tools, others = guard_for(process, make), Tools(), Tools()
        beside: list[Transcript] = []
        script = Script(((("transfer", {"order": "B2"}),), (("refund", {"order": "B2"}),)))

        def other() -> None:
            with otel_loopguard.run(run_id):  # noqa: B023 - it runs within this round
                beside.append(driver.run(script, others, guard))  # noqa: B023

        tools.in_transfer = partial(_elsewhere, other, inside=False)
        with otel_loopguard.run("r1"):
            asked = (("transfer", {"order": "A1"}),), (("refund", {"order": "A1"}),), (("refund", {"order": "A1"}),)
            seen = driver.run(Script(asked), tools, guard)
        assert (tools.ran, others.ran) == ({"transfer": 1, "refund": 1}, {"transfer": 1, "refund": 1})
        assert seen.heard[0].startswith("transferred A1")
        assert ["Not run" in text for text in seen.heard] == [False, False, True]
        assert beside[0].heard == ["transferred B2", "refunded B2"]
        assert process.live.counters.total(names.INTEGRITY_FINDINGS) == 0


def a_nested_call_leaves_the_outer_one_open(driver: Driver, make: Make = Guard) -> None:
    """While an agent inside of a write works, and when it has ended, the write is under way until its own end."""
    guard, tools = guard_for(process_for(), make), Tools()
    with otel_loopguard.run("r1"):
        outer = guard.before("refund", {"order": "A1"})
        assert isinstance(outer, Allow)
        with guard.inside(outer.call):
            assert driver.run(READS, tools, guard).answer == ANSWER
        assert not isinstance(guard.before("refund", {"order": "A1"}), Allow)
        guard.after(outer.call, "refunded A1")
    assert tools.ran == {"search": 1}


RULES: tuple[Callable[..., None], ...] = (
    fresh_sub_agents_begin_anew, sub_agents_share_the_writes_of_the_run, an_agent_may_be_a_tool_of_another,
    equal_ids_side_by_side_are_no_conflict, a_nested_call_leaves_the_outer_one_open,
)  # fmt: skip
"""Every rule of this kind."""
