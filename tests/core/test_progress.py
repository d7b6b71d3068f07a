"""What a declared extractor finds in a result."""

from __future__ import annotations

from decimal import Decimal

import pytest

from otel_loopguard.core.policy import ProgressRule
from otel_loopguard.core.reading.progress import at_path, items_at, measure_of


def measure(kind: str, value: object, **more: tuple[str, ...]) -> float | None:
    """The measure of a result that holds this value."""
    return measure_of({"at": value}, ProgressRule(kind, ("at",), **more))[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ({"a": {"b": 1}}, ("a", "b"), [1]),
        ({"a": [{"b": 1}, {"b": 2}, {}]}, ("a", "[]", "b"), [1, 2]),
        ([[1, 2], [3]], ("[]", "[]"), [1, 2, 3]),
        ({"a": "text"}, ("a", "[]"), []),
        ({"a": 1}, ("b",), []),
        ("text", ("a",), []),
        (7, (), [7]),
    ],
)
def test_paths(data: object, path: tuple[str, ...], expected: list[object]) -> None:
    """Dots go into objects, brackets through lists; what is not there is not found."""
    assert list(at_path(data, path)) == expected
    assert items_at(data, ProgressRule("items", path)) == expected


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (1, 2), (1.5, 2), ("1", "2"), ("v1", "v2"), ("1.9", "1.10"), ("1.2.3", "1.2.10"), ("1.9.9", "2.0.0"),
        ("2024-05-01T10:01:59Z", "2024-05-01T10:02:00Z"), ("2024-05-01 10:01", "2024-05-01T10:01:30"),
        ("2024-05-01T10:01:00.1", "2024-05-01T10:01:00.25"), (Decimal("1e20"), Decimal("1e21")), ("9.12.1", "10.0.0"),
    ],
)  # fmt: skip
def test_versions_grow(earlier: object, later: object) -> None:
    """Numbers, dotted versions and moments in time."""
    before, after = measure("version", earlier), measure("version", later)
    assert before is not None
    assert after is not None
    assert before < after


@pytest.mark.parametrize(
    "value",
    [None, "", "next", [], {}, float("nan"), float("inf"), Decimal("sNaN"), Decimal("1e99999999"), "²", 10**400],
)
def test_what_is_no_measure(value: object) -> None:
    """Nothing that is no finite number measures anything."""
    assert measure("version", value) is None
    assert measure("percent", value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(42, 42.0), ("42 %", 42.0), ("42.5%", 42.5), (" 42", 42.0), ("-3", -3.0), (True, 1.0), (Decimal("0.5"), 0.5)],
)
def test_percent(value: object, expected: float) -> None:
    """A number, or a text that begins with one."""
    assert measure("percent", value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(3, -3.0), ("3 errors", -3.0), (["a", "b"], -2.0), ([], -0.0), ("none", None), ({}, None)]
)
def test_decreasing(value: object, expected: float | None) -> None:
    """A number or the length of a list, which grows as it shrinks."""
    assert measure("decreasing", value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("queued", (0.0, False)), ("running", (1.0, False)), ("done", (3.0, True)), ("lost", (3.0, True)),
        ("sleeping", (None, False)), (2, (None, False)), ({"a": 1}, (None, False)), (None, (None, False)),
    ],
)  # fmt: skip
def test_states(value: object, expected: tuple[float | None, bool]) -> None:
    """The place in the declared order; what nothing follows stands above it."""
    rule = ProgressRule("state", ("at",), ("queued", "running"), ("done", "lost"))
    assert measure_of({"at": value}, rule) == expected


def test_states_that_are_no_texts() -> None:
    """Numbers and truth values are named as JSON writes them."""
    rule = ProgressRule("state", ("at",), ("1", "false"), ("true",))
    assert [measure_of({"at": value}, rule) for value in (1, False, True, 10**5000)] == [
        (0.0, False), (1.0, False), (3.0, True), (None, False),
    ]  # fmt: skip
