"""Records that wait, and the calls that they turn out to be: the values between a run and its rules.

Not the rules: which records are one call is `dedupe`, in which order calls stand is `order`.
"""

from __future__ import annotations

import msgspec

from otel_loopguard.stream.events import Doubt
from otel_loopguard.stream.record import CallRecord

__all__ = ["Held", "Merged", "Number", "Question"]


class Held(msgspec.Struct, gc=False):
    """A record that waits for its call's other copies."""

    record: CallRecord
    arrived: int
    """When it came, on the host's clock."""
    index: int
    """How many came before it: the order of last resort, and what tells it apart."""
    copies: int = 1
    indexes: tuple[int, ...] = ()
    """Where it stands for several records of one span: all their indexes."""
    tags: tuple[int, ...] = ()
    """What tells its call from others (`settled.tags_of`)."""


class Number(msgspec.Struct, frozen=True, gc=False):
    """One number that a process gave, with the times of the record that carries it."""

    process_id: str
    agent: str
    sequence: int
    start_ns: int | None = None
    end_ns: int | None = None


class Merged(msgspec.Struct, gc=False):
    """One call, whatever number of records told of it."""

    record: CallRecord
    """Its identity from the copy that started first, its content and result from those that have them."""
    arrived: int
    """When its first record came."""
    index: int
    indexes: tuple[int, ...]
    """Of the records that it is made of."""
    copies: int
    numbers: tuple[Number, ...]
    spans: tuple[tuple[str, str], ...]
    """Trace and span ids of all its records."""
    inside: tuple[tuple[str, str], ...]
    """Trace and span ids of the tool spans around it that are not its own."""
    heard: bool = False
    """Only log events told of it."""
    tags: tuple[int, ...] = ()
    """Of its record, where there is only one."""


class Question(msgspec.Struct, frozen=True, gc=False):
    """A doubt about a call's records."""

    kind: Doubt
    record: CallRecord
    index: int
    """Of the record, as `Held` has it."""
