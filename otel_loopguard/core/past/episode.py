"""An episode: a rule that holds, what was said of it, and how its open nudge went on.

Not a judge: whether a rule holds is for the detectors, an episode only knows that it held before.
"""

from __future__ import annotations

from typing import Final

import msgspec

from otel_loopguard.core.decision import Kind, NudgeOutcome, NudgeResult

__all__ = ["LASTING", "Episode", "Subject"]

LASTING: Final = 1 << 62
"""A turn that never comes: such an episode ends with the run, a user message, or by its own rule."""
Subject = tuple[str, int]
"""A rule and what it holds of: a key, a tool, a lap."""


class Episode(msgspec.Struct, gc=False, eq=False):
    """A rule that holds, from its first finding until something ends it."""

    kind: Kind
    level: int
    """1 after a nudge, 2 after a stop."""
    until: int
    """The last turn in which the episode goes on unless its rule holds again."""
    tool: str
    """Of the call of the first finding, cut to its first characters."""
    turn: int = 0
    """Of the nudge, as long as nobody knows how that went on; else 0."""
    place: int = 0
    """Of the nudged call; else 0."""

    def close(self, result: NudgeResult, place: int) -> NudgeOutcome:
        """The open nudge went on like this."""
        self.turn = self.place = 0
        return NudgeOutcome(self.kind, result, self.tool, place)
