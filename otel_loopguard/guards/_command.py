"""What a tool answers with that steers a LangGraph graph (a `Command`, or a list of such and messages).

Not LangGraph itself: its objects are known by their parts, since callbacks run where that is not installed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from otel_loopguard.core.call import ABSENT

__all__ = ["answer_in", "effects_of", "with_answer"]


def answer_in(result: Any, call_id: object) -> Any | None:  # noqa: ANN401 - whatever a tool returns
    """The tool message that is a call's answer: the result, or in the result; None where there is none."""
    if getattr(result, "type", "") == "tool":
        return result
    for message in _messages_of(result):
        if getattr(message, "type", "") == "tool" and getattr(message, "tool_call_id", None) == call_id:
            return message
    return None


def with_answer(result: Any, answer: Any, other: Any) -> Any:  # noqa: ANN401
    """A result with another message in an answer's place; the result itself is not changed."""
    if result is answer:
        return other
    if isinstance(result, list):
        return [with_answer(one, answer, other) for one in result]
    if not _is_command(result) or not any(one is answer for one in _messages_of(result)):
        return result
    if not isinstance(result.update, dict):
        return replace(result, update=with_answer(list(result.update), answer, other))
    messages = result.update["messages"]
    messages = with_answer(list(messages) if isinstance(messages, (list, tuple)) else messages, answer, other)
    return replace(result, update={**result.update, "messages": messages})


def effects_of(result: Any) -> object:  # noqa: ANN401
    """A result without an answer, as text to compare: what a command does to the graph; `ABSENT` where it has none."""
    if not _is_command(result) and not (isinstance(result, list) and any(_is_command(one) for one in result)):
        return result
    commands = result if isinstance(result, list) else [result]
    try:
        return json.dumps([_parts(one) for one in commands], default=_text, sort_keys=True)
    except Exception:  # noqa: BLE001 - anything may be in a state
        return ABSENT


def _messages_of(result: Any) -> list[Any]:  # noqa: ANN401
    if isinstance(result, list):
        return [message for one in result for message in ([one] if hasattr(one, "type") else _messages_of(one))]
    if not _is_command(result):
        return []
    update = result.update.get("messages") if isinstance(result.update, dict) else result.update
    return list(update) if isinstance(update, (list, tuple)) else [update]


def _is_command(result: Any) -> bool:  # noqa: ANN401
    return all(hasattr(result, part) for part in ("goto", "graph", "update"))


def _parts(command: Any) -> object:  # noqa: ANN401
    return [command.graph, command.goto, command.update] if _is_command(command) else command


def _text(value: Any) -> object:  # noqa: ANN401
    """A message by what it says, for its id is new each time."""
    return value.content if hasattr(value, "content") and hasattr(value, "type") else str(value)
