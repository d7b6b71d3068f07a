"""A list that is paged through and brings nothing unseen.

Rule, for each set of other arguments: a page without an unseen item (without declared items: a page whose result was
seen before) is free once, a nudge the second time in a row, and the third in a row is stopped before dispatch. The
same cursor again is an equal call, which `identical` judges.

Not flagged: an empty last page, overlapping pages with at least one new item, paging backwards.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.decision import Action, Kind
from otel_loopguard.core.entry import key_of
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy

from ._base import After, Before, Judged, Moment, finding_on

__all__ = ["Page"]

_NUDGE: Final = 2
_STOP: Final = 3


class Page:
    """Judges the nudge with the result, the stop before it."""

    kind: Final[Kind] = "page"
    early: Final = False

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge or a stop on a page that brings, or is to bring, nothing."""
        if not isinstance(moment, (Before, After)) or moment.settings.cursor is None:
            return None
        group = key_of(moment.call.group_fingerprint, moment.call.key_id)
        pages = None if group is None else history.pages.get(group)
        if group is None or pages is None:
            return None
        if isinstance(moment, Before):
            if pages.barren + 1 < _STOP:
                return None
            count, limit = pages.barren + 1, _STOP
        elif pages.barren >= _NUDGE:
            count, limit = pages.barren, _NUDGE
        else:
            return None
        earlier = [
            one for one in reversed(history.entries)
            if one.group == group and (isinstance(moment, Before) or one is not moment.entry)
        ][: count - 1]  # fmt: skip
        action: Action = "stop" if isinstance(moment, Before) else "nudge"
        return Judged(finding_on(self.kind, action, history, moment, earlier, count=count, limit=limit), group)
