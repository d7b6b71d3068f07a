"""What declared reads came back with, for the guard that dispatched them.

Not the bounds of what is kept: those are the core's, which says too what may be kept at all.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from time import monotonic_ns
from typing import Final
from weakref import WeakMethod

import msgspec

from otel_loopguard.core.call import ABSENT, Absent
from otel_loopguard.core.decision import Kind
from otel_loopguard.core.policy import ToolPolicy
from otel_loopguard.core.results import ResultLimits, Results, may_quote
from otel_loopguard.live import Guarded

from ._answer import is_a, text_of

__all__ = ["Kept"]


_QUOTES: Final = 1024 * 1024
"""Bytes of all texts kept to quote from, at most."""
_OF_TOOL: Final[frozenset[Kind]] = frozenset(["same_error", "unknown_tool"])
"""What is found about a tool whatever its arguments: the last failure of the tool is what came back."""


class Kept:
    """By run, agent and call. Thread-safe and fork-safe."""

    def __init__(self, limits: ResultLimits, quoted: int) -> None:
        """Keep results, and of each its first ``quoted`` characters."""
        self._results = Results(limits)
        self._texts = Results(replace(limits, total_bytes=min(limits.total_bytes, _QUOTES)), to_quote=True)
        self._quoted = quoted
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

    def quote(self, guarded: Guarded, settings: ToolPolicy, kind: Kind) -> str:
        """The head of what the model got for the same call, or of the tool's last failure; empty where neither is."""
        names = [guarded.call.fingerprint or "", _tool(guarded) if kind in _OF_TOOL else ""]
        with self._lock:
            for name in filter(None, names):
                found = self._texts.get(_key(guarded, name), settings, monotonic_ns())
                if isinstance(found, str):
                    return found
        return ""

    def put(self, guarded: Guarded, settings: ToolPolicy, result: object, answer: object, *, has_failed: bool) -> None:
        """A call has brought the model a result; ``answer``: what equal reads are answered with, or `ABSENT`."""
        name = guarded.call.fingerprint
        text = _head(result, self._quoted) if self._quoted and may_quote(settings) else ""
        with self._lock:
            now = monotonic_ns()
            if name is not None and not is_a(answer, Absent):
                self._results.put(_key(guarded, name), answer, settings, now)
            if name is not None and text:
                self._texts.put(_key(guarded, name), text, settings, now)
            if text and has_failed:
                self._texts.put(_key(guarded, _tool(guarded)), text, settings, now)

    def changed(self, guarded: Guarded) -> None:
        """An agent may have changed the world: what others of its run have read is no answer any more."""
        with self._lock:
            self._results.forget(guarded.run.run_id, guarded.lane.who)

    def forget(self, run_id: str) -> None:
        """Drop what a run got: a user spoke, or it ended."""
        with self._lock:
            self._results.forget(run_id)
            self._texts.forget(run_id)


def _tool(guarded: Guarded) -> str:
    return f"of {guarded.call.tool}"


def _head(result: object, length: int) -> str:
    """The first characters of a result as a model reads it, and one more to show that there are others."""
    try:
        text = result if is_a(result, str) else msgspec.json.encode(result).decode()
    except Exception:  # noqa: BLE001 - anything may come back, and most of it is JSON
        text = text_of(result)
    return str(text[: length + 1])


def _key(guarded: Guarded, fingerprint: str) -> tuple[str, str, str]:
    return guarded.run.run_id, guarded.lane.who, fingerprint
