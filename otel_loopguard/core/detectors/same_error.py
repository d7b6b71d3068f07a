"""One tool failing with one message, whatever the arguments.

Rule: errors of one tool with one message key (type and text, volatile parts and the call's own argument values
masked) in the window, one for each turn; a success of the tool, or a call of another tool that may have changed the
world, starts the count again, another error in between does not. A nudge with the result of the third, a stop before
the sixth where this error was the tool's last word. After the stop, arguments that were not tried since the streak
began go through as a probe, so that an agent with one tool is never locked out: one after each refusal of a guard, and
any where nobody refuses.

Beside it, a tool that refuses for one reason, flagged as an error or not, whatever else is done in between: a refusal
after accepted work weighs less than half of one in vain, and the nudge comes with the weight of four in vain (with the
eighth, then, where work went on each time). Finish tools and dead shells are like that: refused many times, with long
work in between. A payload that says nearly what the same tool took before the last refusal is no work in this sense,
unless it is a payload that is refused: near-equal fixes that fail alike are in vain. As little weighs a refusal that
quotes another text than the one before, once any work was accepted: edits that miss now and then are slips. The very
same payload refused for the third time with nothing accepted in between is enough, too.

Source: OpenHands' stuck detector stops at three equal pairs of action and error; the message counts here whatever the
arguments were. A finish that a gate rejects more than twenty times: github.com/Synaptic-Labs-AI/PACT-Plugin/issues/296.

Not flagged: errors without words, several failures of one turn (the model has not seen the first yet), different
errors of one tool, things that a tool does not know while it knows others of their kind (twice as many failures in a
row are told all the same).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.past.episode import Subject
from otel_loopguard.core.past.refusal import APART, MEASURE
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.words import asks_anew, fills_a_form, near

from ._base import After, Before, Detector, Judged, finding_on, one_a_turn

__all__ = ["SameError"]

_REFUSALS: Final = 4
_EQUAL_PAYLOADS: Final = 3


class SameError(Detector):
    """Judges the nudge with the result, the stop before it."""

    kind: ClassVar[Kind] = "same_error"
    moments: ClassVar = (Before, After)

    def applies(self, settings: ToolPolicy) -> bool:  # noqa: ARG002 - the seam
        """To every tool."""
        return True

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """A nudge on an error that came again."""
        entry = moment.entry
        if entry.error is None or entry.outcome == "ours":
            return None
        return self._failed(history, moment, policy) or self._refused(history, moment)

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:
        """A stop on a call whose tool has said no in the same words too often."""
        last = moment.last
        if last is None or last.outcome != "error" or last.error is None:
            return None
        limit = moment.settings.same_error.stop
        if len(history.by_tool[moment.tool]) < limit - 1:
            return None
        strikes = _strikes(history, last, moment.turn, policy.window)
        while strikes and strikes[0].turn >= moment.turn:
            del strikes[0]
        if not strikes or len(strikes) + 1 < limit or history.changed_between(moment.tool, strikes[0], moment.turn):
            return None
        if len(strikes) + 1 < 2 * limit and _is_of_batch(history, strikes):
            return None
        subject = _subject(last)
        if history.episodes.level(subject, history.turns.number) > 1 and _is_probe(history, moment, strikes[-1]):
            return None
        finding = finding_on(self.kind, "stop", history, moment, strikes, count=len(strikes) + 1, limit=limit)
        return Judged(finding, subject)

    def _failed(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """The same error in the window."""
        entry = moment.entry
        limit = moment.settings.same_error.nudge
        if entry.outcome != "error" or len(history.by_tool[entry.tool]) < limit:
            return None
        strikes = _strikes(history, entry, entry.turn, policy.window)
        if len(strikes) < limit or (len(strikes) < 2 * limit and _is_of_batch(history, strikes)):
            return None
        finding = finding_on(self.kind, "nudge", history, moment, strikes[1:], count=len(strikes), limit=limit)
        return Judged(finding, _subject(entry))

    def _refused(self, history: History, moment: After) -> Judged | None:
        """The same refusal again and again, other work in between or not."""
        entry = moment.entry
        reason = history.refusals.of(entry) if entry.refusal else None
        if reason is None or reason.last != entry.place:
            return None
        if reason.weight >= MEASURE:
            limit, count = _REFUSALS, reason.count
        elif entry.payload and reason.equal >= _EQUAL_PAYLOADS:
            limit, count = _EQUAL_PAYLOADS, reason.equal
        else:
            return None
        earlier = [one for one in reversed(history.by_tool[entry.tool]) if one is not entry and reason.is_of(one)]
        if count < 2 * moment.settings.same_error.nudge and _is_of_batch(history, [entry, *earlier[: count - 1]]):
            return None
        finding = finding_on(self.kind, "nudge", history, moment, earlier, count=count, limit=limit)
        return Judged(finding, ("refused", reason.first), APART)


def _subject(entry: Entry) -> Subject:
    return "same_error", entry.tool << 32 | (entry.error or 0)


def _is_of_batch(history: History, strikes: list[Entry]) -> bool:
    """Whether each failure names another thing of a kind of which the tool knew some: links that lead nowhere.

    Where nobody flagged it as one it may be no failure at all.
    """
    if len({one.key for one in strikes}) < len(strikes) or len({one.answer for one in strikes}) < len(strikes):
        return False
    sketches = [one.words for one in strikes]
    if not all(sketches) or not (fills_a_form(sketches) or asks_anew(sketches)):
        return False
    last = strikes[0]
    return last.outcome == "ok" or any(
        one.outcome == "ok" and not one.refusal and near(one.words, one.word_count, last.words, last.word_count)
        for one in history.by_tool[last.tool]
    )


def _is_probe(history: History, moment: Before, first: Entry) -> bool:
    """Whether these arguments were not tried since the streak began, and no probe has failed since the last refusal."""
    since = [one for one in history.by_tool[moment.tool] if one.place >= first.place]
    if any(one.key == moment.key for one in since):
        return False
    return since[-1].outcome == "ours" or all(one.outcome != "ours" for one in since)


def _strikes(history: History, last: Entry, turn: int, window: int) -> list[Entry]:
    """Errors like ``last`` that count together, newest first, one a turn."""
    found: list[Entry] = []
    for entry in one_a_turn(_like(history, last, turn, window)):
        if found and history.changed_between(last.tool, entry, found[-1].turn):
            break
        found.append(entry)
    return found


def _like(history: History, last: Entry, turn: int, window: int) -> Iterator[Entry]:
    """Errors with the message of ``last``, newest first, back to a success of the tool."""
    for entry in history.of_tool(last.tool, turn, window):
        if entry.place > last.place:
            continue
        if entry.succeeded and not entry.thought:
            return
        if entry.outcome == "error" and entry.error == last.error:
            yield entry
