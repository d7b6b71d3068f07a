"""Hand-written loops over the OpenAI client: tool calls in, tool messages or function call outputs out.

Not an import of that library: calls are read as its objects or as dicts, and answers are written as dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from otel_loopguard.errors import LoopDetected

from ._batch import Asked
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._dispatch import Answered
from ._toolbox import Toolbox

__all__ = ["ToolCalls", "ToolMessages", "report_blocked_tool"]


class ToolMessages(NamedTuple):
    """The answer to one response."""

    messages: list[dict[str, Any]]
    """One for each call, in order: append them to the conversation."""
    stop: LoopDetected | None
    """Why not to ask the model again; append ``messages`` all the same, so that the conversation can go on later."""


class ToolCalls(Toolbox[ToolMessages]):
    """The tools of an agent, guarded: hand it `message.tool_calls` (chat completions) or `response.output`
    (responses) each time.

    Function calls alone: shells, computers and custom tools stay the application's to answer.
    """

    def answer(self, calls: Iterable[Any] | None) -> ToolMessages:
        """Judge the calls of a response, dispatch those that are allowed, and answer all.

        Raises:
            SettingError: A tool that the model calls is a coroutine function, in whatever mode: `answer_async` awaits.

        """
        asked, write = _asked(calls)
        return self._answer(asked, partial(_messages, write))

    async def answer_async(self, calls: Iterable[Any] | None) -> ToolMessages:
        """The same, the calls side by side."""
        asked, write = _asked(calls)
        return await self._answer_async(asked, partial(_messages, write))


def report_blocked_tool() -> dict[str, Any]:
    """The definition of the tool `report_blocked` for chat completions; `ToolCalls` answers it."""
    function = {
        "name": "report_blocked", "description": REPORT_BLOCKED_WORDS, "parameters": dict(REPORT_BLOCKED_SCHEMA)
    }  # fmt: skip
    return {"type": "function", "function": function}


_Write = Callable[[str, str], dict[str, Any]]


def _asked(calls: Iterable[Any] | None) -> tuple[list[Asked], _Write]:
    """The calls, of either kind, and how their answers are written."""
    asked: list[Asked] = []
    write: _Write = _tool_message
    for call in calls or ():
        kind = _get(call, "type")
        if kind == "function_call":
            write = _function_output
            asked.append(_one(_get(call, "call_id"), call))
        elif _get(call, "function") is not None:
            asked.append(_one(_get(call, "id"), _get(call, "function")))
    return asked, write


def _one(call_id: Any, function: Any) -> Asked:  # noqa: ANN401
    return Asked(str(call_id or ""), str(_get(function, "name")), _get(function, "arguments"))


def _get(value: Any, name: str) -> Any:  # noqa: ANN401 - an object or a dict of the client
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _tool_message(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _function_output(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def _messages(write: _Write, answered: Answered) -> ToolMessages:
    return ToolMessages([write(one.call.call_id, one.text) for one in answered.answers], answered.stop)
