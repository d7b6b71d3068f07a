"""Different arguments, the same nothing: a question worded again and again.

Five rules, all nudges:

* a streak of empty or failing answers of one tool to so many different arguments, the failures of one shape; a hit
  in between starts it again, and so does a call of four words or more that is near none of the streak's such calls
  (a batch of different questions is no drift);
* five failures of one tool in a row, of one message shape, over at least two different arguments: guessing names.
  Three of one shape are honest exploration;
* near-equal arguments with the same telling answer in four turns of the window, at least two of them different: the
  answer is there, and is asked for again (that there is no hit is told as late as empty answers are). What an answer
  repeats of its question makes no other answer of it. After something new the next asking weighs less than half, as
  refusals do;
* near-equal attempts in the window that come to few different ends, silence and failure by turns: four of them to an
  end that an earlier one came to (a payload that is refused has one end, whatever the reason). A hit, or anything else
  done to the world, starts them again;
* six near-equal attempts that fail in one form, though nearly the same was done about it before four of them, in
  silence: a server that is started again and does not answer.

Source: github.com/superplanehq/superplane/issues/4123 (calls varied slightly, answers empty, nothing stops it) and the
recorded runs of weak models; nearness by bottom-k sketches (Cohen and Kaplan, Summarizing data using bottom-k sketches,
2007).

Not flagged: ids looked up one after the other (short arguments are never near; long ones are a batch that differ in
nothing but their numbers, or in one word each while the answer tells of something), declared writes, receipts of
accepted payloads, several questions of one turn, an answer of one word, one report of what passed and what failed in
different tests, all's well of one thing after the other, which
programs that do their work in silence say by saying nothing, one form filled with another thing each time that is not
there (the numbers of a list gone through beyond its end are told).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from otel_loopguard.core.attempts import (
    NO_WORD,
    SILENCE,
    attempts_at,
    ends_of,
    fails_alike,
    has_shape,
    is_attempt,
    is_hitless,
    is_near,
    is_next,
    is_receipt,
    last_new_change,
)
from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.past.reason import IN_VAIN
from otel_loopguard.core.past.refusal import LIGHT, MEASURE
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.words import LONG_ENOUGH, asks_anew, each_its_own, fills_a_form, near

from ._base import After, Detector, Judged, finding_on, one_a_turn

__all__ = ["Drift"]

_SHAPED_FAILURES: Final = 5
_WORDINGS: Final = 4
_STALE: Final = 4
"""Attempts that came to an end known from an earlier one."""
_FIXES: Final = 4
"""Changes that were tried before, among failures of one form."""
_IN_VAIN: Final = 6
"""Failures of one form, with one thing done about them before each."""
_FAILURES: Final = 2
"""Among attempts of which some end in silence: by itself that is how many a tool says that it is done."""
_MANY: Final = 3
"""Different things that were asked for in one form before that is taken for a batch."""


class Drift(Detector):
    """Judged with the result: only that shows whether the other wording brought anything."""

    kind: ClassVar[Kind] = "drift"
    moments: ClassVar = (After,)

    def applies(self, settings: ToolPolicy) -> bool:
        """To tools that answer: no pollers, no thoughts, no questions to the user."""
        return settings.kind not in ("poll", "none") and not settings.asks_user

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """A nudge on the call that makes the streak long enough."""
        entry = moment.entry
        if entry.key is None or entry.outcome == "ours" or entry.thought or entry.renewed:
            return None
        if entry.linked and history.episodes.level((self.kind, entry.tool), entry.turn):
            return self._judged(history, moment, [entry], 1)  # told, and it goes on: nobody asks how often
        if _is_nothing(entry):
            if entry.kind == "write":
                return None
            judged = self._nothing(history, moment) or self._shaped(history, moment)
        else:
            judged = None
        if judged is None and entry.outcome == "ok":
            judged = self._reworded(history, moment, policy)
        return judged or self._attempts(history, moment, policy) or self._in_vain(history, moment, policy)

    def _nothing(self, history: History, moment: After) -> Judged | None:
        limit = moment.settings.drift.nudge
        if len(history.by_tool[moment.entry.tool]) < limit:
            return None
        streak = _streak(history, moment.entry)
        if len(streak) < limit or all(has_shape(entry) for entry in streak) or _is_work(streak, limit):
            return None
        if _is_batch(streak):
            return None
        return self._judged(history, moment, streak, limit)

    def _shaped(self, history: History, moment: After) -> Judged | None:
        entry = moment.entry
        if not has_shape(entry) or len(history.by_tool[entry.tool]) < _SHAPED_FAILURES:
            return None
        found = one_a_turn(_alike(history, entry))
        if len(found) < _SHAPED_FAILURES or len({one.key for one in found}) < 2:  # noqa: PLR2004
            return None
        return self._judged(history, moment, found, _SHAPED_FAILURES)

    def _reworded(self, history: History, moment: After, policy: Policy) -> Judged | None:
        entry = moment.entry
        if not entry.informative or entry.answer is None or entry.word_count < LONG_ENOUGH or is_receipt(entry):
            return None
        if entry.kind == "write" or (entry.payload and not entry.refusal):
            return None
        if len(history.by_tool[entry.tool]) < _WORDINGS or _is_first_of_its_kind(history, entry, entry.answer):
            return None
        found = [entry]
        weight = IN_VAIN
        for earlier in history.of_tool(entry.tool, entry.turn, policy.window):
            if earlier.turn >= found[-1].turn or not earlier.says_as(entry) or earlier.outcome == "ours":
                continue
            if is_near(earlier, entry) and (entry.refusal or not is_next(earlier, entry)):
                weight += LIGHT if _new_between(history, earlier, found[-1]) else IN_VAIN
                found.append(earlier)
        measure = max(MEASURE, IN_VAIN * moment.settings.drift.nudge) if moment.outcome.hitless else MEASURE
        if weight < measure or len({one.key for one in found}) < 2:  # noqa: PLR2004
            return None
        if _is_batch_with_answer(moment, found):
            return None
        return self._judged(history, moment, found, _WORDINGS)

    def _attempts(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """Many attempts at one thing that come to few different ends."""
        entry = moment.entry
        if entry.word_count < LONG_ENOUGH or not is_attempt(entry) or _is_unlike_any(history, entry, policy.window):
            return None
        found = attempts_at(history, entry, policy.window)
        ends = ends_of(found)
        places = range(len(found))
        hit = next((place for place in places if found[place].outcome == "ok" and ends.count(ends[place]) == 1), None)
        found, ends = found[:hit], ends[:hit]
        if len(found) - len(set(ends)) < _STALE or ends.count(ends[0]) == 1:
            return None
        if SILENCE in ends and not _silence_tells(found, ends):
            return None
        if _is_batch_with_answer(moment, found):
            return None
        return self._judged(history, moment, found, _STALE)

    def _in_vain(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """One thing that fails in one form though the same was done about it each time in nearly the same words."""
        entry = moment.entry
        if not (entry.refusal and entry.shape is not None) or entry.payload or entry.word_count < LONG_ENOUGH:
            return None
        alike = [one for one in history.of_tool(entry.tool, entry.turn, policy.window) if fails_alike(one, entry)]
        found = one_a_turn(alike)
        if len(found) < _IN_VAIN or entry.approval:
            return None
        barrier, tried = last_new_change(history, entry)
        found = [one for one in found if one.place > barrier]
        if len(found) < _IN_VAIN or sum(place > found[-1].place for place in tried) < _FIXES:
            return None
        return self._judged(history, moment, found, _IN_VAIN)

    def _judged(self, history: History, moment: After, found: list[Entry], limit: int) -> Judged:
        finding = finding_on(self.kind, "nudge", history, moment, found[1:], count=len(found), limit=limit)
        return Judged(finding, (self.kind, moment.entry.tool))


def _is_first_of_its_kind(history: History, entry: Entry, answer: int) -> bool:
    """Whether no other call can have brought this answer, told without looking at each."""
    return entry.gist is None and history.outcomes.calls_with(answer >> 32) == 1


def _is_batch_with_answer(moment: After, found: list[Entry]) -> bool:
    """Whether one form was filled with other things each time, which may well have this answer in common.

    They may where it tells of something, names the thing, or reports what failed; that there is no hit it may for what
    has a name.
    """
    sketches = [one.words for one in found]
    entry = moment.entry
    quotes = not entry.refusal and any(one.answer != entry.answer and one.says_as(entry) for one in found)
    names = entry.outcome == "ok" and entry.refusal and not entry.payload
    names = names and any(one.answer != entry.answer and one.shape == entry.shape for one in found)
    if quotes or names or moment.outcome.tells or (entry.refusal and entry.approval):
        return fills_a_form(sketches) or asks_anew(sketches)
    return moment.outcome.hitless and asks_anew(sketches)


def _silence_tells(found: list[Entry], ends: list[int | None]) -> bool:
    """Whether silence among the ends of some attempts is a sign that they fail.

    It is where some fail aloud, or where one answer comes again beside it and nobody works in silence.
    """
    if sum(one.outcome == "error" for one in found) >= _FAILURES:
        return True
    aloud = [end for end in ends if end is not SILENCE]
    return len(aloud) > len(set(aloud)) and not any(one.approval for one in found)


def _is_nothing(entry: Entry) -> bool:
    return (entry.outcome in ("empty", "error") or is_hitless(entry)) and not entry.renewed


def _is_work(streak: list[Entry], limit: int) -> bool:
    """Whether silence says that the work is done: of payloads, or of programs with one thing after the other.

    Then each call has a word that none of the others has, or is too short to tell; attempts at one thing have not.
    Questions may stand among the work, as long as they are too few by themselves.
    """
    done = [entry for entry in streak if entry.approval]
    if not done or len(streak) - len(done) >= limit or any(entry.outcome != "empty" for entry in streak):
        return False
    if all(entry.payload or entry.word_count < LONG_ENOUGH for entry in done):
        return True
    return each_its_own([entry.words for entry in done if entry.word_count >= LONG_ENOUGH])


def _is_batch(streak: list[Entry]) -> bool:
    """Whether one form was filled with other things each time, as far as the calls are long enough to tell."""
    if any(entry.outcome == "error" for entry in streak):
        return False
    long = [entry.words for entry in streak if entry.word_count >= LONG_ENOUGH]
    return len(long) >= _MANY and 2 * len(long) > len(streak) and asks_anew(long)


def _is_unlike_any(history: History, entry: Entry, window: int) -> bool:
    """Whether so many attempts with so few ends cannot be, told without asking which of them are near."""
    of_tool = history.by_tool[entry.tool]
    if len(of_tool) <= _STALE:
        return True
    if entry.linked and entry.key is not None and len(of_tool) == len(history.by_key[entry.key]):
        return True  # one call with one result, again and again: that is `identical`
    tells = entry.outcome == "ok" and not entry.refusal
    if tells and entry.times == 1 and _is_first_of_its_kind(history, entry, entry.answer or 0):
        return True
    ends = ends_of(list(history.of_tool(entry.tool, entry.turn, window)))
    return len(ends) - len(set(ends)) < _STALE


def _alike(history: History, last: Entry) -> Iterator[Entry]:
    """Failures of one message shape in a row, newest first."""
    for entry in reversed(history.by_tool[last.tool]):
        if entry.outcome in NO_WORD:
            continue
        if entry.outcome != "error" or entry.shape != last.shape:
            return
        yield entry


def _streak(history: History, last: Entry) -> list[Entry]:
    """Calls with different arguments that brought nothing, newest first, one a turn."""
    tail: list[Entry] = []
    for entry in reversed(history.by_tool[last.tool]):
        if entry.key is None or entry.outcome in NO_WORD:
            continue
        if not _is_nothing(entry):
            break
        tail.append(entry)
    streak: list[Entry] = []
    shape: int | None = None
    for entry in reversed(tail):
        if has_shape(entry):
            if shape is not None and entry.shape != shape:
                streak = []
            shape = entry.shape
        if any(entry.key == one.key for one in streak):
            continue
        long = [one for one in streak if one.word_count >= LONG_ENOUGH]
        if (
            entry.word_count >= LONG_ENOUGH
            and long
            and not any(near(entry.words, entry.word_count, one.words, one.word_count) for one in long)
        ):
            streak = []
        if not streak or entry.turn > streak[-1].turn:
            streak.append(entry)
    return list(reversed(streak))


def _new_between(history: History, earlier: Entry, later: Entry) -> bool:
    """Whether a successful write, or a first-time success that is no other wording of this, stands in between."""
    return any(earlier.place < entry.place < later.place and not entry.rewords(later) for entry in history.resets)
