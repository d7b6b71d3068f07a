"""One history of a run with the numbers under which the outside knows its calls.

Not the history itself (`core.history`), which counts its calls from 1 and knows nothing of processes and spans.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.core.history import History, RunMemory
from otel_loopguard.stream.held import Number

__all__ = ["Line", "Met"]

_RECENT: Final = 4
"""Calls that a finding may still judge: the last one, and the last one of the turn before."""

_STRETCHES: Final = 64
"""Stretches of places whose numbers go up by one; a process that numbers one agent makes a single one."""


@mypyc_attr(acyclic=True)
class Met:
    """A judged call, as long as findings may be made of it."""

    __slots__ = (
        "fingerprint", "found", "key_id", "number", "numbers", "place", "reference", "reported", "span_id", "trace_id",
    )  # fmt: skip

    def __init__(
        self,
        place: int,
        number: int,
        reference: str,
        trace_id: str,
        span_id: str,
        numbers: tuple[Number, ...],
        reported: tuple[tuple[str, str], ...],
        found: tuple[tuple[str, str], ...] = (),
        fingerprint: str = "",
        key_id: str = "",
    ) -> None:
        self.place: Final = place
        self.number: Final = number
        self.reference: Final = reference
        self.trace_id: Final = trace_id
        self.span_id: Final = span_id
        self.numbers: Final = numbers
        self.reported: Final = reported
        """(kind, action) of the findings that other hosts made of it."""
        self.found = found
        """(kind, action) of those that were made here."""
        self.fingerprint: Final = fingerprint
        """Whole; empty once the run was put aside, which keeps first digits alone."""
        self.key_id: Final = key_id
        """Of the fingerprint."""


class Line:
    """The calls of one agent and scope in one run."""

    __slots__ = ("_recent", "_stretches", "agent", "history")

    def __init__(self, agent: str, memory: RunMemory) -> None:
        self.agent = agent
        self.history = History(memory)
        self._recent: deque[Met] = deque(maxlen=_RECENT)
        self._stretches: deque[tuple[int, int]] = deque(maxlen=_STRETCHES)

    def state(self) -> tuple[list[Met], list[tuple[int, int]]]:
        """All of it but the history."""
        return list(self._recent), list(self._stretches)

    @classmethod
    def from_state(cls, agent: str, history: History, recent: list[Met], stretches: list[tuple[int, int]]) -> Line:
        """The line of a state."""
        line = cls(agent, history.memory)
        line.history = history
        line._recent.extend(recent)
        line._stretches.extend(stretches)
        return line

    def add(self, met: Met) -> None:
        """The call at a place of the history."""
        self._recent.append(met)
        offset = met.number - met.place
        if not self._stretches or self._stretches[-1][1] != offset:
            self._stretches.append((met.place, offset))

    def at(self, place: int) -> Met | None:
        """The call at a place, if it is one of the last."""
        for met in reversed(self._recent):
            if met.place == place:
                return met
        return None

    def number_of(self, place: int) -> int:
        """The number of the call at a place; of one that is long forgotten, the number it would have had."""
        for start, offset in reversed(self._stretches):
            if start <= place:
                return place + offset
        return place + (self._stretches[0][1] if self._stretches else 0)
