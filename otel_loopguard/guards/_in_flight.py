"""The guarded calls that have not ended, as all guards of the same runs know them: open writes, and reads of one step.

Not the record of calls that have ended: the engine judges by that.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Final
from weakref import WeakKeyDictionary, WeakMethod

from otel_loopguard.core.policy import ToolPolicy
from otel_loopguard.core.referable import Referable
from otel_loopguard.live import Guarded, Live

from ._answer import Call, Twin

__all__ = ["InFlight", "in_flight_of"]

_LIMIT: Final = 4096
"""Open writes remembered, as many as guarded calls; the oldest is forgotten."""
_STEPS: Final = 1024
"""Agents whose current step is remembered."""
_READS: Final = 256
"""Reads remembered of a step."""

_DISPATCHED_WITHIN_NS: Final = 1_000_000_000
"""What is dispatched at all is so within this time of its decision."""

_Whose = tuple[str, str, str]
"""Run, agent, scope."""

_all: Final[WeakKeyDictionary[Referable, InFlight]] = WeakKeyDictionary()
_making: Final = threading.Lock()


class InFlight:
    """By run and arguments. Thread-safe and fork-safe; never called with another lock held."""

    def __init__(self) -> None:
        self._restart()
        if hasattr(os, "register_at_fork"):
            restart = WeakMethod(self._restart)
            os.register_at_fork(after_in_child=lambda: (method := restart()) and method())

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._writes: OrderedDict[int, tuple[tuple[str, str, str, str], Call]] = OrderedDict()
        self._steps: OrderedDict[_Whose, tuple[int, dict[str, Twin]]] = OrderedDict()

    def enter_write(self, asked: Call, settings: ToolPolicy) -> bool:
        """Remember a write that is about to be dispatched; False where an equal one is open, which may take effect.

        The same idempotency key makes it safe to send again, and so does a policy that allows duplicates. The key is
        left out of the comparison.
        """
        guarded = asked.guarded
        if guarded is None:
            return True
        call = guarded.call
        if settings.kind != "write" or settings.duplicate_after_success == "allow" or call.group_fingerprint is None:
            return True
        key = guarded.run.run_id, call.scope, call.key_id, call.group_fingerprint
        with self._lock:
            for place, (held, other) in list(self._writes.items()):
                if held != key or other.guarded is None:
                    continue
                if _is_given_up(other, asked):
                    del self._writes[place]
                elif call.idempotency is None or call.idempotency != other.guarded.call.idempotency:
                    return False
            self._writes[id(guarded)] = key, asked
            if len(self._writes) > _LIMIT:
                self._writes.popitem(last=False)
        return True

    def enter_read(self, asked: Call) -> Twin | None:
        """Remember a read of a model decision; the equal one of the same decision, where that is open or has succeeded.

        A read that has failed since is no twin: the same one may be a retry. Nor is one before a call with effects.
        """
        guarded = asked.guarded
        if guarded is None or guarded.turn is None or guarded.call.fingerprint is None:
            return None
        whose = _whose(guarded)
        with self._lock:
            turn, reads = self._steps.pop(whose, (0, {}))
            if turn != guarded.turn:
                reads = {}
            self._steps[whose] = guarded.turn, reads
            if len(self._steps) > _STEPS:
                self._steps.popitem(last=False)
            twin = reads.get(guarded.call.fingerprint)
            if twin is None and len(reads) < _READS:
                asked.twin = reads[guarded.call.fingerprint] = Twin()
            return twin

    def enter_effect(self, asked: Call) -> None:
        """A call of a model decision that may change what reads bring: those that come after it are to be run anew."""
        guarded = asked.guarded
        if guarded is None:
            return
        with self._lock:
            turn, reads = self._steps.get(_whose(guarded), (0, {}))
            if turn == guarded.turn:
                reads.clear()

    def follow(self, twin: Twin, asked: Call) -> bool:
        """Let a call end when its twin does; False where that has ended already."""
        with self._lock:
            if not twin.has_ended:
                twin.followers.append(asked)
            return not twin.has_ended

    def leave(self, call: Call, *, has_failed: bool) -> list[Call]:
        """A call has ended, or is not dispatched after all; the calls that end with it."""
        guarded, twin = call.guarded, call.twin
        with self._lock:
            self._writes.pop(id(guarded), None)
            if guarded is None or twin is None:
                return []
            if has_failed:
                _, reads = self._steps.get(_whose(guarded), (0, {}))
                if reads.get(guarded.call.fingerprint or "") is twin:
                    del reads[guarded.call.fingerprint or ""]
            twin.has_ended = True
            followers, twin.followers = twin.followers, []
            return followers

    def forget(self, run_id: str) -> None:
        """Drop a run's: a user spoke, or it ended."""
        with self._lock:
            for place in [place for place, (key, _) in self._writes.items() if key[0] == run_id]:
                del self._writes[place]
            for whose in [whose for whose in self._steps if whose[0] == run_id]:
                del self._steps[whose]


def in_flight_of(live: Live) -> InFlight:
    """The one of all guards that count in the same runs."""
    with _making:
        found = _all.get(live.token)
        if found is None:
            found = _all[live.token] = InFlight()
        return found


def _whose(guarded: Guarded) -> _Whose:
    return guarded.run.run_id, guarded.lane.who, guarded.call.scope


def _is_given_up(held: Call, asked: Call) -> bool:
    """A call that was never dispatched, as another one of its decision raised: its agent is at a later decision.

    Not one of a moment ago: two decisions at the same time come before the first of them is dispatched.
    """
    one, other = held.guarded, asked.guarded
    if held.is_started or one is None or other is None or one.lane is not other.lane:
        return False
    if (other.call.start_ns or 0) - (one.call.start_ns or 0) < _DISPATCHED_WITHIN_NS:
        return False
    return None not in {one.call.turn, other.call.turn} and one.call.turn != other.call.turn
