"""What a server counted, as plain values: from worker to parent.

Not the counting (`numbers`).
"""

from __future__ import annotations

import msgspec

__all__ = ["Totals"]


class Totals(msgspec.Struct, array_like=True):
    """Numbers as bytes of msgpack, from worker to parent."""

    counters: dict[str, list[tuple[tuple[str, ...], int]]]
    answers: dict[str, int]
    items: int
    last_record: int
    histograms: list[tuple[list[int], float]]
    """Counts and sum of latency, detection and wasted calls."""
