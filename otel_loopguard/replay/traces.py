"""Recorded runs, collected from lines: call records, and OTLP/JSON as the Collector's file exporter writes it.

Not the judging (`run`): it tells the kinds of lines apart by what they hold, keeps each call without its content until
all lines are read, and then gives runs in the order in which they first appeared. A span's run is known only when
the whole trace is, so spans wait by trace and calls by run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from otel_loopguard.core.fingerprint import Keyring, KeyScope
from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import RecordError
from otel_loopguard.replay.call_record import CallRecordReader, Fields
from otel_loopguard.replay.line import member_names, parsed
from otel_loopguard.replay.misspelt import Misspelt
from otel_loopguard.replay.packed import pack_call, pack_span, unpack_call, unpack_span
from otel_loopguard.replay.spool import Spool
from otel_loopguard.stream.otlp_json import REQUESTS, records
from otel_loopguard.stream.reader import RecordReader, read_ending
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import placed

__all__ = ["RecordedRun", "Traces"]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The records of one run, packed until they are asked for."""

    run_id: str
    items: list[bytes]
    """As `packed.pack_call` makes them."""
    reason: str
    """Why the run ended, as recorded; empty where nobody said."""

    def __len__(self) -> int:
        return len(self.items)

    def records(self) -> Iterator[CallRecord]:
        """The records in the order in which they came."""
        for _, record in sorted((unpack_call(item, self.run_id) for item in self.items), key=lambda one: one[0]):
            yield record

    def by_time(self) -> Iterator[CallRecord]:
        """The records by number where one source numbers them all, else by start, unpacked one at a time.

        This is nearly the run's own order, so that a run of any length can be judged piece by piece.
        """
        heads = [_head(*unpack_call(item, self.run_id)) for item in self.items]
        numbered = len({head.process_id for head in heads}) == 1 and all(head.sequence >= 0 for head in heads)
        order = sorted(range(len(heads)), key=lambda place: heads[place].came)
        latest = 0
        keys: list[tuple[int, int, int]] = []
        for place in order:
            head = heads[place]
            latest = head.start_ns if head.start_ns >= 0 else latest  # without a time it stays beside its neighbours
            keys.append((head.sequence if numbered else latest, head.came, place))
        for _, _, place in sorted(keys):
            yield unpack_call(self.items[place], self.run_id)[1]


class _Head(NamedTuple):
    """What orders a record."""

    came: int
    """After how many others it came."""
    process_id: str
    sequence: int
    """-1 where it has none."""
    start_ns: int
    """-1 where it is not known."""


def _head(index: int, record: CallRecord) -> _Head:
    sequence = -1 if record.sequence is None else record.sequence
    return _Head(index, record.process_id, sequence, -1 if record.start_ns is None else record.start_ns)


class Traces:
    """Collects lines, then gives the runs that they tell of."""

    def __init__(self, policy: Policy, keyring: Keyring, scope: KeyScope, max_memory: int) -> None:
        """``max_memory``: bytes for calls that wait; what is more goes to a temporary file."""
        self._calls = CallRecordReader(policy, keyring, scope)
        self._spans = RecordReader(policy, keyring, scope)
        self._by_trace = Spool(max_memory // 2)
        self._by_run = Spool(max_memory // 2)
        self._first: dict[str, int] = {}
        """Where each run first appeared."""
        self._reasons: dict[str, str] = {}
        self.misspelt = Misspelt(Fields.__struct_fields__)
        self._count = 0

    def close(self) -> None:
        """Give temporary files back."""
        self._by_trace.close()
        self._by_run.close()

    def add(self, line: bytes) -> None:
        """Take in one line; `RecordError` says what is wrong with it, and then nothing of it was taken.

        Raises `OSError` where calls that wait cannot be put aside, which no other line would change.
        """
        try:
            self._add(line)
        except (RecordError, OSError, MemoryError):
            raise
        except Exception as error:  # a line that nobody thought of costs itself alone
            raise RecordError(
                f"the line cannot be taken in ({type(error).__name__}), a mistake of otel-loopguard: please report it"
            ) from error

    def _add(self, line: bytes) -> None:
        names = member_names(line)
        if names & REQUESTS:
            self._add_request(parsed(line))
        elif names & {"run_id", "tool"}:
            record = self._calls.read(line)
            self.misspelt.add(names)
            self._add_call(record, self._next())
        else:
            raise RecordError(
                "neither a call record (an object with `run_id` and `tool`) nor OTLP/JSON (with `resourceSpans` or "
                "`resourceLogs`)"
            )

    def runs(self) -> Iterator[RecordedRun]:
        """Every run with a call, in the order in which runs first appeared."""
        for trace_id in self._by_trace.groups():
            spans = [unpack_span(item, trace_id) for item in self._by_trace.take(trace_id)]
            indexes = [index for index, span in spans if span.call is not None]
            for index, call in zip(indexes, placed([span for _, span in spans]), strict=True):
                self._add_call(call, index)
        for run_id in sorted(self._first, key=self._first.__getitem__):
            yield RecordedRun(run_id, self._by_run.take(run_id), self._reasons.get(run_id, ""))

    def _add_request(self, document: object) -> None:
        endings: list[tuple[str, str]] = []
        packed: list[tuple[str, bytes]] = []
        for record in records(document):  # all of it before any of it is taken
            ending = read_ending(record)
            if ending is not None:
                endings.append((ending.run_id, ending.reason))
                continue
            span = self._spans.read(record)
            if span is not None:
                packed.append((span.trace_id, pack_span(span, self._next())))
        for run_id, reason in endings:
            self._reasons[run_id] = reason or self._reasons.get(run_id, "")
        for trace_id, item in packed:
            self._by_trace.add(trace_id, item)

    def _add_call(self, record: CallRecord, index: int) -> None:
        item = pack_call(record, index)
        self._by_run.add(record.run_id, item)
        self._first[record.run_id] = min(index, self._first.get(record.run_id, index))

    def _next(self) -> int:
        self._count += 1
        return self._count
