"""Records of calls as a stream hands them to a run, made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from otel_loopguard.core.call import MISSING, Outcome, ToolCall, Turn
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.policy import Policy
from otel_loopguard.stream.events import Found, Integrity, Observed, RunEvent
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.run import Run

TRACE = "0af7651916cd43dd8448eb211c80319c"


def fingerprint(name: str) -> str:
    """32 hex digits that are the same for the same name."""
    return blake2b(name.encode(), digest_size=16).hexdigest()


def record(  # noqa: PLR0913 - every field that a test may set
    tool: str = "look",
    arguments: str | None = "a",
    result: str | None = "r",
    *,
    span: str = "",
    inside: str = "",
    number: int | None = None,
    process: str = "",
    call_id: str | None = None,
    turn: Turn = None,
    agent: str = "",
    start: int | None = None,
    end: int | None = None,
    key: str = "k1",
    scope: str = "",
    user_message: bool = False,
    delegated: bool = False,
    message: str = "",
    findings: tuple[tuple[str, str], ...] = (),
    elsewhere: tuple[tuple[str, str, int], ...] = (),
    event: bool = False,
    ours: bool = False,
) -> CallRecord:
    """A record; `arguments` and `result` are names whose fingerprints are equal where the names are."""
    outcome = MISSING if result is None else Outcome("ok", fingerprint(result), end_ns=end)
    return CallRecord(
        run_id="run",
        call=ToolCall(
            tool,
            None if arguments is None else fingerprint(f"{tool}/{arguments}"),
            key,
            "absent" if arguments is None else None,
            call_id=call_id,
            turn=turn,
            scope=scope,
            user_message=user_message,
            start_ns=start,
        ),
        outcome=Outcome("ours", error_type="loop_detected") if ours else outcome,
        agent=agent,
        agent_named=bool(agent),
        sequence=number,
        process_id=process,
        trace_id=TRACE if span else "",
        span_id=span,
        parent_span_id=inside,
        delegated=delegated,
        start_ns=start,
        end_ns=end,
        message=message,
        findings=findings,
        findings_elsewhere=elsewhere,
        is_event=event,
    )


def run_all(records: Iterable[CallRecord], policy: Policy | None = None) -> list[RunEvent]:
    """What a run says that gets all its records at one moment and then ends."""
    run = Run("run", Engine(policy or Policy()), lateness=1)
    for one in records:
        assert run.on_record(one, 0) == []
    run.on_end("", 0)
    return run.on_time(1)


def observed(events: Iterable[RunEvent]) -> list[Observed]:
    """The observations among some events."""
    return [event for event in events if isinstance(event, Observed)]


def found(events: Iterable[RunEvent]) -> list[Found]:
    """The findings among some events."""
    return [event for event in events if isinstance(event, Found)]


def doubts(events: Iterable[RunEvent]) -> list[str]:
    """The kinds of the integrity findings among some events that turn enforcement off."""
    return [event.kind for event in events if isinstance(event, Integrity) and event.level == "error"]
