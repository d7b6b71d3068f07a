"""The guard itself: what it answers, what it says in telemetry and in which order, and that a call is counted once."""

from __future__ import annotations

import asyncio
import copy
from typing import Any
from uuid import UUID

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.config import Content, Settings
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import LoopDetected, SettingError
from otel_loopguard.guards import Allow, Guard, Nudge, Refuse, Words
from otel_loopguard.live import LOGS_SUPPORTED
from tests.guards.script import POLICY, guard_for, process_for
from tests.support.process import Fixed, Process

needs_logs = pytest.mark.skipif(not LOGS_SUPPORTED, reason="the installed API sends no events")

SECRET = "4111-1111-1111-1111"


def call(guard: Guard, tool: str, arguments: object, result: object = "nothing", **more: str) -> Allow | Nudge | Refuse:
    """One call as an adapter makes it: the decision, or what goes with the result."""
    decision = guard.before(tool, arguments, **more)
    return guard.after(decision.call, result) if isinstance(decision, Allow) else decision


def kinds(answers: list[Allow | Nudge | Refuse]) -> list[str]:
    """What the answers are."""
    return [type(answer).__name__ for answer in answers]


# Decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("observe", ["Allow"] * 6),
        ("nudge", ["Allow", "Allow", "Nudge", "Allow", "Nudge", "Nudge"]),
        ("enforce", ["Allow", "Allow", "Nudge", "Allow", "Refuse", "Refuse"]),
    ],
)
def test_modes(mode: str, expected: list[str]) -> None:
    """Nothing, words, or words and refusals; in mode `nudge` the sixth word is that the run stands still."""
    guard = guard_for(process_for(), mode=mode)
    with otel_loopguard.run("r1"):
        assert kinds([call(guard, "ask", {"q": "x"}) for _ in range(6)]) == expected


def test_mode_of_each_tool() -> None:
    """Without a mode of its own the guard takes each tool's from the policy."""
    policy = parse_policy(
        "version: 1\nmode: observe\ntools: {search: {kind: read, mode: enforce}, look: {kind: read}}\n"
    )
    guard = Guard(live=Process(sources=Fixed(policy)).live, settings=Settings())
    with otel_loopguard.run("r1"):
        assert kinds([call(guard, "search", {}) for _ in range(3)]) == ["Allow", "Nudge", "Refuse"]
        assert kinds([call(guard, "look", {}) for _ in range(3)]) == ["Allow"] * 3


def test_environment_wins_over_code() -> None:
    """`LOOPGUARD_MODE=observe` switches a guard off that enforces in code."""
    guard = guard_for(process_for(), settings=Settings(mode="observe"))
    with otel_loopguard.run("r1"):
        assert kinds([call(guard, "search", {}) for _ in range(4)]) == ["Allow"] * 4


@pytest.mark.parametrize("option", [{"mode": "stop"}, {"refusals": -1}])
def test_wrong_options_are_refused(option: dict[str, Any]) -> None:
    """A setting that cannot be used is an error when the guard is made, not later."""
    with pytest.raises(SettingError, match=next(iter(option))):
        Guard(settings=Settings(), **option)


@pytest.mark.parametrize(
    "error", [TimeoutError, ConnectionError, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit]
)
def test_unknown_outcome_of_a_write_is_escalated(error: type[BaseException]) -> None:
    """A write that may have taken effect is not tried again: the agent is stopped at once, for a person to look."""
    guard = guard_for(process_for(), refusals=5)
    with otel_loopguard.run("r1"):
        first = guard.before("refund", {"order": "A1"})
        guard.failed(first.call, error("no answer"))
        again = guard.before("refund", {"order": "A1"})
    assert isinstance(again, Refuse)
    assert again.stop is not None
    assert (again.stop.kind, again.stop.tool) == ("indeterminate", "refund")
    assert "took effect" in again.text


def test_words_of_a_call_that_raised_wait() -> None:
    """An exception passes unchanged, and what it earned is told with the agent's next result."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        for place in range(3):
            failed = guard.before("fetch", {"page": place})
            guard.failed(failed.call, ValueError("the gateway says no"))
        answer = call(guard, "search", {"q": "x"}, "2 hits")
    assert isinstance(answer, Nudge)
    assert "`fetch` failed 3 times with the same error" in answer.text


def refusal(guard: Guard, tool: str, results: list[tuple[object, bool]], **arguments: object) -> str:
    """What the model hears when a call is refused at last, each time with the next of these results."""
    with otel_loopguard.run("r1"):
        for place, (result, has_failed) in enumerate(results):
            decision = guard.before(tool, {"q": "x", **dict.fromkeys(arguments, place)}, turn=f"t{place}")
            if isinstance(decision, Refuse):
                return decision.text
            if isinstance(decision, Allow):
                guard.after(decision.call, result, is_error=has_failed)
    return ""


@pytest.mark.parametrize(
    ("tool", "result", "quoted"),
    [
        ("ask", "the answer is 42", "\nThe earlier result: the answer is 42\n"),
        ("ask", {"total": 3, "left": []}, '\nThe earlier result: {"total":3,"left":[]}\n'),
        ("ask", "y" * 700, "\nThe earlier result: " + "y" * 596 + " ...\n"),
        ("search", "2 hits", "\nThe earlier result: 2 hits\n"),
        ("now", "price 5", None),
        ("refund", "refunded", None),
    ],
    ids=["text", "object", "long", "read", "fast", "write"],
)
def test_a_refusal_says_what_came_back(tool: str, result: object, quoted: str | None) -> None:
    """Of any call but writes and reads that move fast: the model has seen its own result."""
    guard = guard_for(process_for(POLICY + "  now: {kind: read, result: {cache: false}}\n"))
    said = refusal(guard, tool, [(result, False)] * 6)
    assert "Not run" in said
    assert (quoted in said) if quoted else ("The earlier result" not in said)
    silent = guard_for(process_for(), words=Words(max_earlier=0))
    assert "The earlier result" not in refusal(silent, tool, [(result, False)] * 6)


def test_a_refusal_for_one_error_says_which() -> None:
    """What came back is the tool's last failure, whatever the arguments; a text that the model never got is not."""
    failures: list[tuple[object, bool]] = [("no such index", True)] * 9
    assert "\nThe earlier result: no such index\n" in refusal(guard_for(process_for()), "fetch", failures, page=0)
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        for place in range(5):
            guard.failed(guard.before("fetch", {"page": place}).call, ValueError("a secret of the host"))
        refused = guard.before("fetch", {"page": 4})
    assert isinstance(refused, Refuse)
    assert "secret" not in refused.text


def test_what_came_back_is_another_conversations() -> None:
    """Neither another run nor the same one after a user's message is told."""
    guard = guard_for(process_for())
    refusal(guard, "ask", [("of r1", False)] * 6)
    with otel_loopguard.run("r2"):
        answers = [call(guard, "ask", {"q": "x"}, "of r2") for _ in range(5)]
        guard.user_message()
        assert isinstance(answers[4], Refuse)
        assert "of r2" in answers[4].text
        assert "of r1" not in answers[4].text


def test_fast_moving_reads_are_not_answered_from_memory() -> None:
    """With `cache: false` a repeated read is dispatched, and its word goes with the result."""
    policy = POLICY.replace("search: {kind: read}", "search: {kind: read, result: {cache: false}}")
    guard = guard_for(process_for(policy))
    with otel_loopguard.run("r1"):
        call(guard, "search", {"q": "x"}, "price 5")
        assert isinstance(guard.before("search", {"q": "x"}), Allow)


def test_stop_says_what_a_handover_needs() -> None:
    """`LoopDetected` tells tool, count, run, agent, finding and what was not tried, and no content."""
    process = process_for()
    guard = guard_for(process, refusals=0, tools=["search", "browse"])
    with otel_loopguard.run("r1", agent="triage"):
        answer = [call(guard, "search", {"card": SECRET}, f"owner of {SECRET}") for _ in range(3)][-1]
    assert isinstance(answer, Refuse)
    stop = answer.stop
    assert isinstance(stop, LoopDetected)
    assert (stop.tool, stop.kind, stop.count, stop.run_id, stop.agent) == ("search", "identical", 3, "r1", "triage")
    assert not stop.retryable
    assert "browse" in stop.summary
    assert SECRET not in str(stop) + repr(vars(stop))


def test_nothing_of_ours_reaches_the_host() -> None:
    """A guard whose inside is broken lets everything through and counts the error."""
    process = Process(
        sources=Fixed(parse_policy(POLICY)), edge=__import__("otel_loopguard.live", fromlist=["Edge"]).Edge
    )
    guard = guard_for(process)
    guard._live = object()  # type: ignore[assignment]
    answer = guard.before("search", {})
    assert isinstance(answer, Allow)
    assert isinstance(guard.after(answer.call, "x"), Allow)
    guard.user_message()
    guard.state({})
    guard.finish("final_answer")
    assert guard.report_blocked(["a"], ["tool: b"]).startswith("Recorded")
    assert process.live.counters.total(names.ERRORS) == 5


# Telemetry --------------------------------------------------------------------------------------------------------


@needs_logs
def test_checkpoints_in_order() -> None:
    """Finding, denial, last answer and the run's end are separate events, in this order and with one finding id."""
    process = process_for()
    guard = guard_for(process, refusals=0)
    with otel_loopguard.run("r1"):
        answer = [call(guard, "search", {"q": "x"}, call_id=f"c{place}") for place in range(3)][-1]
        assert isinstance(answer, Refuse)
        assert answer.stop is not None
        guard.ended(answer.stop)
    events = [(log.event_name, dict(log.attributes)) for log in process.logs]
    assert [name for name, _ in events] == [
        names.FINDING, names.FINDING, names.NUDGE, names.DENIED, names.STOPPED, names.RUN_END,
    ]  # fmt: skip
    stop = events[1][1]
    assert (stop[names.FINDING_ACTION], stop[names.OUTCOME], stop[names.VERDICT]) == ("stop", "ours", "stop")
    assert events[3][1][names.TOOL_CALL_ID] == "c2"
    assert {events[place][1][names.FINDING_ID] for place in (1, 3, 4)} == {answer.stop.finding_id}
    assert events[5][1][names.TERMINATION_REASON] == "loop_detected"
    times = [log.timestamp for log in process.logs]
    assert times == sorted(times)


@needs_logs
@pytest.mark.parametrize(
    ("rest", "outcome"),
    [
        ([("search", {"q": "y"}, "news")], "recovered"),
        ([("search", {"q": "x"}, "same")], "escalated"),
        ([], "open"),
    ],
)
def test_how_a_nudge_went_on(rest: list[tuple[str, Any, str]], outcome: str) -> None:
    """Something new recovers, the same again escalates, and nothing until the end leaves it open."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        for tool, arguments, result in [("search", {"q": "x"}, "same")] * 2 + rest:
            call(guard, tool, arguments, result)
        guard.finish("final_answer")
    assert [event[names.NUDGE_OUTCOME] for event in process.events(names.NUDGE)] == [outcome]


@needs_logs
def test_doubt_turns_refusals_off() -> None:
    """One call id with two contents in one decision: enforcement is off for that run, and an event says so."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        first = guard.before("note", {"text": "a"}, call_id="c1", turn="t1")
        second = guard.before("note", {"text": "b"}, call_id="c1", turn="t1")
        for held in (first, second):
            guard.after(held.call, "ok")
        assert kinds([call(guard, "search", {"q": "x"}) for _ in range(6)]) == ["Allow"] * 6
    with otel_loopguard.run("r2"):
        assert kinds([call(guard, "search", {"q": "x"}) for _ in range(3)]) == ["Allow", "Nudge", "Refuse"]
    (event,) = process.events(names.INTEGRITY)
    assert (event[names.RUN_ID], event[names.INTEGRITY_KIND], event[names.INTEGRITY_LEVEL]) == (
        "r1",
        "conflict",
        "error",
    )


@needs_logs
@pytest.mark.parametrize(("content", "words"), [("redact", None), ("keep", "permission: the vault")])
def test_blocked_reports_are_counted_by_kind(content: Content, words: str | None) -> None:
    """What a blocked agent needs is counted by its first word; its words leave only where content may."""
    process = process_for()
    guard = guard_for(process, settings=Settings(content=content))
    guard.report_blocked(["search"], ["permission: the vault", "a coffee"])
    assert process.metric(names.BLOCKED_REPORTS) == [
        (1, {names.BLOCKED_KIND: "permission"}),
        (1, {names.BLOCKED_KIND: "other"}),
    ]
    assert process.events(names.BLOCKED)[0].get(names.BLOCKED_NEEDED) == words


def test_reports_are_calls_that_change_nothing() -> None:
    """They count whatever they say, are no news that would excuse another call, and end as any repeated call does."""
    guard = guard_for(process_for())
    said = guard.report()
    with otel_loopguard.run("r1"):
        for place in range(2):
            call(guard, "ask", {"q": "x"}, turn=f"a{place}")
        reports = [call(guard, "report_blocked", {"needed": [f"tool: {n}"]}, said, turn=f"b{n}") for n in range(5)]
        asked = call(guard, "ask", {"q": "x"}, turn="a2")
    assert kinds(reports) == ["Allow", "Allow", "Nudge", "Allow", "Refuse"]
    assert isinstance(asked, Nudge)
    refused = reports[4]
    assert isinstance(refused, Refuse)
    assert "You have said 5 times that you are blocked" in refused.text
    assert "What remains: end your turn and tell the user" in refused.text


def test_no_content_in_telemetry() -> None:
    """Neither arguments nor results nor error texts are in any span, event or metric, or in what a guard prints."""
    process = process_for()
    guard = guard_for(process, refusals=0)
    with otel_loopguard.run("r1"):
        for _ in range(3):
            call(guard, "search", {"card": SECRET}, f"owner of {SECRET}")
        for place in range(4):
            held = guard.before("fetch", {"card": SECRET, "page": place})
            guard.failed(held.call, ValueError(f"no {SECRET}"))
        held = guard.before("note", {"card": SECRET})
        guard.finish("budget")
    said = [str(log.attributes) + str(log.body) for log in process.logs]
    counted = [str(process.metric(name.name)) for name in names.METRICS]
    assert SECRET not in "".join([*said, *counted, repr(held), repr(vars(guard))])


# One count with spans ---------------------------------------------------------------------------------------------


def arrange(process: Process, guard: Guard, order: str, place: int) -> None:
    """One guarded call with its tool span: around the guard, inside it, or beside it with the call's id."""
    if order == "span around":
        with process.tool("ask", {"q": "x"}, "nothing"):
            call(guard, "ask", {"q": "x"})
        return
    call_id = f"c{place}" if order == "by call id" else None
    decision = guard.before("ask", {"q": "x"}, call_id=call_id)
    if not isinstance(decision, Allow):
        return
    if order == "by context":
        with guard.inside(decision.call):
            process.call("ask", ..., ...)
    elif order == "by call id":
        process.call("ask", ..., ..., **{"gen_ai.tool.call.id": f"c{place}"})
    else:
        process.call("ask", {"q": "x"}, "nothing")
    guard.after(decision.call, "nothing")


@pytest.mark.parametrize("order", ["span around", "by context", "by call id", "by fingerprint"])
def test_a_guarded_call_with_a_span_counts_once(order: str) -> None:
    """Six decisions are six calls however their spans are told to be theirs, and the thresholds stay exact."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        for place in range(6):
            arrange(process, guard, order, place)
    assert process.live.counters.total(names.TOOL_CALLS) == 6
    assert process.live.counters.total(names.DENIALS) == 2
    spans = process.written(names.SEQUENCE)
    assert spans == ([1, 2, 3, 4, 5, 6] if order == "span around" else [1, 2, 3, 4])
    fingerprints = process.written(names.FINGERPRINT)
    assert len(set(fingerprints)) == 1
    assert None not in fingerprints


def test_other_calls_inside_a_guarded_one_are_others() -> None:
    """A tool that calls tools: theirs are calls of their own, even with one name and other arguments."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        outer = guard.before("ask", {"q": "whole"})
        with guard.inside(outer.call):
            process.call("ask", {"q": "part"}, "a")
            process.call("look", {}, "b")
        guard.after(outer.call, "done")
    assert process.live.counters.total(names.TOOL_CALLS) == 3


def test_guards_around_each_other_count_once() -> None:
    """A guarded function inside a guarded framework is asked once."""
    process = process_for()
    outer, inner = guard_for(process), guard_for(process)
    with otel_loopguard.run("r1"):
        for _ in range(2):
            first = outer.before("note", {"text": "x"})
            if isinstance(first, Allow):
                with outer.inside(first.call):
                    call(inner, "note", {"text": "x"}, "noted")
                outer.after(first.call, "noted")
    assert process.live.counters.total(names.TOOL_CALLS) == 2


# State ------------------------------------------------------------------------------------------------------------


@needs_logs
@pytest.mark.parametrize(
    ("states", "found"), [([{"left": 3}] * 9, ["no_progress"]), ([{"left": n} for n in range(9)], [])]
)
def test_state_alone_decides(states: list[Any], found: list[str]) -> None:
    """With the application's own state, new results are no progress while it stands still, and its moves are."""
    process = process_for()
    guard = guard_for(process, mode="observe")
    with otel_loopguard.run("r1"):
        for place, state in enumerate(states):
            call(guard, "note", {"text": f"n{place}"}, f"result {place}")
            guard.state(state)
    assert [event[names.FINDING_KIND] for event in process.events(names.FINDING)] == found


def test_unknown_reason_is_left_out() -> None:
    """A termination reason that is none of the words is not recorded."""
    process = process_for()
    guard = guard_for(process)
    with otel_loopguard.run("r1"):
        call(guard, "ask", {})
        guard.finish("tired")
    assert all(names.TERMINATION_REASON not in event for event in process.events(names.RUN_END))


# What hosts hand over ---------------------------------------------------------------------------------------------

REPEATED = ["Allow", "Allow", "Nudge", "Allow", "Refuse", "Refuse"]


@pytest.mark.parametrize(
    "tokens",
    [
        {"call_id": b"c"},
        {"call_id": ("c", 1)},
        {"conversation": 7},
        {"conversation": UUID(int=7)},
        {"agent": ("a", "b")},
        {"run": ("r", 1)},
        {"default_run": 7},
    ],
    ids=repr,
)
def test_ids_are_whatever_a_framework_has(tokens: dict[str, Any]) -> None:
    """What is no text is spelled out: the calls are watched as any others."""
    guard = guard_for(process_for(), mode="enforce")
    with otel_loopguard.run(None if {"run", "default_run"} & set(tokens) else "r1"):
        assert kinds([call(guard, "ask", {"q": "x"}, **tokens) for _ in range(6)]) == REPEATED


@pytest.mark.parametrize("kind", ["float", "uuid", "tuple", "list"])
def test_a_turn_is_any_token(kind: str) -> None:
    """Equal tokens are one decision, and others are others, whatever they are."""
    guard = guard_for(process_for(), mode="enforce")

    def token(number: int) -> Any:  # noqa: ANN401 - of any type
        return {"float": number + 0.5, "uuid": UUID(int=number), "tuple": (number, "t"), "list": [number]}[kind]

    with otel_loopguard.run("r1"):
        assert kinds([call(guard, "ask", {"q": "x"}, turn=token(number)) for number in range(6)]) == REPEATED


TOLD: list[dict[str, Any]] = [{"is_error": 1}, {"error_type": OSError}, {"error_message": OSError("gone")}]


@pytest.mark.parametrize("told", TOLD, ids=repr)
def test_how_a_call_failed_is_said_as_a_host_has_it(told: dict[str, Any]) -> None:
    """A write whose end was told is in flight no longer, in whatever words it was told."""
    process = process_for()
    guard = guard_for(process, mode="enforce")
    with otel_loopguard.run("r1"):
        for number in range(3):
            decision = guard.before("pay", {"to": number})
            assert isinstance(decision, Allow)
            guard.after(decision.call, "rejected", **{"is_error": True, **told})
    assert process.live.counters.total(names.ERRORS) == 0


def test_a_call_is_copied_as_itself() -> None:
    """Frameworks copy what they keep; a call is one event of its run."""
    decision = guard_for(process_for(), mode="observe").before("ask", {"q": "x"})
    assert copy.deepcopy(decision).call is copy.copy(decision).call is decision.call
