"""Call records: the fields of a line become a call and its outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.identifier import bounded
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import RecordError
from otel_loopguard.replay.call_record import CallRecordReader
from otel_loopguard.stream.record import CallRecord

KEYS = Keyring(SecretKey(bytes(range(32))))

TIME = "expected a whole number from 0 to 9223372036854775807"
TURN = "expected a whole number from -9223372036854775808 to 9223372036854775807"


def read(line: dict[str, Any] | str, policy: Policy | None = None) -> CallRecord:
    """The call of a line; run and tool are filled in."""
    text = line if isinstance(line, str) else json.dumps({"run_id": "r", "tool": "look", **line})
    return CallRecordReader(policy or Policy(), KEYS).read(text.encode())


def test_every_field_has_its_place() -> None:
    """Names, numbers, ids and times are taken as they are; content leaves its fingerprint."""
    line = {
        "agent": "scout", "sequence": 7, "turn": "t", "call_id": "c", "arguments": {"id": 5}, "observation": "blue",
        "trace_id": "t1", "span_id": "s1", "parent_span_id": "s0", "start_ns": 5, "end_ns": 9, "user_message": True,
        "handoff_to": "lead", "state": {"step": 1}, "unheard_of": [1],
    }  # fmt: skip
    one = read(line)
    assert (one.run_id, one.run_named, one.agent, one.agent_named, one.sequence) == ("r", True, "scout", True, 7)
    assert (one.trace_id, one.span_id, one.parent_span_id, one.start_ns, one.end_ns) == ("t1", "s1", "s0", 5, 9)
    assert (one.call.tool, one.call.turn, one.call.call_id, one.call.user_message) == ("look", "t", "c", True)
    assert (one.call.handoff_to, one.outcome.kind, one.outcome.end_ns) == ("lead", "ok", 9)
    assert one.outcome.state is not None
    assert one.call.key_id == KEYS.active.id
    assert "blue" not in repr(one)


@pytest.mark.parametrize(
    ("line", "kind", "unknown"),
    [
        ({}, "missing", "absent"),
        ({"arguments": None, "observation": None}, "empty", None),
        ({"arguments": {}, "observation": ""}, "empty", None),
        ({"arguments": "free text", "observation": []}, "empty", None),
        ({"arguments": "[REDACTED]", "observation": 0}, "ok", "redacted"),
        ({"arguments": {}, "observation": "gone", "is_error": True}, "error", None),
        ({"arguments": {}, "error_type": "timeout"}, "error", None),
        ({"arguments": {}, "observation": "as before", "answered_by": "loopguard"}, "ours", None),
        ({"arguments": {}, "observation": "as before", "answered_by": "a cache"}, "ok", None),
        ({"arguments": {}, "observation": "x", "error_type": "loop_detected"}, "ours", None),
    ],
)
def test_what_came_back(line: dict[str, Any], kind: str, unknown: str | None) -> None:
    """Absent, null and empty are three things; our own answers and errors are told by their fields."""
    one = read(line)
    assert (one.outcome.kind, one.call.unknown) == (kind, unknown)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2.0, "a": 1}', True),
        ('{"a": 1}', '"{\\"a\\":1}"', True),
        ("[1, 2]", "[2, 1]", False),
        ('{"a": 1, "a": 2}', '{"a": 2}', False),
        ("12345678901234567890123", "12345678901234567890124", False),
        ('"\\ud800"', '"\\ud801"', False),
        ('"\\ud800"', '"\\ud800"', True),
        ('{"a": "\\ud800"}', '{"a": "\\ud800" }', True),
        ('"free text"', '"free text"', True),
        ("null", "{}", False),
    ],
)
def test_arguments_are_compared_as_they_were_written(one: str, other: str, equal: bool) -> None:  # noqa: FBT001
    """JSON text equals what it says; double keys, long numbers and lone surrogates are not lost on the way."""
    line = '{{"run_id": "r", "tool": "look", "arguments": {}}}'
    mine, theirs = read(line.format(one)).call.fingerprint, read(line.format(other)).call.fingerprint
    assert mine is not None
    assert (mine == theirs) == equal


@pytest.mark.parametrize(
    ("line", "turn"),
    [({"turn": 3, "parallel_group": "g"}, 3), ({"parallel_group": "g"}, "g"), ({"turn": 0}, 0), ({"turn": None}, None)],
)
def test_the_turn(line: dict[str, Any], turn: object) -> None:
    """A parallel group stands in for a turn that nobody recorded."""
    assert read(line).call.turn == turn


def test_attributes_serve_the_scope() -> None:
    """The values that the policy's scope names separate calls; without a scope they count for nothing."""
    scoped = parse_policy('{"scope": ["tenant.id"]}')
    mine, theirs = ({"arguments": {}, "attributes": {"tenant.id": tenant}} for tenant in "ab")
    assert read(mine, scoped).call.scope != read(theirs, scoped).call.scope
    assert read(mine).call == read(theirs).call


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"run_id": "r"}', "a call record must have a field `tool`"),
        ('{"tool": "x"}', "a call record must have a field `run_id`"),
        ('{"run_id": 5, "tool": "x"}', "expected `str`, got `int` - at `$.run_id`"),
        ('{"run_id": "r", "tool": "x", "sequence": "1"}', "expected `int | null`, got `str` - at `$.sequence`"),
        ('{"run_id": "r", "tool": "x", "is_error": "no"}', "expected `bool | null`, got `str` - at `$.is_error`"),
        ('{"run_id": "r", "tool": "x", "start_ns": 1.5}', "expected `int | null`, got `float` - at `$.start_ns`"),
        (
            '{"run_id": "r", "tool": "\\ud800", "sequence": "1"}',
            "expected `int | null`, got `str` - at `$.sequence`",
        ),
        *((f'{{"run_id": "r", "tool": "x", "{name}": {value}}}', f"{TIME} - at `$.{name}`")
          for name in ("sequence", "start_ns", "end_ns") for value in (-1, 1 << 63, 10**30)),
        *((f'{{"run_id": "r", "tool": "x", "{name}": {value}}}', f"{TURN} - at `$.{name}`")
          for name in ("turn", "parallel_group") for value in (-(1 << 63) - 1, 1 << 63, 10**30)),
        ('{"run_id": "\\ud800", "tool": "x", "turn": ' + str(10**30) + "}", f"{TURN} - at `$.turn`"),
        ('{"run_id": "\\ud800", "tool": "x", "sequence": ' + "9" * 5000 + "}", "a number has too many digits"),
        (
            '{"run_id": "\\ud800", "tool": "x", "attributes": {"a": ' + "[" * 200_000 + "]" * 200_000 + "}}",
            "values are nested too deep",
        ),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(line: str, reason: str) -> None:
    """The field, what was expected and what was found; never the value."""
    with pytest.raises(RecordError) as raised:
        read(line)
    assert raised.value.reason == reason


def test_whole_numbers_of_64_bits_are_taken() -> None:
    """The largest and the smallest number that a field may hold."""
    most, least = (1 << 63) - 1, -(1 << 63)
    record = read(
        f'{{"run_id": "r", "tool": "x", "sequence": {most}, "start_ns": 0, "end_ns": {most}, "turn": {least}}}'
    )
    assert (record.sequence, record.start_ns, record.end_ns, record.call.turn) == (most, 0, most, least)


def test_run_keys_separate_runs() -> None:
    """Under the key scope `run`, equal calls of two runs have nothing in common."""
    reader = CallRecordReader(Policy(), KEYS, "run")
    line = '{"run_id": "RUN", "tool": "look", "arguments": {}}'
    prints = [reader.read(line.replace("RUN", run).encode()).call.fingerprint for run in ("a", "a", "b")]
    assert prints[0] == prints[1] != prints[2]


def test_long_names_and_ids() -> None:
    """A name or id of a megabyte is kept in its short form, as one read from a span is."""
    fields = ("run_id", "tool", "agent", "call_id", "turn", "error_type", "handoff_to", "span_id", "trace_id")
    long = {name: name + "x" * 1_000_000 for name in fields}
    record = read(json.dumps(long))
    kept = (record.run_id, record.call.tool, record.agent, record.call.call_id, record.call.turn)
    assert kept == tuple(bounded(long[name]) for name in fields[:5])
    rest = (record.outcome.error_type, record.call.handoff_to, record.span_id, record.trace_id)
    assert rest == tuple(bounded(long[name]) for name in fields[5:])
