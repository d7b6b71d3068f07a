"""Results of declared reads, kept so that a repeat can be answered without asking again.

The one place that holds what a tool returned, and it leaves neither the process nor this object: it has no snapshot,
its repr shows counts alone, and only guards may import it. Never for writes: whoever puts says what the tool is. Beside
the results that answer are the heads of others, to be quoted to the model that got them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import msgspec

from .call import ABSENT
from .option import require_number
from .policy import ToolPolicy

__all__ = ["ResultKey", "ResultLimits", "Results", "may_keep", "may_quote"]

ResultKey = tuple[str, str, str]
"""Run, agent, fingerprint of the call."""

_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """Bounds of what is kept."""

    count: int = 512
    """Results; the least recently put is dropped."""
    total_bytes: int = 8 * 1024 * 1024
    """All of them, encoded."""
    entry_bytes: int = 256 * 1024
    """One result; a longer one is not kept."""
    age_seconds: float = 600.0
    """An older result is not used: ten minutes, the time of a long run's dozen turns."""

    def __post_init__(self) -> None:
        for name in ("count", "total_bytes", "entry_bytes"):
            require_number(name, getattr(self, name))
        require_number("age_seconds", self.age_seconds, is_whole=False)


@dataclass(slots=True)
class _Kept:
    data: bytes
    """JSON: what is handed out is always a fresh copy, so nobody can change it under the next one."""
    is_text: bool
    put_ns: int

    def __repr__(self) -> str:
        return f"_Kept({len(self.data)} bytes)"


class Results:
    """Bounded by count, bytes and age. Not locked."""

    def __init__(self, limits: ResultLimits, *, to_quote: bool = False) -> None:
        """``to_quote``: what is put are texts to quote from, not results to answer with."""
        self._limits = limits
        self._to_quote = to_quote
        self._kept: OrderedDict[ResultKey, _Kept] = OrderedDict()
        self._bytes = 0

    def __repr__(self) -> str:
        return f"Results({len(self._kept)} of {self._bytes} bytes)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("results stay in the process that got them")

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, key: ResultKey, value: object, settings: ToolPolicy, now_ns: int) -> bool:
        """Keep a result of a read; whether it was kept."""
        if not self._may_keep(settings):
            return False
        self._drop(key)
        data = _encoded(value)
        if data is None or len(data) > self._limits.entry_bytes:
            return False
        self._kept[key] = _Kept(data, isinstance(value, str), now_ns)
        self._bytes += len(data)
        while len(self._kept) > self._limits.count or self._bytes > self._limits.total_bytes:
            self._drop(next(iter(self._kept)))
        return key in self._kept

    def get(self, key: ResultKey, settings: ToolPolicy, now_ns: int) -> object:
        """A result that is kept and young enough, as a copy; else `ABSENT`."""
        kept = self._kept.get(key) if self._may_keep(settings) else None
        if kept is None:
            return ABSENT
        if now_ns - kept.put_ns > self._limits.age_seconds * _SECOND:
            self._drop(key)
            return ABSENT
        return kept.data.decode() if kept.is_text else msgspec.json.decode(kept.data)

    def _may_keep(self, settings: ToolPolicy) -> bool:
        return may_quote(settings) if self._to_quote else may_keep(settings)

    def forget(self, run_id: str, but: str | None = None) -> None:
        """Drop what a run got, but for one of its agents: a user spoke, it ended, or that agent changed something."""
        for key in [one for one in self._kept if one[0] == run_id and one[1] != but]:
            self._drop(key)

    def _drop(self, key: ResultKey) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.data)


def _encoded(value: object) -> bytes | None:
    """The bytes of plain data; None for anything that would not come back as what it is."""
    try:
        if isinstance(value, str):
            return value.encode() if type(value) is str else None
        data = msgspec.json.encode(value)
        return data if msgspec.json.decode(data) == value else None
    except (TypeError, ValueError, RecursionError, OverflowError):
        return None


def may_keep(settings: ToolPolicy) -> bool:
    """Only a declared read whose owner does not forbid it."""
    return settings.kind == "read" and settings.result.cache


def may_quote(settings: ToolPolicy) -> bool:
    """All but writes, whose receipt is no answer to a second one, and reads that move fast."""
    return may_keep(settings) if settings.kind == "read" else settings.kind != "write"
