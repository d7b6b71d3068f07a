"""Our own marks: laid over what the instrumentation wrote, or alone."""

from __future__ import annotations

import pytest

from otel_loopguard.conventions import Event, Marks, Record, read, role

ANNOTATED = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.arguments": "[REDACTED]",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.agent.name": "a",
    "gen_ai.conversation.id": "s",
    "loopguard.fingerprint": "f" * 32,
    "loopguard.key.id": "k1",
    "loopguard.run.id": "r",
    "loopguard.sequence": 4,
    "loopguard.repeat.count": 3,
    "loopguard.result.fingerprint": "e" * 32,
    "loopguard.outcome": "error",
    "loopguard.verdict": "nudge",
    "loopguard.process.id": "p",
    "loopguard.turn": 2,
    "loopguard.finding.kind": "identical",
    "loopguard.error.fingerprint": "d" * 32,
    "loopguard.error.shape": "c" * 32,
    "loopguard.group.fingerprint": "b" * 32,
    "loopguard.items.unseen": 0,
    "loopguard.user.message": True,
    "loopguard.handoff.agent": "h",
    "loopguard.state.fingerprint": "a" * 32,
    "error.type": "timeout",
}
MARKS = Marks(
    key_id="k1",
    fingerprint="f" * 32,
    result_fingerprint="e" * 32,
    group_fingerprint="b" * 32,
    error_fingerprint="d" * 32,
    error_shape="c" * 32,
    state_fingerprint="a" * 32,
    outcome="error",
    verdict="nudge",
    sequence=4,
    process_id="p",
    items_unseen=0,
    findings=(("identical", "nudge"),),
)


def test_overlay() -> None:
    """The family reads the call, the marks replace what they know: run, turn, hand-off, user message."""
    call = read(Record("span", "execute_tool search", ANNOTATED))
    assert call is not None
    assert call.marks == MARKS
    assert (call.family, call.tool, call.call_id, call.agent) == ("gen_ai", "search", "c1", "a")
    assert (call.run_id, call.conversation_id, call.turn) == ("r", "s", 2)
    assert (call.handoff_to, call.user_message, call.is_error, call.error_type) == ("h", True, True, "timeout")


@pytest.mark.parametrize("sequence", [-(2**63), 2**63 - 1, 2**62, 2**64, True, "4", 4.0])
def test_a_number_that_nobody_counts_to_is_none(sequence: object) -> None:
    """What no process has counted to could not be kept either."""
    call = read(Record("span", "execute_tool search", ANNOTATED | {"loopguard.sequence": sequence}))
    assert call is not None
    assert call.marks is not None
    assert call.marks.sequence is None


def test_marks_alone() -> None:
    """A span whose other markers a filter took away is still the call that our processor saw."""
    kept = ("gen_ai.tool.name", "gen_ai.agent.name", "error.type")
    attributes = {key: value for key, value in ANNOTATED.items() if key.startswith("loopguard.") or key in kept}
    call = read(Record("span", "execute_tool search", attributes))
    assert call is not None
    assert call.marks == MARKS
    assert (call.family, call.tool, call.agent, call.is_error) == ("loopguard", "search", "a", True)


def test_no_marks() -> None:
    """A call that we did not annotate has none."""
    call = read(Record("span", "t", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}))
    assert call is not None
    assert call.marks is None


def test_run_id_by_hand() -> None:
    """A run id that a user put on a tool span is no annotation of ours, but it is the run."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "loopguard.run.id": "r"}
    call = read(Record("span", "t", attributes))
    assert call is not None
    assert (call.run_id, call.marks) == ("r", None)


@pytest.mark.parametrize("name", ["GET /", "invoke_agent a"])
def test_run_id_on_another_span(name: str) -> None:
    """Any span may name the run of the calls below it, and is no call by that."""
    record = Record("span", name, {"loopguard.run.id": "r"})
    assert read(record) is None
    found = role(record)
    assert found is not None
    assert (found.kind, found.run_id) == ("step", "r")


def test_findings_of_events() -> None:
    """A span's finding events judge its own call where they name its number, another one where they name another."""
    finding = {"loopguard.finding.kind": "cycle", "loopguard.finding.action": "stop", "loopguard.finding.sequence": 4}
    other = {**finding, "loopguard.finding.kind": "drift", "loopguard.finding.sequence": 3}
    call = read(
        Record(
            "span",
            "t",
            ANNOTATED | {"loopguard.finding.kind": "cycle", "loopguard.verdict": "stop"},
            events=[
                Event("loopguard.finding", finding),
                Event("loopguard.finding", other),
                Event("loopguard.finding", {"loopguard.finding.kind": "poll", "loopguard.finding.action": "nudge"}),
                Event("exception", {"loopguard.finding.kind": "write", "loopguard.finding.action": "stop"}),
            ],
        )
    )
    assert call is not None
    assert call.marks is not None
    assert call.marks.findings == (("cycle", "stop"), ("poll", "nudge"))
    assert call.marks.findings_elsewhere == (("drift", "stop", 3),)


@pytest.mark.parametrize(
    ("events", "findings"),
    [
        ([], (("no_progress", "stop"),)),
        (
            [{"loopguard.finding.kind": "no_progress", "loopguard.finding.action": "nudge"}],
            (("no_progress", "nudge"),),
        ),
    ],
    ids=["events filtered away", "events there"],
)
def test_kind_and_verdict_stand_in_for_events(
    events: list[dict[str, str]], findings: tuple[tuple[str, str], ...]
) -> None:
    """A new nudge on a call that is refused already is no stop of that kind: only lost events are guessed."""
    marked = ANNOTATED | {"loopguard.finding.kind": "no_progress", "loopguard.verdict": "stop"}
    call = read(Record("span", "t", marked, events=[Event("loopguard.finding", one) for one in events]))
    assert call is not None
    assert call.marks is not None
    assert call.marks.findings == findings


@pytest.mark.parametrize("name", ["loopguard.finding", ""])
def test_loop_event(name: str) -> None:
    """The loop event of a call names the call; it says nothing of arguments or result, which are not absent for it."""
    call = read(
        Record(
            "log",
            name,
            {
                "event.name": "loopguard.finding",
                "gen_ai.tool.name": "search",
                "gen_ai.agent.name": "a",
                "loopguard.run.id": "r",
                "loopguard.process.id": "p",
                "loopguard.finding.kind": "identical",
                "loopguard.finding.action": "stop",
                "loopguard.finding.sequence": 5,
            },
        )
    )
    assert call is not None
    assert (call.family, call.tool, call.agent, call.run_id) == ("loopguard", "search", "a", "r")
    assert call.marks == Marks(sequence=5, process_id="p", findings=(("identical", "stop"),), is_event=True)


@pytest.mark.parametrize("name", ["loopguard.run.end", "loopguard.nudge.outcome", "loopguard.integrity", "other"])
def test_other_events(name: str) -> None:
    """Our other log events tell of runs and episodes, not of a call."""
    assert read(Record("log", name, {"loopguard.run.id": "r", "loopguard.sequence": 1})) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("loopguard.sequence", "4"),
        ("loopguard.sequence", True),
        ("loopguard.turn", 1.5),
        ("loopguard.fingerprint", ["f"]),
        ("loopguard.items.unseen", "many"),
        ("loopguard.user.message", "true"),
    ],
)
def test_values_of_another_type(key: str, value: object) -> None:
    """What has not the type that we write is not ours."""
    call = read(Record("span", "t", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", key: value}))
    assert call is not None
    assert (call.marks, call.turn, call.user_message) == (None, None, False)
