"""Hand-written loops over the Anthropic client: `tool_use` blocks in, `tool_result` blocks out.

Not an import of that library: blocks are read as its objects or as dicts, and written as dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from otel_loopguard.errors import LoopDetected

from ._batch import Asked
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._dispatch import Answered
from ._toolbox import Toolbox

__all__ = ["ToolResults", "ToolUses", "report_blocked_tool"]


class ToolResults(NamedTuple):
    """The answer to one response."""

    content: list[dict[str, Any]]
    """One `tool_result` block for each `tool_use` block, in order: the content of the next user message."""
    stop: LoopDetected | None
    """Why not to ask the model again; append ``content`` all the same, so that the conversation can go on later."""


class ToolUses(Toolbox[ToolResults]):
    """The tools of an agent, guarded: hand it the content of each response."""

    def answer(self, content: Iterable[Any]) -> ToolResults:
        """Judge the calls of a response, dispatch those that are allowed, and answer all.

        Raises:
            SettingError: A tool that the model calls is a coroutine function, in whatever mode: `answer_async` awaits.

        """
        return self._answer(_asked(content), _results)

    async def answer_async(self, content: Iterable[Any]) -> ToolResults:
        """The same, the calls side by side."""
        return await self._answer_async(_asked(content), _results)


def report_blocked_tool() -> dict[str, Any]:
    """The definition of the tool `report_blocked` for the request; `ToolUses` answers it."""
    return {"name": "report_blocked", "description": REPORT_BLOCKED_WORDS, "input_schema": dict(REPORT_BLOCKED_SCHEMA)}


def _asked(content: Iterable[Any]) -> list[Asked]:
    return [
        Asked(str(_get(block, "id") or ""), str(_get(block, "name")), _get(block, "input"))
        for block in content
        if _get(block, "type") == "tool_use"
    ]


def _get(block: Any, name: str) -> Any:  # noqa: ANN401 - an object or a dict of the client
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)


def _results(answered: Answered) -> ToolResults:
    blocks: list[dict[str, Any]] = []
    for call, text, is_error, _ in answered.answers:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.call_id, "content": text}
        blocks.append({**block, "is_error": True} if is_error else block)
    return ToolResults(blocks, answered.stop)
