"""A run that goes on without anything new, whichever tools it uses.

Two rules, both nudges: so many turns in a row that brought neither a result never seen in the run, nor a successful
change, nor a poll within its budget (where the application reports its own state, that alone decides); and one call
with one outcome in six turns of the run, whatever was done in between: edit and run is work, six edits without any
effect on the run are worth a word.

Not flagged: turns of which nothing is known; waiting within a budget; paging.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.decision import Finding, Kind
from otel_loopguard.core.entry import tag_of
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy

from ._base import After, Judged, Moment, TurnOver, finding_on

__all__ = ["NoProgress"]

_EQUAL_OUTCOMES: Final = 6


class NoProgress:
    """The first rule is judged when a turn is over, the second with the result."""

    kind: Final[Kind] = "no_progress"
    early: Final = False

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """A nudge on the last call of the turn, or on the sixth equal outcome."""
        if isinstance(moment, After):
            return self._outcome(history, moment)
        if not isinstance(moment, TurnOver) or history.idle_turns < policy.no_progress_turns:
            return None
        mark = moment.mark
        idle = [one for one in history.turns if one.fresh is not None][-history.idle_turns :]
        finding = Finding(
            self.kind, "nudge", mark.tool, mark.last, idle[0].first, history.idle_turns, policy.no_progress_turns,
            fingerprints=mark.fingerprints,
        )  # fmt: skip
        return Judged(finding, "turns")

    def _outcome(self, history: History, moment: After) -> Judged | None:
        entry = moment.entry
        if entry.key is None or entry.answer is None or entry.outcome == "ours":
            return None
        if entry.kind == "poll" or moment.settings.cursor is not None or entry.thought:
            return None
        tag = tag_of(entry.key, entry.answer)
        count = history.outcomes.get(tag) or 0
        if count < _EQUAL_OUTCOMES:
            return None
        held = reversed(history.by_key[entry.key])
        earlier = [one for one in held if one.answer == entry.answer and one is not entry]
        finding = finding_on(self.kind, "nudge", history, moment, earlier, count=count, limit=_EQUAL_OUTCOMES)
        return Judged(finding, tag)
