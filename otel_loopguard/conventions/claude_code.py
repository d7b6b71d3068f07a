"""Claude Code: its log events, and the spans of its tracing beta.

Not the spans of the frameworks that start it. What it says of a call is little unless it is told to log details;
`tool_parameters` are then a summary, only good enough for a shell command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from ._decode import (
    call_id_of,
    failure,
    first_content,
    first_name,
    is_hidden,
    members,
    name_of,
    python_value,
    result_of,
    was_cut,
)
from ._record import ABSENT, ContentKeys, Event, RawCall, Record, Role

__all__ = ["ClaudeCode"]

_PREFIX: Final = "claude_code."
_RESULT: Final = "claude_code.tool_result"
_SHORT_RESULT: Final = "tool_result"
_TOOL: Final = "claude_code.tool"
_INPUT: Final = "tool_input"
_PARAMETERS: Final = "tool_parameters"
_MCP_TOOL: Final = "mcp_tool"
"""How a tool of an MCP server is called where its name is not logged."""
_OUTPUT_EVENT: Final = "tool.output"
_OUTPUTS: Final = ("output", "content", "diff")


class ClaudeCode:
    """The family."""

    name = "claude_code"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([
            _INPUT, _PARAMETERS, "full_command", "bash_command", "file_path", "tool_output", "tool_response",
            "new_context",
        ]),
        only_tool=frozenset([_INPUT, _PARAMETERS, "tool_output", "tool_response"]),
        events=frozenset(["output", "content", "diff", "input", _INPUT]),
        messages=frozenset(["user_prompt", "new_context", "response.model_output", "system_prompt"]),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset(["tool_name", "tool_use_id"])
    names: tuple[str, ...] = (_PREFIX,)

    def read(self, record: Record) -> RawCall | None:
        """A `claude_code.tool_result` event, or a `claude_code.tool` span."""
        attributes = record.attributes
        is_call = record.name == _TOOL if record.signal == "span" else _is_result(record)
        if not is_call:
            return None
        written = attributes.get(_INPUT, ABSENT)
        details = members(attributes.get(_PARAMETERS)) or {}
        arguments = written
        if is_hidden(written):
            arguments = _command({**details, **attributes})
        result = _output(record)
        flagged = attributes.get("success") in ("false", False)
        said = attributes.get("error", result)
        failed = failure(record, flagged=flagged, text=said)
        return RawCall(
            family=self.name,
            tool=_tool(attributes, details),
            arguments=python_value(arguments),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=call_id_of(attributes, ("tool_use_id", "gen_ai.tool.call.id")),
            agent=first_name(attributes, ("agent.name", "agent_id")),
            agent_call_id=name_of(attributes.get("workflow.run_id")),
            conversation_id=name_of(attributes.get("session.id")),
            prompt_id=name_of(attributes.get("prompt.id")),
            is_error=failed.is_error,
            error_type=failed.error_type or (first_name(attributes, ("error_type",)) if failed.is_error else None),
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """One `claude_code.interaction` span for each user prompt, a span for each model request below it."""
        if record.signal != "span":
            return None
        attributes = record.attributes
        conversation_id = name_of(attributes.get("session.id"))
        if record.name == "claude_code.interaction":
            return Role("agent", agent=first_name(attributes, ("agent_id",)), conversation_id=conversation_id)
        if record.name == "claude_code.llm_request":
            return Role("model", conversation_id=conversation_id)
        return Role("step", conversation_id=conversation_id) if record.name.startswith(_PREFIX) else None


def _is_result(record: Record) -> bool:
    """The event's full name is its name or its body; the attribute `event.name` has the short one."""
    if _RESULT in (record.name, record.body):
        return True
    return record.name == _SHORT_RESULT and "tool_name" in record.attributes


def _tool(attributes: Mapping[str, object], details: Mapping[str, object]) -> str:
    tool = name_of(attributes.get("tool_name")) or ""
    server, named = name_of(details.get("mcp_server_name")), name_of(details.get("mcp_tool_name"))
    return f"mcp__{server}__{named}" if tool == _MCP_TOOL and server and named else tool


def _command(details: Mapping[str, object]) -> object:
    """A shell command in full is all that its call does; other details leave arguments out."""
    command = first_content(details, ("full_command",))
    return ABSENT if is_hidden(command) else {"command": command}


def _output(record: Record) -> object:
    """The content events of a tool span, where content is logged."""
    for event in record.events:
        if event.name == _OUTPUT_EVENT:
            return _first(event)
    return record.attributes.get("tool_output", ABSENT)


def _first(event: Event) -> object:
    return first_content(event.attributes, _OUTPUTS)
