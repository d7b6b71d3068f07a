"""The calls that were judged with their step, until the framework comes to dispatch each.

Not the guard's record of open calls: this only finds again what was decided, whoever's call ids are equal.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from ._answer import Allow, Nudge, Refuse

__all__ = ["Held", "Waiting"]

_LIMIT: Final = 4096
"""Calls remembered; one that is forgotten is judged again at its dispatch."""


class Held(NamedTuple):
    """One call and what was decided of it."""

    run: str
    owner: str
    """The conversation inside of the run: agents that work side by side may number their calls alike."""
    call_id: str
    tool: str
    decision: Allow | Nudge | Refuse

    @property
    def arguments(self) -> object:
        """Those that the call holds until it ends; nothing else does."""
        return self.decision.call.arguments


class Waiting:
    """Bounded and thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[int, Held] = OrderedDict()
        self._place = 0

    def put(self, held: Held) -> None:
        """Remember a call."""
        with self._lock:
            self._place += 1
            self._held[self._place] = held
            if len(self._held) > _LIMIT:
                self._held.popitem(last=False)

    def take(self, which: Callable[[Held], bool]) -> list[Held]:
        """Give out every call of a kind, the oldest first."""
        with self._lock:
            places = [place for place, held in self._held.items() if which(held)]
            return [self._held.pop(place) for place in places]

    def first(self, which: Callable[[Held], bool]) -> Held | None:
        """Give out the oldest call of a kind."""
        with self._lock:
            found = next((place for place, held in self._held.items() if which(held)), None)
            return None if found is None else self._held.pop(found)
