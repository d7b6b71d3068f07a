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

from typing import Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.entry import Entry
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy

from ._base import After, Before, Judged, Moment, finding_on

__all__ = ["SameError"]

_REFUSALS: Final = 4
_REFUSALS_ANYWAY: Final = 8
_APART: Final = 15
"""Turns between two refusals that still belong together."""


class SameError:
    """Judges the nudge with the result, the stop before it."""

    kind: Final[Kind] = "same_error"
    early: Final = False

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """A nudge or a stop on an error that comes again."""
        if isinstance(moment, After):
            return self._after(history, moment, policy)
        if isinstance(moment, Before):
            return self._before(history, moment, policy)
        return None

    def _before(self, history: History, moment: Before, policy: Policy) -> Judged | None:
        of_tool = history.by_tool.get(moment.call.tool)
        last = of_tool[-1] if of_tool else None
        if last is None or last.outcome != "error" or last.error is None:
            return None
        limit = moment.settings.same_error.stop
        if len(history.by_tool[moment.call.tool]) < limit - 1:
            return None
        strikes = [entry for entry in _strikes(history, last, moment.turn, policy.window) if entry.turn < moment.turn]
        subject = (moment.call.tool, last.error)
        if not strikes or len(strikes) + 1 < limit or history.changed_between(moment.call.tool, strikes[0], moment.turn):
            return None
        stopped = history.level(self.kind, subject) > 1
        if stopped and all(entry.key != moment.key for entry in history.by_tool[moment.call.tool]):
            return None
        finding = finding_on(self.kind, "stop", history, moment, strikes, count=len(strikes) + 1, limit=limit)
        return Judged(finding, subject)

    def _after(self, history: History, moment: After, policy: Policy) -> Judged | None:
        entry = moment.entry
        if entry.error is None or entry.outcome == "ours":
            return None
        if entry.outcome == "error":
            limit = moment.settings.same_error.nudge
            strikes = _strikes(history, entry, entry.turn, policy.window)
            if len(strikes) >= limit:
                earlier = strikes[1:]
                finding = finding_on(self.kind, "nudge", history, moment, earlier, count=len(strikes), limit=limit)
                return Judged(finding, (entry.tool, entry.error))
        return self._refusals(history, moment)

    def _refusals(self, history: History, moment: After) -> Judged | None:
        """The same refusal again and again, other work in between or not."""
        entry = moment.entry
        if not entry.refusal:
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
        return Judged(finding, (entry.tool, entry.error))


def _strikes(history: History, last: Entry, turn: int, window: int) -> list[Entry]:
    """Errors like ``last`` that count together, newest first, one a turn."""
    found: list[Entry] = []
    for entry in history.of_tool(last.tool, turn, window):
        if entry.place > last.place:
            continue
        if entry.succeeded and not entry.thought:
            break
        if entry.error != last.error or entry.outcome != "error":
            continue
        if found and (history.changed_between(last.tool, entry, found[-1].turn)):
            break
        if not found or entry.turn < found[-1].turn:
            found.append(entry)
    return found


def _accepted(history: History, earliest: Entry, last: Entry) -> bool:
    """Whether work went on since the first of the last refusals: the tool did its work, or any took a payload."""
    for entry in reversed(history.entries):
        if entry.place <= earliest.place:
            return False
        if entry.outcome == "ok" and not entry.refusal and (entry.payload or entry.tool == last.tool):
            return True
    return False
