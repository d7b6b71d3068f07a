"""When a write would happen twice, and when it may."""

from __future__ import annotations

import pytest

from otel_loopguard.core.call import ABSENT
from tests.support.script import Failure, Row, run, step

WRITES = "tools: {pay: {kind: write, idempotency_key: key}, look: {kind: read}}"
PAY: Row = ("pay", {"bill": 9}, "paid")
FAILURES = ["timeout", "connection_lost", "rate_limit", "cancelled", "unknown"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([PAY], [], id="once"),
        pytest.param([PAY, PAY], [(2, "stop", "write")], id="again after success"),
        pytest.param([PAY, ("pay", {"bill": 8}, "paid")], [], id="another bill"),
        pytest.param([PAY, ("look", {"bill": 9}, "paid"), PAY], [(3, "stop", "write")], id="not reset by other calls"),
        pytest.param([("pay", {"bill": 9}, Failure("no funds", "validation")), PAY], [], id="a rejection"),
        pytest.param([("pay", {"bill": 9}, Failure("busy", "transient")), PAY], [], id="neither has a refused attempt"),
        pytest.param([("pay", {"bill": 9}, ABSENT), PAY], [(2, "stop", "indeterminate")], id="no result: who knows"),
        pytest.param([PAY, step("pay", {"bill": 9}, "paid", user_message=True)], [], id="a user may want it again"),
        pytest.param(
            [("pay", {"bill": 9, "key": "a"}, "paid"), ("pay", {"bill": 9, "key": "b"}, "paid")],
            [(2, "stop", "write")],
            id="another idempotency key is another attempt at the same",
        ),
        pytest.param(
            [("pay", {"bill": 9, "key": "a"}, "paid")] * 2, [], id="the same key is safe, and an ordinary repetition"
        ),
    ],
)
def test_duplicates(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """A declared write is stopped the second time, by its arguments without the idempotency key."""
    assert run(rows, WRITES).said == said


@pytest.mark.parametrize("failure", FAILURES)
def test_unknown_outcomes(failure: str) -> None:
    """After a failure that says nothing of what happened only the same idempotency key may be sent again."""
    first: Row = ("pay", {"bill": 9, "key": "a"}, Failure("gone", failure))
    assert run([first, ("pay", {"bill": 9, "key": "a"}, "paid")], WRITES).said == []
    assert run([first, ("pay", {"bill": 9, "key": "b"}, "paid")], WRITES).said == [(2, "stop", "indeterminate")]
    assert run([first, PAY], WRITES).said == [(2, "stop", "indeterminate")]


@pytest.mark.parametrize(
    ("action", "said"), [("allow", []), ("nudge", [(2, "nudge", "write")]), ("stop", [(2, "stop", "write")])]
)
def test_what_a_duplicate_is_worth(action: str, said: list[tuple[int, str, str]]) -> None:
    """The tool's owner says whether a second success is wanted; a retry after an unknown outcome goes with it."""
    policy = f"tools: {{pay: {{kind: write, duplicate_after_success: {action}}}}}"
    assert run([PAY, PAY], policy).said == said
    lost: Row = ("pay", {"bill": 9}, Failure("gone", "timeout"))
    assert [one[:2] for one in run([lost, PAY], policy).said] == [one[:2] for one in said]


def test_a_write_that_changed_nothing_has_not_happened() -> None:
    """A declared field says so."""
    policy = "tools: {pay: {kind: write, result: {changed: {path: changed}}}}"
    nothing: Row = ("pay", {"bill": 9}, {"changed": False})
    assert run([nothing, ("pay", {"bill": 9}, {"changed": True})], policy).said == []
    assert run([("pay", {"bill": 9}, {"changed": True}), nothing], policy).said == [(2, "stop", "write")]


def test_agents_share_what_was_written() -> None:
    """Two agents of a run that do the same do it twice."""
    rows = [step("pay", {"bill": 9}, "paid", agent=agent) for agent in ("clerk", "auditor")]
    assert run(rows, WRITES).said == [(1, "stop", "write")]


def test_siblings_of_one_turn() -> None:
    """Two in one turn are two."""
    rows = [step("pay", {"bill": 9}, "paid", turn=1)] * 2
    assert run(rows, WRITES).said == [(2, "stop", "write")]


def test_scopes_keep_to_themselves() -> None:
    """What one tenant paid is not paid for another, and a message of one user frees no write of another."""
    policy = f"scope: [tenant.id]\n{WRITES}"

    def pay(tenant: str, *, message: bool = False) -> Row:
        return step("pay", {"bill": 9}, "paid", attributes={"tenant.id": tenant}, user_message=message)

    assert run([pay("a"), pay("b")], policy).said == []
    assert run([pay("a"), pay("b", message=True), pay("a")], policy).said == [(2, "stop", "write")]


def test_sixty_four_writes_are_remembered() -> None:
    """The oldest of more is forgotten, and counts as never made."""
    rows: list[Row] = [("pay", {"bill": number}, f"paid {number}") for number in range(65)]
    assert [one[0] for one in run([*rows, ("pay", {"bill": 1}, "again")], WRITES).said if one[2] == "write"] == [66]
    assert [one for one in run([*rows, ("pay", {"bill": 0}, "again")], WRITES).said if one[2] == "write"] == []
