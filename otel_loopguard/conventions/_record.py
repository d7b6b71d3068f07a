"""The seam between recorded telemetry and tool calls: a record in, a raw call out.

Not an OpenTelemetry SDK object: the same `Record` is made from a live span, from OTLP and from OTLP/JSON, so a
convention is written once. A `RawCall` holds content and lives only until it is fingerprinted;
what holds content here keeps it out of its repr, because tools print the variables of a stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import msgspec

from otel_loopguard.core.call import ABSENT, Absent

__all__ = ["ABSENT", "Absent", "ContentKeys", "Convention", "Event", "Marks", "RawCall", "Record", "Role"]


class Event(msgspec.Struct, frozen=True):
    """One span event."""

    name: str
    attributes: Mapping[str, object]

    def __repr__(self) -> str:
        return f"Event(name={self.name!r})"


class Record(msgspec.Struct, frozen=True):
    """One span or log record, in plain values: attribute values as Python scalars, lists and dicts."""

    signal: Literal["span", "log"]
    name: str
    """The span's name, or the log record's event name."""
    attributes: Mapping[str, object]
    events: Sequence[Event] = ()
    resource: Mapping[str, object] = msgspec.field(default_factory=dict)
    scope: str = ""
    """Name of the instrumentation scope."""
    kind: Literal["", "internal", "server", "client", "producer", "consumer"] = ""
    trace_id: str = ""
    """32 lowercase hex digits, or empty."""
    span_id: str = ""
    parent_span_id: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    """Unix time in nanoseconds; None where the span had not ended (or for logs)."""
    error: bool = False
    """The span's status is ERROR."""
    status_message: str = ""
    """Content: an error text."""
    body: object = ABSENT
    """Content: a log record's body."""
    length_limit: int | None = None
    """The attribute value length limit in force where known: a text that long may have been cut."""

    def __repr__(self) -> str:
        return f"Record(signal={self.signal!r}, trace_id={self.trace_id!r}, span_id={self.span_id!r})"


@dataclass(frozen=True, slots=True)
class Marks:
    """What our own processor wrote on a record: the values replace those of the family's reading."""

    key_id: str = ""
    fingerprint: str | None = None
    result_fingerprint: str | None = None
    group_fingerprint: str | None = None
    error_fingerprint: str | None = None
    error_shape: str | None = None
    state_fingerprint: str | None = None
    outcome: str | None = None
    verdict: str | None = None
    sequence: int | None = None
    process_id: str = ""
    items_unseen: int | None = None
    findings: tuple[tuple[str, str], ...] = ()
    """(kind, action) of every finding that the record carries already and that judges its own call."""
    findings_elsewhere: tuple[tuple[str, str, int], ...] = ()
    """(kind, action, sequence) of findings that were made when this call ended and judge another call."""
    is_event: bool = False
    """The marks came by a log event about a call: it is no record of the call's arguments, result or end."""


class RawCall(msgspec.Struct, frozen=True):
    """One tool call as an instrumentation wrote it, decoded, with content."""

    family: str
    """Name of the convention that read it."""
    tool: str
    arguments: object = ABSENT
    """Decoded, envelope removed: any JSON-like value; text that is not JSON stays text."""
    truncated: bool = False
    """The instrumentation or a limit cut the arguments: they must not be compared."""
    result: object = ABSENT
    call_id: str | None = None
    agent: str | None = None
    run_id: str | None = None
    """`loopguard.run.id`, where the record itself carries it."""
    agent_call_id: str | None = None
    """The instrumentation's own id of one run of the agent: `gen_ai.agent.call.id`."""
    conversation_id: str | None = None
    """`gen_ai.conversation.id`, `session.id` or the family's session key."""
    channel_id: str | None = None
    """A transport's session (`mcp.session.id`): groups calls only where nothing else does."""
    prompt_id: str | None = None
    """The user message that the call works on: another id in a conversation is another message."""
    turn: str | int | None = None
    is_error: bool = False
    error_type: str | None = None
    error_message: str | None = None
    handoff_to: str | None = None
    user_message: bool = False
    marks: Marks | None = None

    def __repr__(self) -> str:
        return f"RawCall(family={self.family!r}, tool={self.tool!r})"


class Role(msgspec.Struct, frozen=True):
    """What a record that is no tool call tells about the calls below or after it."""

    kind: Literal["agent", "model", "step"]
    """`step` is neither (a workflow, a chain, a cycle of an event loop): it may still name a run or a conversation."""
    agent: str | None = None
    run_id: str | None = None
    agent_call_id: str | None = None
    conversation_id: str | None = None


@dataclass(frozen=True, slots=True)
class ContentKeys:
    """Where a family keeps what people said and tools returned: what redaction removes."""

    tool: frozenset[str] = frozenset()
    """Exact attribute keys that hold a tool call's arguments, result or error text on a tool span."""
    only_tool: frozenset[str] = frozenset()
    """Those of `tool` that no span uses for anything else: removed from every span, whatever it says it is.

    Not the words that anybody's span may have (`arguments`, `full_command`): who writes those is told by a name.
    """
    tool_prefixes: tuple[str, ...] = ()
    events: frozenset[str] = frozenset()
    """Attribute keys of span events that do."""
    messages: frozenset[str] = frozenset()
    """Attribute keys of model and agent spans that hold messages (removed by `redact_all`)."""
    message_prefixes: tuple[str, ...] = ()


class Convention(Protocol):
    """One instrumentation family. No convention knows another; the order is the tuple in the package."""

    name: str
    content: ClassVar[ContentKeys]
    markers: ClassVar[frozenset[str]]
    """Attribute keys: a record with none of them (over all families) is none of ours, told by one set operation."""
    names: tuple[str, ...]
    """Prefixes of record names that this family reads without a marker attribute."""

    def read(self, record: Record) -> RawCall | None:
        """The tool call that the record is, or None. Never raises."""
        ...

    def role(self, record: Record) -> Role | None:
        """What a span that is no tool call says: whether an agent's or a model's, and whose. Never raises."""
        ...
