"""A list that is paged through and brings nothing unseen.

Rule, for each set of other arguments: a page without an unseen item (without declared items: a page whose result was
seen before) is free once, a nudge the second time in a row, and the third in a row is stopped before dispatch. The
same cursor again is an equal call, which `identical` judges.

Source: the convention of page tokens (google.aip.dev/158): an empty page may be followed by more, so one is free.

Not flagged: an empty last page, overlapping pages with at least one new item, paging backwards.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.decision import Action, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import key_of

from ._base import LASTING, After, Before, Judged, Moment, finding_on

__all__ = ["Page"]

_NUDGE: Final = 2
_STOP: Final = 3


class Page:
    """Judges the nudge with the result, the stop before it."""

    kind: Final[Kind] = "page"
    moments: Final = (Before, After)
    early: Final = False

    def applies(self, settings: ToolPolicy) -> bool:
        """To tools with a declared cursor."""
        return settings.cursor is not None

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge or a stop on a page that brings, or is to bring, nothing."""
        if isinstance(moment, Before):
            key = key_of(moment.call.group_fingerprint, moment.call.key_id)
            group = None if key is None else key >> 32
            barren = 0 if group is None else (history.barren.get(group) or 0) + 1
            action: Action = "stop"
            limit = _STOP
        elif isinstance(moment, After) and moment.entry.outcome != "ours":
            group = moment.entry.group
            barren = 0 if group is None else history.barren.get(group) or 0
            action = "nudge"
            limit = _NUDGE
        else:
            return None
        if group is None or barren < limit:
            return None
        judged = moment.entry if isinstance(moment, After) else None
        pages = [one for one in reversed(history.entries) if one.group == group and one is not judged]
        earlier = pages[: barren - 1]
        finding = finding_on(self.kind, action, history, moment, earlier, count=barren, limit=limit)
        return Judged(finding, ("page", group), LASTING)
