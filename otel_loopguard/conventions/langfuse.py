"""Langfuse: observations of type tool, from its decorator and its LangChain handler.

Not its view of other instrumentations' spans, which stay as they are.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import (
    failure,
    first_name,
    members,
    name_of,
    plain,
    python_value,
    result_of,
    tool_message,
    unwrapped,
    was_cut,
)
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["Langfuse"]

_TYPE: Final = "langfuse.observation.type"
_INPUT: Final = "langfuse.observation.input"
_OUTPUT: Final = "langfuse.observation.output"
_STATUS: Final = "langfuse.observation.status_message"
_METADATA: Final = "langfuse.observation.metadata."
_SESSIONS: Final = ("session.id", "langfuse.session.id")


class Langfuse:
    """The family."""

    name = "langfuse"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([_INPUT, _OUTPUT, _STATUS]),
        messages=frozenset(["langfuse.trace.input", "langfuse.trace.output",
                            "langfuse.experiment.item.expected_output"]),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset([_TYPE])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """An observation of type tool; the span's name is the tool's.

        Positional and keyword arguments of a decorated function cannot be told to be the same, so they are not.
        """
        attributes = record.attributes
        if attributes.get(_TYPE) != "tool":
            return None
        written = attributes.get(_INPUT, ABSENT)
        answer = attributes.get(_OUTPUT, ABSENT)
        message = tool_message(answer)
        result = message.content if message else answer
        flagged = attributes.get("langfuse.observation.level") == "ERROR" or (message is not None and message.is_error)
        said = attributes.get(_STATUS, result)
        failed = failure(record, flagged=flagged, text=said)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("gen_ai.tool.name")) or record.name,
            arguments=python_value(unwrapped(written)),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=_unquoted(attributes.get(_METADATA + "tool_call_id")) or (message.call_id if message else None),
            conversation_id=first_name(attributes, _SESSIONS),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """Agents and generations; the root of a LangGraph agent has the type of a chain."""
        attributes = record.attributes
        kind = attributes.get(_TYPE)
        conversation_id = first_name(attributes, _SESSIONS)
        if kind == "agent":
            return Role("agent", agent=record.name or None, conversation_id=conversation_id)
        if kind == "generation":
            return Role("model", conversation_id=conversation_id)
        if not isinstance(kind, str) or kind == "tool":
            return None
        is_root = _METADATA + "langgraph_node" not in attributes
        is_graph = attributes.get(_METADATA + "ls_integration") == '"langchain_create_agent"'
        is_agent = is_root and (is_graph or record.name == "LangGraph")
        return Role("agent" if is_agent else "step", conversation_id=conversation_id)


def _unquoted(value: object) -> str | None:
    """A metadata value, which is written as JSON."""
    if isinstance(value, str) and value.startswith('"'):
        parts = members(f'{{"value":{value}}}')
        value = plain(parts["value"]) if parts else value
    return name_of(value)
