"""OpenInference (Arize, Phoenix): spans of kind TOOL, as its packages write them.

Not one format: packages agree on the keys and differ in what they put there. `tool.parameters` is the tool's schema
with some and the call's arguments with others, and stays readable where `input.value` is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

from ._decode import (
    call_id_of,
    elements,
    failure,
    first_name,
    is_hidden,
    is_schema,
    members,
    name_of,
    plain,
    python_value,
    result_of,
    tool_message,
    unwrapped,
    was_cut,
)
from ._json_text import Json
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["OpenInference"]

_KIND: Final = "openinference.span.kind"
_CALL_IDS: Final = ("tool.id", "tool_call.id", "tool.call_id")
_AGENTS: Final = ("agent.name", "graph.node.id")
_HANDOFF: Final = "handoff to "
"""How the package for the OpenAI Agents SDK names the TOOL span of a hand-off, which has no `tool.name`."""
_SMOLAGENTS: Final = "openinference.instrumentation.smolagents"
_LLAMA_INDEX: Final = "openinference.instrumentation.llama_index"
_AGENT_RUNS: Final = ("Agent.run", "AgentWorkflow.run")
_AGENT_GRAPH: Final = '"langchain_create_agent"'
_GRAPH_NODE: Final = '"langgraph_node"'


class OpenInference:
    """The family."""

    name = "openinference"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset(["input.value", "output.value", "tool.parameters", "tool_call.function.arguments"]),
        only_tool=frozenset(["tool.parameters", "tool_call.function.arguments"]),
        events=frozenset(["input.value", "output.value"]),
        messages=frozenset([
            "input.value", "output.value", "llm.function_call", "llm.invocation_parameters", "llm.prompts",
            "llm.completions", "llm.input_messages", "llm.output_messages", "reranker.query", "retrieval.documents",
            "crew_inputs", "crew_agents", "crew_tasks", "task_description", "task_expected_output", "agent.goal",
            "agent.backstory",
        ]),
        message_prefixes=(
            "llm.input_messages.", "llm.output_messages.", "llm.prompts.", "llm.choices.", "llm.completions.",
            "llm.prompt_template.", "retrieval.documents.", "reranker.input_documents.", "reranker.output_documents.",
            "embedding.embeddings.", "message.", "message_content.",
        ),
    )  # fmt: skip
    markers: ClassVar[frozenset[str]] = frozenset([_KIND])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """A span of kind TOOL."""
        attributes = record.attributes
        if _kind(attributes) != "TOOL":
            return None
        tool = name_of(attributes.get("tool.name")) or ""
        handoff_to = record.name.removeprefix(_HANDOFF) if not tool and record.name.startswith(_HANDOFF) else None
        written = _arguments(attributes)
        arguments = unwrapped(written)
        if arguments is not written:
            arguments = _named(arguments, attributes.get("tool.parameters"))
        answer = _answer(attributes.get("output.value", ABSENT), tool)
        failed = failure(record, flagged=answer.is_error, text=answer.content)
        return RawCall(
            family=self.name,
            tool=tool,
            arguments=python_value(arguments),
            truncated=was_cut(written, record.length_limit),
            result=result_of(answer.content, record.length_limit),
            call_id=call_id_of(attributes, _CALL_IDS) or answer.call_id,
            agent=first_name(attributes, ("agent.name", "tool.agent_role")),
            conversation_id=name_of(attributes.get("session.id")),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
            handoff_to=handoff_to,
        )

    def role(self, record: Record) -> Role | None:
        """AGENT and LLM spans; every other kind but TOOL is a step, but for the root of a LangGraph agent."""
        attributes = record.attributes
        kind = _kind(attributes)
        if kind is None or kind == "TOOL":
            return None
        conversation_id = name_of(attributes.get("session.id"))
        if kind == "LLM":
            return Role("model", conversation_id=conversation_id)
        if kind == "AGENT":
            agent = first_name(attributes, _AGENTS)
            if agent is None and record.scope == _SMOLAGENTS:  # `ToolCallingAgent.run`
                agent = record.name.removesuffix(".run")
            return Role("agent", agent=agent, conversation_id=conversation_id)
        is_agent = kind == "CHAIN" and _is_agent(record, attributes.get("metadata"))
        return Role("agent" if is_agent else "step", conversation_id=conversation_id)


def _kind(attributes: Mapping[str, object]) -> str | None:
    """The span's kind in capitals: hand-written instrumentation has it in lower case, too."""
    kind = attributes.get(_KIND)
    return kind.upper() if isinstance(kind, str) else None


class _Answer(NamedTuple):
    content: Any
    call_id: str | None = None
    is_error: bool = False


def _arguments(attributes: Mapping[str, object]) -> object:
    """`input.value`; where that is hidden or missing, `tool.parameters` that are no schema.

    An empty object there may be either, so it says nothing.
    """
    written = attributes.get("input.value", ABSENT)
    if not is_hidden(written):
        return written
    other = attributes.get("tool.parameters", ABSENT)
    if is_hidden(other) or other in ("{}", {}) or is_schema(other):
        return written
    return other


def _named(arguments: object, parameters: object) -> object:
    """Positional arguments under their names, where that is sure.

    A tool of smolagents takes a single object of known names as those names; and the one argument of a tool with
    one parameter can only be that.
    """
    if not isinstance(arguments, Json | list) or str(arguments).startswith("{"):
        return arguments
    described = members(parameters) or {}
    names = members(described["properties"]) if "properties" in described else described
    only = elements(arguments)
    if not names or len(only) != 1:
        return arguments
    given = members(only[0])
    if given and given.keys() <= names.keys():
        return only[0]
    return {next(iter(names)): plain(only[0])} if len(names) == 1 else arguments


def _answer(value: object, tool: str) -> _Answer:
    """The result without what differs on every call: ids of messages and envelopes."""
    message = tool_message(value)
    if message is not None:
        return _Answer(*message)
    if not isinstance(value, str) or not value.startswith("{"):
        return _Answer(value)
    if '"raw_output"' in value and '"is_error"' in value:  # LlamaIndex's ToolOutput
        parts = members(value) or {}
        content = parts.get("raw_output", parts.get("blocks", value))
        return _Answer(content, None, parts.get("is_error") is True)
    if value.startswith('{"id"') and '"response"' in value:  # Google's FunctionResponse
        parts = members(value) or {}
        if parts.get("name") == tool and "response" in parts:
            return _Answer(parts["response"], name_of(parts.get("id")))
    return _Answer(value)


def _is_agent(record: Record, metadata: object) -> bool:
    """Whether a CHAIN is a whole agent of LangGraph or LlamaIndex, not one of its steps."""
    if isinstance(metadata, str) and _GRAPH_NODE in metadata:
        return False
    if record.name == "LangGraph" or (isinstance(metadata, str) and _AGENT_GRAPH in metadata):
        return True
    return record.scope == _LLAMA_INDEX and record.name.endswith(_AGENT_RUNS)
