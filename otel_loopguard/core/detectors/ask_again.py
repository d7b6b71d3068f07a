"""A question to the user that the user has answered already.

Rule: the same question to a tool of the policy's `ask_user`, answered before in the same task: a nudge before the
second is asked.

Source: step repetition and loss of conversation history among the failures of agents that Cemri and others list (Why do
multi-agent LLM systems fail?, arXiv 2503.13657).

Not flagged: a question that nobody answered, another question, the same question after the user's next message.
"""

from __future__ import annotations

from typing import ClassVar

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy

from ._base import LASTING, Before, Detector, Judged, finding_on

__all__ = ["AskAgain"]


class AskAgain(Detector):
    """Judged before dispatch: the user should not be asked."""

    kind: ClassVar[Kind] = "ask_again"
    moments: ClassVar = (Before,)

    def applies(self, settings: ToolPolicy) -> bool:
        """To tools that ask the user."""
        return settings.asks_user

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge on the question that was answered."""
        if moment.key is None or moment.key >> 32 not in history.asked:
            return None
        earlier = list(reversed(history.by_key.get(moment.key, ())))
        finding = finding_on(self.kind, "nudge", history, moment, earlier, count=len(earlier) + 1, limit=2)
        return Judged(finding, (self.kind, moment.key), LASTING)
