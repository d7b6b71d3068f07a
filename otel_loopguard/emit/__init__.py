"""What we say, as plain values; nothing here knows OpenTelemetry."""

from .events import (
    Emitted,
    Judged,
    Origin,
    Totals,
    blocked_event,
    finding_event,
    guard_event,
    integrity_event,
    nudge_event,
    run_end_event,
)  # fmt: skip
from .metrics import BUCKETS, COUNTERS, MAX_SETS, OVERFLOW, Counters

__all__ = [
    "BUCKETS",
    "COUNTERS",
    "MAX_SETS",
    "OVERFLOW",
    "Counters",
    "Emitted",
    "Judged",
    "Origin",
    "Totals",
    "blocked_event",
    "finding_event",
    "guard_event",
    "integrity_event",
    "nudge_event",
    "run_end_event",
]
