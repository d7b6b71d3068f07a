"""OpenTelemetry's gen-AI semantic conventions: `execute_tool` spans in their old and new forms.

Not what single packages do beside them: those have a file each and are asked first, this one fills what they leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, Literal

from ._decode import (
    call_id_of,
    failure,
    first_content,
    first_name,
    name_of,
    python_value,
    result_of,
    tool_message,
    was_cut,
)
from ._record import ABSENT, ContentKeys, Event, RawCall, Record, Role

__all__ = ["IGNORED", "ROLES", "GenAi"]

_TOOL_OPERATIONS: Final = frozenset(["execute_tool", "tool_call"])
"""`tool_call` is what Gemini CLI writes."""
ROLES: Final[Mapping[object, Literal["agent", "model", "step"]]] = {
    "invoke_agent": "agent", "chat": "model", "generate_content": "model", "text_completion": "model",
    "invoke_workflow": "step", "execute_task": "step", "execute_event_loop_cycle": "step", "plan": "step",
}  # fmt: skip
_PREFIX: Final = "execute_tool "

_ARGUMENTS: Final[tuple[str, ...]] = ("gen_ai.tool.call.arguments", "gen_ai.tool.input")
"""The second is sentry-sdk's."""
_RESULTS: Final[tuple[str, ...]] = ("gen_ai.tool.call.result", "gen_ai.tool.output")
_CALL_IDS: Final[tuple[str, ...]] = ("gen_ai.tool.call.id", "gen_ai.tool.call_id")
_CONVERSATIONS: Final[tuple[str, ...]] = ("gen_ai.conversation.id", "session.id")

IGNORED: Final = frozenset(["gen_ai.tool.definitions", "gen_ai.tool.description", "gen_ai.tool.type"])
"""Of `gen_ai.tool.*`: what describes tools, never a call; no part of any key."""


class GenAi:
    """The conventions themselves."""

    name = "gen_ai"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([*_ARGUMENTS, *_RESULTS]),
        only_tool=frozenset([*_ARGUMENTS, *_RESULTS]),
        events=frozenset(["content", "message", "tool.result", "gen_ai.prompt", "gen_ai.completion",
                          "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"]),
        messages=frozenset([
            "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.prompt",
            "gen_ai.completion", "gen_ai.retrieval.documents", "gen_ai.retrieval.query.text",
            "gen_ai.evaluation.explanation", "gen_ai.event.content", "gen_ai.request.messages",
            "gen_ai.response.messages", "gen_ai.response.text", "gen_ai.response.tool_calls",
            "gen_ai.task.input", "gen_ai.task.output",
        ]),
        message_prefixes=("gen_ai.prompt.", "gen_ai.completion."),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset(
        ["gen_ai.operation.name", *_ARGUMENTS, *_CALL_IDS, "gen_ai.agent.call.id"]
    )
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """An `execute_tool` span, or one whose operation name an attribute count limit evicted."""
        attributes = record.attributes
        if not isinstance(attributes, dict):
            attributes = dict(attributes)
        if record.signal != "span" or not _is_tool(record.name, attributes):
            return None
        call_id = call_id_of(attributes, _CALL_IDS)
        written = first_content(attributes, _ARGUMENTS)
        result = first_content(attributes, _RESULTS)
        if record.events and (written is ABSENT or result is ABSENT):
            spoken, answered = _messages(record.events, call_id)
            written = spoken if written is ABSENT else written
            result = answered if result is ABSENT else result
        message = tool_message(result) if isinstance(result, str) and result.startswith("content=") else None
        if message is not None:  # a LangChain message as Python prints it (OpenLIT)
            result, call_id = message.content, call_id or message.call_id
        flagged = attributes.get("gen_ai.tool.status") == "error" or (message is not None and message.is_error)
        failed = failure(record, flagged=flagged, text=result)
        return RawCall(
            family=self.name,
            tool=_tool(record.name, attributes),
            arguments=ABSENT if written == "None" else python_value(written),
            truncated=was_cut(written, record.length_limit) or _is_marked_cut(attributes),
            result=result_of(result, record.length_limit),
            call_id=call_id,
            agent=name_of(attributes.get("gen_ai.agent.name")),
            agent_call_id=name_of(attributes.get("gen_ai.agent.call.id")),
            conversation_id=first_name(attributes, _CONVERSATIONS),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """`invoke_agent` is an agent's span, `chat` and its like a model's, workflows and cycles are steps."""
        attributes = record.attributes
        kind = ROLES.get(name_of(attributes.get("gen_ai.operation.name")))
        if kind is None:
            return None
        return Role(
            kind=kind,
            agent=name_of(attributes.get("gen_ai.agent.name")),
            agent_call_id=name_of(attributes.get("gen_ai.agent.call.id")),
            conversation_id=first_name(attributes, _CONVERSATIONS),
        )


def _is_tool(name: str, attributes: dict[str, object]) -> bool:
    operation = name_of(attributes.get("gen_ai.operation.name"))
    if operation is not None:
        return operation in _TOOL_OPERATIONS
    return "gen_ai.tool.name" in attributes and (
        name.startswith(_PREFIX) or not attributes.keys().isdisjoint([*_CALL_IDS, *_ARGUMENTS])
    )


def _tool(name: str, attributes: dict[str, object]) -> str:
    found = name_of(attributes.get("gen_ai.tool.name"))
    if found is not None:
        return found
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else ""


def _is_marked_cut(attributes: dict[str, object]) -> bool:
    """CrewAI's own tracing cuts at 384 KiB and says so in an attribute of its own."""
    return bool(attributes.get("gen_ai.tool.call.arguments.truncated"))


def _messages(events: Iterable[Event], call_id: str | None) -> tuple[object, object]:
    """Arguments and result from a tool span's events `gen_ai.tool.message` and `gen_ai.choice` (Strands)."""
    arguments: object = ABSENT
    result: object = ABSENT
    for event in events:
        if call_id is not None and event.attributes.get("id", call_id) != call_id:
            continue
        if event.name == "gen_ai.tool.message":
            arguments = event.attributes.get("content", arguments)
        elif event.name == "gen_ai.choice":
            result = event.attributes.get("message", result)
    return arguments, result
