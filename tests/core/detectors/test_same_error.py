"""When one tool fails with one message again and again."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Row, run, step

READS = "tools: {find: {kind: read}, look: {kind: read}}"
QUIET = "defaults: {identical: {nudge: 11, stop: 12, in_a_row: 12}, drift: {nudge: 40}}"


def errors(rows: list[Row], policy: str = QUIET) -> list[tuple[int, str, str]]:
    """What was said about equal errors alone."""
    return [one for one in run(rows, policy).said if one[2] == "same_error"]


def fail(number: int, text: str = "the printer is out of paper", type: str | None = "validation") -> Row:  # noqa: A002
    """One failing call, with other arguments each time."""
    return ("print", {"page": number}, Failure(text, type))


NUDGE_STOP = [(3, "nudge", "same_error"), (6, "stop", "same_error")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([fail(1), fail(2)], [], id="two"),
        pytest.param([fail(1), fail(2), fail(3)], NUDGE_STOP[:1], id="told with the third"),
        pytest.param([fail(number) for number in range(5)], NUDGE_STOP[:1], id="five"),
        pytest.param([fail(number) for number in range(6)], NUDGE_STOP, id="stopped before the sixth"),
        pytest.param([fail(1), fail(2), ("print", {"page": 3}, "printed"), fail(4), fail(5)], [], id="a success"),
        pytest.param(
            [fail(1), fail(2), fail(3, "the printer is on fire"), fail(4)],
            [(4, "nudge", "same_error")],
            id="another error in between starts nothing again",
        ),
        pytest.param(
            [fail(1), fail(2), ("refill", {"tray": 1}, "refilled"), fail(3)], [], id="another tool may have helped"
        ),
        pytest.param(
            [fail(1), fail(2), ("refill", {"tray": 1}, Failure("no paper left")), fail(3)],
            [(4, "nudge", "same_error")],
            id="one that failed has not",
        ),
        pytest.param([fail(1), fail(2), fail(3, type="permission")], [], id="another type is another error"),
        pytest.param([fail(1, ""), fail(2, ""), fail(3, "")], [], id="errors without words"),
        pytest.param(
            [fail(number, f"at 20:{number}, page {number}: out of paper") for number in range(11, 14)],
            NUDGE_STOP[:1],
            id="clock times and the call's own values do not count",
        ),
        pytest.param([fail(number, f"{number * 7} pages are left") for number in (1, 2, 3)], [], id="other numbers do"),
        pytest.param(
            [fail(number, type="timeout") for number in range(6)], NUDGE_STOP, id="passing failures count like others"
        ),
    ],
)
def test_equal_errors(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """A nudge with the third equal error, a stop before the sixth, arguments ignored."""
    assert errors(rows) == said


def test_the_window() -> None:
    """Errors count together within twelve turns."""

    def between(count: int) -> list[Row]:
        return [("look", {"at": number}, f"seen {number}") for number in range(count)]

    rows: list[Row] = [("find", {"x": 1}, Failure("broken index")), ("find", {"x": 2}, Failure("broken index"))]
    last: Row = ("find", {"x": 3}, Failure("broken index"))
    assert errors([*rows, *between(10), last], READS) == [(13, "nudge", "same_error")]
    assert errors([*rows, *between(11), last], READS) == []


def test_siblings_are_one_strike() -> None:
    """Failures of one turn were made before the model heard of the first."""
    rows = [step("print", {"page": page}, Failure("no paper"), turn=turn) for turn in (1, 2) for page in (1, 2, 3)]
    assert errors(list(rows)) == []
    assert errors([*rows, step("print", {"page": 9}, Failure("no paper"), turn=3)]) == [(7, "nudge", "same_error")]


def test_the_stop_needs_the_error_as_the_last_word() -> None:
    """Five equal errors, the last of them with another one beside it: the next call may go."""
    fifth = step("print", {"page": 5}, Failure("the printer is out of paper", "validation"), turn=5)
    fire = step("print", {"page": 6}, Failure("the printer is on fire"), turn=5)
    told = run([*[fail(number) for number in range(4)], fifth, fire, fail(7)], QUIET)
    assert "stop" not in told.verdicts
    assert run([*[fail(number) for number in range(4)], fire, fifth, fail(7)], QUIET).verdicts[-1] == "stop"


def test_after_a_refusal_new_arguments_are_a_probe() -> None:
    """What was not tried since the streak began goes through, what was tried does not; our answer is no last word."""
    refused = step("print", {"page": 0}, "", ours=True)
    rows = [*[fail(number) for number in range(5)], refused, refused, fail(77), fail(77), fail(3)]
    told = run(rows, QUIET)
    assert told.verdicts[5:] == ["stop", "stop", "allow", "stop", "stop"]
    assert [one for one in told.said if one[2] == "same_error"] == NUDGE_STOP


def test_each_refusal_gives_one_probe() -> None:
    """A probe that failed was the last: arguments that were never tried are refused too, until a refusal gives another.

    Where nobody refuses, each of them is allowed: a host that only reports has told nobody to stop.
    """
    refused = step("print", {"page": 0}, "", ours=True)
    rows = [*[fail(number) for number in range(5)], refused, fail(77), fail(78)]
    assert run(rows, QUIET).verdicts[5:] == ["stop", "allow", "stop"]
    again = step("print", {"page": 78}, "", ours=True)
    assert run([*rows[:-1], again, fail(79), fail(80)], QUIET).verdicts[5:] == [
        "stop",
        "allow",
        "stop",
        "allow",
        "stop",
    ]
    assert run([fail(number) for number in range(9)], QUIET).verdicts[5:] == ["stop", "allow", "allow", "allow"]


def test_a_probe_that_succeeds_starts_the_count_again() -> None:
    """After a success the tool is not stopped before it failed five times more."""
    rows: list[Row] = [*[fail(number) for number in range(6)], ("print", {"page": 50}, "printed")]
    more = [fail(number) for number in range(51, 57)]
    assert run([*rows, *more[:5]], QUIET).verdicts.count("stop") == 1
    assert run([*rows, *more], QUIET).verdicts[-1] == "stop"


def test_thresholds() -> None:
    """How many are too many is the policy's."""
    rows = [fail(number) for number in range(5)]
    policy = "tools: {print: {kind: unknown, same_error: {nudge: 2, stop: 4}}}"
    assert errors(rows, policy) == [(2, "nudge", "same_error"), (4, "stop", "same_error")]


def link(page: str, *, leads: bool = False) -> Row:
    """One link of a site that is checked."""
    url = f"https://docs.test/flume/v1/{page}"
    return ("fetch", {"url": url}, f"# {page}\nall about it" if leads else Failure(f"404 Not Found: {url}"))


DEAD = ("avro", "hdfs", "kafka", "sinks", "tuning", "faq")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([link("intro", leads=True), *map(link, DEAD[:5])], [], id="links among which some lead somewhere"),
        pytest.param([link("intro", leads=True), *map(link, DEAD)], [(7, "nudge", "same_error")],
                     id="too many in a row"),
        pytest.param([*map(link, DEAD[:3])], [(3, "nudge", "same_error")], id="none ever led anywhere"),
        pytest.param([link("intro", leads=True), link("avro"), link("hdfs"), link("avro")],
                     [(4, "nudge", "same_error")], id="one of them tried again"),
    ],
)  # fmt: skip
def test_things_that_are_not_there(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """A batch may have gaps: what a tool does not know of a kind that it knows is an answer."""
    assert [one for one in run(rows).said if one[2] == "same_error"] == said


def test_a_no_in_what_is_told_of_each_thing() -> None:
    """Answers about one thing after the other are no refusals for one reason, though all of them hold a no."""
    names = ("alice", "bob", "carol", "dave", "erin", "frank")
    rows: list[Row] = [("user", {"name": f"user of name {name}"}, f"user of name {name}: no tickets") for name in names]
    assert run(rows[:5]).said == []
    assert [kind for _, _, kind in run(rows).said] == ["same_error"]
    again: list[Row] = [
        ("user", {"name": f"user of name alice {end}"}, f"no user of name alice {end}") for end in "abcd"
    ]
    assert [kind for _, _, kind in run([*again[:3], again[0]]).said] == ["same_error"]
