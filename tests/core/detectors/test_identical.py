"""When the same call with the same result is told and stopped, and what is no repetition."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Row, run, step

READS = "tools: {shelf: {kind: read}, loan: {kind: read}}"
LOOK: Row = ("shelf", {"aisle": 4}, "twelve books")
ASK: Row = ("catalogue", {"title": "Emma"}, "three copies")
LEND: Row = ("lend", {"copy": 7}, "lent")

NUDGE_STOP = [(3, "nudge", "identical"), (5, "stop", "identical")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([ASK] * 2, [], id="twice is no loop"),
        pytest.param([ASK] * 3, [(3, "nudge", "identical")], id="told before the third"),
        pytest.param([ASK] * 4, [(3, "nudge", "identical")], id="the fourth is no new step"),
        pytest.param([ASK] * 5, NUDGE_STOP, id="stopped before the fifth"),
        pytest.param([ASK, ASK, LEND, ASK, ASK], [], id="a first-time success in between starts again"),
        pytest.param([ASK, ASK, LEND, ASK, ASK, ASK], [(6, "nudge", "identical")], id="and the count goes on"),
        pytest.param(
            [ASK, ASK, ("lend", {"copy": 7}, Failure("copy is out")), ASK],
            [(4, "nudge", "identical")],
            id="a failed change changed nothing",
        ),
        pytest.param(
            [ASK, ("catalogue", {"title": "Emma"}, "two copies"), ASK],
            [],
            id="another result in between breaks the streak",
        ),
        pytest.param([LEND, ASK, ASK, LEND, ASK], [(5, "nudge", "identical")], id="a change made again is no news"),
        pytest.param(
            [("catalogue", "null", "x"), ("catalogue", "{}", "x"), ("catalogue", "[]", "x")],
            [],
            id="null, an empty object and an empty list are three calls",
        ),
    ],
)
def test_undeclared_tools(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """Nudge at the third, stop at the fifth, counted from the last thing that may have changed the world."""
    assert run(rows).said == said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([LOOK], [], id="once"),
        pytest.param([LOOK] * 2, [(2, "nudge", "identical")], id="told before the second"),
        pytest.param([LOOK] * 3, [(2, "nudge", "identical"), (3, "stop", "identical")], id="stopped before the third"),
        pytest.param(
            [LOOK, ("loan", {"copy": 1}, "due"), LOOK, ("loan", {"copy": 2}, "late"), LOOK],
            [(3, "nudge", "identical")],
            id="learning keeps from the stop, not from the nudge",
        ),
        pytest.param(
            [LOOK, ("loan", {"copy": 1}, "due"), LOOK, ("loan", {"copy": 2}, "due"), LOOK, LOOK],
            [(3, "nudge", "identical"), (6, "stop", "identical")],
            id="a read whose result was seen before teaches nothing",
        ),
    ],
)
def test_declared_reads(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """Nudge at the second, stop at the third repeat before which nothing was learnt."""
    assert run(rows, READS).said == said


def test_the_window_counts_turns_before_the_call() -> None:
    """The first of two equal calls is seen twelve turns back, and not thirteen."""
    others: list[Row] = [("loan", {"copy": number}, f"lent to {number}") for number in range(12)]
    assert run([LOOK, *others[:11], LOOK], READS).said == [(13, "nudge", "identical")]
    assert run([LOOK, *others, LOOK], READS).said == []


@pytest.mark.parametrize(
    ("pages", "stops"),
    [
        pytest.param(8, [], id="another page each time"),
        pytest.param(3, [(10, "cycle")], id="the last page from the third lap on"),
        pytest.param(1, [(6, "cycle")], id="one page"),
    ],
)
def test_a_page_turned_and_read(pages: int, stops: list[tuple[int, str]]) -> None:
    """Turning pages, with one receipt, is not stopped while each page that is read then is another."""
    rows: list[Row] = []
    for lap in range(8):
        page = min(lap + 1, pages)
        rows += [("click", {"target": "next"}, "ok"), ("read", {"tab": 1}, f"chapter {page} is of the year {page}00")]
    assert [(call, kind) for call, action, kind in run(rows).said if action == "stop"][:1] == stops


def test_siblings_of_one_turn_are_one_observation() -> None:
    """Any number of equal calls in a turn is one strike, and information."""
    rows = [step("catalogue", {"title": "Emma"}, "three", turn=turn) for turn in (1, 1, 1, 1, 2, 2)]
    told = run(rows)
    assert told.said == []
    assert [one.action for one in told.findings] == ["info"] * 4
    assert run([*rows, step("catalogue", {"title": "Emma"}, "three", turn=3)]).said == [(7, "nudge", "identical")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(4, [], id="four in a row"),
        pytest.param(5, [(5, "nudge", "identical")], id="the fifth, whatever came back"),
        pytest.param(8, [(5, "nudge", "identical")], id="never a stop"),
    ],
)
def test_a_row_of_changing_results(rows: int, said: list[tuple[int, str, str]]) -> None:
    """The same call alone in five turns is told though its result differs each time."""
    assert run([("dice", {"sides": 6}, f"rolled {'I' * number}") for number in range(1, rows + 1)]).said == said


def test_what_breaks_a_row() -> None:
    """Another call in a turn, a call without arguments and a tool that pages make no row."""
    rolls = [step("dice", {"sides": 6}, f"rolled {'I' * number}", turn=number) for number in range(1, 7)]
    assert run([*rolls[:3], step("coin", {"n": 1}, "heads", turn=3), *rolls[3:]]).said == []
    assert run([("clock", {}, "I" * number) for number in range(1, 7)]).said == []


def test_passing_failures_are_left_to_their_own_rule() -> None:
    """After a transient failure an equal call is a retry; after a lasting one it is a repetition."""
    busy: Row = ("shelf", {"aisle": 4}, Failure("busy", "rate_limit"))
    gone: Row = ("shelf", {"aisle": 4}, Failure("no such aisle", "not_found"))
    assert run([busy, busy], READS).said == []
    assert run([busy, LOOK], READS).said == []
    assert run([busy, LOOK, LOOK], READS).said == [(3, "nudge", "identical")]
    assert run([gone, gone], READS).said == [(2, "nudge", "identical")]


def test_a_would_be_nudge_whose_result_differs_is_premature() -> None:
    """The third call would have been told before dispatch; that it then brought something else is said with it."""
    told = run([ASK, ASK, ("catalogue", {"title": "Emma"}, "no copy left")])
    assert [(one.sequence, one.premature) for one in told.findings] == [(3, True)]
    assert [one.premature for one in run([ASK] * 3).findings] == [False]


def test_tools_that_declare_progress_are_told_with_their_result() -> None:
    """A version that grows is news; the nudge waits for a result that shows none, the stop does not."""
    policy = "tools: {order: {kind: read, result: {progress: {version: {path: version}}}}}"

    def order(*versions: int) -> list[Row]:
        return [("order", {"id": 1}, {"version": version}) for version in versions]

    assert run(order(1, 2, 3, 4, 5, 6), policy).said == []
    told = run(order(1, 2, 2, 2), policy)
    assert told.said == [(3, "nudge", "identical"), (4, "stop", "identical")]
    assert [type(one).__name__ for one in told.decisions] == ["Allow", "Allow", "Allow", "Refuse"]


def test_an_unknown_call_in_between_may_have_changed_anything() -> None:
    """A call whose arguments are not known starts the count again, unless it failed or only reads."""
    hidden = step("catalogue", "[REDACTED]", "done")
    assert run([ASK, ASK, hidden, ASK]).said == []
    assert run([ASK, ASK, step("catalogue", "[REDACTED]", Failure("no")), ASK]).said == [(4, "nudge", "identical")]
    assert run([LOOK, step("loan", "[REDACTED]", "done"), LOOK], READS).said == [(3, "nudge", "identical")]


def test_our_own_answers_repeat_and_prove_nothing() -> None:
    """A call that was answered by us stands for the last real result of its key."""
    ours = step("catalogue", {"title": "Emma"}, "ignored", ours=True)
    assert run([ASK, ASK, ours, ours, ASK]).said == NUDGE_STOP


def test_a_stop_is_said_once() -> None:
    """Later equal calls are refused again, without another finding."""
    told = run([ASK] * 9)
    assert [one for one in told.said if one[2] == "identical"] == NUDGE_STOP
    assert told.verdicts[3:] == ["allow", "stop", "stop", "stop", "stop", "stop"]
    assert [getattr(one, "repeated", None) for one in told.decisions[4:]] == [False, True, True, True, True]


def test_the_evidence_of_a_stop() -> None:
    """Count, limit, the first call that counts, and one fingerprint: the first digits of the judged call's."""
    told = run([("loan", {"copy": 1}, "due"), *[ASK] * 5])
    stop = told.findings[-1]
    assert (stop.tool, stop.sequence, stop.first_sequence) == ("catalogue", 6, 2)
    assert (stop.count, stop.limit, stop.period) == (5, 5, 1)
    assert [len(one) for one in stop.fingerprints] == [16]
