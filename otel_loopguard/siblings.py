"""The spans below one parent: which of their calls one decision of a model made.

Not where a call belongs (`correlate`): its run and agent are told by what is above it, its turn by what is beside it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from otel_loopguard.core.call import Turn

__all__ = ["Siblings"]


class _Decision:
    """Calls that one model decision made, as far as their times tell."""

    __slots__ = ("first_end", "latest_start", "turn")

    def __init__(self, turn: Turn, latest_start: int, first_end: int) -> None:
        self.turn = turn
        self.latest_start = latest_start
        self.first_end = first_end

    def takes(self, start_ns: int, end_ns: int) -> bool:
        """Whether a call ran beside all of them: it began before any had ended, and none began after its end.

        A long call beside a row of short ones joins the first of them only, so a background task hides no loop.
        """
        return start_ns < self.first_end and self.latest_start < end_ns


class Siblings:
    """The spans below one parent, for the turn of each call: one object a parent span, fed in the order of ends.

    A turn is named by its model span, else by the first call of a group that overlaps in time. Bounded: the models and
    decisions of long ago are forgotten, and a call that reaches back to them is a turn of its own.
    """

    __slots__ = ("_decisions", "_equal", "_latest_end", "_models")

    MODELS: Final = 8
    """Model spans remembered; a decision's calls follow it before the next one ends."""
    DECISIONS: Final = 16
    """Groups of overlapping calls remembered."""
    EQUAL: Final = 4
    """Equal calls, one after the other, that one model decision is believed to have made: a call and three retries."""
    PRINTS: Final = 64
    """Different calls of model spans whose equals are counted."""

    def __init__(self) -> None:
        self._models: OrderedDict[str, int] = OrderedDict()
        self._decisions: list[_Decision] = []
        self._equal: OrderedDict[tuple[Turn, str], tuple[int, int]] = OrderedDict()
        """How many equal calls a model's turn holds that did not overlap, and when the last of them ended."""
        self._latest_end = 0
        """No decision took calls that began later than this."""

    def model(self, span_id: str, start_ns: int | None) -> None:
        """A model span under the parent has ended."""
        if start_ns is None:
            return
        self._models[span_id] = start_ns
        if len(self._models) > self.MODELS:
            self._models.popitem(last=False)

    def is_model(self, turn: Turn) -> bool:
        """Whether a turn that was handed out is named by its model span."""
        return turn in self._models

    def turn(self, span_id: str, start_ns: int | None, end_ns: int | None) -> Turn:
        """The turn of a call under the parent that has ended.

        The model span that began last before it; else the turn of calls that overlap it in time; else its own.
        """
        if start_ns is None:
            return span_id or None
        if self._models:
            before = [(start, model) for model, start in self._models.items() if start <= start_ns]
            if before:
                return max(before)[1]
        end_ns = start_ns if end_ns is None else end_ns
        if start_ns < self._latest_end:  # calls one after the other need no search
            for decision in self._decisions:
                if decision.takes(start_ns, end_ns):
                    decision.latest_start = max(decision.latest_start, start_ns)
                    decision.first_end = min(decision.first_end, end_ns)
                    return decision.turn
        self._decisions.append(_Decision(span_id or None, start_ns, end_ns))
        if len(self._decisions) > self.DECISIONS:
            del self._decisions[0]
        self._latest_end = max(self._latest_end, end_ns)
        return span_id or None

    def own_turn(
        self, turn: Turn, fingerprint: str | None, span_id: str, start_ns: int | None, end_ns: int | None
    ) -> Turn:
        """The turn of a call whose model span was given as its ``turn``, now that its fingerprint is known.

        A model that asks for one call again and again without a span of its own for each time would hide a loop: after
        `EQUAL` equal calls that ended one before the next, each further one is a turn of its own. Calls that differ
        stay in the turn, however many one decision made.
        """
        if fingerprint is None or start_ns is None or turn not in self._models:
            return turn
        key = (turn, fingerprint)
        count, latest_end = self._equal.pop(key, (0, 0))
        follows = start_ns >= latest_end
        end_ns = start_ns if end_ns is None else end_ns
        self._equal[key] = (count + follows, max(latest_end, end_ns))
        if len(self._equal) > self.PRINTS:
            self._equal.popitem(last=False)
        return (span_id or None) if follows and count >= self.EQUAL else turn
