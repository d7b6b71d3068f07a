"""Pydantic AI: the keys of its older span formats.

Not its newer ones (3 to 6), which follow the gen-AI conventions and carry run, conversation and agent on every span.
"""

from __future__ import annotations

from typing import ClassVar

from ._decode import failure, name_of, python_value, result_of, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["PydanticAi"]


class PydanticAi:
    """The family."""

    name = "pydantic_ai"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset(["tool_arguments", "tool_response"]),
        only_tool=frozenset(["tool_arguments", "tool_response"]),
        messages=frozenset(["all_messages_events", "pydantic_ai.all_messages", "final_result", "events"]),
    )
    markers: ClassVar[frozenset[str]] = frozenset(["tool_arguments", "tool_response"])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """A span named `running tool`, or any tool span with these keys."""
        attributes = record.attributes
        if attributes.get("gen_ai.operation.name") != "execute_tool" and record.name != "running tool":
            return None
        written = attributes.get("tool_arguments", ABSENT)
        result = attributes.get("tool_response", ABSENT)
        failed = failure(record, text=result)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("gen_ai.tool.name")) or "",
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=name_of(attributes.get("gen_ai.tool.call.id")),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:  # noqa: ARG002 (the seam)
        """Its agent and model spans follow the gen-AI conventions."""
        return None
