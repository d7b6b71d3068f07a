"""What the server counts: what runs say, requests by their answer, how long things take.

Not their text: a page or a sink asks. Attribute values are few: never a run id, a fingerprint or a tenant.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

from otel_loopguard import names
from otel_loopguard.emit import BUCKETS, Counters
from otel_loopguard.errors import StoreError
from otel_loopguard.runtimes import Said
from otel_loopguard.service.intake import Accepted, Answer
from otel_loopguard.service.totals import Totals
from otel_loopguard.stream.events import Found, Integrity, Nudged, Observed, RunEnd, RunEvent

__all__ = ["Histogram", "Numbers"]

_VERDICTS: Final = ("allow", "nudge", "stop")
_LATENCY: Final[tuple[float, ...]] = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Histogram:
    """Counts of values by bucket."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """One value more; a bound belongs to its bucket."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Numbers:
    """One server's totals since its start."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.answers: Counter[str] = Counter()
        """Requests by answer: `accepted`, `partial` or why they were refused."""
        self.items = 0
        """Spans and log records taken in."""
        self.last_record = 0
        """Unix time in nanoseconds."""
        self.latency = Histogram(_LATENCY)
        self.detection = Histogram(BUCKETS[names.DETECTION_CALLS])
        self.wasted = Histogram(BUCKETS[names.WASTED_CALLS])

    def count(self, said: Sequence[Said]) -> list[Said]:
        """What runs say; given back is what is more than one call more."""
        calls: dict[tuple[str, str], int] = {}
        rest: list[Said] = []
        for one in said:
            event = one.event
            if isinstance(event, Observed):
                call = (event.tool, event.agent)
                calls[call] = calls.get(call, 0) + 1
            else:
                rest.append(one)
                self._count(event, one.strongest)
        for call, times in calls.items():
            self.counters.add(names.TOOL_CALLS, call, times)
        return rest

    def _count(self, event: RunEvent, strongest: int) -> None:
        if isinstance(event, Found):
            finding = event.finding
            self.counters.add(names.FINDINGS, (finding.kind, finding.action, finding.tool, event.agent))
            if finding.action != "info":
                self.detection.add(event.finding.sequence)
        elif isinstance(event, Nudged):
            self.counters.add(names.NUDGES, (event.outcome.result,))
        elif isinstance(event, Integrity):
            self.counters.add(names.INTEGRITY_FINDINGS, (event.kind,))
        elif isinstance(event, RunEnd):
            self.counters.add(names.RUNS, (_VERDICTS[strongest],))
            if strongest:
                self.wasted.add(event.wasted_calls)

    def totals(self) -> Totals:
        """All of it as plain values."""
        histograms = [(list(one.counts), one.sum) for one in self._histograms()]
        return Totals(self.counters.totals(), dict(self.answers), self.items, self.last_record, histograms)

    def add(self, totals: Totals) -> None:
        """Another server's totals."""
        for counter, found in totals.counters.items():
            for values, total in found:
                self.counters.add(counter, values, total)
        self.answers.update(totals.answers)
        self.items += totals.items
        self.last_record = max(self.last_record, totals.last_record)
        for histogram, (counts, sum_) in zip(self._histograms(), totals.histograms, strict=True):
            histogram.counts = [one + other for one, other in zip(histogram.counts, counts, strict=True)]
            histogram.sum += sum_

    def _histograms(self) -> tuple[Histogram, ...]:
        return self.latency, self.detection, self.wasted

    def answered(self, answer: Answer) -> None:
        """A request got its answer."""
        if isinstance(answer, Accepted):
            self.answers["partial" if answer.rejected else "accepted"] += 1
        else:
            self.answers[answer.reason] += 1

    def refused(self, reason: str, count: int = 1) -> None:
        """Requests were refused before they were read."""
        self.answers[reason] += count

    def took(self, nanoseconds: int) -> None:
        """Time from a request's receipt until its calls were with their runs."""
        self.latency.add(nanoseconds / 1e9)

    def store_failed(self, error: StoreError) -> None:
        """The state file could not be written."""
        self.counters.add(names.ERRORS, (f"store_{error.problem}",))

    def failed(self, kind: str) -> None:
        """Something of ours went wrong."""
        self.counters.add(names.ERRORS, (kind,))

    def mistaken(self, error: Exception) -> None:
        """We made a mistake; its words may hold content, its type does not."""
        self.failed(type(error).__name__)

    def dropped(self, reason: str, count: int = 1) -> None:
        """Something was given up, for a reason that a limit names."""
        if count:
            self.counters.add(names.DROPPED, (reason,), count)
