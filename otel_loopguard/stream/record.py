"""One record of a call, after reading, fingerprint and correlation: what a run takes in.

It holds no content. Several records may be one call (exported twice, framework + client + server, unfinished and
finished): telling that is `dedupe`'s work.
"""

from __future__ import annotations

import msgspec

from otel_loopguard.core.call import Outcome, ToolCall, Turn

__all__ = ["CallRecord"]


class CallRecord(msgspec.Struct, frozen=True, gc=False):
    """A tool call with its place in the world."""

    run_id: str
    call: ToolCall
    outcome: Outcome
    agent: str = ""
    agent_named: bool = False
    """The record itself names the agent (a copy that names one wins over one that does not)."""
    run_named: bool = True
    """False: the run id is only the trace id, and the call joins a named run seen in that trace."""
    sequence: int | None = None
    """The source's own number: `loopguard.sequence` of one process, or a call record's."""
    process_id: str = ""
    """The process that numbered the call; empty for call records and for spans that nobody numbered."""
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    enclosing_span_id: str = ""
    """The nearest tool span around it, where the trace was seen; else the parent's id, which may be a tool span."""
    delegated: bool = False
    """An agent's or a model's span stands between the call and the enclosing tool span: they are two calls."""
    start_ns: int | None = None
    end_ns: int | None = None
    message: str = ""
    """The user message that the call works on, where its run goes on over such messages and nobody tells of them: a
    new one in the run's order is a new user message."""
    findings: tuple[tuple[str, str], ...] = ()
    """(kind, action) of findings that another host made for this call already."""
    findings_elsewhere: tuple[tuple[str, str, int], ...] = ()
    """(kind, action, sequence) of findings that another host made at this call's end about another call of its
    process and agent."""
    is_event: bool = False
    """It comes from a log event about the call: it says nothing about arguments, result or end that was not marked."""

    @property
    def finished(self) -> bool:
        """The call had ended when the record was made."""
        return self.end_ns is not None or self.outcome.kind != "missing"

    @property
    def turn(self) -> Turn:
        """The model decision that made the call. A process counts its own, so its first one is not another's."""
        turn = self.call.turn
        return f"{self.process_id}/{turn}" if self.process_id and turn is not None else turn
