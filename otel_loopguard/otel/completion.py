"""The completion hook of the official gen-AI instrumentations: the calls that a model asks for, heard as it ends.

Not an exporter of content: arguments are fingerprinted on the spot and forgotten. With content capture off this is the
only place of the process where an instrumentation shows them; the tool's span joins by its call id.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from opentelemetry import context as otel_context

from otel_loopguard.conventions import RawCall

from .processor import LoopGuardSpanProcessor

__all__ = ["LoopGuardCompletionHook", "beside"]

MAX_CALLS: Final = 256
"""Calls taken from one answer; a model that asks for more at a time is not asking for tools."""

_HOOK: Final = "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK"
_NAME: Final = "loopguard"


class LoopGuardCompletionHook:
    """The entry point `loopguard` of the group `opentelemetry_genai_completion_hook`; without state."""

    def on_completion(self, **content: Any) -> None:  # noqa: ANN401 - what a release hands over more is none of ours
        """Fingerprint the tool calls of an answer, for the processor on the model's span. Never raises."""
        span = content.get("span")
        processor = LoopGuardSpanProcessor.of(span)
        if processor is None or span is None:
            return
        try:
            for call in _calls(content.get("outputs")):
                processor.hear(span, otel_context.get_current(), call)
        except Exception as error:  # noqa: BLE001 - nothing of ours reaches the host
            processor.edge.caught(error)


def _calls(messages: object) -> Iterator[RawCall]:
    """Each requested call that has an id."""
    left = MAX_CALLS
    for message in messages if isinstance(messages, (list, tuple)) else ():
        for part in getattr(message, "parts", ()):
            tool, call_id = getattr(part, "name", None), getattr(part, "id", None)
            is_call = getattr(part, "type", None) == "tool_call"
            if is_call and isinstance(tool, str) and isinstance(call_id, str) and call_id and left > 0:
                left -= 1
                yield RawCall("completion", tool, arguments=getattr(part, "arguments", None), call_id=call_id)


class _Both:
    """Our hook, then the user's."""

    def __init__(self, ours: LoopGuardCompletionHook, theirs: Any) -> None:  # noqa: ANN401 - any hook
        self._ours = ours
        self._theirs = theirs

    def on_completion(self, **content: Any) -> None:  # noqa: ANN401
        """Hand an answer to both."""
        self._ours.on_completion(**content)
        self._theirs.on_completion(**content)


def beside(hook: Any, module: Any) -> object:  # noqa: ANN401 - classes of a package that need not be there
    """The hook that the instrumentation is to use where it would use ``hook``; ``module`` is the one that loaded it."""
    if os.environ.get(_HOOK) == _NAME:
        return hook
    nothing = getattr(module, "_NoOpCompletionHook", None)
    ours = LoopGuardCompletionHook()
    return ours if nothing is not None and isinstance(hook, nothing) else _Both(ours, hook)
