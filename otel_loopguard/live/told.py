"""Calls that a model was heard asking for, until the spans of their tools end: for spans that carry no arguments.

Not the arguments: they were fingerprinted when they were heard, and what is kept has no field for them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from otel_loopguard.core.call import ToolCall
from otel_loopguard.core.reader import CallReader

__all__ = ["MAX_TOLD", "Told"]

MAX_TOLD: Final = 4096
"""Calls remembered, the oldest forgotten first: as many as guarded ones."""


class _Entry:
    """The last call heard under one id."""

    __slots__ = ("call", "is_used", "reader")

    def __init__(self, reader: CallReader, call: ToolCall | None) -> None:
        self.reader = reader
        self.call = call
        """None where two different calls were heard before either ran: nobody can say which one does."""
        self.is_used = False


class Told:
    """What was heard, by trace, tool and call id. Not locked: `Live` holds its lock."""

    __slots__ = ("_held", "_limit")

    def __init__(self, limit: int = MAX_TOLD) -> None:
        self._limit = limit
        self._held: OrderedDict[tuple[str, str, str], _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def hear(self, trace_id: str, reader: CallReader, call: ToolCall) -> bool:
        """Remember a call with an id; whether another one is forgotten for it.

        Some models number their calls anew in each turn: once a call has run, its id may name the next.
        """
        key = (trace_id, call.tool, call.call_id or "")
        before = self._held.pop(key, None)
        is_rival = before is not None and not before.is_used and _print(before.call) != _print(call)
        self._held[key] = _Entry(reader, None if is_rival else call)
        if len(self._held) <= self._limit:
            return False
        self._held.popitem(last=False)
        return True

    def find(self, trace_id: str, reader: CallReader, call: ToolCall) -> ToolCall | None:
        """The call that was heard under the id of one without arguments.

        It must have been read under the same policy and key, or fingerprints would be compared that differ in kind.
        """
        entry = self._held.get((trace_id, call.tool, call.call_id or ""))
        if entry is None:
            return None
        entry.is_used = True
        return entry.call if entry.reader is reader else None


def _print(call: ToolCall | None) -> str | None:
    return None if call is None else call.fingerprint
