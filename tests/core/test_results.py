"""Kept results: only of declared reads, as fresh copies, within three bounds, and nowhere but in memory."""

from __future__ import annotations

import pickle
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.call import ABSENT
from otel_loopguard.core.policy import ResultRules, ToolPolicy
from otel_loopguard.core.results import ResultLimits, Results
from otel_loopguard.errors import SettingError

READ = ToolPolicy(kind="read", result=ResultRules(cache=True))
KEY = ("r1", "a", "f" * 32)
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        (READ, True),
        (ToolPolicy(kind="read"), False),
        (ToolPolicy(kind="write", result=ResultRules(cache=True)), False),
        (ToolPolicy(kind="poll", result=ResultRules(cache=True)), False),
        (ToolPolicy(result=ResultRules(cache=True)), False),
    ],
)
def test_only_declared_reads_are_kept(settings: ToolPolicy, kept: bool) -> None:  # noqa: FBT001 - a column of the table
    """A write is never kept, whatever its settings say, and neither is anything undeclared."""
    results = Results(ResultLimits())
    assert results.put(KEY, "x", settings, 0) is kept
    assert results.get(KEY, settings, 0) == ("x" if kept else ABSENT)


@pytest.mark.parametrize(
    ("value", "kept"),
    [("text", True), ("", True), (None, True), ([1, {"a": [2.5, None]}], True), ((1, 2), False), (b"x", False),
     (datetime(2026, 1, 1), False), (object(), False), ({1: 2}, False)],  # noqa: DTZ001 - not a moment, a type
)  # fmt: skip
def test_only_plain_data_is_kept(value: object, kept: bool) -> None:  # noqa: FBT001
    """What would not come back as what it is, is not kept."""
    assert Results(ResultLimits()).put(KEY, value, READ, 0) is kept


def test_a_copy_is_handed_out() -> None:
    """Whoever changes what it got changes nothing here."""
    results = Results(ResultLimits())
    results.put(KEY, {"a": [1]}, READ, 0)
    first: Any = results.get(KEY, READ, 0)
    first["a"].append(2)
    assert results.get(KEY, READ, 0) == {"a": [1]}


def test_age() -> None:
    """A result is used up to its age, and dropped after it."""
    results = Results(ResultLimits(age_seconds=2))
    results.put(KEY, "x", READ, 0)
    assert results.get(KEY, READ, 2 * SECOND) == "x"
    assert results.get(KEY, READ, 2 * SECOND + 1) is ABSENT
    assert len(results) == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.text(max_size=40)), max_size=40))
def test_bounds_hold(puts: list[tuple[int, str]]) -> None:
    """Count, bytes of all and bytes of one are never exceeded, and the newest that fits is there."""
    limits = ResultLimits(count=4, total_bytes=100, entry_bytes=60)
    results = Results(limits)
    for name, text in puts:
        kept = results.put(("r", "a", str(name)), text, READ, 0)
        assert kept == (len(text.encode()) <= 60)
        found = [results.get(("r", "a", str(other)), READ, 0) for other in range(10)]
        held = [one for one in found if isinstance(one, str)]
        assert len(held) <= 4
        assert sum(len(one.encode()) for one in held) <= 100
        assert not kept or found[name] == text


def test_a_run_is_forgotten() -> None:
    """A user message or the end of a run drops what it got, and nothing of another one."""
    results = Results(ResultLimits())
    results.put(KEY, "x", READ, 0)
    results.put(("r2", "a", "f"), "y", READ, 0)
    results.forget("r1")
    assert results.get(KEY, READ, 0) is ABSENT
    assert results.get(("r2", "a", "f"), READ, 0) == "y"


def test_it_stays_here() -> None:
    """Nothing of it is in its repr, and it cannot be pickled."""
    results = Results(ResultLimits())
    results.put(KEY, "secret", READ, 0)
    assert repr(results) == "Results(1 of 6 bytes)"
    with pytest.raises(TypeError, match="stay in the process"):
        pickle.dumps(results)


def test_negative_bounds_are_refused() -> None:
    """A bound below nought is an error."""
    with pytest.raises(SettingError):
        ResultLimits(count=-1)
