"""What a history and a run's memory are as plain data, between two processes or two releases.

Not their bytes: how they are written is `stream.codec`'s to know.
"""

from __future__ import annotations

import msgspec

from .entry import Entry
from .episode import Episode, Subject
from .refusal import Reason
from .standing import Standing
from .turn import TurnMark

__all__ = ["HistoryState"]


class HistoryState(msgspec.Struct):
    """A history, the run's memory apart. Pairs are oldest first."""

    place: int = 0
    dropped: int = 0
    turn: int = 0
    token: str | int | None = None
    """Of the open turn."""
    open_calls: int = 0
    """How many of the newest entries belong to the open turn."""
    row: int = 0
    last_tool: str = ""
    idle_turns: int = 0
    idle_since: int = 0
    entries: list[Entry] = []
    marks: list[TurnMark] = []
    outcomes: list[tuple[int, int]] = []
    seen: list[int] = []
    asked: list[int] = []
    standings: list[tuple[int, Standing]] = []
    barren: list[tuple[int, int]] = []
    episodes: list[tuple[Subject, Episode]] = []
    said: int = 0
    refusals: list[Reason] = []
    counter: int | None = None
    beside: int | None = None
