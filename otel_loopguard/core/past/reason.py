"""Why a tool refused, and how often. Not how much that weighs in all: `refusal` says it."""

from __future__ import annotations

from typing import Final

import msgspec

from otel_loopguard.core.tag import short
from otel_loopguard.core.words import LONG_ENOUGH

from .entry import Entry

__all__ = ["IN_VAIN", "Reason"]

IN_VAIN: Final = 7
"""Weight of a refusal since which nothing was accepted."""


class Reason(msgspec.Struct, gc=False, eq=False):
    """One tool's refusals in the same words, or with the same message once the call's own words are masked."""

    tool: int
    """Tag of the tool's name."""
    error: int
    """32 bits of the last message's key."""
    answer: int
    """32 bits of the last answer."""
    key: int
    """32 bits of the last refused call; 0 where it is not known."""
    first: int
    """Place of the first refusal."""
    last: int
    """Place of the last."""
    turn: int
    """Of the last."""
    count: int = 1
    weight: int = IN_VAIN
    equal: int = 1
    """Refusals of the very same call in a row with nothing accepted in between, one a turn."""

    def is_of(self, entry: Entry) -> bool:
        """Whether a call was refused by this tool for this reason, whenever that was."""
        if not entry.refusal or entry.tool != self.tool:
            return False
        return entry.error == self.error or short(entry.answer) == self.answer

    def quotes_another(self, entry: Entry) -> bool:
        """Whether one more refusal is of another thing than the last was, by its own words.

        It quotes what was handed over, a text and no short answer, so that both message and call differ from the last:
        edits whose targets are not found, each in another place.
        """
        differs = short(entry.answer) != self.answer and short(entry.key) != self.key
        return differs and entry.word_count >= LONG_ENOUGH
