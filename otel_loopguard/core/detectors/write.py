"""A declared write that is sent again after it succeeded, or after nobody knows whether it did.

Rule: over the whole run and all its agents, until a user speaks, by the arguments without the declared idempotency
key. After a success the policy's `duplicate_after_success` decides; the same idempotency key again is an ordinary
repeat. After an unknown outcome (timeout, connection lost, cancelled, no result) only the same idempotency key may be
sent again: anything else is `indeterminate`, since doing it twice cannot be undone.

Source: RFC 9110, section 9.2.2 (what is not idempotent is not sent again unless one knows that it was not applied) and
the Idempotency-Key header of payment interfaces (draft-ietf-httpapi-idempotency-key-header).

Not flagged: a retry after a rejection, which has not happened; a write that reported that nothing changed.
"""

from __future__ import annotations

from typing import ClassVar

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.run_memory import idempotency_of
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import key_of

from ._base import LASTING, Before, Detector, Judged, finding_on

__all__ = ["Write"]


class Write(Detector):
    """Judged before dispatch: afterwards it is too late."""

    kind: ClassVar[Kind] = "write"
    moments: ClassVar = (Before,)

    def applies(self, settings: ToolPolicy) -> bool:
        """To declared writes."""
        return settings.kind == "write" and settings.duplicate_after_success != "allow"

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge or a stop on the write that may happen twice."""
        action = moment.settings.duplicate_after_success
        if action == "allow" or moment.key is None:
            return None
        group = key_of(moment.call.group_fingerprint, moment.call.key_id) or moment.key
        written = history.memory.writes.get(group)
        if written is None:
            return None
        if written.idempotency is not None and written.idempotency == idempotency_of(moment.call):
            return None
        earlier = [one for one in reversed(history.entries) if one.group == group >> 32][:1]
        kind: Kind = "write" if written.done else "indeterminate"
        finding = finding_on(kind, action, history, moment, earlier, count=2, limit=2)
        return Judged(finding, (kind, group), LASTING)
