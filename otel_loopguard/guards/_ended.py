"""What becomes of a call when it has ended: it is counted, its result kept, and the model told what it earned.

Not the decision before the dispatch: `Guard` makes that, and is one of these.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from time import time_ns
from typing import Final

from otel_loopguard.core.call import ABSENT, Absent
from otel_loopguard.core.identifier import bounded
from otel_loopguard.core.policy import Mode, ToolPolicy
from otel_loopguard.errors import LoopDetected
from otel_loopguard.live import Guarded, Taken, inside

from ._answer import Allow, Call, Nudge, is_a
from ._checkpoint import stopped
from ._failure import error_type_of, message_of
from ._in_flight import InFlight
from ._kept import Kept
from ._speech import Speech
from ._told import Told

__all__ = ["Ended"]

_PENDING: Final = 1024
"""Agents that have words waiting, because the call that earned them raised an exception."""


class Ended(Told):
    """The side of a guard that comes after the dispatch."""

    _mode: Mode | None
    _speech: Speech
    _kept: Kept
    _in_flight: InFlight
    _lock: threading.Lock
    _pending: dict[tuple[str, str], str]

    @staticmethod
    def inside(call: Call) -> AbstractContextManager[None]:
        """Put around the dispatch: spans that start in it are known as this call's."""
        call.is_started = True
        return inside(call.guarded)

    def after(  # noqa: PLR0913 - what a framework may know of a result
        self,
        call: Call,
        result: object = ABSENT,
        *,
        is_error: bool = False,
        error_type: str | None = None,
        error_message: str | None = None,
        keep: object = ABSENT,
        is_read: bool = True,
    ) -> Allow | Nudge:
        """A dispatched call has ended with a result (`ABSENT`: none is known). What the model is to be told with it.

        ``keep`` is what equal reads are answered with, where that is more than what the model reads: plain data, or
        None where it cannot be given again as a whole. ``is_read``: the model reads the result; else that is only
        compared, and neither given again nor quoted.
        """
        guarded = call.guarded
        if guarded is None:
            return Allow(call)
        try:
            taken = self._end(call, result, is_error=is_error, error_type=error_type, error_message=error_message)
            settings = self._live.policy.for_tool(call.tool)
            mode = self._mode or settings.mode
            if mode == "observe" or call.is_anonymous:
                return Allow(call)
            if settings.kind in ("write", "unknown"):
                self._kept.changed(guarded)
            if is_read and not is_a(result, Absent):
                has_failed = is_error or error_type is not None
                answer = result if keep is ABSENT else ABSENT if keep is None else keep
                self._keep(guarded, settings, result, ABSENT if has_failed else answer, has_failed=has_failed)
            text = self._earned(call, guarded, taken)
            return Nudge(call, text) if text else Allow(call)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            return Allow(call)

    def _keep(
        self, guarded: Guarded, settings: ToolPolicy, result: object, answer: object, *, has_failed: bool
    ) -> None:
        try:
            self._kept.put(guarded, settings, result, answer, has_failed=has_failed)
        except Exception as error:  # noqa: BLE001 - a result that does not let itself be read: its words are told all the same
            self._edge.caught(error)

    def failed(self, call: Call, error: BaseException) -> None:
        """A dispatched call raised, and the exception goes on unchanged: what it earned is told with the next answer.

        A declared write may have taken effect unless the exception says that it was rejected, as `ValueError`,
        `PermissionError` and an HTTP status from 400 to 499 do, and no reply that could not be read (`error_type_of`).
        """
        kind = error_type_of(error)
        self._tell_later(self.after(call, error_type=kind, is_error=True, error_message=message_of(error)))

    def passed(self, call: Call) -> None:
        """A dispatched call handed on what its result comes from, unseen: what it earned is told later."""
        self._tell_later(self.after(call))

    def _tell_later(self, answer: Allow | Nudge) -> None:
        guarded = answer.call.guarded
        if isinstance(answer, Nudge) and guarded is not None:
            with self._lock:
                if len(self._pending) >= _PENDING:
                    del self._pending[next(iter(self._pending))]
                self._pending[self._whose(guarded)] = answer.text

    def _earned(self, call: Call, guarded: Guarded, taken: Taken | None) -> str:
        """The words that go with a result: decided before, found with it, or left over from a call that raised."""
        with self._lock:
            text = self._pending.pop(self._whose(guarded), "")
        if call.words or guarded.run.doubts or taken is None:
            return call.words or text
        for found in taken.found:
            if found.finding.action == "nudge":
                return self._speech.nudge(call, found.finding)
        return text

    def ended(self, stop: LoopDetected) -> LoopDetected:
        """The agent's turn is over and what stopped it is out: record it, and give the error back to be raised."""
        try:
            stopped(self._live, stop)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
        return stop

    def _end(  # noqa: PLR0913 - what a framework may know of a result
        self, call: Call, result: object = ABSENT, *, is_error: bool = False, error_type: str | None = None,
        error_message: str | None = None, ours: bool = False,
    ) -> Taken | None:  # fmt: skip
        guarded, seen = call.guarded, call.seen
        if guarded is None or seen is None:
            return None
        try:
            raw = seen.raw.changed(
                result=result, is_error=bool(is_error or ours),
                error_type="loop_detected" if ours else None if error_type is None else bounded(error_type),
                error_message=None if error_message is None else str(error_message),
            )  # fmt: skip
            return self._live.conclude(guarded, seen.changed(raw=raw, end_ns=time_ns()))
        finally:  # only now the engine knows of it
            self._leave(call, has_failed=bool(is_error) or error_type is not None)

    def _leave(self, call: Call, *, has_failed: bool) -> None:
        for follower in self._in_flight.leave(call, has_failed=has_failed):
            self._end(follower, ours=True)

    @staticmethod
    def _whose(guarded: Guarded) -> tuple[str, str]:
        return guarded.run.run_id, guarded.lane.who
