"""What we say, as plain values; nothing here knows OpenTelemetry."""

from .events import Emitted, Judged, Origin, Totals, finding_event, integrity_event, nudge_event, run_end_event
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
    "finding_event",
    "integrity_event",
    "nudge_event",
    "run_end_event",
]
