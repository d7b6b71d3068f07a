"""Vercel AI SDK: the spans of its own older form, `ai.toolCall` and the calls around it.

Not the spans of its newer package, which follow the gen-AI conventions.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import call_id_of, failure, first_name, name_of, python_value, result_of, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["Vercel"]

_OPERATION: Final = "ai.operationId"
_ARGUMENTS: Final = "ai.toolCall.args"
_RESULT: Final = "ai.toolCall.result"
_METADATA: Final = "ai.telemetry.metadata."
_SESSIONS: Final = (
    *(_METADATA + key for key in ("sessionId", "session_id", "conversationId", "threadId", "chatId")), "session.id",
)  # fmt: skip
_AGENTS: Final = frozenset(["ai.generateText", "ai.streamText"])
"""The calls that run tools until an answer is there."""
_MODELS: Final = frozenset([
    "ai.generateText.doGenerate", "ai.streamText.doStream", "ai.generateObject.doGenerate", "ai.streamObject.doStream",
])  # fmt: skip


class Vercel:
    """The family."""

    name = "vercel"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([_ARGUMENTS, _RESULT]),
        only_tool=frozenset([_ARGUMENTS, _RESULT]),
        messages=frozenset([
            "ai.prompt", "ai.prompt.messages", "ai.response.text", "ai.response.reasoning", "ai.response.toolCalls",
            "ai.response.object", "ai.response.files", "ai.result.text", "ai.result.toolCalls", "ai.result.object",
            "ai.value", "ai.values", "ai.documents", "ai.embedding", "ai.embeddings",
        ]),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset([_OPERATION, "ai.toolCall.name"])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """An `ai.toolCall` span."""
        attributes = record.attributes
        if attributes.get(_OPERATION) != "ai.toolCall" and "ai.toolCall.name" not in attributes:
            return None
        written = attributes.get(_ARGUMENTS, ABSENT)
        result = attributes.get(_RESULT, ABSENT)
        failed = failure(record, text=result)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("ai.toolCall.name")) or "",
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=call_id_of(attributes, ("ai.toolCall.id",)),
            conversation_id=first_name(attributes, _SESSIONS),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """`ai.generateText` runs an agent, named by the function id that its user gave; `doGenerate` is a model's."""
        attributes = record.attributes
        operation = name_of(attributes.get(_OPERATION))
        conversation_id = first_name(attributes, _SESSIONS)
        if operation in _MODELS:
            return Role("model", conversation_id=conversation_id)
        if operation in _AGENTS:
            agent = name_of(attributes.get("ai.telemetry.functionId"))
            return Role("agent", agent=agent, conversation_id=conversation_id)
        return None
