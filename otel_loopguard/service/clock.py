"""Time as runs know it.

Not the wall clock: it stands still while the detector, or one of its workers, is down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["Clock"]

_SECOND: Final = 1_000_000_000


class Clock:
    """Time that stands still while the detector is down, so that a restart makes nothing late."""

    def __init__(self, wall: Callable[[], int], tick: int) -> None:
        """``tick``: what comes within it came at one time, so that a busy run is judged a few times a second."""
        self._wall = wall
        self._tick = max(1, tick)
        self._behind = 0
        self._last = 0
        self._held: int | None = None

    def resume(self, at: int) -> None:
        """Go on from a time."""
        self._behind = max(0, self._wall() - at)
        self._last = at

    def hold(self) -> None:
        """Stand still."""
        if self._held is None:
            self._held = self._wall()

    def release(self) -> None:
        """Go on from where it stands."""
        if self._held is not None:
            self._behind += max(0, self._wall() - self._held)
            self._held = None

    def _true(self) -> int:
        return (self._wall() if self._held is None else self._held) - self._behind

    def now(self) -> int:
        """The time: never less than before."""
        time = self._true()
        self._last = max(self._last, time - time % self._tick)
        return self._last

    def until(self, at: int) -> float:
        """Seconds until a time comes."""
        return max(0.0, (at - self._true()) / _SECOND)
