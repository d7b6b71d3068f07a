"""A tool that does not exist, called again.

Rule: calls of one name answered with the error type `unknown_tool`, arguments ignored, one for each turn: a nudge
with the second answer, the fourth is stopped before dispatch.

Not flagged: one wrong name, or different wrong names one after the other.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.entry import Entry
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy

from ._base import After, Before, Judged, Moment, finding_on

__all__ = ["UnknownTool"]

_NUDGE: Final = 2
_STOP: Final = 4


class UnknownTool:
    """Judges the nudge with the result, the stop before it."""

    kind: Final[Kind] = "unknown_tool"
    early: Final = False

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """A nudge or a stop on a name that no tool has."""
        if isinstance(moment, Before):
            last = history.by_tool.get(moment.call.tool)
            if not last or last[-1].category != "unknown_tool":
                return None
            found = _misses(history, moment.call.tool, moment.turn, policy.window)
            if len(found) + 1 < _STOP:
                return None
            finding = finding_on(self.kind, "stop", history, moment, found, count=len(found) + 1, limit=_STOP)
            return Judged(finding, moment.call.tool)
        if not isinstance(moment, After) or moment.entry.category != "unknown_tool":
            return None
        found = _misses(history, moment.entry.tool, moment.entry.turn + 1, policy.window + 1)
        if len(found) < _NUDGE:
            return None
        finding = finding_on(self.kind, "nudge", history, moment, found[1:], count=len(found), limit=_NUDGE)
        return Judged(finding, moment.entry.tool)


def _misses(history: History, tool: str, turn: int, window: int) -> list[Entry]:
    found: list[Entry] = []
    for entry in history.of_tool(tool, turn, window):
        if entry.category != "unknown_tool":
            break
        if entry.turn < turn and (not found or entry.turn < found[-1].turn):
            found.append(entry)
    return found
