"""OpenLLMetry (Traceloop): spans told by `traceloop.span.kind`, whose input and output are envelopes.

Not one envelope: each of its instrumentations wraps a call in its own way, some with step numbers, checkpoint ids and
the call id inside, so the text as it stands never repeats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

from ._decode import (
    call_id_of,
    failure,
    first_content,
    first_name,
    members,
    name_of,
    python_value,
    result_of,
    tool_message,
    unwrapped,
    was_cut,
)
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["OpenLLMetry"]

_KIND: Final = "traceloop.span.kind"
_INPUTS: Final[tuple[str, ...]] = ("traceloop.entity.input", "gen_ai.tool.call.arguments")
_OUTPUTS: Final[tuple[str, ...]] = ("traceloop.entity.output", "gen_ai.tool.call.result")
_PROPERTIES: Final = "traceloop.association.properties."
_SESSIONS: Final[tuple[str, ...]] = (
    *(_PROPERTIES + key for key in ("session_id", "thread_id", "conversation_id", "chat_id")), "gen_ai.conversation.id",
)  # fmt: skip
_LLAMA_INDEX_TOOL: Final = "FunctionTool.task"
"""LlamaIndex's tool spans have the kind of a task."""
_CALLBACK: Final = '{"input_str"'
"""How LangChain's envelope begins: `input_str` is a repr of the arguments, `inputs` are the arguments."""
_HANDOFF: Final = "gen_ai.handoff.to_agent"


class OpenLLMetry:
    """The family."""

    name = "openllmetry"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([
            "traceloop.entity.input", "traceloop.entity.output", "mcp.request.argument", "mcp.response.value",
        ]),
        events=frozenset(["gen_ai.content.completion.chunk", "llm.content.completion.chunk"]),
        messages=frozenset([
            "traceloop.prompt.template_variables", "crewai.crew.tasks", "crewai.crew.agents", "crewai.crew.result",
            "crewai.crew.tasks_output", "crewai.crew.inputs", "crewai.task.description", "crewai.task.expected_output",
            "crewai.task.output", "crewai.task.context", "crewai.agent.goal", "crewai.agent.backstory",
            "gen_ai.openai.agents.handoffs", "openai.agent.handoffs",
        ]),
        message_prefixes=("traceloop.prompt.template_variables.",),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset([_KIND, "gen_ai.tool.call.arguments", "llm.request.type"])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """A span of kind tool or hand-off; LlamaIndex's tools are tasks."""
        attributes = record.attributes
        kind = attributes.get(_KIND)
        if kind == "handoff":
            return self._handoff(record)
        if kind == "task" and not record.name.startswith(_LLAMA_INDEX_TOOL):
            return None
        if kind not in ("tool", "task"):
            written = attributes.get("gen_ai.tool.call.arguments")
            if not isinstance(written, str) or not written.startswith(_CALLBACK):
                return None
        written = first_content(attributes, _INPUTS)
        answer = _answer(first_content(attributes, _OUTPUTS))
        tool = first_name(attributes, ("gen_ai.tool.name", "traceloop.entity.name")) or answer.tool
        if not tool and record.name.endswith(".tool"):
            tool = record.name.removesuffix(".tool")
        asked = _arguments(written, tool)
        failed = failure(record, flagged=answer.is_error, text=answer.content)
        return RawCall(
            family=self.name,
            tool=tool,
            arguments=python_value(asked.arguments),
            truncated=was_cut(written, record.length_limit),
            result=result_of(answer.content, record.length_limit),
            call_id=call_id_of(attributes, ("gen_ai.tool.call.id",)) or asked.call_id or answer.call_id,
            agent=name_of(attributes.get("gen_ai.agent.name")),
            conversation_id=first_name(attributes, _SESSIONS),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def _handoff(self, record: Record) -> RawCall | None:
        """`a → b.handoff` of the OpenAI Agents SDK."""
        to_agent = name_of(record.attributes.get(_HANDOFF))
        if to_agent is None:
            return None
        return RawCall(
            family=self.name,
            tool=f"handoff to {to_agent}",
            agent=name_of(record.attributes.get("gen_ai.agent.name")),
            conversation_id=first_name(record.attributes, _SESSIONS),
            handoff_to=to_agent,
        )

    def role(self, record: Record) -> Role | None:
        """Spans of kind agent; workflows and tasks are steps; `llm.request.type` tells a model's span."""
        attributes = record.attributes
        kind = attributes.get(_KIND)
        conversation_id = first_name(attributes, _SESSIONS)
        if kind == "agent":
            agent = first_name(attributes, ("gen_ai.agent.name", "traceloop.entity.name"))
            return Role("agent", agent=agent, conversation_id=conversation_id)
        if kind in ("workflow", "task"):
            return Role("step", conversation_id=conversation_id)
        if attributes.get("llm.request.type") in ("chat", "completion"):
            return Role("model", conversation_id=conversation_id)
        return None


class _Asked(NamedTuple):
    arguments: Any
    call_id: str | None = None


class _Answer(NamedTuple):
    content: Any
    call_id: str | None = None
    is_error: bool = False
    tool: str = ""


def _arguments(written: object, tool: str) -> _Asked:
    """The arguments out of LangChain's, MCP's or a decorated function's envelope."""
    if isinstance(written, str) and not written.startswith("{"):
        return _Asked(written)
    parts = members(written)
    if parts is None:  # a broken envelope is not the arguments, and no two are alike
        return _Asked(ABSENT if isinstance(written, str) and written.startswith(_CALLBACK) else written)
    if "input_str" in parts and "inputs" in parts:
        kwargs = members(parts.get("kwargs")) or {}
        inputs = parts["inputs"] if parts["inputs"] is not None else parts["input_str"]
        return _Asked(inputs, name_of(kwargs.get("tool_call_id")))
    # A tool of any other name may have arguments of these names itself, and `tool_name` would tell its calls apart.
    if parts.keys() == {"tool_name", "arguments"} and parts["tool_name"] == tool:
        return _Asked("{}" if parts["arguments"] is None else parts["arguments"])
    return _Asked(unwrapped(written))


def _answer(value: object) -> _Answer:
    """The result out of LangChain's, LlamaIndex's, MCP's or Agno's envelope."""
    message = tool_message(value)
    if message is not None:
        return _Answer(*message)
    if isinstance(value, str) and value.startswith("status='"):
        return _execution(value)
    return _enveloped(value, members(value) or {})


def _enveloped(value: object, parts: Mapping[str, object]) -> _Answer:
    if "raw_output" in parts and "is_error" in parts:
        tool = name_of(parts.get("tool_name")) or ""
        return _Answer(parts["raw_output"], None, parts["is_error"] is True, tool)
    if "output" in parts and parts.keys() <= {"output", "kwargs"}:
        return _Answer(parts["output"])
    if "result" in parts and parts.keys() <= {"result", "is_error"}:
        return _Answer(parts["result"], None, parts.get("is_error") is True)
    return _Answer(value)


_EXECUTION: Final = re.compile(
    r"status='(success|failure)' result=(.*?) error=(None|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") "
    r"updated_session_state=",
    re.DOTALL,
)


def _execution(text: str) -> _Answer:
    """Agno's `FunctionExecutionResult` as Python prints it: the span's own status stays OK when the tool failed."""
    found = _EXECUTION.match(text)
    if found is None:
        return _Answer(text)
    failed = found[1] == "failure"
    written = found[3] if failed else found[2]
    value = python_value(f"[{written}]")
    return _Answer(value[0] if isinstance(value, list) else written, None, failed)
