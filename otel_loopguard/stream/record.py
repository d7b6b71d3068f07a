"""One record of a call, after reading, fingerprint and correlation: what a run takes in.

It holds no content. Several records may be one call (exported twice, framework + client + server, unfinished and
finished): telling that is `dedupe`'s work.
"""

from __future__ import annotations

from dataclasses import dataclass

from otel_loopguard.core.call import Outcome, ToolCall

__all__ = ["CallRecord"]


@dataclass(frozen=True, slots=True)
class CallRecord:
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
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    findings: tuple[tuple[str, str], ...] = ()
    """(kind, action) of findings that another host made for this call already."""
