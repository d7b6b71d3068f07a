"""The same call with the same result and nothing new in between.

Rule: equal keys in the window of turns, one for each turn, whose results are equal and between which nothing may have
changed the world. The nudge counts all of them; the stop counts only repeats in whose turn, and since the previous
equal call, nothing was learnt: no call brought a result that the run had not seen, be it a first one or one made again
(pages turned with one receipt, and read). Also a nudge at so many turns in a row with this call alone, whatever came
back as long as that does not count up ("step 490/4000") or is a new page of text each time; and at the third call with
one answer that was known from another call before the first of them (a click that shows the page as it was), though one
looked around in between. On recorded coding runs 46 % repeat some call three times within twelve turns, with the same
result 3 %, with nothing new in between 0.2 %.

Source: the repeated pair of action and observation of OpenHands' stuck detector, four times there; with the result in
it because arguments alone flag honest work (github.com/HKUDS/nanobot/issues/2298 reports one command with one empty
result 172 times).

Not flagged: edit and re-run (a successful change starts the count again), polling and paging (they have rules of
their own), a retry after a passing failure, several equal calls in one turn.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from otel_loopguard.core.decision import Action, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.policy import Policy, ToolPolicy

from ._base import After, Before, Detector, Judged, finding_on, one_a_turn

__all__ = ["Identical"]


class Identical(Detector):
    """Judges a stop before dispatch, and a nudge before dispatch too unless the call may bring news by itself."""

    kind: ClassVar[Kind] = "identical"
    moments: ClassVar = (Before, After)

    def applies(self, settings: ToolPolicy) -> bool:
        """To everything but declared pollers."""
        return settings.kind != "poll"

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:
        """A nudge or a stop on an equal call."""
        key = moment.key
        earlier = None if key is None else history.by_key.get(key)
        if not earlier or key is None or earlier[-1].category == "transient":
            return None
        rule = moment.settings.identical
        streak = history.streak(key, moment.turn, policy.window)
        count = len(streak) + 1
        if count > 1 and count >= rule.nudge and not history.reset_between(streak[0], moment.turn):
            if count >= rule.stop and _towards_stop(history, streak, moment.turn) >= rule.stop:
                return self._judged("stop", history, moment, streak, count=count, limit=rule.stop)
            if not _brings_news(moment):
                return self._judged("nudge", history, moment, streak, count=count, limit=rule.nudge)
        return None if _brings_news(moment) else self._row(history, moment, key, moment.turn)

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """A nudge on an equal call that could have brought news and did not, or that never brought any."""
        key = moment.entry.key
        if key is None or not moment.entry.counts or moment.entry.outcome == "ours":
            return None
        window = policy.window
        if not _brings_news(moment):
            retold = self._retold(history, moment, key) if moment.entry.stale else None
            return retold or self._known(history, moment, key, window)
        rule = moment.settings.identical
        streak = history.streak(key, moment.entry.turn + 1, window + 1)
        if moment.entry.linked and len(streak) >= rule.nudge:
            return self._judged("nudge", history, moment, streak[1:], count=len(streak), limit=rule.nudge)
        return self._row(history, moment, key, moment.entry.turn)

    def _retold(self, history: History, moment: After, key: int) -> Judged | None:
        """Turns in a row with this call alone, each told the same as the one before, if in other words."""
        limit = moment.settings.identical.nudge
        count = history.turns.row_of(key, moment.entry.turn)
        if count < limit or history.episodes.level((self.kind, key), moment.entry.turn):
            return None
        found = [moment.entry]
        for earlier in one_a_turn(one for one in reversed(history.by_key[key]) if one.turn < moment.entry.turn):
            found.append(earlier)
            if len(found) == count or not earlier.stale:
                break
        if len(found) < limit or all(one.answer == moment.entry.answer for one in found):
            return None
        return self._judged("nudge", history, moment, found[1:], count=len(found), limit=limit, rule="row")

    def _known(self, history: History, moment: After, key: int, window: int) -> Judged | None:
        """A call that never brought anything: its answer was known already when it was first made."""
        entry, limit = moment.entry, moment.settings.identical.nudge
        if entry.fresh or entry.linked or entry.times < limit or not _tells_nothing_new(entry):
            return None
        found: list[Entry] = []
        for earlier in one_a_turn(reversed(history.by_key[key])):
            if earlier.turn < entry.turn - window or earlier.fresh or earlier.answer != entry.answer:
                break
            found.append(earlier)
        if not limit <= entry.times == len(found) or history.acted_since(found[-1].place):
            return None
        if set.intersection(*(_telling_between(history, before, after) for after, before in pairwise(found))):
            return None
        return self._judged("nudge", history, moment, found[1:], count=len(found), limit=limit)

    def _judged(  # noqa: PLR0913 - evidence has parts
        self, action: Action, history: History, moment: Before | After, streak: list[Entry], *, count: int, limit: int,
        rule: str = "identical",
    ) -> Judged:  # fmt: skip
        finding = finding_on(self.kind, action, history, moment, streak, count=count, limit=limit)
        return Judged(finding, (rule, streak[0].key or 0))

    def _row(self, history: History, moment: Before | After, key: int, turn: int) -> Judged | None:
        """So many turns in a row with this call alone; a call without arguments does not say what it does."""
        limit = moment.settings.identical.in_a_row
        if moment.call.bare or moment.settings.cursor is not None:
            return None
        count = history.turns.row_of(key, turn)
        if count < limit or history.episodes.level((self.kind, key), turn):
            return None
        if history.entries and history.entries[-1].goes_on:
            return None
        earlier = one_a_turn(one for one in reversed(history.by_key.get(key, ())) if one.turn < turn)[: count - 1]
        return self._judged("nudge", history, moment, earlier, count=count, limit=limit, rule="row")


def _tells_nothing_new(entry: Entry) -> bool:
    """Whether the answer is one that could have told something, and no receipt."""
    return entry.outcome == "ok" and entry.informative and not (entry.approval or entry.refusal or entry.payload)


def _telling_between(history: History, before: Entry, after: Entry) -> set[int]:
    """The tools that told something new between two calls: one opens what is listed, and goes back to the list."""
    told = (one for one in (*history.resets, *history.news) if before.place < one.place < after.place)
    return {one.tool for one in told if one.fresh and not one.thought}


def _brings_news(moment: Before | After) -> bool:
    """Whether the call may bring news by itself: its nudge waits for the result.

    A payload that was refused may: blanks around a text do not tell calls apart, and may be what was wrong with it.
    """
    if isinstance(moment, Before):
        last = moment.last
        mended = moment.call.payload and last is not None and last.refusal
    else:
        mended = moment.call.payload and moment.entry.refusal
    settings = moment.settings
    return mended or settings.result.progress is not None or settings.cursor is not None


def _towards_stop(history: History, streak: list[Entry], turn: int) -> int:
    """Calls that count towards the stop: the first, and each repeat since whose predecessor nothing was learnt."""
    if not history.news:
        return len(streak) + 1
    count = 1
    until = turn - 1
    for place, entry in enumerate(streak):
        learnt = history.news_within(entry.turn, until)
        if place == 0 and learnt:
            return 0
        count += not learnt
        until = entry.turn
    return count
