"""Records that wait, and the calls that they turn out to be: the values between a run and its rules.

Not the rules: which records are one call is `dedupe`, in which order calls stand is `order`. They are plain classes and
no structs, as all that the rules look at for every call: compiled code reads their fields ten times faster.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.stream.events import Doubt
from otel_loopguard.stream.record import CallRecord

__all__ = ["Held", "Merged", "Number", "Question"]


@mypyc_attr(acyclic=True)
class Held:
    """A record that waits for its call's other copies."""

    __slots__ = ("arrived", "copies", "index", "indexes", "record", "tags")

    def __init__(
        self,
        record: CallRecord,
        arrived: int,
        index: int,
        copies: int = 1,
        indexes: tuple[int, ...] = (),
        tags: tuple[int, ...] = (),
    ) -> None:
        self.record: Final = record
        self.arrived: Final = arrived
        """When it came, on the host's clock."""
        self.index: Final = index
        """How many came before it: the order of last resort, and what tells it apart."""
        self.copies = copies
        self.indexes: Final = indexes
        """Where it stands for several records of one span: all their indexes."""
        self.tags: Final = tags
        """What tells its call from others (`settled.Identity`)."""


@mypyc_attr(acyclic=True)
class Number:
    """One number that a process gave, with the times of the record that carries it."""

    __slots__ = ("agent", "end_ns", "process_id", "sequence", "start_ns")

    def __init__(
        self, process_id: str, agent: str, sequence: int, start_ns: int | None = None, end_ns: int | None = None
    ) -> None:
        self.process_id: Final = process_id
        self.agent: Final = agent
        self.sequence: Final = sequence
        self.start_ns: Final = start_ns
        self.end_ns: Final = end_ns

    def _parts(self) -> tuple[object, ...]:
        return self.process_id, self.agent, self.sequence, self.start_ns, self.end_ns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())


@mypyc_attr(acyclic=True)
class Merged:
    """One call, whatever number of records told of it."""

    __slots__ = ("arrived", "copies", "heard", "index", "indexes", "inside", "numbers", "record", "spans", "tags")

    def __init__(
        self,
        record: CallRecord,
        arrived: int,
        index: int,
        indexes: tuple[int, ...],
        copies: int,
        numbers: tuple[Number, ...],
        spans: tuple[tuple[str, str], ...],
        inside: tuple[tuple[str, str], ...],
        heard: bool = False,
        tags: tuple[int, ...] = (),
    ) -> None:
        self.record: Final = record
        """Its identity from the copy that started first, its content and result from those that have them."""
        self.arrived: Final = arrived
        """When its first record came."""
        self.index: Final = index
        self.indexes: Final = indexes
        """Of the records that it is made of."""
        self.copies: Final = copies
        self.numbers: Final = numbers
        self.spans: Final = spans
        """Trace and span ids of all its records."""
        self.inside: Final = inside
        """Trace and span ids of the tool spans around it that are not its own."""
        self.heard: Final = heard
        """Only log events told of it."""
        self.tags: Final = tags
        """Of its record, where there is only one: kept only to be made once."""

    def _parts(self) -> tuple[object, ...]:
        """All but the tags, which are made of the rest."""
        return (
            self.record, self.arrived, self.index, self.indexes, self.copies, self.numbers, self.spans, self.inside,
            self.heard,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Merged) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())


@mypyc_attr(acyclic=True)
class Question:
    """A doubt about a call's records."""

    __slots__ = ("index", "kind", "record")

    def __init__(self, kind: Doubt, record: CallRecord, index: int) -> None:
        self.kind: Final = kind
        self.record: Final = record
        self.index: Final = index
        """Of the record, as `Held` has it."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Question)
            and self.kind == other.kind
            and self.index == other.index
            and self.record == other.record
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.record, self.index))
