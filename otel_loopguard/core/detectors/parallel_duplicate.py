"""The same call twice in one turn: information for whoever wants to collapse it.

Rule: a key that stands in its own turn already. The model has not seen the first answer, so it is waste and not a
loop; a declared write is the business of `write`.

Source: the convention of parallel tool calls: all calls of one model message are answered before the model goes on.

Not flagged as more than information, ever.
"""

from __future__ import annotations

from typing import ClassVar

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy

from ._base import After, Detector, Judged, finding_on

__all__ = ["ParallelDuplicate"]


class ParallelDuplicate(Detector):
    """Judged with the result, once for each call beyond the first."""

    kind: ClassVar[Kind] = "parallel_duplicate"
    moments: ClassVar = (After,)

    def applies(self, settings: ToolPolicy) -> bool:
        """To everything but declared writes."""
        return settings.kind != "write"

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """Information on the second and each further equal call of a turn."""
        siblings = history.turns.open
        if len(siblings) == 1 or moment.entry.key is None:
            return None
        key = moment.entry.key
        twins = [one for one in reversed(siblings) if one.key == key and one is not moment.entry]
        if not twins:
            return None
        finding = finding_on(self.kind, "info", history, moment, twins, count=len(twins) + 1, limit=2)
        return Judged(finding, (self.kind, key))
