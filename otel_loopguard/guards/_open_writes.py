"""The declared writes that were dispatched and have not ended: nobody knows yet whether they take effect.

Not the record of writes that have ended: the engine judges by that.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from otel_loopguard.core.policy import ToolPolicy

from ._answer import Call

__all__ = ["OpenWrites"]

_LIMIT: Final = 4096
"""Open writes remembered, as many as guarded calls; the oldest is forgotten."""


class OpenWrites:
    """By run and arguments without the idempotency key. Not locked: the guard holds its lock."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, tuple[tuple[str, str, str, str], Call]] = OrderedDict()

    def enter(self, asked: Call, settings: ToolPolicy) -> bool:
        """Remember a write that is about to be dispatched; False where an equal one is open, which may take effect.

        The same idempotency key makes it safe to send again, and so does a policy that allows duplicates.
        """
        guarded = asked.guarded
        if guarded is None:
            return True
        call = guarded.call
        if settings.kind != "write" or settings.duplicate_after_success == "allow" or call.group_fingerprint is None:
            return True
        if call.user_message:
            self.forget(guarded.run.run_id)
        key = guarded.run.run_id, call.scope, call.key_id, call.group_fingerprint
        for place, (held, other) in list(self._open.items()):
            if held != key or other.guarded is None:
                continue
            if _is_given_up(other, asked):
                del self._open[place]
            elif call.idempotency is None or call.idempotency != other.guarded.call.idempotency:
                return False
        self._open[id(guarded)] = key, asked
        if len(self._open) > _LIMIT:
            self._open.popitem(last=False)
        return True

    def leave(self, call: Call) -> None:
        """A call has ended, or is not dispatched after all."""
        self._open.pop(id(call.guarded), None)

    def forget(self, run_id: str) -> None:
        """Drop a run's: a user spoke, or it ended."""
        for place in [place for place, (key, _) in self._open.items() if key[0] == run_id]:
            del self._open[place]


def _is_given_up(held: Call, asked: Call) -> bool:
    """A call that was never dispatched, as another one of its decision raised: its agent is at a later decision."""
    one, other = held.guarded, asked.guarded
    if held.is_started or one is None or other is None or one.lane is not other.lane:
        return False
    return None not in {one.call.turn, other.call.turn} and one.call.turn != other.call.turn
