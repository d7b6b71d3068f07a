"""Declared progress: what a policy's extractor finds in a result.

Not a judgement: whether a number advanced is told against the best of the same call's history, by the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from .policy import KeyPath, ProgressRule

__all__ = ["at_path", "items_at", "measure_of"]

_LEADING_NUMBER: Final = re.compile(r"\s*v?(-?\d+(?:\.\d+)?)")
_VERSION_PART: Final = 1000
"""A dotted version counts each later part a thousandth of the one before."""


def at_path(data: object, path: KeyPath) -> Iterator[object]:
    """Every value at a path; ``[]`` stands for every member of a list."""
    if not path:
        yield data
        return
    head, rest = path[0], path[1:]
    if head == "[]":
        if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
            for member in data:
                yield from at_path(member, rest)
    elif isinstance(data, Mapping) and head in data:
        yield from at_path(data[head], rest)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float, Decimal)):
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, str):
        parts = value.strip().lstrip("v").split(".")
        if len(parts) > len(("major", "minor")) and all(part.isdigit() for part in parts):
            return float(sum(int(part[:9]) / _VERSION_PART**place for place, part in enumerate(parts[:5])))
        found = _LEADING_NUMBER.match(value)
        return float(found.group(1)) if found else None
    return None


def measure_of(data: object, rule: ProgressRule) -> tuple[float | None, bool]:
    """A number that grows with progress, or None where the result has none, and whether the state is terminal."""
    found = next(at_path(data, rule.path), None)
    if rule.kind == "state":
        text = str(found)
        if text in rule.terminal:
            return float(len(rule.order) + 1), True
        return (float(rule.order.index(text)), False) if text in rule.order else (None, False)
    if rule.kind == "decreasing":
        if isinstance(found, Sequence) and not isinstance(found, (str, bytes)):
            return -float(len(found)), False
        number = _number(found)
        return (None if number is None else -number), False
    return _number(found), False


def items_at(data: object, rule: ProgressRule) -> list[object]:
    """The declared items of a result, in order."""
    return list(at_path(data, rule.path))
