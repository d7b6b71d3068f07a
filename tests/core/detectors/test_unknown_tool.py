"""When a tool that does not exist is called again."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Row, run, step

MISS = Failure("no such tool", "unknown_tool")


def misses(count: int, tool: str = "teleport") -> list[Row]:
    """Calls of a name that no tool has, with other arguments each time."""
    return [(tool, {"to": number}, MISS) for number in range(count)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(misses(1), [], id="one wrong name"),
        pytest.param(misses(2), [(2, "nudge", "unknown_tool")], id="told with the second answer"),
        pytest.param(misses(3), [(2, "nudge", "unknown_tool")], id="the third"),
        pytest.param(misses(4), [(2, "nudge", "unknown_tool"), (4, "stop", "unknown_tool")], id="stopped at four"),
        pytest.param([*misses(1), *misses(1, "levitate"), *misses(1, "vanish")], [], id="different names"),
        pytest.param([*misses(1), ("teleport", {"to": 7}, "there"), *misses(1)], [], id="the tool came to exist"),
    ],
)
def test_misses(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """Nudge at two, stop at four, by name, whatever the arguments."""
    assert [one for one in run(rows).said if one[2] == "unknown_tool"] == said


def test_one_a_turn() -> None:
    """Several misses of one turn are one: the model has not heard of the first yet."""
    assert run([step("teleport", {"to": number}, MISS, turn=1) for number in range(3)]).said == []


def test_our_own_answers_are_not_the_last_word() -> None:
    """After a refusal the tool exists no more than before."""
    refused = step("teleport", {"to": 9}, MISS, ours=True)
    told = run([*misses(3), refused, ("teleport", {"to": 10}, MISS)])
    assert told.verdicts[3:] == ["stop", "stop"]
