"""The guard that needs no code in LangChain: a callback handler that `LOOPGUARD_GUARD` installs.

Not as good as the middleware: a callback can refuse a tool, by an exception before it starts, and can neither answer in
its place nor add words to a result. So the first refusal ends the agent's turn, and mode `nudge` is `observe`.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final
from uuid import UUID

from otel_loopguard.config import Settings
from otel_loopguard.core.call import ABSENT
from otel_loopguard.errors import LoopDetected, MissingExtraError

from ._answer import Allow, Call, Refuse, text_of
from ._command import answer_in, effects_of
from ._guard import Guard, ResultLimits

try:
    from langchain_core.callbacks.base import BaseCallbackHandler
except ImportError as error:
    raise MissingExtraError("langchain") from error

__all__ = ["LoopguardCallbacks", "register"]

_REMEMBERED: Final = 16_384
"""Runnables whose root is known, and tools that run."""
_VARIABLE: Final = "LOOPGUARD_GUARD"
_handler: Final[ContextVar[BaseCallbackHandler | None]] = ContextVar("loopguard-langchain", default=None)


class _Shared:
    """What all handlers of the process share: LangChain makes one for each root call."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._lock = threading.Lock()
        self._guard = guard
        self._roots: OrderedDict[UUID, str] = OrderedDict()
        self._calls: OrderedDict[UUID, Call] = OrderedDict()

    @property
    def guard(self) -> Guard:
        """Made at the first tool: it keeps no results, because it could not answer with them."""
        with self._lock:
            if self._guard is None:
                nothing = ResultLimits(count=0)
                self._guard = Guard(settings=Settings.read(os.environ), refusals=0, limits=nothing)
            return self._guard

    def root(self, run_id: UUID, parent_run_id: UUID | None) -> str:
        """The outermost call around a runnable."""
        with self._lock:
            found = self._roots.get(parent_run_id or run_id) or str(parent_run_id or run_id)
            _put(self._roots, run_id, found)
            return found

    def hold(self, run_id: UUID, call: Call) -> None:
        """A tool starts."""
        with self._lock:
            _put(self._calls, run_id, call)

    def release(self, run_id: UUID) -> Call | None:
        """A tool ended."""
        with self._lock:
            return self._calls.pop(run_id, None)


def _put(held: OrderedDict[UUID, Any], key: UUID, value: Any) -> None:  # noqa: ANN401
    held[key] = value
    if len(held) > _REMEMBERED:
        held.popitem(last=False)


class LoopguardCallbacks(BaseCallbackHandler):
    """Asks the guard when a tool starts; a refusal is raised as `LoopDetected`, before the tool has run."""

    raise_error = True
    run_inline = True
    shared = _Shared()

    def on_chain_start(
        self,
        serialized: object,  # noqa: ARG002 - LangChain's
        inputs: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **more: object,  # noqa: ARG002
    ) -> None:
        """Remember what is around what; where nothing is, a message of a user begins it in a thread."""
        self.shared.root(run_id, parent_run_id)
        thread = (metadata or {}).get("thread_id")
        if parent_run_id is None and thread and _asks(inputs):
            self.shared.guard.new_message(str(thread))

    def on_tool_start(  # noqa: PLR0913 - LangChain's
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        """Ask the guard."""
        tool = str((serialized or {}).get("name") or more.get("name") or "tool")
        run = (metadata or {}).get("thread_id") or self.shared.root(run_id, parent_run_id)
        guard = self.shared.guard
        arguments = input_str if inputs is None else inputs
        decision = guard.before(tool, arguments, call_id=more.get("tool_call_id"), run=str(run))
        if isinstance(decision, Refuse):
            raise _in_flight(tool, decision) if decision.stop is None else guard.ended(decision.stop)
        if isinstance(decision, Allow):
            self.shared.hold(run_id, decision.call)

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:  # noqa: ANN401, ARG002
        """Tell the guard what came back."""
        call = self.shared.release(run_id)
        if call is not None:
            answer = answer_in(output, None if call.guarded is None else call.guarded.call.call_id)
            failed = getattr(answer, "status", "") == "error"
            content = getattr(output if answer is None else answer, "content", ABSENT)
            content = effects_of(output) if content is ABSENT else content
            self.shared.guard.after(call, content, is_error=failed, error_message=text_of(content) if failed else None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:  # noqa: ANN401, ARG002
        """Tell the guard that it raised."""
        call = self.shared.release(run_id)
        if call is not None:
            self.shared.guard.failed(call, error)


def _asks(inputs: object) -> bool:
    """Whether what an agent is handed ends in a message of a user."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    last = messages[-1] if isinstance(messages, (list, tuple)) and messages else None
    if isinstance(last, tuple):
        return last[:1] in (("user",), ("human",))
    said = last.get("role") or last.get("type") if isinstance(last, Mapping) else getattr(last, "type", "")
    return said in ("user", "human") or isinstance(last, str)


def _in_flight(tool: str, refused: Refuse) -> LoopDetected:
    """The exception for a call that is refused and stops nobody: an equal write is on its way."""
    guarded = refused.call.guarded
    run_id, agent, found = ("", "", "") if guarded is None else (
        guarded.run.run_id, guarded.lane.agent, guarded.lane.found.get("indeterminate", "")
    )  # fmt: skip
    return LoopDetected(
        refused.text, tool=tool, kind="indeterminate", count=2, run_id=run_id, agent=agent, finding_id=found
    )


def register(module: Any) -> None:  # noqa: ANN401 - `langchain_core.tracers.context`
    """Let LangChain make a handler of every call while the variable is set, by its own public hook."""
    module.register_configure_hook(_handler, inheritable=True, handle_class=LoopguardCallbacks, env_var=_VARIABLE)
