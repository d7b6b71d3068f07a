"""Wake-ups: what is to be looked at when, in the order of time, and at one time in the order of the keys.

Not a clock: a host tells the time. Hosts judge in ticks, so that many wake-ups share few times: those of one time are
kept together and sorted once, where a heap of all of them would compare keys at every step.
"""

from __future__ import annotations

from heapq import heappop, heappush

__all__ = ["Timers"]

_Key = tuple[str, str]


class Timers:
    """Keys by the time at which they are to be woken; one that is not wanted any more is for its owner to pass over."""

    __slots__ = ("_at", "_times")

    def __init__(self) -> None:
        self._at: dict[int, list[_Key]] = {}
        self._times: list[int] = []

    def set(self, at: int, key: _Key) -> None:
        """Wake a key at a time."""
        keys = self._at.get(at)
        if keys is None:
            self._at[at] = [key]
            heappush(self._times, at)
        else:
            keys.append(key)

    def due(self) -> int | None:
        """The first time; None where nothing is to be woken."""
        return self._times[0] if self._times else None

    def take(self) -> list[_Key]:
        """The keys of the first time, which is over with it; there must be one."""
        at = heappop(self._times)
        keys = self._at[at]
        del self._at[at]
        if len(keys) > 1:
            keys.sort()
        return keys
