"""One run: what it says, when, and of which calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.decision import finding_id
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.replay.call_record import CallRecordReader
from otel_loopguard.stream.events import Integrity, Nudged, RunEnd, RunEvent
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.run import MAX_LINES, Run
from tests.support.call_records import TRACE, doubts, found, observed, record, run_all

A, B, C, D, E = (f"00000000000000a{digit}" for digit in range(1, 6))
LATENESS = 30


def loop(times: int, **fields: Any) -> list[CallRecord]:  # noqa: ANN401
    """The same call in so many turns."""
    return [record(number=n, turn=n, call_id=f"c{n}", **fields) for n in range(1, times + 1)]


# Judging ----------------------------------------------------------------------------------------------------------


def test_a_loop_is_told_with_the_numbers_and_ids_of_its_calls() -> None:
    """The third and the fifth equal call: number, first number and an id that anyone can compute."""
    events = run_all(loop(5))
    assert [(one.finding.kind, one.finding.action, one.number, one.first_number) for one in found(events)] == [
        ("identical", "nudge", 3, 1),
        ("identical", "stop", 5, 1),
    ]
    assert found(events)[1].id == finding_id("run", "", "identical", "stop", "/c5/5")
    assert [one.repeat for one in observed(events)] == [1, 2, 3, 4, 5]
    assert [event for event in events if isinstance(event, RunEnd)] == [
        RunEnd("run", "", 5, 5, progressed=False, wasted_calls=2)
    ]


@pytest.mark.parametrize(
    ("case", "processes", "told"),
    [
        ("one process, five decisions", [("p", 1), ("p", 2), ("p", 3), ("p", 4), ("p", 5)], ["nudge", "stop"]),
        ("three processes, two decisions each", [(p, n) for n in (1, 2) for p in "pqr"], ["nudge", "stop"]),
        ("one decision of one process", [("p", 1)] * 5, []),
        ("one decision of each of two processes", [("p", 1)] * 3 + [("q", 1)] * 3, []),
    ],
)
def test_processes_count_their_own_decisions(case: str, processes: list[tuple[str, int]], told: list[str]) -> None:
    """The first decision of one process is not the first of another; equal calls of one decision are no loop."""
    del case
    ended: dict[str, int] = {}
    calls = []
    for at, (process, turn) in enumerate(processes, 1):
        ended[process] = ended.get(process, 0) + 1
        calls.append(record(span=f"{at:016x}", number=ended[process], process=process, turn=turn, start=at))
    events = [one.finding for one in found(run_all(calls)) if one.finding.kind == "identical"]
    assert [finding.action for finding in events] == told


def test_the_id_names_the_earliest_span_of_the_judged_call() -> None:
    """Where the judged call has spans, its id is made of trace and span id of the one that started first."""
    calls = [record(span=span, start=n, turn=n) for n, span in enumerate((A, B, C), 1)]
    inner = record(span=D, inside=C, start=9)
    (one,) = found(run_all([inner, *calls]))
    assert one.id == finding_id("run", "", "identical", "nudge", f"{TRACE}/{C}")
    assert (one.trace_id, one.span_id) == (TRACE, C)


@pytest.mark.parametrize(
    ("case", "records", "numbers"),
    [
        ("the numbers of call records", [record(number=n, arguments=str(n)) for n in (0, 10, 20)], [0, 10, 20]),
        (
            "the numbers of one process",
            [record(span=s, number=n, process="p", arguments=s, start=n) for n, s in ((1, A), (2, B))],
            [1, 2],
        ),
        ("places, where nobody numbers", [record(start=n, arguments=str(n)) for n in (5, 6)], [1, 2]),
        (
            "places, where two processes number",
            [
                record(span=s, number=1, process=p, arguments=s, start=n)
                for n, (s, p) in enumerate(((A, "p"), (B, "q")))
            ],
            [1, 2],
        ),
        (
            "places, where one call has no number",
            [record(number=7, start=1), record(start=2, arguments="b")],
            [1, 2],
        ),
        ("the first of two numbers of one call", [record(number=n, turn=1, call_id="c") for n in (4, 3)], [3]),
    ],
)
def test_the_number_of_a_call(case: str, records: list[CallRecord], numbers: list[int]) -> None:
    """The record's own number where all come from one process or none, else the place in the run's order from 1."""
    del case
    assert [one.number for one in observed(run_all(records))] == numbers


def test_agents_and_scopes_have_histories_of_their_own() -> None:
    """Three agents that make one equal call each repeat nothing."""
    records = [record(number=n, turn=n, agent=agent) for n, agent in enumerate(("red", "green", "blue"), 1)]
    events = run_all(records)
    assert found(events) == []
    assert [(one.agent, one.repeat) for one in observed(events)] == [("red", 1), ("green", 1), ("blue", 1)]


def test_duplicates_merge_before_the_agent_is_settled() -> None:
    """Spans without an agent's name count for the agent that their other copies name."""
    records = []
    for turn, (outer, inner) in enumerate(((A, "00000000000000b1"), (B, "00000000000000b2"), (C, "00000000000000b3"))):
        records.append(record(span=outer, start=turn * 10, turn=f"t{turn}", call_id=f"c{turn}"))
        records.append(record(span=inner, inside=outer, start=turn * 10 + 1, agent="scout"))
    events = run_all(records)
    assert [(one.agent, one.copies) for one in observed(events)] == [("scout", 2)] * 3
    assert [one.agent for one in found(events)] == ["scout"]


def test_a_user_message_to_nobody_in_particular_starts_all_agents_anew() -> None:
    """A message that a call of no named agent reports resets every agent; one to an agent resets that one."""
    red = [record(number=n, turn=n, agent="red") for n in (1, 2)]
    told = record("draft", number=3, turn=3, user_message=True)
    again = record(number=4, turn=4, agent="red")
    assert found(run_all([*red, told, again])) == []
    elsewhere = record("draft", number=3, turn=3, agent="green", user_message=True)
    assert [one.number for one in found(run_all([*red, elsewhere, again]))] == [4]


def test_a_user_message_starts_no_other_scope_anew() -> None:
    """A call record tells the scope of its message: agents of that scope begin anew, those of others go on."""
    for scope, numbers in (("one", []), ("two", [4])):
        red = [record(number=n, turn=n, agent="red", scope="one") for n in (1, 2)]
        told = record("draft", number=3, turn=3, scope=scope, user_message=True)
        again = record(number=4, turn=4, agent="red", scope="one")
        assert [one.number for one in found(run_all([*red, told, again]))] == numbers


def test_a_new_message_token_is_a_user_message() -> None:
    """Where a run goes on over user messages, calls that work on another one begin anew; the first call does too."""
    records = [record(number=n, turn=n, message="first") for n in (1, 2)]
    records += [record(number=n, turn=n, message="second") for n in (3, 4)]
    assert found(run_all(records)) == []
    assert [one.number for one in found(run_all([*records, record(number=5, turn=5, message="second")]))] == [5]
    unknown = [record(number=n, turn=n, message="first" if n == 1 else "") for n in (1, 2, 3)]
    assert [one.number for one in found(run_all(unknown))] == [3]


def test_a_message_that_a_span_tells_of_is_one_to_all_agents() -> None:
    """A mark on a span, or a new message that the run works on, does not say to whom: every agent begins anew."""
    for to_all in ({"process": "p", "user_message": True}, {"message": "second"}):
        red = [record(number=n, turn=n, agent="red", process="p", message="first") for n in (1, 2)]
        told = record("draft", number=1, turn=3, agent="green", **{"process": "p", **to_all})
        again = record(number=3, turn=4, agent="red", process="p", message=str(to_all.get("message", "first")))
        assert found(run_all([*red, told, again])) == []


def test_a_run_has_no_end_of_agents() -> None:
    """Of too many histories the least recently active one is closed and forgotten, and counted."""
    run = Run("run", Engine(Policy()), 1)
    names = [f"agent {number}" for number in range(MAX_LINES + 1)]
    for number, agent in enumerate([*names, names[0], names[-1]], 1):
        run.on_record(record(number=number, turn=number, agent=agent), 0)
    assert [one.repeat for one in observed(run.on_time(1))] == [1] * (MAX_LINES + 2) + [2]
    assert run.dropped == 2


def test_the_numbers_of_too_many_processes_raise_no_false_doubt() -> None:
    """A process that was forgotten may go on with any number."""
    records = [
        record(span=f"{number:016x}", number=1, process=f"p{number}", arguments=str(number), start=number)
        for number in range(1, 100)
    ]
    records.append(record(span=A, number=2, process="p1", start=100))
    records.append(record(span=B, number=4, process="p99", start=101, arguments="b"))
    assert doubts(run_all(records[:-1])) == []
    assert doubts(run_all(records)) == ["gap"]


# Doubts -----------------------------------------------------------------------------------------------------------

DOUBTS = [
    ("numbers of call records may jump", [record(number=n, arguments=str(n)) for n in (10, 20, 30)], []),
    (
        "a process's numbers may not",
        [record(span=s, number=n, process="p", start=n) for n, s in ((1, A), (3, B))],
        ["gap"],
    ),
    ("nor may the first be missing", [record(span=A, number=2, process="p")], ["gap"]),
    (
        "agents of a process are numbered apart",
        [record(span=s, number=1, process="p", agent=a) for s, a in ((A, "x"), (B, "y"))],
        [],
    ),
    (
        "a number that a log event carries is no gap",
        [
            record(span=A, number=1, process="p", start=1),
            record(number=2, process="p", event=True, result=None, arguments=None),
            record(span=B, number=3, process="p", start=3),
        ],
        [],
    ),
    (
        "a merged copy's number is no gap",
        [
            record(span=A, number=1, process="p", start=1, call_id="c", turn=1),
            record(span=B, number=2, process="p", start=2, call_id="c", turn=1),
            record(span=C, number=3, process="p", start=3),
        ],
        [],
    ),
    ("a line without a number among numbered ones", [record(number=1), record(arguments="b")], ["unnumbered"]),
    ("lines without any", [record(start=1), record(start=2)], []),
    (
        "spans that nobody numbers beside a process that does",
        [record(span=A, number=1, process="p", start=1), record(span=B, start=2)],
        [],
    ),
    (
        "a clock that runs backwards within a process",
        [record(number=n, arguments=str(n), start=t, end=t + 1) for n, t in ((1, 100), (2, 50), (3, 200))],
        ["clock"],
    ),
    (
        "calls that overlap do not",
        [record(number=n, arguments=str(n), start=100 + n, end=200 - n) for n in (1, 2, 3)],
        [],
    ),
    ("an end before its start", [record(number=1, start=9, end=5)], ["clock"]),
    (
        "starts alone are compared too",
        [record(number=n, arguments=str(n), start=t) for n, t in ((1, 9), (2, 5))],
        ["clock"],
    ),
    (
        "two processes may have two clocks",
        [
            record(span=s, number=1, process=p, start=t, end=t + 1, arguments=s)
            for s, p, t in ((A, "p", 100), (B, "q", 5))
        ],
        [],
    ),
    (
        "a call id used again in another turn is a remark",
        [record(number=n, turn=n, call_id="0", arguments=str(n)) for n in (1, 2)],
        [],
    ),
    ("a conflict is told once", [record(number=1, arguments=a) for a in "abc"], ["conflict"]),
]


@pytest.mark.parametrize(("case", "records", "kinds"), DOUBTS, ids=[case for case, *_ in DOUBTS])
def test_doubts(case: str, records: list[CallRecord], kinds: list[str]) -> None:
    """What turns enforcement off for the run is told once for each kind, and nothing else is."""
    del case
    assert doubts(run_all(records)) == kinds
    assert doubts(run_all(reversed(records))) == kinds


def test_a_reused_call_id_is_information() -> None:
    """It is told, once, and turns nothing off."""
    events = run_all([record(number=n, turn=n, call_id="0", arguments=str(n)) for n in (1, 2, 3)])
    assert [(one.kind, one.level) for one in events if isinstance(one, Integrity)] == [("call_id", "info")]


# What others have reported ----------------------------------------------------------------------------------------


def test_a_finding_that_a_copy_carries_is_marked_as_reported() -> None:
    """The finding stands, so that it can be judged; whoever sends findings on leaves it out."""
    records = loop(3, process="p")
    carried = [*records[:2], record(number=3, turn=3, call_id="c3", process="p", findings=(("identical", "nudge"),))]
    assert [one.reported for one in found(run_all(records))] == [False]
    assert [one.reported for one in found(run_all(carried))] == [True]


@pytest.mark.parametrize("way", ["by a later call", "by a log event"])
def test_a_finding_about_another_call_is_known_by_its_number(way: str) -> None:
    """What a process found at a later call's end, or told in a log event alone, is not reported again."""
    records = loop(4, process="p")
    if way == "by a later call":
        records[3] = record(number=4, turn=4, call_id="c4", process="p", elsewhere=(("identical", "nudge", 3),))
    else:
        event = record("look", None, None, number=3, process="p", event=True, findings=(("identical", "nudge"),))
        records.append(event)
    assert [(one.number, one.reported) for one in found(run_all(records))] == [(3, True)]


def test_a_refused_call_that_left_only_an_event_is_a_call() -> None:
    """An event with the fingerprint of a call that was not executed stands for it; any other stands for none."""
    refused = record(number=3, turn=3, process="p", event=True, ours=True, findings=(("identical", "stop"),))
    events = run_all([*loop(2, process="p"), refused])
    assert [(one.number, one.outcome) for one in observed(events)] == [(1, "ok"), (2, "ok"), (3, "ours")]
    remark = record("look", None, None, number=3, process="p", event=True)
    assert [one.number for one in observed(run_all([*loop(2, process="p"), remark]))] == [1, 2]


# Waiting ----------------------------------------------------------------------------------------------------------


def test_a_call_waits_for_the_lateness_and_says_when_to_come_back() -> None:
    """Nothing is said before the lateness has passed since the first record; `due` says when that is."""
    run = Run("run", Engine(Policy()), LATENESS)
    assert run.due() is None
    assert run.on_record(record(number=1), 100) == []
    assert run.due() == 130
    assert run.on_time(129) == []
    assert [one.number for one in observed(run.on_time(130))] == [1]
    assert run.due() is None


def test_what_stands_before_a_call_is_judged_with_it() -> None:
    """A call that came later and stands earlier does not wait longer than the one after it."""
    run = Run("run", Engine(Policy()), LATENESS)
    run.on_record(record(number=2, arguments="b"), 100)
    run.on_record(record(number=1, arguments="a"), 120)
    run.on_record(record(number=3, arguments="c"), 125)
    assert [one.number for one in observed(run.on_time(130))] == [1, 2]
    assert run.due() == 155


@pytest.mark.parametrize(
    ("case", "late", "doubt"),
    [
        ("a copy", record(span=A, start=1, end=2, number=1, process="p", call_id="c", turn=1), []),
        ("its unfinished copy", record(span=A, start=1, result=None), []),
        ("a layer inside", record(span=B, inside=A, start=1), []),
        ("a sibling under its id", record(span=B, process="p", call_id="c", turn=1), []),
        ("another span under its number", record(span=B, number=1, process="p"), []),
        ("its span with other arguments", record(span=A, arguments="b"), ["conflict"]),
        (
            "its id in its turn with other arguments",
            record(process="p", call_id="c", turn=1, arguments="b"),
            ["conflict"],
        ),
        ("its number with other arguments", record(number=1, process="p", arguments="b"), ["conflict"]),
    ],
)
def test_what_comes_after_its_call_was_judged(case: str, late: CallRecord, doubt: list[str]) -> None:
    """A late copy is dropped; a late contradiction is told."""
    del case
    run = Run("run", Engine(Policy()), LATENESS)
    run.on_record(record(span=A, start=1, end=2, number=1, process="p", call_id="c", turn=1), 0)
    assert len(observed(run.on_time(LATENESS))) == 1
    events = run.on_record(late, 50)
    assert doubts(events) == doubt
    assert len(observed(run.on_time(200))) == len(doubt)


def test_the_end_comes_after_the_last_records_and_the_run_may_go_on() -> None:
    """The end waits for the lateness, closes the last turn with the recorded reason, and the count goes on after it."""
    run = Run("run", Engine(Policy()), LATENESS)
    for one in loop(2):
        run.on_record(one, 0)
    run.on_end("turn_limit", 10)
    run.on_end("", 12)
    assert run.due() == 30
    assert len(observed(run.on_time(30))) == 2
    assert run.due() == 42
    assert run.on_time(42) == [RunEnd("run", "turn_limit", 2, 2, progressed=True, wasted_calls=0)]
    assert run.due() is None
    run.on_record(record(number=3, turn=3, call_id="c3"), 500)
    assert [one.number for one in found(run.on_time(530))] == [3]


def test_a_nudged_episode_is_followed() -> None:
    """How a nudged episode went on is told with the number of the call that decided it."""
    events = run_all([*loop(3), record("fix", "b", "done", number=4, turn=4)])
    assert [(one.outcome.kind, one.outcome.result, one.number) for one in events if isinstance(one, Nudged)] == [
        ("identical", "recovered", 4)
    ]


# The same calls, delivered in any way ------------------------------------------------------------------------------

_CASES = [
    case
    for file in sorted((Path(__file__).parent.parent / "vectors" / "behaviour").glob("*.json"))
    for case in json.loads(file.read_text())
    if "error" not in case["expect"]
]
_KEYS = Keyring(SecretKey(bytes(range(32))))


def _records(case: dict[str, Any], policy: Policy) -> dict[str, list[CallRecord]]:
    reader = CallRecordReader(policy, _KEYS)
    runs: dict[str, list[CallRecord]] = {}
    for call in case["calls"]:
        one = reader.read(json.dumps(call).encode())
        runs.setdefault(one.run_id, []).append(one)
    return runs


def _ids(events: list[RunEvent]) -> set[str]:
    return {one.id for one in found(events)}


def _delivered(run: Run, deliveries: list[tuple[int, CallRecord]], wakes: set[int]) -> list[RunEvent]:
    events: list[RunEvent] = []
    end = max(arrival for arrival, _ in deliveries)
    for now in range(end + LATENESS + 1):
        for arrival, one in deliveries:
            if arrival == now:
                events += run.on_record(one, now)
        if now in wakes:
            events += run.on_time(now)
        if now == end:
            run.on_end("", now)
    return events + run.on_time(end + 2 * LATENESS)


@given(st.data())
def test_the_same_calls_in_any_order_batching_and_duplication_give_the_same_findings(data: st.DataObject) -> None:
    """Every record within the lateness of its place in the run's order, some twice, the host waking when it likes."""
    case = data.draw(st.sampled_from(_CASES))
    policy = parse_policy(json.dumps(case["policy"])) if "policy" in case else Policy()
    for run_id, records in _records(case, policy).items():
        at_once = Run(run_id, Engine(policy), 1)
        for one in records:
            at_once.on_record(one, 0)
        at_once.on_end("", 0)
        wanted = at_once.on_time(1)

        order = {one.call_id: index for index, one in enumerate(observed(wanted))}
        jitter = st.integers(0, LATENESS - 1)
        deliveries = [
            (order.get(one.call.call_id, 0) * 9 + data.draw(jitter), one)
            for one in records
            for _ in range(data.draw(st.integers(1, 2)))
        ]
        deliveries = data.draw(st.permutations(deliveries))
        wakes = data.draw(st.sets(st.integers(0, 9 * len(records) + 2 * LATENESS), max_size=20))
        events = _delivered(Run(run_id, Engine(policy), LATENESS), deliveries, wakes)

        assert _ids(events) == _ids(wanted)
        assert len(observed(events)) == len(observed(wanted))
