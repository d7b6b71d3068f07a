"""A question to the user that the user has answered already.

Rule: the same question to a tool of the policy's `ask_user`, answered before in the same task: a nudge before the
second is asked.

Not flagged: a question that nobody answered, another question, the same question after the user's next message.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.entry import tag_of
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy

from ._base import Before, Judged, Moment, finding_on

__all__ = ["AskAgain"]


class AskAgain:
    """Judged before dispatch: the user should not be asked."""

    kind: Final[Kind] = "ask_again"
    early: Final = False

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge on the question that was answered."""
        if not isinstance(moment, Before) or not moment.settings.asks_user or moment.key is None:
            return None
        if tag_of(moment.key) not in history.asked:
            return None
        earlier = list(reversed(history.by_key.get(moment.key, ())))
        return Judged(finding_on(self.kind, "nudge", history, moment, earlier, count=2, limit=2), moment.key)
