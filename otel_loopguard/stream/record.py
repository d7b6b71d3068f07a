"""One record of a call, after reading, fingerprint and correlation: what a run takes in.

It holds no content. Several records may be one call (exported twice, framework + client + server, unfinished and
finished): telling that is `dedupe`'s work.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from otel_loopguard.core.call import Outcome, ToolCall, Turn
from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.core.value import Value, value_of

__all__ = ["CallRecord", "record_of"]


@mypyc_attr(acyclic=True)
class CallRecord(Value):
    """A tool call with its place in the world."""

    names: ClassVar = (
        "run_id", "call", "outcome", "agent", "agent_named", "run_named", "sequence", "process_id", "trace_id",
        "span_id", "parent_span_id", "enclosing_span_id", "delegated", "start_ns", "end_ns", "message", "findings",
        "findings_elsewhere", "is_event",
    )  # fmt: skip
    __slots__ = names

    def __init__(
        self,
        run_id: str,
        call: ToolCall,
        outcome: Outcome,
        agent: str = "",
        agent_named: bool = False,
        run_named: bool = True,
        sequence: int | None = None,
        process_id: str = "",
        trace_id: str = "",
        span_id: str = "",
        parent_span_id: str = "",
        enclosing_span_id: str = "",
        delegated: bool = False,
        start_ns: int | None = None,
        end_ns: int | None = None,
        message: str = "",
        findings: tuple[tuple[str, str], ...] = (),
        findings_elsewhere: tuple[tuple[str, str, int], ...] = (),
        is_event: bool = False,
    ) -> None:
        self.run_id: Final = run_id
        self.call: Final = call
        self.outcome: Final = outcome
        self.agent: Final = agent
        self.agent_named: Final = agent_named
        """The record itself names the agent (a copy that names one wins over one that does not)."""
        self.run_named: Final = run_named
        """False: the run id is only the trace id, and the call joins a named run seen in that trace."""
        self.sequence: Final = sequence
        """The source's own number: `loopguard.sequence` of one process, or a call record's."""
        self.process_id: Final = process_id
        """The process that numbered the call; empty for call records and for spans that nobody numbered."""
        self.trace_id: Final = trace_id
        self.span_id: Final = span_id
        self.parent_span_id: Final = parent_span_id
        self.enclosing_span_id: Final = enclosing_span_id
        """The nearest tool span around it, where the trace was seen; else the parent's id, which may be a tool span."""
        self.delegated: Final = delegated
        """An agent's or a model's span stands between the call and the enclosing tool span: they are two calls."""
        self.start_ns: Final = start_ns
        self.end_ns: Final = end_ns
        self.message: Final = message
        """The user message that the call works on, where its run goes on over such messages and nobody tells of them: a
        new one in the run's order is a new user message."""
        self.findings: Final = findings
        """(kind, action) of findings that another host made for this call already."""
        self.findings_elsewhere: Final = findings_elsewhere
        """(kind, action, sequence) of findings that another host made at this call's end about another call of its
        process and agent."""
        self.is_event: Final = is_event
        """It comes from a log event about the call: it says nothing about arguments, result or end that was not
        marked."""

    def fields(self) -> tuple[object, ...]:
        """All fields in order, each read directly: every call is packed once."""
        return (
            self.run_id, self.call, self.outcome, self.agent, self.agent_named, self.run_named, self.sequence,
            self.process_id, self.trace_id, self.span_id, self.parent_span_id, self.enclosing_span_id,
            self.delegated, self.start_ns, self.end_ns, self.message, self.findings, self.findings_elsewhere,
            self.is_event,
        )  # fmt: skip

    @property
    def finished(self) -> bool:
        """The call had ended when the record was made."""
        return self.end_ns is not None or self.outcome.kind != "missing"

    @property
    def turn(self) -> Turn:
        """The model decision that made the call. A process counts its own, so its first one is not another's."""
        turn = self.call.turn
        return f"{self.process_id}/{turn}" if self.process_id and turn is not None else turn


def record_of(kind: type[Any], fields: object) -> object:
    """As `value_of`, of a call record with its parts, too. Raises `TypeError` where the fields are none."""
    if kind is not CallRecord:
        return value_of(kind, fields)
    if isinstance(fields, list):
        fields = dict(zip(CallRecord.names, fields, strict=True))
    if not isinstance(fields, dict):
        raise TypeError("no fields of a call record")
    held: dict[str, Any] = {
        **fields,
        "call": value_of(ToolCall, fields.get("call")),
        "outcome": value_of(Outcome, fields.get("outcome")),
    }
    for name in ("findings", "findings_elsewhere"):
        held[name] = tuple(map(tuple, fields.get(name, ())))
    return CallRecord(**held)
