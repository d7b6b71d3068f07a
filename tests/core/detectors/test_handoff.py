"""When agents hand one task round in a circle."""

from __future__ import annotations

import pytest

from tests.support.script import Row, run, step

THRESHOLDS = "defaults: {identical: {nudge: 9, stop: 10, in_a_row: 9}}"


def circle(receivers: str, task: str = "translate page 3") -> list[Row]:
    """Each agent hands the task to the next, whose letter is given; the first one to act is the last of the circle."""
    givers = receivers[-1] + receivers[:-1]
    return [
        step("transfer", {"task": task, "to": to}, "taken over", agent=giver, handoff_to=to)
        for giver, to in zip(givers, receivers, strict=True)
    ]


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        pytest.param(circle("BCA"), [], id="once round"),
        pytest.param(circle("BCABC"), [], id="nearly twice"),
        pytest.param(circle("BCABCA"), [("nudge", "cycle")], id="told when the second lap would be complete"),
        pytest.param(circle("BCA" * 3), [("nudge", "cycle"), ("stop", "cycle")], id="stopped at the third"),
        pytest.param(circle("BABA"), [("nudge", "cycle")], id="two agents"),
        pytest.param([*circle("BCA"), *circle("BCA", "translate page 4")], [], id="another task each lap"),
        pytest.param(circle("BBBB"), [], id="to one and the same is no circle"),
    ],
)
def test_laps(rows: list[Row], kinds: list[tuple[str, str]]) -> None:
    """The hand-offs of a run in order are judged like the turns of an agent."""
    assert [one[1:] for one in run(rows, THRESHOLDS).said if one[2] == "cycle"] == kinds


def test_work_on_the_way_breaks_the_circle() -> None:
    """A first-time success of any agent since the last equal hand-off is progress."""
    lap = circle("BCA")
    work = step("translate", {"line": 1}, "fertig", agent="D")
    assert run([*lap, work, *lap], THRESHOLDS).said == []
    again = step("translate", {"line": 1}, "fertig", agent="D")
    assert [one[1:] for one in run([work, *lap, again, *lap], THRESHOLDS).said] == [("nudge", "cycle")]


def test_a_new_task_is_handed_over_anew() -> None:
    """After a user message nothing was handed over yet."""
    lap = circle("BCA")
    task = {"task": "translate page 3", "to": "B"}
    first = step("transfer", task, "taken over", agent="A", handoff_to="B", user_message=True)
    assert run([*lap, first, *lap[1:]], THRESHOLDS).said == []
