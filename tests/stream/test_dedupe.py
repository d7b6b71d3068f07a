"""Which records are one call, whatever their order, and what is a contradiction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from otel_loopguard.stream.dedupe import merge
from otel_loopguard.stream.held import Held, Merged
from otel_loopguard.stream.record import CallRecord
from tests.support.call_records import TRACE, fingerprint, record

ONE = "00000000000000a1"
TWO = "00000000000000a2"
THREE = "00000000000000a3"


def merged(records: Sequence[CallRecord]) -> tuple[list[Merged], list[str]]:
    """The calls, and the kinds of the doubts."""
    calls, questions = merge([Held(one, 0, index) for index, one in enumerate(records)])
    return calls, sorted({question.kind for question in questions})


def in_any_order(records: Sequence[CallRecord], calls: int, doubts: list[str]) -> list[CallRecord]:
    """Every order of arrival gives that many calls, the same ones, and these doubts; returns the calls."""
    first, _ = merged(records)
    wanted = [call.record for call in first]
    for order in permutations(records):
        found, kinds = merged(order)
        assert ([call.record for call in found], kinds) == (wanted, doubts)
    assert len(wanted) == calls
    return wanted


COPIES = [
    ("one span twice", [record(span=ONE), record(span=ONE)]),
    ("one span three times", [record(span=ONE, start=1, end=2)] * 3),
    (
        "framework, client and server under one call id",
        [
            record(span=ONE, call_id="c", turn=1, start=1),
            record(span=TWO, inside=ONE, call_id="c", turn=1, start=2),
            record(span=THREE, inside=TWO, call_id="c", turn=1, start=3),
        ],
    ),
    (
        "nested, the inner layers without call id and arguments",
        [
            record(span=ONE, call_id="c", start=1, end=9),
            record("look", None, None, span=TWO, inside=ONE, start=2, end=8),
            record("look", None, None, span=THREE, inside=TWO, start=3, end=7),
        ],
    ),
    (
        "nested, no call id anywhere, equal arguments",
        [record(span=ONE, start=1), record(span=TWO, inside=ONE, start=2)],
    ),
    (
        "nested under one call id, where the layer without arguments names the tool in its own way",
        [
            record("search", span=ONE, call_id="c", start=1),
            record("plugin-search", None, span=TWO, inside=ONE, call_id="c", start=2),
        ],
    ),
    (
        "siblings of one turn under one call id",
        [record(span=ONE, inside=THREE, call_id="c", turn="t"), record(span=TWO, inside=THREE, call_id="c", turn="t")],
    ),
    (
        "two numbers, but one call id in one turn",
        [record(number=1, call_id="c", turn=1), record(number=2, call_id="c", turn=1)],
    ),
    ("one number of one process", [record(span=ONE, number=4, process="p"), record(span=TWO, number=4, process="p")]),
    (
        "one number of one process, which merged two names and ids",
        [
            record("search", span=ONE, number=4, process="p", call_id="c1"),
            record(span=TWO, number=4, process="p").changed(
                call=record("search", call_id="c2").call.changed(tool="search_tool")
            ),
        ],
    ),
    ("one number of a run of call records", [record(number=4, call_id="c"), record(number=4, call_id="c")]),
    ("a transcript's lines without any number", [record(call_id="c", start=5), record(call_id="c", start=5)]),
    ("the same without call ids", [record(start=5, end=6), record(start=5, end=6)]),
    (
        "unfinished and finished, no span",
        [record(call_id="c", start=5, result=None), record(call_id="c", start=5, end=6)],
    ),
]


@pytest.mark.parametrize(("case", "records"), COPIES, ids=[case for case, _ in COPIES])
def test_copies_are_one_call(case: str, records: list[CallRecord]) -> None:
    """Copies and layers of a call are one call and no doubt, in any order."""
    del case
    in_any_order(records, 1, [])


APART = [
    (
        "five questions in five turns under ids that start anew",
        [record(call_id="0", turn=t, number=t) for t in (1, 2, 3)],
        ["call_id"],
    ),
    (
        "three executions with a span and an id each",
        [record(span=s, call_id=s, number=n) for n, s in enumerate((ONE, TWO, THREE))],
        [],
    ),
    (
        "one call id, no turn known, two spans side by side",
        [record(span=ONE, call_id="c"), record(span=TWO, call_id="c")],
        ["call_id"],
    ),
    (
        "one id in a turn of two agents",
        [record(call_id="0", turn=1, agent=a, arguments=a) for a in ("red", "green")],
        [],
    ),
    ("lines about which nothing is known but the call", [record(), record(), record()], []),
    (
        "numbers of two agents of one process",
        [record(span=s, number=1, process="p", agent=a, arguments=a) for s, a in ((ONE, "x"), (TWO, "y"))],
        [],
    ),
    ("numbers of two processes", [record(span=s, number=1, process=p) for s, p in ((ONE, "p"), (TWO, "q"))], []),
    (
        "a tool inside the same tool with other arguments",
        [record(span=ONE, start=1), record(span=TWO, inside=ONE, arguments="b", start=2)],
        [],
    ),
    (
        "a tool inside the same tool with an id of its own",
        [record(span=ONE, call_id="c1"), record(span=TWO, inside=ONE, call_id="c2")],
        [],
    ),
    (
        "a sub-agent's call inside the call that started it",
        [record(span=ONE), record(span=TWO, inside=ONE, delegated=True)],
        [],
    ),
    ("another tool inside", [record(span=ONE), record("other", None, span=TWO, inside=ONE)], []),
    (
        "an id that a sub-agent uses anew",
        [record("ask", span=ONE, call_id="0", turn=1), record(span=TWO, inside=ONE, call_id="0", turn=2)],
        ["call_id"],
    ),
    (
        "retries that start at one moment and end apart",
        [record(start=5, end=6, call_id="c"), record(start=5, end=7, call_id="c")],
        ["call_id"],
    ),
]


@pytest.mark.parametrize(("case", "records", "doubts"), APART, ids=[case for case, *_ in APART])
def test_calls_stay_apart(case: str, records: list[CallRecord], doubts: list[str]) -> None:
    """Calls that only resemble each other stay apart, in any order."""
    del case
    in_any_order(records, len(records), doubts)


CONFLICTS = [
    ("one span with other arguments", [record(span=ONE), record(span=ONE, arguments="b")], 1),
    ("one span with another tool", [record(span=ONE), record("other", span=ONE)], 1),
    ("one span with another result", [record(span=ONE), record(span=ONE, result="other")], 1),
    ("one span with another call id", [record(span=ONE, call_id="c1"), record(span=ONE, call_id="c2")], 1),
    ("one span with another start", [record(span=ONE, start=1), record(span=ONE, start=2)], 1),
    (
        "one call id in one turn with other arguments",
        [record(number=n, call_id="c", turn=1, arguments=a) for n, a in enumerate("ab")],
        2,
    ),
    (
        "one call id in one turn with another tool",
        [record(t, number=n, call_id="c", turn=1) for n, t in enumerate(("x", "y"))],
        2,
    ),
    (
        "one call id on one chain with other arguments",
        [record(span=ONE, call_id="c"), record(span=TWO, inside=ONE, call_id="c", arguments="b")],
        2,
    ),
    (
        "one number of one process with other arguments",
        [record(span=s, number=1, process="p", arguments=s) for s in (ONE, TWO)],
        2,
    ),
    ("one number of a run with other arguments", [record(number=1, arguments="a"), record(number=1, arguments="b")], 2),
    ("one number of a run with another call id", [record(number=1, call_id="c1"), record(number=1, call_id="c2")], 2),
    ("one number of a run with another result", [record(number=1), record(number=1, result="other")], 1),
]


@pytest.mark.parametrize(("case", "records", "calls"), CONFLICTS, ids=[case for case, *_ in CONFLICTS])
def test_contradictions_are_told(case: str, records: list[CallRecord], calls: int) -> None:
    """One span with two contents is one call, two contents under one number or id are two calls; both are doubtful."""
    del case
    in_any_order(records, calls, ["conflict"])


def test_fingerprints_under_two_keys_contradict_nothing() -> None:
    """What two keys made of the same arguments differs, and says nothing."""
    in_any_order([record(span=ONE, start=1), record(span=TWO, inside=ONE, key="k2", arguments="b", start=2)], 1, [])
    in_any_order([record(span=ONE), record(span=ONE, key="k2", arguments="b", result="other")], 1, [])


def test_the_finished_copy_brings_the_result() -> None:
    """Whichever comes first, the call has the finished copy's result and end, and is no contradiction."""
    (call,) = in_any_order([record(span=ONE, start=5, result=None), record(span=ONE, start=5, end=9)], 1, [])
    assert (call.outcome.kind, call.outcome.fingerprint, call.end_ns) == ("ok", fingerprint("r"), 9)


def test_each_copy_gives_what_it_knows() -> None:
    """A merged call has the identity of its first span, and arguments, result, agent, id and turn of who knows them."""
    outer = record("look", None, span=ONE, start=1, end=9, call_id="c")
    middle = record(span=TWO, inside=ONE, start=2, end=8, turn="t", result=None)
    inner = record("look", None, "x", span=THREE, inside=TWO, start=3, end=7, agent="scout", user_message=True)
    (call,) = in_any_order([outer, middle, inner], 1, [])
    assert (call.trace_id, call.span_id, call.start_ns, call.end_ns) == (TRACE, ONE, 1, 9)
    assert (call.call.fingerprint, call.call.call_id, call.call.turn) == (fingerprint("look/a"), "c", "t")
    assert (call.agent, call.agent_named, call.call.user_message, call.call.start_ns) == ("scout", True, True, 1)
    assert call.outcome.fingerprint == fingerprint("r")  # the outermost layer's: what the model saw


def test_the_copy_that_names_an_agent_wins() -> None:
    """An agent that one copy names settles the agent of all, though another copy stands under some other agent."""
    guessed = record(span=ONE, start=1, call_id="c", turn=1)
    named = record(span=TWO, inside=ONE, start=2, call_id="c", turn=1, agent="scout")
    (call,) = in_any_order([guessed, named], 1, [])
    assert (call.agent, call.agent_named) == ("scout", True)


def test_all_numbers_and_findings_of_the_copies_are_kept() -> None:
    """A client's and a server's process number a call each; both numbers, and both reports, are the call's."""
    client = record(span=ONE, start=1, number=7, process="p", findings=(("identical", "nudge"),))
    server = record(span=TWO, inside=ONE, start=2, number=3, process="q", findings=(("cycle", "nudge"),))
    (call,), _ = merged([server, client])
    assert [(one.process_id, one.sequence) for one in call.numbers] == [("p", 7), ("q", 3)]
    assert call.record.findings == (("cycle", "nudge"), ("identical", "nudge"))
    assert (call.copies, call.spans, call.inside) == (2, ((TRACE, ONE), (TRACE, TWO)), ())


def test_a_log_event_joins_its_call_by_number() -> None:
    """Our own event about a call is no record of it: it adds what it reports, and is no copy."""
    span = record(span=ONE, number=7, process="p")
    event = record("look", None, None, number=7, process="p", event=True, findings=(("drift", "nudge"),))
    (call,), kinds = merged([event, span])
    assert (call.copies, call.heard, call.record.findings, kinds) == (1, False, (("drift", "nudge"),), [])


def test_spans_that_enclose_each_other_are_survived() -> None:
    """Records that name each other as parent end the walk."""
    in_any_order([record("a", span=ONE, inside=TWO), record("b", span=TWO, inside=ONE)], 2, [])
    in_any_order([record(span=ONE, inside=ONE)], 1, [])
