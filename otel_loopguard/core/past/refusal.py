"""How often tools refused for one reason, and how much those refusals weigh together.

Not a verdict: when the weight is too much is a detector's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from otel_loopguard.core.tag import short

from .entry import Entry
from .reason import IN_VAIN, Reason

__all__ = ["APART", "LIGHT", "MEASURE", "REASON_LIMIT", "Reason", "Refusals"]

REASON_LIMIT: Final = 8
APART: Final = 15
"""Turns between two refusals that still belong together."""
LIGHT: Final = 3
"""Weight of a refusal after accepted work, or of another thing where other work went through: another try was
justified."""
MEASURE: Final = 4 * IN_VAIN
"""Weight of four refusals between which nothing was accepted. Light ones weigh less than half: seven of those after the
first make up the same."""


class Refusals:
    """The last reasons of one history; they outlive the detail of the calls that were refused."""

    __slots__ = ("held",)

    def __init__(self, held: Iterable[Reason] = ()) -> None:
        self.held = list(held)
        """The one met longest ago first."""

    def of(self, entry: Entry) -> Reason | None:
        """The reason for which a call was refused, where it is one of the last."""
        return next((one for one in reversed(self.held) if one.is_of(entry)), None)

    def add(self, entry: Entry, works_since: Callable[[int], bool], answers_since: Callable[[int], bool]) -> None:
        """Take in one more refused call.

        ``works_since`` tells whether any work was accepted since a place, ``answers_since`` whether the tool had an
        answer for another thing of the kind that it was asked for.
        """
        if entry.error is None:
            return
        reason = self.of(entry)
        answer, key = short(entry.answer) or 0, short(entry.key) or 0
        if reason is not None:
            self.held.remove(reason)
        elsewhere = reason is not None and key != reason.key and (entry.approval or answers_since(reason.last))
        if reason is None or elsewhere or entry.turn - reason.turn > APART:
            reason = Reason(entry.tool, entry.error, answer, key, entry.place, entry.place, entry.turn)
        elif entry.turn > reason.turn:
            worked = works_since(reason.last)
            is_slip = reason.quotes_another(entry) and works_since(reason.first)
            reason.equal = reason.equal + 1 if key and key == reason.key and not worked else 1
            reason.count += 1
            reason.weight += LIGHT if worked or is_slip else IN_VAIN
            reason.error, reason.answer, reason.key = entry.error, answer, key
            reason.last, reason.turn = entry.place, entry.turn
        self.put(reason)

    def put(self, reason: Reason) -> None:
        """Hold a reason as the newest."""
        self.held.append(reason)
        if len(self.held) > REASON_LIMIT:
            del self.held[0]
