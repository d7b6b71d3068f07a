"""One tool failing with one message, whatever the arguments.

Rule: errors of one tool with one message key (type and text, volatile parts and the call's own argument values
masked) in the window, one for each turn; a success of the tool, or a call of another tool that may have changed the
world, starts the count again, another error in between does not. A nudge with the result of the third, a stop before
the sixth where this error was the tool's last word. After the stop, arguments that were not tried since the streak
began go through as a probe, so that an agent with one tool is never locked out.

Beside it, a tool that refuses for one reason, flagged as an error or not, whatever else is done in between: at the
fourth refusal when nothing was changed meanwhile, at the eighth in any case. Finish tools and dead shells are like
that: refused many times, with long work in between.

Not flagged: errors without words, several failures of one turn (the model has not seen the first yet), different
errors of one tool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.entry import Entry
from otel_loopguard.core.episode import Subject
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy

from ._base import After, Before, Judged, Moment, finding_on, one_a_turn

__all__ = ["SameError"]

_REFUSALS: Final = 4
_REFUSALS_ANYWAY: Final = 8
_APART: Final = 15
"""Turns between two refusals that still belong together."""


class SameError:
    """Judges the nudge with the result, the stop before it."""

    kind: Final[Kind] = "same_error"
    moments: Final = (Before, After)
    early: Final = False

    def applies(self, settings: ToolPolicy) -> bool:  # noqa: ARG002 - the seam
        """To every tool."""
        return True

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """A nudge or a stop on an error that comes again."""
        if isinstance(moment, After):
            entry = moment.entry
            if entry.error is None or entry.outcome == "ours":
                return None
            return self._failed(history, moment, policy) or self._refused(history, moment)
        return self._before(history, moment, policy) if isinstance(moment, Before) else None

    def _before(self, history: History, moment: Before, policy: Policy) -> Judged | None:
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
        if len(strikes) < limit:
            return None
        finding = finding_on(self.kind, "nudge", history, moment, strikes[1:], count=len(strikes), limit=limit)
        return Judged(finding, _subject(entry))

    def _refused(self, history: History, moment: After) -> Judged | None:
        """The same refusal again and again, other work in between or not."""
        entry = moment.entry
        if not entry.refusal or len(history.by_tool[entry.tool]) < _REFUSALS:
            return None
        found = [entry]
        for earlier in reversed(history.by_tool[entry.tool]):
            if found[-1].turn - earlier.turn > _APART:
                break
            if earlier.turn < found[-1].turn and earlier.error == entry.error and earlier.refusal:
                found.append(earlier)
        if len(found) < _REFUSALS:
            return None
        limit = _REFUSALS_ANYWAY if _accepted(history, found[_REFUSALS - 1], entry) else _REFUSALS
        if len(found) < limit:
            return None
        finding = finding_on(self.kind, "nudge", history, moment, found[1:], count=len(found), limit=limit)
        return Judged(finding, _subject(entry), _APART)


def _subject(entry: Entry) -> Subject:
    return "same_error", entry.tool << 32 | (entry.error or 0)


def _is_probe(history: History, moment: Before, first: Entry) -> bool:
    """Whether these arguments were not tried since the streak began."""
    return all(one.key != moment.key for one in history.by_tool[moment.tool] if one.place >= first.place)


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


def _accepted(history: History, earliest: Entry, last: Entry) -> bool:
    """Whether work went on since the first of the last refusals: the tool did its work, or any took a payload."""
    for entry in reversed(history.entries):
        if entry.place <= earliest.place:
            return False
        if entry.outcome == "ok" and not entry.refusal and (entry.payload or entry.tool == last.tool):
            return True
    return False
