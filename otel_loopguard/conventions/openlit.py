"""OpenLIT: what differs from the gen-AI conventions that it follows: cut texts, and MCP spans of its own.

Not its tool spans as such; their arguments are Python text, which the conventions' reader takes too.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import call_id_of, failure, first_content, members, name_of, python_value, result_of, was_cut
from ._record import ContentKeys, RawCall, Record, Role

__all__ = ["OpenLit"]

_TOOL: Final = "mcp.tool.name"
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "gen_ai.tool.input")
_MCP_ARGUMENTS: Final = "mcp.tool.arguments"
_MCP_PARAMS: Final = "mcp.params"
_MCP_RESULTS: Final = ("mcp.tool.result", "mcp.result")
_CUT: Final = "..."
"""What follows a text that it cut to `max_content_length`."""


class OpenLit:
    """The family."""

    name = "openlit"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([
            _MCP_ARGUMENTS, *_MCP_RESULTS, _MCP_PARAMS, "mcp.request.payload", "mcp.response.payload",
            "mcp.error.message", "mcp.error.data", "gen_ai.tool.args", "gen_ai.agent.action.tool_input",
            "gen_ai.agent.action.log", "gen_ai.agent.tool_results",
        ]),
        only_tool=frozenset([
            _MCP_ARGUMENTS, "mcp.tool.result", "gen_ai.tool.args", "gen_ai.agent.action.tool_input",
            "gen_ai.agent.tool_results",
        ]),
        messages=frozenset([
            "gen_ai.tool.args", "gen_ai.workflow.input", "gen_ai.workflow.output", "gen_ai.content.revised_prompt",
            "gen_ai.content.reasoning", "gen_ai.content.prompt", "gen_ai.content.completion", "gen_ai.agent.task",
            "gen_ai.agent.context", "gen_ai.agent.instructions", "gen_ai.agent.goal", "gen_ai.agent.expected_output",
            "gen_ai.agent.actual_output", "gen_ai.agent.finish.output", "gen_ai.agent.finish.log",
            "gen_ai.agent.thinking", "gen_ai.agent.memory", "gen_ai.agent.next_goal", "gen_ai.agent.actions",
            "gen_ai.framework.pipeline.input_data", "gen_ai.framework.pipeline.output_data",
        ]),
        events=frozenset(["gen_ai.content.prompt", "gen_ai.content.completion"]),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset([_TOOL, "telemetry.sdk.name"])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """An MCP span with a tool's name, or a tool span whose arguments it cut."""
        if _TOOL in record.attributes:
            return self._mcp(record)
        attributes = record.attributes
        if attributes.get("telemetry.sdk.name") != "openlit" or (
            attributes.get("gen_ai.operation.name") != "execute_tool"
        ):
            return None
        written = first_content(attributes, _ARGUMENTS)
        if not isinstance(written, str) or not written.endswith(_CUT):
            return None
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("gen_ai.tool.name")) or "",
            arguments=written,
            truncated=True,
        )

    def _mcp(self, record: Record) -> RawCall | None:
        attributes = record.attributes
        written = first_content(attributes, (_MCP_ARGUMENTS,))
        params = members(attributes.get(_MCP_PARAMS))
        arguments = params["arguments"] if params and "arguments" in params else written
        result = first_content(attributes, _MCP_RESULTS)
        parts = members(result)
        flagged = "mcp.error.message" in attributes or (parts is not None and parts.get("isError") is True)
        failed = failure(record, flagged=flagged, text=attributes.get("mcp.error.message", result))
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get(_TOOL)) or "",
            arguments=python_value(arguments),
            truncated=was_cut(written, record.length_limit) or was_cut(params, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=call_id_of(attributes, ("gen_ai.tool.call.id",)),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:  # noqa: ARG002 (the seam)
        """Its agent and model spans follow the gen-AI conventions."""
        return None
