"""What declared reads came back with, for the guard that dispatched them.

Not the bounds of what is kept: those are the core's, which says too what may be kept at all.
"""

from __future__ import annotations

import os
import threading
from time import monotonic_ns
from weakref import WeakMethod

from otel_loopguard.core.call import ABSENT
from otel_loopguard.core.policy import ToolPolicy
from otel_loopguard.core.results import ResultLimits, Results
from otel_loopguard.live import Guarded

__all__ = ["Kept"]


class Kept:
    """By run, agent and call. Thread-safe and fork-safe."""

    def __init__(self, limits: ResultLimits) -> None:
        self._results = Results(limits)
        self._restart()
        if hasattr(os, "register_at_fork"):
            restart = WeakMethod(self._restart)
            os.register_at_fork(after_in_child=lambda: (method := restart()) and method())

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def get(self, guarded: Guarded, settings: ToolPolicy) -> object:
        """A copy of the earlier result of the same read, or `ABSENT`."""
        if guarded.call.fingerprint is None:
            return ABSENT
        with self._lock:
            return self._results.get(_key(guarded, guarded.call.fingerprint), settings, monotonic_ns())

    def put(self, guarded: Guarded, settings: ToolPolicy, result: object) -> None:
        """A read has succeeded."""
        if guarded.call.fingerprint is not None:
            with self._lock:
                self._results.put(_key(guarded, guarded.call.fingerprint), result, settings, monotonic_ns())

    def forget(self, run_id: str) -> None:
        """Drop what a run got: a user spoke, or it ended."""
        with self._lock:
            self._results.forget(run_id)


def _key(guarded: Guarded, fingerprint: str) -> tuple[str, str, str]:
    return guarded.run.run_id, guarded.lane.agent, fingerprint
