"""A run that goes on without anything new, whichever tools it uses.

Three rules, all nudges: so many turns in a row that brought neither a result never seen in the run, nor a successful
change, nor a poll within its budget (where the application reports its own state, that alone decides; a tool that says
no, or that it found nothing, in words that differ in what they quote of the call, has said nothing new; and a call of a
kind that nobody declared is no change where it shows what was seen before); one call with one outcome in six turns of
the run, whatever was done in between: edit and run is work, six edits without any effect on the run are worth a word;
and one call that failed in its last five turns in two ways by turns, so that each fix brings back the failure before
it.

Source: the stall count of Magentic-One's orchestrator (Fourney and others, arXiv 2411.04468), which asks a model
whether progress is made, where this rule looks at results.

Not flagged: a step between looks that told something new each time ("navigated back"); answers with times in them,
which may be what is being worked on; turns of which nothing is known; waiting within a budget; paging.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import ClassVar, Final

import msgspec

from otel_loopguard.core.decision import Finding, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import tag_of

from ._base import LASTING, After, Detector, Judged, TurnOver, finding_on, one_a_turn

__all__ = ["NoProgress"]

_EQUAL_OUTCOMES: Final = 6
_SWINGS: Final = 5
"""There and back, and there and back again."""


class NoProgress(Detector):
    """The first rule is judged when a turn is over, the second with the result."""

    kind: ClassVar[Kind] = "no_progress"
    moments: ClassVar = (After, TurnOver)

    def applies(self, settings: ToolPolicy) -> bool:  # noqa: ARG002 - the seam
        """To every tool."""
        return True

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge on the sixth equal outcome, or on a call that swings between two failures."""
        if moment.entry.times >= _EQUAL_OUTCOMES:
            return self._outcome(history, moment)
        return self._swing(history, moment) if moment.entry.refusal else None

    def turn_over(self, history: History, moment: TurnOver, policy: Policy) -> Judged | None:
        """A nudge on the last call of the turn."""
        if history.idle_turns < policy.no_progress_turns:
            return None
        last = moment.last
        prints = () if last.print is None else (last.print,)
        finding = Finding(
            self.kind, "nudge", moment.tool, last.place, history.idle_since, history.idle_turns,
            policy.no_progress_turns, 1, prints,
        )  # fmt: skip
        return Judged(finding, ("idle", 0), LASTING)

    def _outcome(self, history: History, moment: After) -> Judged | None:
        entry = moment.entry
        if entry.key is None or entry.answer is None or entry.outcome == "ours" or moment.outcome.moving:
            return None
        if entry.renewed:
            return None
        if entry.kind == "poll" or moment.settings.cursor is not None or entry.thought:
            return None
        if _is_step(history, moment):
            return None
        first = next(one for one in history.by_key[entry.key] if one.answer == entry.answer)
        finding = finding_on(self.kind, "nudge", history, moment, [first], count=entry.times, limit=_EQUAL_OUTCOMES)
        finding = msgspec.structs.replace(finding, of_call=True)
        return Judged(finding, ("outcome", tag_of(entry.key, entry.answer)), LASTING)

    def _swing(self, history: History, moment: After) -> Judged | None:
        """One call that fails in two ways by turns."""
        entry = moment.entry
        if entry.key is None or entry.error is None or len(history.by_key[entry.key]) < _SWINGS:
            return None
        found = list(islice(one_a_turn(reversed(history.by_key[entry.key])), _SWINGS))
        if len(found) < _SWINGS or not all(one.refusal and one.error is not None for one in found):
            return None
        if found[0].error == found[1].error or any(
            one.error != found[place % 2].error for place, one in enumerate(found)
        ):
            return None
        finding = finding_on(self.kind, "nudge", history, moment, found[1:], count=_SWINGS, limit=_SWINGS)
        finding = msgspec.structs.replace(finding, of_call=True, period=2)
        return Judged(finding, ("outcome", tag_of(entry.key, *sorted([entry.error, found[1].error or 0]))), LASTING)


def _is_step(history: History, moment: After) -> bool:
    """Whether the call is a step between looks that each told something new: "navigated back", "scrolled down".

    That is one with a short answer that says no no, and since each time that it was made a call was made again that
    brought another answer than before.
    """
    entry = moment.entry
    if entry.outcome != "ok" or entry.refusal or moment.outcome.said or entry.key is None:
        return False
    places = [one.place for one in history.by_key[entry.key] if one.answer == entry.answer][-_EQUAL_OUTCOMES:]
    looks = [
        one.place for one in history.news if one.key != entry.key and len(history.by_key.get(one.key or 0, ())) > 1
    ]
    return all(any(before < place < after for place in looks) for before, after in pairwise(places))
