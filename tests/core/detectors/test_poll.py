"""When a declared poller is over its budget, and what waiting is fine."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Row, Step, run, step

SECOND = 1_000_000_000


def polls(*answers: object, every: int | None = None) -> list[Row]:
    """One poll of the same parcel for each answer."""
    return [
        Step("parcel", {"id": 5}, answer, start_ns=None if every is None else number * every)
        for number, answer in enumerate(answers)
    ]


def policy(**budget: object) -> str:
    """A policy in which the parcel is polled with this budget."""
    limits = ", ".join(f"{name}: {value}" for name, value in budget.items())
    return f"tools: {{parcel: {{kind: poll, poll: {{{limits}}}}}}}"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        pytest.param(["sent"] * 3, [], id="three equal answers are within"),
        pytest.param(["sent"] * 4, [(4, "nudge", "poll")], id="the fourth is the first over"),
        pytest.param(["sent"] * 5, [(4, "nudge", "poll"), (5, "stop", "poll")], id="the next one over is stopped"),
        pytest.param(["sent"] * 3 + ["customs"] * 3, [], id="an answer that moved makes the budget whole"),
        pytest.param(
            ["sent"] * 4 + ["customs"] * 4,
            [(4, "nudge", "poll"), (5, "stop", "poll"), (8, "nudge", "poll")],
            id="after it moved the ladder begins anew; the stop was decided before that answer",
        ),
        pytest.param(
            ["sent", Failure("busy"), "sent", Failure("busy"), "sent"],
            [(4, "nudge", "poll"), (5, "stop", "poll")],
            id="a failure is no move",
        ),
    ],
)
def test_unchanged_answers(answers: list[object], said: list[tuple[int, str, str]]) -> None:
    """With a budget of three equal answers the fourth is a nudge, handed over with it, and the next one a stop."""
    found = [one for one in run(polls(*answers), policy(max_unchanged=3)).said if one[2] == "poll"]
    assert found == said


def test_polls_in_all() -> None:
    """The budget of polls does not come back, however often the answer moves."""
    told = run(polls("a", "b", "c", "d", "e"), policy(max_total=3))
    assert told.said == [(4, "nudge", "poll"), (5, "stop", "poll")]


def test_the_deadline_runs_from_the_first_start() -> None:
    """A poll that starts later than the deadline after the first one is over; one at the deadline is not."""
    every_two = polls("a", "b", "c", "d", every=2 * SECOND)
    assert run(every_two, policy(deadline="6s")).said == []
    assert run(every_two, policy(deadline="5s")).said == [(4, "nudge", "poll")]
    assert run(polls("a", "b", "c", "d", "e", every=2 * SECOND), policy(deadline="5s")).said == [
        (4, "nudge", "poll"),
        (5, "stop", "poll"),
    ]


def test_too_close_together_is_told_and_never_stopped() -> None:
    """Starts nearer than the interval are a nudge, once."""
    close = polls(*"abcdefgh", every=SECOND)
    assert run(close, policy(min_interval="2s")).said == [(2, "nudge", "poll")]
    assert run(close, policy(min_interval="1s")).said == []


def test_any_budget_counts_for_the_stop() -> None:
    """Told for one budget, the agent is stopped at the next poll over any other."""
    answers = ["sent"] * 4 + ["customs"] * 2
    told = run(polls(*answers), policy(max_unchanged=3, max_total=5))
    assert told.said == [(4, "nudge", "poll"), (5, "stop", "poll"), (6, "nudge", "poll")]
    told = run(polls("a", "b", "c", "d", "d", "d"), policy(max_unchanged=2, max_total=3))
    assert told.said == [(4, "nudge", "poll"), (5, "stop", "poll")]


def test_after_the_end() -> None:
    """A state that nothing follows is the end of polling, whatever is left of the budget."""
    rule = (
        "tools: {parcel: {kind: poll, poll: {max_unchanged: 9}, "
        "result: {progress: {state: {path: at, order: [sent, customs], terminal: [home]}}}}}"
    )
    answers = [{"at": place} for place in ("sent", "customs", "home", "home", "home")]
    assert run(polls(*answers), rule).said == [(4, "nudge", "poll"), (5, "stop", "poll")]


@pytest.mark.parametrize("budget", [{"max_unchanged": 100}, {"max_total": 100}, {"deadline": "100h"}])
def test_repetition_alone_is_nothing(budget: dict[str, object]) -> None:
    """Within its budget a poller may answer the same any number of times."""
    assert run(polls(*["sent"] * 40), policy(**budget)).said == []


def test_another_parcel_has_a_budget_of_its_own() -> None:
    """Budgets are those of one call, not of the tool."""
    rows = [Step("parcel", {"id": number % 4}, "sent") for number in range(12)]
    assert [one for one in run(rows, policy(max_unchanged=3)).said if one[2] == "poll"] == []


def test_missing_results_are_no_answers() -> None:
    """A poll whose result was not recorded counts as a poll and as no equal answer."""
    from otel_loopguard.core.call import ABSENT

    rows = [step("parcel", {"id": 5}, answer) for answer in ("sent", ABSENT, ABSENT, ABSENT, "sent", "sent")]
    assert [one for one in run(rows, policy(max_unchanged=3)).said if one[2] == "poll"] == []


def test_evidence() -> None:
    """Polls that count, the budget, and the first poll."""
    nudge = run(polls(*["sent"] * 4), policy(max_unchanged=3)).findings[0]
    assert (nudge.count, nudge.limit, nudge.sequence, nudge.first_sequence) == (4, 3, 4, 1)
