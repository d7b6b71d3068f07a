"""A declared poller past its budget; never by repetition alone.

Rule: the first poll over a budget (unchanged answers in a row, polls in all, the deadline from the start of the first
poll) is a nudge, handed over with its result, the next one over any budget a stop before dispatch. After an answer
that moved, the budget of unchanged answers is whole again. A poll after a terminal state is a nudge, then a stop.
Polls closer together than the interval, from start to start, are a nudge and no more.

Source: the convention of waiters, as botocore has them: a delay and a greatest number of attempts for each operation.

Not flagged: any number of polls within the budget; a budget that is not set is no limit.
"""

from __future__ import annotations

from typing import ClassVar, Final

from otel_loopguard.core.decision import Action, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.episode import Subject
from otel_loopguard.core.past.standing import over_budget
from otel_loopguard.core.policy import Policy, PollRule, ToolPolicy

from ._base import LASTING, After, Before, Detector, Judged, finding_on

__all__ = ["Poll"]

_NO_LIMITS: Final = PollRule()


class Poll(Detector):
    """Judges the nudge with the result, the stop before it."""

    kind: ClassVar[Kind] = "poll"
    moments: ClassVar = (Before, After)

    def applies(self, settings: ToolPolicy) -> bool:
        """To declared pollers."""
        return settings.kind == "poll"

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A stop on a poll that would be over its budget."""
        key = moment.key
        standing = None if key is None else history.standings.get(key)
        if key is None or standing is None:
            return None
        start = moment.call.start_ns
        over = over_budget(standing, _rule(moment), start, polls=standing.total + 1, same=standing.same + 1)
        reason = "terminal" if standing.terminal else over
        turn = history.turns.number
        if reason is None or not any(history.episodes.level(one, turn) for one in (_for_good(key), _unchanged(key))):
            return None
        return self._judged("stop", history, moment, key, standing.total + 1, reason)

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge on a poll over its budget."""
        key = moment.entry.key
        standing = None if key is None or moment.entry.outcome == "ours" else history.standings.get(key)
        if key is None or standing is None:
            return None
        rule = _rule(moment)
        start = moment.call.start_ns
        if standing.was_terminal:
            return self._judged("nudge", history, moment, key, standing.total, "terminal")
        over = over_budget(standing, rule, start, polls=standing.total, same=standing.same)
        if over is not None:
            return self._judged("nudge", history, moment, key, standing.total, over)
        since = None if start is None or standing.previous_start is None else start - standing.previous_start
        if rule.min_interval is not None and since is not None and since < rule.min_interval:
            return self._judged("nudge", history, moment, key, standing.total, "min_interval")
        return None

    def _judged(  # noqa: PLR0913, PLR0917 - evidence has parts
        self, action: Action, history: History, moment: Before | After, key: int, count: int, reason: str
    ) -> Judged:
        judged = moment.entry if isinstance(moment, After) else None
        earlier = [one for one in reversed(history.by_key.get(key, ())) if one is not judged]
        finding = finding_on(self.kind, action, history, moment, earlier, count=count, limit=_limit(moment, reason))
        if reason == "min_interval":
            return Judged(finding, ("poll_interval", key), LASTING)
        return Judged(finding, _unchanged(key) if reason == "max_unchanged" else _for_good(key), LASTING)


def _unchanged(key: int) -> Subject:
    """The episode that an answer which moves ends."""
    return "poll_unchanged", key


def _for_good(key: int) -> Subject:
    """The episode of a budget that does not come back."""
    return "poll", key


def _rule(moment: Before | After) -> PollRule:
    return moment.settings.poll or _NO_LIMITS


def _limit(moment: Before | After, reason: str) -> int:
    """The budget in polls; 0 where it is one of time or of states."""
    rule = _rule(moment)
    if reason == "max_total":
        return rule.max_total or 0
    return rule.max_unchanged or 0 if reason == "max_unchanged" else 0
