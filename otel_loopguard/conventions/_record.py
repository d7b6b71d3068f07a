"""The seam between recorded telemetry and tool calls: a record in, a raw call out.

Not an OpenTelemetry SDK object: the same `Record` is made from a live span, from OTLP and from OTLP/JSON, so a
convention is written once. A `RawCall` holds content and lives only until it is fingerprinted;
what holds content here keeps it out of its repr, because tools print the variables of a stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol

from otel_loopguard.core.call import ABSENT, Absent

from ._role import Role

__all__ = ["ABSENT", "Absent", "ContentKeys", "Convention", "Event", "Marks", "RawCall", "Record", "Role"]


_NOTHING: Final[Mapping[str, object]] = {}


class Event:
    """One span event."""

    def __init__(self, name: str, attributes: Mapping[str, object]) -> None:
        self.name: Final = name
        self.attributes: Final = attributes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and (self.name, self.attributes) == (other.name, other.attributes)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Event(name={self.name!r})"


class Record:
    """One span or log record, in plain values: attribute values as Python scalars, lists and dicts."""

    def __init__(
        self,
        signal: Literal["span", "log"],
        name: str,
        attributes: Mapping[str, object],
        events: Sequence[Event] = (),
        resource: Mapping[str, object] = _NOTHING,
        scope: str = "",
        kind: Literal["", "internal", "server", "client", "producer", "consumer"] = "",
        trace_id: str = "",
        span_id: str = "",
        parent_span_id: str = "",
        start_ns: int | None = None,
        end_ns: int | None = None,
        error: bool = False,
        status_message: str = "",
        body: object = ABSENT,
        length_limit: int | None = None,
    ) -> None:
        self.signal: Final = signal
        self.name: Final = name
        """The span's name, or the log record's event name."""
        self.attributes: Final = attributes
        self.events: Final = events
        self.resource: Final = resource
        self.scope: Final = scope
        """Name of the instrumentation scope."""
        self.kind: Final = kind
        self.trace_id: Final = trace_id
        """32 lowercase hex digits, or empty."""
        self.span_id: Final = span_id
        self.parent_span_id: Final = parent_span_id
        self.start_ns: Final = start_ns
        self.end_ns: Final = end_ns
        """Unix time in nanoseconds; None where the span had not ended (or for logs)."""
        self.error: Final = error
        """The span's status is ERROR."""
        self.status_message: Final = status_message
        """Content: an error text."""
        self.body: Final = body
        """Content: a log record's body."""
        self.length_limit: Final = length_limit
        """The attribute value length limit in force where known: a text that long may have been cut."""

    def changed(self, **changes: Any) -> Record:  # noqa: ANN401 - as its fields
        """The same with other values in some fields."""
        return Record(**{field: changes.get(field, getattr(self, field)) for field in _RECORD})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and all(getattr(self, field) == getattr(other, field) for field in _RECORD)

    def __hash__(self) -> int:
        return hash((self.name, self.trace_id, self.span_id))

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


class RawCall:
    """One tool call as an instrumentation wrote it, decoded, with content."""

    def __init__(
        self,
        family: str,
        tool: str,
        arguments: object = ABSENT,
        truncated: bool = False,
        result: object = ABSENT,
        call_id: str | None = None,
        agent: str | None = None,
        run_id: str | None = None,
        agent_call_id: str | None = None,
        conversation_id: str | None = None,
        channel_id: str | None = None,
        prompt_id: str | None = None,
        turn: str | int | None = None,
        is_error: bool = False,
        error_type: str | None = None,
        error_message: str | None = None,
        handoff_to: str | None = None,
        user_message: bool = False,
        marks: Marks | None = None,
    ) -> None:
        self.family: Final = family
        """Name of the convention that read it."""
        self.tool: Final = tool
        self.arguments: Final = arguments
        """Decoded, envelope removed: any JSON-like value; text that is not JSON stays text."""
        self.truncated: Final = truncated
        """The instrumentation or a limit cut the arguments: they must not be compared."""
        self.result: Final = result
        self.call_id: Final = call_id
        self.agent: Final = agent
        self.run_id: Final = run_id
        """`loopguard.run.id`, where the record itself carries it."""
        self.agent_call_id: Final = agent_call_id
        """The instrumentation's own id of one run of the agent: `gen_ai.agent.call.id`."""
        self.conversation_id: Final = conversation_id
        """`gen_ai.conversation.id`, `session.id` or the family's session key."""
        self.channel_id: Final = channel_id
        """A transport's session (`mcp.session.id`): groups calls only where nothing else does."""
        self.prompt_id: Final = prompt_id
        """The user message that the call works on: another id in a conversation is another message."""
        self.turn: Final = turn
        self.is_error: Final = is_error
        self.error_type: Final = error_type
        self.error_message: Final = error_message
        self.handoff_to: Final = handoff_to
        self.user_message: Final = user_message
        self.marks: Final = marks

    def changed(self, **changes: Any) -> RawCall:  # noqa: ANN401 - as its fields
        """The same with other values in some fields."""
        return RawCall(**{field: changes.get(field, getattr(self, field)) for field in _RAWCALL})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawCall) and all(getattr(self, field) == getattr(other, field) for field in _RAWCALL)

    def __hash__(self) -> int:
        return hash((self.family, self.tool, self.call_id))

    def __repr__(self) -> str:
        return f"RawCall(family={self.family!r}, tool={self.tool!r})"


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


_RECORD: Final = (
    "signal", "name", "attributes", "events", "resource", "scope", "kind", "trace_id", "span_id", "parent_span_id",
    "start_ns", "end_ns", "error", "status_message", "body", "length_limit",
)  # fmt: skip
_RAWCALL: Final = (
    "family", "tool", "arguments", "truncated", "result", "call_id", "agent", "run_id", "agent_call_id",
    "conversation_id", "channel_id", "prompt_id", "turn", "is_error", "error_type", "error_message", "handoff_to",
    "user_message", "marks",
)  # fmt: skip
