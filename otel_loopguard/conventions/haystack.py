"""Haystack: the spans of its agents, one for each tool call.

Not the single span for all calls of a step that older versions write: it names no tool.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import failure, members, name_of, python_value, result_of, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["Haystack"]

_TOOL: Final = "haystack.tool.name"
_INPUT: Final = "haystack.agent.step.tool.input"
_OUTPUT: Final = "haystack.agent.step.tool.output"
_AGENT: Final = "haystack.agent.run"
_MODEL: Final = "haystack.agent.step.llm"


class Haystack:
    """The family."""

    name = "haystack"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([_INPUT, _OUTPUT]),
        only_tool=frozenset([_INPUT, _OUTPUT]),
        messages=frozenset([
            "haystack.agent.step.llm.input", "haystack.agent.step.llm.output", "haystack.agent.input",
            "haystack.agent.output", "haystack.component.input", "haystack.component.output",
            "haystack.pipeline.input_data", "haystack.pipeline.output_data",
        ]),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset([_TOOL])
    names: tuple[str, ...] = ("haystack.agent.",)

    def read(self, record: Record) -> RawCall | None:
        """A span with a tool's name; a tool that failed leaves its status unset and a flag."""
        attributes = record.attributes
        tool = name_of(attributes.get(_TOOL))
        if tool is None:
            return None
        written = attributes.get(_INPUT, ABSENT)
        answer = attributes.get(_OUTPUT, ABSENT)
        parts = members(answer) if isinstance(answer, str) and answer.startswith('{"error"') else None
        flagged = attributes.get("haystack.tool.error") is True
        failed = failure(record, flagged=flagged, text=parts["error"] if parts and len(parts) == 1 else answer)
        return RawCall(
            family=self.name,
            tool=tool,
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            result=result_of(answer, record.length_limit),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:
        """Spans told by their names alone: the agent's run, a step's model call, a step."""
        if record.name == _AGENT:
            return Role("agent")
        if record.name == _MODEL:
            return Role("model")
        return Role("step") if record.name == "haystack.agent.step" else None
