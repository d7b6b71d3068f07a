"""One run's calls from messy delivery: reading, merging, ordering, judging."""

from .events import DOUBTS, Found, Integrity, Nudged, Observed, RunEnd, RunEvent
from .otlp import log_records, trace_records
from .otlp_json import records
from .reader import Ending, RecordReader, read_ending
from .record import CallRecord
from .run import Run
from .trace import Hints, Span, placed

__all__ = [
    "DOUBTS",
    "CallRecord",
    "Ending",
    "Found",
    "Hints",
    "Integrity",
    "Nudged",
    "Observed",
    "RecordReader",
    "Run",
    "RunEnd",
    "RunEvent",
    "Span",
    "log_records",
    "placed",
    "read_ending",
    "records",
    "trace_records",
]
