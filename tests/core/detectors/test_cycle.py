"""When a round of different calls that comes again is told and stopped, and which rounds are work."""

from __future__ import annotations

import pytest

from tests.support.script import Row, run, step


def lap(names: str) -> list[Row]:
    """One undeclared call for each letter, the same result for the same letter."""
    return [("check", {"valve": name}, f"valve {name} is shut") for name in names]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        pytest.param("ABA", [], id="a lap and a half"),
        pytest.param("ABAB", [(4, "nudge", "cycle")], id="the second lap is complete"),
        pytest.param("ABABA", [(4, "nudge", "cycle")], id="half a lap more"),
        pytest.param(
            "ABABAB",
            [(4, "nudge", "cycle"), (6, "nudge", "identical"), (6, "stop", "cycle")],
            id="the third lap is stopped, and its last call is a repetition too",
        ),
        pytest.param("ABCABC", [(6, "nudge", "cycle")], id="a lap of three"),
        pytest.param("ABCDEFGHABCDEFGH", [(16, "nudge", "cycle")], id="a lap of eight"),
        pytest.param("ABCDEFGHIABCDEFGHI", [(15, "nudge", "no_progress")], id="nine are beyond the longest period"),
        pytest.param("XYZABAB", [(7, "nudge", "cycle")], id="what stood before does not matter"),
        pytest.param("AABAAB", [(6, "nudge", "cycle")], id="a lap may hold a call twice"),
        pytest.param("ABABC", [(4, "nudge", "cycle")], id="a round that is left"),
    ],
)
def test_laps(calls: str, said: list[tuple[int, str, str]]) -> None:
    """Laps are counted in all, and the finding falls on the call that completes one."""
    found = [one for one in run(lap(calls)).said if one[2] != "no_progress" or len(calls) == 18]
    assert found == said


def test_one_call_over_and_over_is_no_cycle() -> None:
    """Only primitive periods count: A, A, A, A is not A, A twice, and neither is A with a thought before each."""
    thought: Row = ("think", {"thought": "it may have opened"}, "noted")
    assert {kind for _, _, kind in run(lap("AAAAAA")).said} == {"identical", "no_progress"}
    assert [one for one in run([thought, *lap("A")] * 4).said if one[2] == "cycle"] == []
    assert (6, "nudge", "cycle") in run([thought, *lap("AB")] * 4).said


def test_a_result_that_changed_breaks_the_lap() -> None:
    """Laps are equal in their results too, but for the last turn, whose result is not awaited."""
    changed: Row = ("check", {"valve": "A"}, "valve A is open")
    assert run([*lap("AB"), changed, *lap("B")]).said == []
    told = run([*lap("ABA"), ("check", {"valve": "B"}, "valve B is open")])
    assert [(one.sequence, one.kind, one.premature) for one in told.findings] == [(4, "cycle", True)]


def test_another_target_breaks_the_lap() -> None:
    """The same two tools with a new target each time are a batch."""
    rows: list[Row] = []
    for number in range(6):
        rows += [("open", {"box": number}, f"{number} opened"), ("read", {"box": number}, f"{number} read")]
    assert run(rows).said == []


def test_writes_do_not_break_a_lap() -> None:
    """What is done and undone again, with every result as before, is no work."""
    policy = """
tools:
  paint: {kind: write, duplicate_after_success: allow}
  strip: {kind: write, duplicate_after_success: allow}
"""
    rows: list[Row] = [("paint", {"wall": 1}, "red"), ("strip", {"wall": 1}, "bare")] * 3
    assert run(rows, policy).said == [(4, "nudge", "cycle"), (6, "stop", "cycle")]


def test_waiting_within_a_budget_is_no_cycle() -> None:
    """A lap with a declared poller waits; one over its budget goes round."""
    policy = "tools: {look: {kind: read}, oven: {kind: poll, poll: {max_unchanged: %d}}}"
    rows: list[Row] = [("look", {"at": "dough"}, "pale"), ("oven", {"id": 1}, "heating")] * 3
    assert [one for one in run(rows, policy % 9).said if one[2] == "cycle"] == []
    assert [one for one in run(rows, policy % 1).said if one[2] == "cycle"] == [(6, "stop", "cycle")]


def test_siblings_make_one_symbol() -> None:
    """A turn is the set of its calls, in any order."""
    rows = [
        step("check", {"valve": name}, f"{name} is shut", turn=turn)
        for turn, names in enumerate(["AB", "C", "BA", "C", "AB", "C"])
        for name in names
    ]
    told = [one for one in run(rows).said if one[2] == "cycle"]
    assert told == [(6, "nudge", "cycle"), (9, "stop", "cycle")]


def test_a_sibling_makes_it_another_turn() -> None:
    """The lap that the fourth turn would have completed is undone by what else that turn did."""
    rows = [step("check", {"valve": name}, f"{name} is shut", turn=turn) for turn, name in enumerate("ABAB")]
    assert run([*rows, step("check", {"valve": "C"}, "open", turn=3)]).said == []


def test_turns_with_unknown_arguments_equal_no_other() -> None:
    """A call whose arguments were withheld is no symbol."""
    hidden = step("check", "[REDACTED]", "shut")
    assert [one for one in run([*lap("A"), hidden, *lap("A"), hidden]).said if one[2] == "cycle"] == []


def test_thresholds() -> None:
    """How many laps are too many is the policy's."""
    policy = "defaults: {cycle: {nudge: 3, stop: 4}}"
    found = [one for one in run(lap("ABABABAB"), policy).said if one[2] == "cycle"]
    assert found == [(6, "nudge", "cycle"), (8, "stop", "cycle")]


def test_the_longest_lap_that_a_policy_may_ask_for() -> None:
    """Sixty-four turns, twice told, three times stopped."""
    policy = "window: 64\ndefaults: {cycle: {max_period: 64}, identical: {nudge: 63, stop: 64, in_a_row: 64}}"
    rows: list[Row] = [("check", {"valve": number}, f"{number} is shut") for number in range(64)] * 3
    found = [one for one in run(rows, policy).said if one[2] == "cycle"]
    assert found == [(128, "nudge", "cycle"), (192, "stop", "cycle")]


def test_two_cycles_of_one_length_are_two_episodes() -> None:
    """A round that was told says nothing of another round later."""
    found = [one for one in run(lap("ABABCDCD")).said if one[2] == "cycle"]
    assert found == [(4, "nudge", "cycle"), (8, "nudge", "cycle")]


def test_evidence() -> None:
    """Laps, period and limit, and the fingerprints of a lap with the judged call's own."""
    finding = run(lap("XABCABC")).findings[0]
    assert (finding.count, finding.period, finding.limit, finding.sequence, finding.first_sequence) == (2, 3, 2, 7, 2)
    assert [len(one) for one in finding.fingerprints] == [16, 16, 16]


def test_before_dispatch_a_lap_is_foreseen() -> None:
    """The call that would complete a lap is told, and refused, before it runs; the finding waits for the turn's end."""
    told = run(lap("ABABAB"), "defaults: {identical: {nudge: 9, stop: 10, in_a_row: 9}}")
    assert [type(one).__name__ for one in told.decisions] == ["Allow", "Allow", "Allow", "Nudge", "Allow", "Refuse"]
    assert told.verdicts == ["allow", "allow", "allow", "nudge", "allow", "stop"]
