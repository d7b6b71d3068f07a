"""Recorded runs: reading them from files and judging them at once."""

from .report import as_object
from .run import VERDICTS, Report, RunVerdict, judge
from .source import Line, Source, find_sources
from .traces import RecordedRun, Traces

__all__ = [
    "VERDICTS",
    "Line",
    "RecordedRun",
    "Report",
    "RunVerdict",
    "Source",
    "Traces",
    "as_object",
    "find_sources",
    "judge",
]
