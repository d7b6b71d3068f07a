"""Gemini CLI: its log events `gemini_cli.tool_call` and its `tool_call` spans.

Not the prompts, which it logs under names of its own. On a span a call's request and answer stand where the gen-AI
conventions have messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from ._decode import call_id_of, elements, failure, first_name, members, name_of, python_value, result_of, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["GeminiCli"]

_CALL: Final = "gemini_cli.tool_call"
_SPAN: Final = "tool_call"
_CUT: Final = "[TRUNCATED: original length "
"""What follows a text that it cut at 10,000 characters."""
_REQUEST: Final = "gen_ai.input.messages"
_ANSWER: Final = "gen_ai.output.messages"


class GeminiCli:
    """The family."""

    name = "gemini_cli"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset(["function_args", _REQUEST, _ANSWER]),
        messages=frozenset(["prompt", "request_text", "response_text"]),
    )
    markers: ClassVar[frozenset[str]] = frozenset(["function_name", "gen_ai.operation.name"])
    names: tuple[str, ...] = (_CALL,)

    def read(self, record: Record) -> RawCall | None:
        """The event of a finished call, or its span."""
        if record.signal == "span":
            return self._span(record)
        attributes = record.attributes
        if _CALL not in (record.name, attributes.get("event.name")):
            return None
        written = attributes.get("function_args", ABSENT)
        said = attributes.get("error.message", attributes.get("error"))
        failed = failure(record, flagged=attributes.get("success") in ("false", False), text=said)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("function_name")) or "",
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            conversation_id=name_of(attributes.get("session.id")),
            prompt_id=name_of(attributes.get("prompt_id")),
            is_error=failed.is_error,
            error_type=failed.error_type or (first_name(attributes, ("error_type",)) if failed.is_error else None),
            error_message=failed.message,
        )

    def _span(self, record: Record) -> RawCall | None:
        attributes = record.attributes
        if attributes.get("gen_ai.operation.name") != _SPAN:
            return None
        request = members(attributes.get(_REQUEST)) or {}
        answer = attributes.get(_ANSWER, ABSENT)
        completed = members(answer) or {}
        failed = failure(record, flagged=completed.get("status") in ("error", "cancelled"))
        return RawCall(
            family=self.name,
            tool=first_name(attributes, ("gen_ai.tool.name",)) or name_of(request.get("name")) or "",
            arguments=python_value(request.get("args", ABSENT)),
            truncated=_is_cut(attributes.get(_REQUEST), record.length_limit),
            result=ABSENT if _is_cut(answer, record.length_limit) else _response(completed, answer),
            call_id=call_id_of(attributes, ("gen_ai.tool.call_id",)) or name_of(request.get("callId")),
            conversation_id=first_name(attributes, ("gen_ai.conversation.id",)),
            prompt_id=name_of(request.get("prompt_id")),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """Spans of its own operations."""
        attributes = record.attributes
        operation = attributes.get("gen_ai.operation.name")
        conversation_id = name_of(attributes.get("gen_ai.conversation.id"))
        if operation == "agent_call":
            return Role("agent", name_of(attributes.get("gen_ai.agent.name")), conversation_id=conversation_id)
        if operation == "llm_call":
            return Role("model", conversation_id=conversation_id)
        return Role("step", conversation_id=conversation_id) if operation == "user_prompt" else None


def _response(completed: Mapping[str, object], answer: object) -> object:
    """What the tool gave back, without the ids and durations around it."""
    response = members(completed.get("response")) or {}
    parts = [members(part) or {} for part in elements(response.get("responseParts"))]
    given = [members(part.get("functionResponse")) or {} for part in parts]
    if len(given) == 1 and "response" in given[0]:
        return result_of(given[0]["response"], None)
    return result_of(response.get("responseParts", answer), None)


def _is_cut(value: object, limit: int | None) -> bool:
    return isinstance(value, str) and (_CUT in value[-48:] or was_cut(value, limit))
