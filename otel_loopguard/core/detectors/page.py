"""A list that is paged through and brings nothing unseen.

Rule, for each set of other arguments: a page without an unseen item (without declared items: a page whose result was
seen before) is free once, a nudge the second time in a row, and the third in a row is stopped before dispatch. The
same cursor again is an equal call, which `identical` judges.

Source: the convention of page tokens (google.aip.dev/158): an empty page may be followed by more, so one is free.

Not flagged: an empty last page, overlapping pages with at least one new item, paging backwards.
"""

from __future__ import annotations

from typing import ClassVar, Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import key_of

from ._base import LASTING, After, Before, Detector, Judged, finding_on

__all__ = ["Page"]

_NUDGE: Final = 2
_STOP: Final = 3


class Page(Detector):
    """Judges the nudge with the result, the stop before it."""

    kind: ClassVar[Kind] = "page"
    moments: ClassVar = (Before, After)

    def applies(self, settings: ToolPolicy) -> bool:
        """To tools with a declared cursor."""
        return settings.cursor is not None

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A stop on a page that is to bring nothing again."""
        key = key_of(moment.call.group_fingerprint, moment.call.key_id)
        group = None if key is None else key >> 32
        barren = 0 if group is None else (history.barren.get(group) or 0) + 1
        if group is None or barren < _STOP:
            return None
        pages = [one for one in reversed(history.entries) if one.group == group]
        finding = finding_on("page", "stop", history, moment, pages[: barren - 1], count=barren, limit=_STOP)
        return Judged(finding, ("page", group), LASTING)

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge on a page that brought nothing again."""
        group = None if moment.entry.outcome == "ours" else moment.entry.group
        barren = 0 if group is None else history.barren.get(group) or 0
        if group is None or barren < _NUDGE:
            return None
        pages = [one for one in reversed(history.entries) if one.group == group and one is not moment.entry]
        finding = finding_on("page", "nudge", history, moment, pages[: barren - 1], count=barren, limit=_NUDGE)
        return Judged(finding, ("page", group), LASTING)
