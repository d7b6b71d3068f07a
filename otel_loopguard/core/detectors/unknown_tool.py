"""A tool that does not exist, called again.

Rule: calls of one name answered with the error type `unknown_tool`, arguments ignored, one for each turn: a nudge
with the second answer, the fourth is stopped before dispatch.

Source: github.com/earendil-works/pi/issues/5016, a tool that is not registered, called until the session is killed.

Not flagged: one wrong name, or different wrong names one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.policy import Policy, ToolPolicy

from ._base import After, Before, Detector, Judged, finding_on, one_a_turn

__all__ = ["UnknownTool"]

_NUDGE: Final = 2
_STOP: Final = 4


class UnknownTool(Detector):
    """Judges the nudge with the result, the stop before it."""

    kind: ClassVar[Kind] = "unknown_tool"
    moments: ClassVar = (Before, After)

    def applies(self, settings: ToolPolicy) -> bool:  # noqa: ARG002 - the seam
        """To every name."""
        return True

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:
        """A stop on a name that no tool has."""
        if moment.last is None or moment.last.category != "unknown_tool":
            return None
        of_tool = history.of_tool(moment.tool, moment.turn, policy.window)
        found = one_a_turn(_misses(one for one in of_tool if one.turn < moment.turn))
        if len(found) + 1 < _STOP:
            return None
        finding = finding_on(self.kind, "stop", history, moment, found, count=len(found) + 1, limit=_STOP)
        return Judged(finding, (self.kind, moment.tool))

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:
        """A nudge on a name that no tool has."""
        entry = moment.entry
        if entry.category != "unknown_tool":
            return None
        found = one_a_turn(_misses(history.of_tool(entry.tool, entry.turn, policy.window)))
        if len(found) < _NUDGE:
            return None
        finding = finding_on(self.kind, "nudge", history, moment, found[1:], count=len(found), limit=_NUDGE)
        return Judged(finding, (self.kind, entry.tool))


def _misses(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Calls that met no tool, back to one that did; our own answers are skipped."""
    for entry in entries:
        if entry.outcome == "ours":
            continue
        if entry.category != "unknown_tool":
            return
        yield entry
