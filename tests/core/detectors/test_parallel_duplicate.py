"""The same call twice in one turn is worth a note."""

from __future__ import annotations

from tests.support.script import Row, run, step


def siblings(*names: str, tool: str = "weigh") -> list[Row]:
    """Calls of one turn."""
    return [step(tool, {"item": name}, f"{name} is light", turn=1) for name in names]


def test_each_call_beyond_the_first_is_information() -> None:
    """It enters no verdict and has no episode."""
    told = run(siblings("a", "b", "a", "a"))
    assert [(one.sequence, one.kind, one.action, one.count) for one in told.findings] == [
        (3, "parallel_duplicate", "info", 2),
        (4, "parallel_duplicate", "info", 3),
    ]
    assert told.verdicts == ["allow"] * 4


def test_what_is_no_duplicate() -> None:
    """Other arguments, other turns, arguments that are not known."""
    assert run(siblings("a", "b")).findings == []
    assert run([step("weigh", {"item": "a"}, "light"), step("weigh", {"item": "a"}, "light")]).findings == []
    assert run([step("weigh", "[REDACTED]", "light", turn=1)] * 2).findings == []


def test_writes_are_judged_as_writes() -> None:
    """A declared write of which there are two is no waste but a mistake."""
    told = run(siblings("a", "a", tool="ship"), "tools: {ship: {kind: write}}")
    assert [one.kind for one in told.findings] == ["write"]
