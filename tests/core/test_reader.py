"""What of a call and of its result is left once the content is gone."""

from __future__ import annotations

import json
import pickle
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.call import ABSENT, OURS, Outcome
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.core.reading.category import category_of
from tests.support.script import KEYS

READER = CallReader(Policy(), KEYS)


def outcome(result: object, policy: str = "{}", **more: Any) -> Outcome:  # noqa: ANN401 - an outcome's
    """The outcome of a call of `look` with this result."""
    reader = CallReader(parse_policy(policy), KEYS)
    return reader.outcome(reader.call("look", {"at": 1}), {"at": 1}, result, **more)


# Calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "more", "reason"),
    [
        (ABSENT, {}, "absent"),
        ("[REDACTED]", {}, "redacted"),
        ({"at": "__REDACTED__"}, {}, "redacted"),
        ({"at": 1}, {"truncated": True}, "truncated"),
    ],
)
def test_calls_whose_arguments_are_not_known(arguments: object, more: dict[str, Any], reason: str) -> None:
    """They have no fingerprint, and the reason."""
    call = READER.call("look", arguments, call_id="c1", turn=4, start_ns=5, **more)
    assert (call.fingerprint, call.unknown, call.call_id, call.turn, call.start_ns) == (None, reason, "c1", 4, 5)
    assert call.group_fingerprint is None


def test_the_same_call_however_written() -> None:
    """Order, JSON text and spelling of numbers do not matter; the tool's name does."""
    one = READER.call("look", {"a": 1, "b": [1.0, "x"]})
    assert READER.call("look", {"b": [1, "x"], "a": 1}) == one
    assert READER.call("look", '{ "b": [1e0, "x"], "a": 1 }') == one
    assert READER.call("find", {"a": 1, "b": [1.0, "x"]}).fingerprint != one.fingerprint


@pytest.mark.parametrize("size", [1, 100, 5_000])
def test_members_in_another_order_say_the_same(size: int) -> None:
    """Of arguments, of a refusal, and of counts of which the first in the canonical order tells."""
    said = {"a": "word " * size, "b": [{"c": 1, "d": f"{size} others"}], "progress": 4, "done": 2}
    refusal = {"error": "no such row", "code": f"E{size}", "detail": {"b": "x", "a": "it is gone " * size}}
    for data in (said, refusal):
        there = json.dumps(data)
        back = json.dumps({name: data[name] for name in sorted(data, reverse=True)})
        call = READER.call("look", there)
        assert READER.call("look", back) == call
        assert READER.outcome(call, back, back) == READER.outcome(call, there, there)
    assert READER.outcome(READER.call("look", {}), {}, json.dumps(said)) == READER.outcome(
        READER.call("look", {}), {}, dict(sorted(said.items()))
    )


@pytest.mark.parametrize(
    ("arguments", "bare", "thought"),
    [
        ({"action": "think[the price is too high]"}, False, True), ("Think: where is it?", False, True),
        ({"action": "think tank"}, False, False), ({"action": "think: so", "at": 1}, False, False),
        ({}, True, False), ("", True, False), (None, True, False), ([], True, False), ({"a": 1}, False, False),
        ({"request_id": 7}, True, False), ({"thought": "hm"}, False, True), ({"thinking": "hm", "x": 1}, False, False),
        ({"command": 'echo "The task is complete."'}, False, True), ({"cmd": "echo done", "timeout": 3}, False, True),
        ({"command": "echo done > a.txt"}, False, False), ({"command": "echo $HOME"}, False, False),
        ({"command": "echo a; make"}, False, False),
        ('{"reasoning": "hm"}', False, True),
    ],
)  # fmt: skip
def test_what_kind_of_call(arguments: object, bare: bool, thought: bool) -> None:  # noqa: FBT001 - columns
    """A call without arguments says nothing; one whose only argument is a thought does nothing, and so does
    a command that speaks to nobody.
    """
    call = READER.call("look", arguments)
    assert (call.bare, call.thought) == (bare, thought)


def test_cursors_and_idempotency_keys() -> None:
    """The group is the call without them; the key's value is kept apart."""
    reader = CallReader(
        parse_policy("tools: {loans: {kind: read, page: {cursor: after}}, pay: {kind: write, idempotency_key: key}}"),
        KEYS,
    )
    first, second = (reader.call("loans", {"branch": 1, "after": after}) for after in ("a", "b"))
    assert first.fingerprint != second.fingerprint
    assert first.group == second.group
    assert first.group == reader.call("loans", {"branch": 1}).fingerprint
    paid, again, keyless = (reader.call("pay", {"bill": 9} | more) for more in ({"key": "x"}, {"key": "y"}, {}))
    assert paid.group == again.group
    assert paid.idempotency != again.idempotency
    assert keyless.idempotency is None
    assert READER.call("loans", {"after": 1}).group is None


def test_sketches() -> None:
    """Fewer than four words are none; more than sixteen are the sixteen smallest of their numbers."""
    assert READER.call("look", {"for": "red shoes please"}).words == ()
    call = READER.call("look", {"for": "red shoes size nine"})
    assert (len(call.words), call.word_count) == (4, 4)
    long = READER.call("look", {"for": " ".join(f"word{number}" for number in range(100))})
    assert (len(long.words), long.word_count) == (16, 100)
    assert list(long.words) == sorted(long.words)


def test_scopes() -> None:
    """Values that the policy names separate calls; one that is lacking is a value of its own."""
    reader = CallReader(parse_policy("scope: [tenant.id]"), KEYS)
    tenants: list[dict[str, object] | None] = [{"tenant.id": "a"}, {"tenant.id": "b"}, {"tenant.id": None}, {}, None]
    calls = [reader.call("look", {"at": 1}, attributes=tenant) for tenant in tenants]
    assert len({call.scope for call in calls}) == 4
    assert len({call.fingerprint for call in calls}) == 4
    assert calls[3].scope == calls[4].scope
    assert READER.call("look", {"at": 1}, attributes={"tenant.id": "a"}).scope == ""


# Outcomes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ("seen", "ok"), (0, "ok"), (False, "ok"), (True, "ok"), ({"hits": 1, "rows": []}, "ok"), ([0], "ok"),
        ({"ok": True, "errors": []}, "ok"), ({"ok": False, "errors": []}, "ok"), ({"a": ""}, "ok"),
        ({"total": 0}, "ok"), (None, "empty"), ("", "empty"), (" \n", "empty"), ([], "empty"), ({}, "empty"),
        ("[]", "empty"), ("null", "empty"), ("No results found.", "empty"), ({"data": {"rows": []}}, "empty"),
        ({"rows": [], "total": 0, "next": None}, "empty"), (ABSENT, "missing"), ("[REDACTED]", "missing"),
    ],
)  # fmt: skip
def test_kinds(result: object, kind: str) -> None:
    """Empty is null, "", [], {}, or an object of nothing but nothing with an empty list in it."""
    assert outcome(result).kind == kind


@pytest.mark.parametrize(
    "result",
    [
        "0 hits", "No rows.", "(0 rows)", "0 results found", "Nothing matched.", "nothing was found",
        "No matching items", "Zero records returned!",
        {"status": "ok", "data": []}, {"ok": True, "results": [], "took": 4}, {"code": 200, "page": 3, "items": []},
        {"total_count": 0, "incomplete_results": False, "items": []},
        {"query": "refund", "limit": 20, "results": [], "count": 0},
        {"took": 3, "timed_out": False, "_shards": {"total": 5, "failed": 0},
         "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}},
        {"data": {"search": {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": None}}}},
    ],
)  # fmt: skip
def test_a_search_that_lists_nothing_is_empty_whatever_it_tells_about_itself(result: object) -> None:
    """How long it took, what was asked for and that all went well is nothing that was found."""
    assert outcome(result).kind == "empty"


@pytest.mark.parametrize(
    "result",
    [
        "0 errors", "0 rows affected", "No rows updated", "0 failed", "10 hits", "no", "nothing", "No rows in table a",
        {"status": "ok", "errors": []}, {"success": True, "failures": [], "warnings": []},
        {"status": "closed", "data": []}, {"total": 3, "items": []}, {"query": "refund"}, {"took": 3, "hits": 0},
        {"success": False, "items": []}, {"page": 3, "items": [], "note": "try page 2"},
    ],
)  # fmt: skip
def test_what_a_check_or_a_change_comes_to_is_no_empty_list(result: object) -> None:
    """Without faults, without rows that changed, and whatever stands beside an empty list are answers."""
    assert outcome(result).kind == "ok"


@pytest.mark.parametrize(
    ("result", "refused"),
    [
        ({"success": False}, True), ({"ok": False, "data": None}, True), ({"succeeded": False, "id": 4}, True),
        ({"content": [{"type": "text", "text": "no such page"}], "isError": True}, True),
        ({"status": "error", "message": "no such table", "rows": [1]}, True),
        ({"message": "no such table", "status": "fail"}, True), ({"error": "no such table"}, True),
        ({"error": {"code": 7, "message": "quota"}, "request_id": "a1"}, True),
        ({"jsonrpc": "2.0", "id": 5, "error": {"code": -32601, "message": "no such method"}}, True),
        ({"error": True, "message": "no such table"}, True), ({"error": True}, True),
        ({"errors": [{"message": "unknown field"}], "data": None}, True), ({"errors": ["a", "b"]}, True),
        ('{"success": false, "error": "stale"}', True), ({"type": "error", "error": {"type": "overloaded"}}, True),
        ({"verdict": "fail", "feedback": "no source is named", "attempt": 3}, True), ({"verdict": "pass"}, False),
        ({"decision": "rejected", "reason": "no budget"}, True), ({"decision": "rejected", "id": 7}, False),
        ({"success": True}, False), ({"error": None, "rows": [1]}, False), ({"errors": []}, False),
        ({"isError": False, "content": []}, False), ({"error": 3, "warn": 4}, False),
        ({"id": 7, "status": "failed"}, False),
        ({"errors": [{"message": "one field"}], "data": {"user": "a"}}, False), ({"log": {"error": "boom"}}, False),
        ({"error": "boom", "lines": ["a"]}, False), ({"id": 5, "error": "boom"}, False),
        ({"jsonrpc": "2.0", "id": 5, "result": []}, False), ({"name": "nightly", "error": True}, False),
        ({"status": "error", "count": 2}, False), ([{"error": "a"}], False),
        ({"errors": [1, 2]}, False), ({"success": False, "text": "x" * 700}, False),
    ],
)  # fmt: skip
def test_structured_data_says_no_by_a_flag_or_by_a_reason_alone(result: object, *, refused: bool) -> None:
    """A failure is told at the top, and nothing that was found stands beside it; long data is an answer."""
    assert outcome(result).refusal is refused


def test_a_number_beside_a_reason_counts_tries() -> None:
    """A verdict is the same whichever try it is of; where there are numbers alone they are what is told."""
    first, second = (outcome({"verdict": "fail", "feedback": "no source", "attempt": n}).error for n in (1, 2))
    assert first is not None
    assert first == second
    assert outcome({"error": {"code": 7}}, is_error=True).shape == outcome({"error": {"code": 8}}, is_error=True).shape


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"orders": [], "request_id": "a1"}, {"orders": [], "request_id": "b2"}, True),
        ({"orders": [], "X-Request-Id": 1}, {"orders": [], "X-Request-Id": 2}, True),
        ({"error": {"code": 7, "trace_id": "a1"}}, {"error": {"code": 7, "trace_id": "b2"}}, True),
        ({"spans": [{"trace_id": "a1"}]}, {"spans": [{"trace_id": "b2"}]}, False),
        ({"request": "a1"}, {"request": "b2"}, False),
        ({"trace_id": {"of": 1}}, {"trace_id": {"of": 2}}, False),
    ],
)
def test_the_id_of_a_request_is_no_part_of_its_answer(one: object, other: object, *, equal: bool) -> None:
    """By its name, at the top or in what stands there; in a list of what was found it is content."""
    assert (outcome(one).fingerprint == outcome(other).fingerprint) is equal


@pytest.mark.parametrize(
    ("query", "result", "refused"),
    [
        ("error handling", "2 pages for 'error handling': Results, Exits", False),
        ("not", "not: 14 lines", False),
        ("error handling", "error handling: no such page", True),
        ("error", "errors in line 4", True),
    ],
)
def test_a_word_of_the_call_is_none_of_the_tool(query: str, result: str, *, refused: bool) -> None:
    """What an answer quotes of the call's own values says neither yes nor no."""
    reader = CallReader(parse_policy("{}"), KEYS)
    arguments = {"query": query}
    assert reader.outcome(reader.call("search", arguments), arguments, result).refusal is refused


def test_the_owner_says_that_nothing_is_a_refusal() -> None:
    """With `refusal: none` a report of failure is a result like others."""
    assert not outcome({"success": False}, "tools: {look: {result: {refusal: none}}}").refusal


def test_no_ops_and_our_own() -> None:
    """A declared field says that nothing changed; what we answered is ours."""
    changed = "tools: {look: {kind: write, result: {changed: {path: changed}}}}"
    assert outcome({"changed": False}, changed).kind == "noop"
    assert outcome({"changed": True}, changed).kind == "ok"
    assert outcome({"changed": 0}, changed).kind == "ok"
    assert outcome("x", ours=True) is OURS
    assert outcome("x", error_type="loop_detected") is OURS


def test_errors() -> None:
    """A type makes an error; a message may stand for the result, and takes its place where there is none."""
    failed = outcome("no such shelf", is_error=True)
    assert (failed.kind, failed.category, failed.refusal) == ("error", "unknown", True)
    assert outcome("no such shelf", error_type="not_found").category == "not_found"
    assert outcome(ABSENT, is_error=True, error_message="no such shelf").error == failed.error
    assert outcome("<error></error>", is_error=True).error is None
    assert outcome(ABSENT, is_error=True).kind == "error"


def test_errors_without_words() -> None:
    """An exception without a text is told by its type; a mere category says too little, and so does nothing at all."""
    failed = [outcome(ABSENT, is_error=True, error_type=name, error_message="").error for name in ("A", "A", "B")]
    assert failed[0] == failed[1] != failed[2]
    assert outcome(ABSENT, is_error=True, error_type="A", error_message="").shape is None
    for name in (None, "", "unknown", "timeout"):
        assert outcome(ABSENT, is_error=True, error_type=name, error_message="").error is None


def test_an_exception_whose_text_was_removed_is_like_no_other() -> None:
    """A text that is missing is not an empty one: whoever removed it left the type alone."""
    assert outcome(ABSENT, is_error=True, error_type="A").error is None


@pytest.mark.parametrize(
    ("error_type", "read", "write"),
    [
        ("timeout", "transient", "unknown_outcome"),
        ("connection_lost", "transient", "unknown_outcome"),
        ("rate_limit", "transient", "unknown_outcome"),
        ("transient", "transient", "validation"),
        ("cancelled", "unknown", "unknown_outcome"),
        ("unknown", "unknown", "unknown_outcome"),
        ("validation", "validation", "validation"),
        ("permission", "permission", "permission"),
        ("not_found", "not_found", "not_found"),
        ("unknown_tool", "unknown_tool", "unknown_tool"),
        ("asyncio.TimeoutError", "transient", "unknown_outcome"),
        ("builtins.PermissionError", "permission", "permission"),
        ("429", "transient", "unknown_outcome"),
        ("404", "not_found", "not_found"),
        ("DEADLINE_EXCEEDED", "transient", "unknown_outcome"),
        ("500", "transient", "unknown_outcome"),
        ("503", "transient", "validation"),
        ("builtins.ValueError", "validation", "validation"),
        ("json.JSONDecodeError", "unknown", "unknown_outcome"),
        ("WeirdError", "unknown", "unknown_outcome"),
        ("", "unknown", "unknown_outcome"),
        (None, "unknown", "unknown_outcome"),
    ],
)
def test_categories(error_type: str | None, read: str, write: str) -> None:
    """From the structured type alone; a declared write may have happened, unless its type says that it was rejected."""
    assert category_of(error_type, is_error=True, kind="read") == read
    assert category_of(error_type, is_error=True, kind="unknown") == read
    assert category_of(error_type, is_error=True, kind="write") == write
    assert category_of(error_type, is_error=False, kind="read") == ""


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 7}, '{"a": 7.0}', True),
        ([1, 2], [2, 1], False),
        ("took 0.31 s", "took 0.29 s", True),
        ({"log": "took 0.31 s"}, {"log": "took 0.29 s"}, True),
        ({"log": ["at 10:01", {"x": "pid 1"}]}, {"log": ["at 10:02", {"x": "pid 2"}]}, True),
        ({"done": "42 %"}, {"done": "57 %"}, False),
        ({"line": 12}, {"line": 13}, False),
        ("10:01", "10:02", True),
        ("3 rows", "\n3 rows \n", True),
        ("  ", "\n", False),
        (["3 rows"], ["3 rows\n"], False),
        (1001, 1002, False),
    ],
)
def test_results_are_compared(one: object, other: object, equal: bool) -> None:  # noqa: FBT001 - a column
    """Like arguments, volatile parts of texts at any depth masked, blanks around a text taken off."""
    assert (outcome(one).fingerprint == outcome(other).fingerprint) is equal


def test_ignored_fields() -> None:
    """Fields that the policy names do not count, in lists neither."""
    policy = "tools: {look: {kind: read, result: {ignore: [took, 'rows[].seen', meta.id]}}}"
    one = outcome({"took": 1, "rows": [{"id": 1, "seen": 3}], "meta": {"id": 1, "x": 2}}, policy)
    two = outcome({"took": 2, "rows": [{"id": 1, "seen": 4}], "meta": {"id": 2, "x": 2}}, policy)
    three = outcome({"took": 1, "rows": [{"id": 2, "seen": 3}], "meta": {"id": 1, "x": 2}}, policy)
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != three.fingerprint


@pytest.mark.parametrize(
    ("result", "informative"),
    [("maybe", False), ("one two three", False), ("one two three four", True), ("7", True), ({"a": 1}, True),
     ({"a": "x", "b": ["y", "z"]}, False), ({"a": "x y", "b": ["z w"]}, True), (True, False), (None, False)],
)  # fmt: skip
def test_informative(result: object, informative: bool) -> None:  # noqa: FBT001 - a column
    """A digit, or four words, in the values."""
    assert outcome(result).informative is informative


def test_items_of_a_long_list() -> None:
    """Of more than a history remembers, both ends count."""
    policy = "tools: {look: {kind: read, result: {progress: {items: {path: 'rows[]'}}}}}"
    rows = list(range(1000))
    items = outcome({"rows": rows}, policy).items
    assert items is not None
    assert len(items) == 256
    assert outcome({"rows": [*rows[:128], *rows[-128:]]}, policy).items == items
    assert outcome("no rows", policy).items == ()


def test_declared_progress() -> None:
    """The measure and whether anything can follow; a failure has none."""
    policy = (
        "tools: {look: {kind: poll, result: {progress: {state: {path: at, order: [sent, customs], terminal: [home]}}}}}"
    )
    done = outcome({"at": "home"}, policy)
    assert (done.measure, done.terminal, done.declared) == (3.0, True, True)
    failed = outcome({"at": "home"}, policy, is_error=True)
    assert (failed.measure, failed.terminal, failed.declared) == (None, False, True)


# Anything ---------------------------------------------------------------------------------------------------------


class _Hostile:
    """An object that lets nobody look at it."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


CYCLE: list[object] = []
CYCLE.append(CYCLE)
ANYTHING = [
    _Hostile(), {"a": _Hostile()}, CYCLE, {1: 2, "1": 3}, {"a": float("nan")}, Decimal("sNaN"),
    {"a": Decimal("sNaN"), "b": []}, 10**5000, {"a": 10**5000}, b"\xff", {b"k": 1}, "\ud800", {"\udfff": "\ud800"},
    '{"a": 1, "a": 2}', "{" * 5000, "[" * 5000 + "]" * 5000, datetime(2024, 5, 1, tzinfo=timezone.utc), object(),
    {1, 2}, range(3), print, "x" * 1_000_000, [[]] * 1000, {"text": "line\n" * 100_000},
]  # fmt: skip


@pytest.mark.parametrize("value", ANYTHING, ids=range(len(ANYTHING)))
def test_any_value_is_read(value: object) -> None:
    """Arguments, results, states and scope values of any kind raise nothing."""
    reader = CallReader(parse_policy("scope: [tenant.id]"), KEYS)
    call = reader.call("look", value, attributes={"tenant.id": value})
    for failed in (False, True):
        told = reader.outcome(call, value, value, is_error=failed, state=value)
        assert isinstance(told, Outcome)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


@given(arguments=json_values, result=json_values, failed=st.booleans())
def test_content_does_not_pass(arguments: object, result: object, failed: bool) -> None:  # noqa: FBT001 - drawn
    """Of a call and its outcome nothing but tags, numbers and flags is left, and it is the same each time."""
    canary = "canary-6f1e0c"
    given_ = {"a": arguments, "b": canary}
    call = READER.call("look", given_)
    told = READER.outcome(call, given_, {"r": result, "b": canary}, is_error=failed, error_message=canary, state=canary)
    assert canary.encode() not in pickle.dumps((call, told))
    assert canary not in repr((call, told))
    assert READER.call("look", given_) == call
    again = READER.outcome(
        call, given_, {"r": result, "b": canary}, is_error=failed, error_message=canary, state=canary
    )
    assert again == told


@pytest.mark.parametrize(
    ("result", "kind", "refusal"),
    [
        ("(no output)", "empty", False),
        ("<no output>", "empty", False),
        ("Command executed successfully (no output)", "empty", False),
        ("Your command ran successfully and did not produce any output.", "empty", False),
        ("Process exited with code 0. No output.", "empty", False),
        ("no rows", "empty", False),
        ("The command failed with no output", "ok", True),
        ("Exited with code 1, no output", "ok", True),
        ("no such output", "ok", True),
        ("output", "ok", False),
    ],
)
def test_words_for_silence(result: str, kind: str, refusal: bool) -> None:  # noqa: FBT001 - a column
    """What a harness fills in for a program that printed nothing is nothing, and no refusal for the "no" in it."""
    found = outcome(result)
    assert (found.kind, found.refusal, found.error is not None) == (kind, refusal, refusal)


@pytest.mark.parametrize(
    ("command", "result", "told"),
    [
        ("rg -n 'sk_live_'", "(no output)\nExit code: 1", False),
        ("grep -rn token src", "Command exited with code 1 and no output.", False),
        ("grep -rn token src", "grep: src: No such file or directory\nExit code: 2", True),
        ("pytest -q", "(no output)\nExit code: 1", True),
    ],
)
def test_silence_of_a_search_has_no_message(command: str, result: str, told: bool) -> None:  # noqa: FBT001 - a column
    """A status of 1 beside no output is how a search in a shell says that there was no hit; of others it failed."""
    call = READER.call("shell", {"command": command})
    assert (READER.outcome(call, {"command": command}, result).error is not None) is told


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ({"ok": False, "status": 503, "error": "upstream connect error"}, "transient"),
        ({"error": {"code": "429", "message": "slow down"}}, "transient"),
        ("HTTP 503: upstream connect error", "transient"),
        ("Client error '429 Too Many Requests' for url /shelves", "transient"),
        ("the server returned status code 504", "transient"),
        ({"status": 404, "error": "no such shelf"}, "unknown"),
        ({"shelf": {"code": 503}}, "unknown"),
        ("shelf 503 has no books", "unknown"),
        ("HTTP 500: division by zero", "unknown"),
        (f"HTTP 503 {'and so on ' * 80}", "unknown"),
    ],
)
def test_statuses_that_pass(said: object, category: str) -> None:
    """A failure that reports a status after which one tries again is a passing one, though nobody gave its type."""
    assert outcome(said, is_error=True).category == category


def test_a_write_is_not_rejected_by_a_text() -> None:
    """What a status in a text means for a write is not known: it may have been done."""
    reader = CallReader(parse_policy("tools: {store: {kind: write}}"), KEYS)
    call = reader.call("store", {"book": 7})
    assert reader.outcome(call, {"book": 7}, "HTTP 503", is_error=True).category == "unknown_outcome"


def test_an_error_type_is_its_text() -> None:
    """One that is a member of an enumeration is told as the text that it is sent as."""

    class Type(str, Enum):
        LOST = "connection_lost"

    call = READER.call("look", {"q": 1})
    told = [READER.outcome(call, {"q": 1}, "gone", error_type=one) for one in ("connection_lost", Type.LOST)]
    assert told[0] == told[1]
    assert type(told[1].error_type) is str
