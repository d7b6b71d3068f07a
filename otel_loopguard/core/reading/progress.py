"""Declared progress: what a policy's extractor finds in a result.

Not a judgement: whether a number advanced is told against the best of the same call's history, by the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Final

from otel_loopguard.core.policy import KeyPath, ProgressRule

__all__ = ["at_path", "items_at", "measure_of"]

_LEADING_NUMBER: Final = re.compile(r"\s*[+-]?\d+(?:\.\d+)?", re.ASCII)
_DOTTED: Final = re.compile(r"\s*[vV]?(\d+(?:\.\d+){1,3})", re.ASCII)
_MOMENT: Final = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d{1,3})?))?", re.ASCII)
_PART: Final = 10_000
"""A dotted version counts each later part a ten-thousandth of the one before: four parts fit in a double."""
_SHORT: Final = 64
"""Characters in which a number or a version stands."""


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
    """A finite number, or the one that a text begins with."""
    if isinstance(value, str):
        found = _LEADING_NUMBER.match(value[:_SHORT])
        return float(found.group()) if found else None
    if not isinstance(value, (bool, int, float, Decimal)):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):  # beyond every double, or a signalling NaN
        return None
    return number if isfinite(number) else None


def _version(value: object) -> float | None:
    """A number, a dotted version (1.10 is after 1.9), or a moment in time as ISO 8601 writes it."""
    if not isinstance(value, str):
        return _number(value)
    text = value[:_SHORT]
    moment = _MOMENT.match(text)
    if moment is not None:
        return float("".join(part or "00" for part in moment.groups()))
    dotted = _DOTTED.match(text)
    if dotted is None:
        return _number(text.lstrip().lstrip("vV"))
    parts = [min(int(part), _PART - 1) if place else int(part) for place, part in enumerate(dotted.group(1).split("."))]
    return float(sum(part / _PART**place for place, part in enumerate(parts)))


def _state(value: object) -> str | None:
    """A state by name: a text, or a number or truth value as JSON writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() < _SHORT:
        return str(value)
    return value if isinstance(value, str) else None


def measure_of(data: object, rule: ProgressRule) -> tuple[float | None, bool]:
    """A number that grows with progress, or None where the result has none, and whether the state is terminal."""
    found = next(at_path(data, rule.path), None)
    if rule.kind == "state":
        state = _state(found)
        if state is None:
            return None, False
        if state in rule.terminal:
            return float(len(rule.order) + 1), True
        return (float(rule.order.index(state)), False) if state in rule.order else (None, False)
    if rule.kind == "decreasing":
        number = float(len(found)) if isinstance(found, (list, tuple)) else _number(found)
        return (None if number is None else -number), False
    return _version(found) if rule.kind == "version" else _number(found), False


def items_at(data: object, rule: ProgressRule) -> list[object]:
    """The declared items of a result, in order."""
    return list(at_path(data, rule.path))
