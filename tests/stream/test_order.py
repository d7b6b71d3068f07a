"""The run's own order: numbers within a process, inside before outside, start times, and turns that stay together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from otel_loopguard.stream.dedupe import merge
from otel_loopguard.stream.held import Held
from otel_loopguard.stream.order import arrange
from otel_loopguard.stream.record import CallRecord
from tests.support.call_records import record

A, B, C, D = "00000000000000a1", "00000000000000a2", "00000000000000a3", "00000000000000a4"


def arranged(records: Sequence[CallRecord]) -> tuple[list[str], list[str]]:
    """The tools in the run's order, and the kinds of the doubts."""
    calls, _ = merge([Held(one, 0, index) for index, one in enumerate(records)])
    order, questions = arrange(calls)
    return [call.record.call.tool for call in order], [question.kind for question in questions]


ORDERS = [
    (
        "the numbers of call records, with gaps and from nought",
        "abc",
        [record("a", number=0), record("b", number=10), record("c", number=20)],
    ),
    (
        "the numbers, though the clock says otherwise",
        "abc",
        [record("a", number=1, start=9), record("b", number=2, start=5), record("c", number=3, start=1)],
    ),
    (
        "the numbers of a process count ends, not starts",
        "ba",
        [
            record("a", span=A, number=2, process="p", start=1, end=9),
            record("b", span=B, number=1, process="p", start=2, end=3),
        ],
    ),
    ("start times where nobody numbers", "abc", [record("a", start=1), record("b", start=2), record("c", start=3)]),
    (
        "start times between processes",
        "abcd",
        [
            record("a", span=A, number=1, process="p", start=1),
            record("b", span=B, number=1, process="q", start=2),
            record("c", span=C, number=2, process="p", start=3),
            record("d", span=D, number=2, process="q", start=4),
        ],
    ),
    (
        "start times between the agents of a process",
        "abc",
        [
            record("a", span=A, number=1, process="p", agent="x", start=1),
            record("b", span=B, number=1, process="p", agent="y", start=2),
            record("c", span=C, number=2, process="p", agent="x", start=3),
        ],
    ),
    (
        "a call inside another stands before it, though it started later",
        "ba",
        [record("a", span=A, start=1, end=9), record("b", span=B, inside=A, start=2)],
    ),
    (
        "and before all that comes after that one",
        "bac",
        [
            record("a", span=A, number=1, process="p", start=1),
            record("b", span=B, number=1, process="q", inside=A, start=5),
            record("c", span=C, number=2, process="p", start=9),
        ],
    ),
    (
        "a chain of three",
        "cba",
        [record("a", span=A, start=1), record("b", span=B, inside=A, start=2), record("c", span=C, inside=B, start=3)],
    ),
    (
        "numbers win over nesting within one process",
        "ab",
        [record("a", span=A, number=1), record("b", span=B, number=2, inside=A)],
    ),
    (
        "what has no number stands where it started",
        "abc",
        [
            record("a", span=A, number=1, process="p", start=1),
            record("b", span=B, start=2),
            record("c", span=C, number=2, process="p", start=3),
        ],
    ),
    (
        "equal starts: the one that ended first, then the span",
        "abc",
        [
            record("a", span=B, start=1, end=2),
            record("b", span=A, start=1, end=3),
            record("c", span=C, start=1, end=3),
        ],
    ),
    (
        "the calls of a turn stay together, where its first one stands",
        "acb",
        [
            record("a", number=1, turn=1),
            record("b", number=2, turn=2),
            record("c", number=3, turn=1),
        ],
    ),
    (
        "a turn is one agent's",
        "abc",
        [
            record("a", number=1, turn=1, agent="x"),
            record("b", number=2, turn=2, agent="x"),
            record("c", number=3, turn=1, agent="y"),
        ],
    ),
    (
        "a turn is one process's, which counts its own",
        "abcd",
        [
            record("a", span=A, number=1, turn=1, process="p", start=1),
            record("b", span=B, number=1, turn=1, process="q", start=2),
            record("c", span=C, number=2, turn=2, process="p", start=3),
            record("d", span=D, number=2, turn=2, process="q", start=4),
        ],
    ),
    (
        "the calls of a turn of a process stay together",
        "acb",
        [
            record("a", span=A, number=1, turn=1, process="p", start=1),
            record("b", span=B, number=1, turn=1, process="q", start=2),
            record("c", span=C, number=2, turn=1, process="p", start=3),
        ],
    ),
]


@pytest.mark.parametrize(("case", "tools", "records"), ORDERS, ids=[case for case, *_ in ORDERS])
def test_calls_stand_in_their_own_order(case: str, tools: str, records: list[CallRecord]) -> None:
    """However the records arrive, the calls stand in the run's order, and nothing is doubtful."""
    del case
    for order in permutations(records):
        assert arranged(order) == (list(tools), [])


def test_arrival_decides_where_nothing_else_does() -> None:
    """Lines without number and time stand as they came; they come after calls whose time is known."""
    assert arranged([record("b"), record("a"), record("c", start=1)]) == (["c", "b", "a"], [])


def test_numbers_that_contradict_the_nesting_are_told() -> None:
    """A circle of numbers and nesting is broken at the earliest call, in every order of arrival, with a doubt."""
    records = [  # by nesting c before a and b before d, by number a before b and d before c
        record("a", span=A, number=1, process="p", start=1),
        record("b", span=B, number=2, process="p", start=2, inside=D),
        record("c", span=C, number=2, process="q", start=3, inside=A),
        record("d", span=D, number=1, process="q", start=4),
    ]
    for order in permutations(records):
        assert arranged(order) == (["a", "b", "d", "c"], ["conflict"])


def test_one_call_and_none() -> None:
    """Nothing to order is no trouble."""
    assert arranged([]) == ([], [])
    assert arranged([record("a")]) == (["a"], [])
