"""Ids of any length on spans and from code: one run where they are equal, two where not, and none kept whole."""

from __future__ import annotations

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.core.identifier import LONGEST, bounded
from tests.support.process import Process

LONG = "c" * 1_000_000


@pytest.mark.parametrize(("other", "runs"), [(LONG, 1), (LONG + "d", 2)])
def test_conversations(other: str, runs: int) -> None:
    """Two spans with equal ids are of one run, with different ones of two, and the run id on them is the short form."""
    process = Process()
    for conversation in (LONG, other):
        process.call("search", {"q": "a"}, **{"gen_ai.conversation.id": conversation})
    told = [str(attributes[names.RUN_ID]) for attributes in process.attributes]
    assert told == [bounded(LONG), bounded(other)]
    assert len(set(told)) == runs
    assert all(len(run_id) <= LONGEST for run_id in told)


def test_given() -> None:
    """A run named by code is the run that a span elsewhere names by the same id."""
    process = Process()
    with otel_loopguard.run(LONG, agent=LONG):
        process.call("search", {"q": "a"})
    process.call("search", {"q": "a"}, **{names.RUN_ID: LONG})
    assert [attributes[names.RUN_ID] for attributes in process.attributes] == [bounded(LONG)] * 2
