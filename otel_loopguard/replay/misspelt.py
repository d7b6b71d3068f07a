"""Fields of call records that look like others: ignored as every unknown field is, and told.

Not an error: a recorder may write fields of its own beside ours. It is told only where the field that was meant is
missing in the same line.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["Meant", "Misspelt"]

_ALIKE: Final = 0.75
_OTHER_WORDS: Final = {
    "result": "observation", "output": "observation", "response": "observation", "args": "arguments",
    "input": "arguments", "inputs": "arguments", "parameters": "arguments", "params": "arguments",
    "error": "is_error", "failed": "is_error", "agent_name": "agent", "tool_call_id": "call_id", "seq": "sequence",
    "start_time": "start_ns", "end_time": "end_ns",
}  # fmt: skip
"""What other recorders call the same."""
_NAMES_AT_MOST: Final = 256


class Meant(NamedTuple):
    """A field that nobody reads, and the one that was probably meant."""

    name: str
    field: str
    lines: int


class Misspelt:
    """Counts, over all lines, the fields that look like a missing one."""

    def __init__(self, fields: Iterable[str]) -> None:
        self._fields = frozenset(fields)
        self._near: dict[str, str | None] = {}
        self._lines: Counter[str] = Counter()

    def add(self, names: set[str]) -> None:
        """Take in the names of one line's members."""
        for name in names - self._fields:
            field = self._meant(name)
            if field is not None and field not in names:
                self._lines[name] += 1

    def _meant(self, name: str) -> str | None:
        if name not in self._near and len(self._near) < _NAMES_AT_MOST:
            folded = name.casefold()
            near = difflib.get_close_matches(folded, sorted(self._fields), n=1, cutoff=_ALIKE)
            self._near[name] = _OTHER_WORDS.get(folded, near[0] if near else None)
        return self._near.get(name)

    def found(self) -> list[Meant]:
        """The fields, the most frequent first."""
        return [Meant(name, self._near[name] or "", lines) for name, lines in self._lines.most_common()]
