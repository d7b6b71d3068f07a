"""The numbers that we count, as plain integers in dicts: nothing is called where something happens.

Not instruments: `live` shows these numbers to the OpenTelemetry metrics API when a reader collects, a server writes
them as text. Attribute sets are bounded, because models invent tool names; a run id or a fingerprint is never in one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from otel_loopguard import names

__all__ = ["BUCKETS", "COUNTERS", "MAX_SETS", "OVERFLOW", "Counters"]

MAX_SETS: Final = 2000
"""Attribute sets a counter: the default cardinality limit of the OpenTelemetry metrics SDK specification."""

OVERFLOW: Final = "otel.metric.overflow"
"""The attribute, always true, under which the specification counts what is beyond the limit."""

COUNTERS: Final[Mapping[str, tuple[str, ...]]] = {
    names.TOOL_CALLS: (names.TOOL_NAME, names.AGENT_NAME),
    names.FINDINGS: (names.FINDING_KIND, names.FINDING_ACTION, names.TOOL_NAME, names.AGENT_NAME),
    names.NUDGES: (names.NUDGE_OUTCOME,),
    names.DROPPED: (names.DROP_REASON,),
    names.RUNS: (names.VERDICT,),
    names.INTEGRITY_FINDINGS: (names.INTEGRITY_KIND,),
    names.DENIALS: (names.FINDING_KIND, names.TOOL_NAME, names.AGENT_NAME),
    names.BLOCKED_REPORTS: (names.BLOCKED_KIND,),
    names.ERRORS: (names.ERROR_TYPE,),
}
"""Every counter with the attributes that it is counted by, in the order in which values are given."""

BUCKETS: Final[Mapping[str, tuple[float, ...]]] = {
    # The built-in thresholds lie at 2 to 6 calls; a run of ten thousand calls is an incident.
    names.DETECTION_CALLS: (2, 3, 4, 5, 6, 8, 12, 20, 50, 100, 500, 1000, 10000),
    names.WASTED_CALLS: (0, 1, 2, 5, 10, 20, 50, 100, 500, 1000, 10000),
    # A typical call takes 10 us, a megabyte of arguments some milliseconds.
    names.OVERHEAD_DURATION: (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1),
}
"""Bucket boundaries of every histogram."""


def _attributes(keys: tuple[str, ...], values: tuple[str, ...]) -> dict[str, str | bool]:
    if not values:
        return {OVERFLOW: True}
    return {key: value for key, value in zip(keys, values, strict=True) if value}


class Counters:
    """One process's totals since its start (or since the fork that made it)."""

    def __init__(self, limit: int = MAX_SETS) -> None:
        self._limit = limit
        self.reset()

    def reset(self) -> None:
        """Start at nought with a fresh lock: what a forked child does."""
        self._lock = threading.Lock()
        self._totals: dict[str, dict[tuple[str, ...], int]] = {name: {} for name in COUNTERS}

    def add(self, counter: str, values: tuple[str, ...] = (), amount: int = 1) -> None:
        """Count ``amount`` under attribute values given in the order of `COUNTERS`; "" is no value."""
        with self._lock:
            totals = self._totals[counter]
            try:
                totals[values] += amount
            except KeyError:
                if len(totals) >= self._limit:
                    values = ()
                totals[values] = totals.get(values, 0) + amount

    def read(self, counter: str) -> list[tuple[int, dict[str, str | bool]]]:
        """All totals of a counter with their attributes."""
        keys = COUNTERS[counter]
        with self._lock:
            totals = list(self._totals[counter].items())
        return [(total, _attributes(keys, values)) for values, total in totals]

    def totals(self) -> dict[str, list[tuple[tuple[str, ...], int]]]:
        """All totals of all counters, by the values that `add` was given: what adds them up elsewhere."""
        with self._lock:
            return {counter: list(totals.items()) for counter, totals in self._totals.items()}

    def total(self, counter: str) -> int:
        """The sum over all attributes."""
        with self._lock:
            return sum(self._totals[counter].values())
