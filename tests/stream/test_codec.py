"""Histories as bytes: nothing is lost that a later call could tell, all within a bound, and nothing is guessed."""

from __future__ import annotations

from random import Random
from types import GetSetDescriptorType, MemberDescriptorType
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.call import Category, Outcome, OutcomeKind, ToolCall
from otel_loopguard.core.decision import Kind
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.past.run_memory import RunMemory
from otel_loopguard.core.policy import ToolKind
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import StateError
from otel_loopguard.stream import codec, columns
from otel_loopguard.stream.codec import VERSION, pack_history, pack_memory, unpack_history, unpack_memory
from tests.support.chance import POLICY, chance_call, chance_outcome, chances, fingerprint

ENGINE = Engine(parse_policy(POLICY))
LONG = Engine(parse_policy(f"window: 64\ndefaults: {{cycle: {{max_period: 64}}}}{POLICY}"))
"""With a policy that asks for the most turns."""
IDLE_LIMIT = 2560
LIMIT = 8192


def copied(history: History) -> History:
    """The history, written and read, with its run's memory."""
    return unpack_history(pack_history(history), unpack_memory(pack_memory(history.memory)))


@given(seed=st.integers(0, 2**32), variety=st.sampled_from([0, 2, 3, 6, 20]), calls=st.integers(1, 120))
def test_a_history_that_was_written_and_read_goes_on_as_before(seed: int, variety: int, calls: int) -> None:
    """Written and read at any call, it makes the same decisions, observations and bytes ever after."""
    chance = chances(seed)
    mine = other = History()
    for _ in range(calls):
        if chance.random() < 0.2:
            other = copied(mine)
            assert pack_history(other) == pack_history(mine)
        call = chance_call(chance, variety)
        outcome = chance_outcome(chance, variety, call.tool)
        assert ENGINE.decide(other, call) == ENGINE.decide(mine, call)
        observation = ENGINE.record(mine, call, outcome)
        if other is not mine:
            assert ENGINE.record(other, call, outcome) == observation
            assert pack_memory(other.memory) == pack_memory(mine.memory)
    if other is not mine:
        assert ENGINE.close(other) == ENGINE.close(mine)


@pytest.mark.parametrize("seed", range(12))
def test_bytes_are_bounded(seed: int) -> None:
    """A run of 32 calls takes 2.5 KiB, any run and agent 8 KiB, whatever the calls."""
    chance = chances(seed)
    variety = (0, 0, 2, 5, 40)[seed % 5]
    history = History()
    for number in range(1, 500):
        call = chance_call(chance, variety)
        ENGINE.record(history, call, chance_outcome(chance, variety, call.tool))
        if number <= 32 or number % 20 == 0:
            size = len(pack_history(history)) + len(pack_memory(history.memory))
            assert size <= (IDLE_LIMIT if number <= 32 else LIMIT)


def failing(chance: Random, tool: str) -> tuple[ToolCall, Outcome]:
    """A call that takes as many bytes as a failing call can."""
    words = tuple(sorted(chance.getrandbits(32) for _ in range(16)))
    call = ToolCall(tool, fingerprint(chance, 0), "key", group=fingerprint(chance, 0), words=words, word_count=40)
    message, shape = fingerprint(chance, 0), fingerprint(chance, 0)
    return call, Outcome("error", fingerprint(chance, 0), "strange", "unknown", message, shape, refusal=True)


def paging(chance: Random, tool: str) -> tuple[ToolCall, Outcome]:
    """A page of items that nobody has seen."""
    call, _ = failing(chance, tool)
    items = tuple(chance.getrandbits(32) for _ in range(20))
    return call, Outcome("ok", fingerprint(chance, 0), declared=True, items=items, state=fingerprint(chance, 0))


def polling(chance: Random, tool: str) -> tuple[ToolCall, Outcome]:
    """One of so many polls that each is over its budget."""
    call = ToolCall(tool, fingerprint(chance, 16), "key", start_ns=chance.getrandbits(60))
    return call, Outcome("ok", fingerprint(chance, 2), measure=chance.random(), declared=True)


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param([(failing, "grep")], id="failures, all different"),
        pytest.param([(failing, f"tool {number}") for number in range(64)], id="of as many tools"),
        pytest.param([(paging, "loans")], id="pages"),
        pytest.param([(polling, "parcel")], id="polls"),
        pytest.param([(failing, "lend")], id="writes of which nobody knows"),
        pytest.param([(paging, "loans"), (polling, "parcel"), (failing, "grep"), (failing, "lend")], id="all of it"),
    ],
)
@pytest.mark.parametrize("engine", [ENGINE, LONG], ids=["short laps", "long laps"])
def test_the_worst_runs_are_bounded(tools: list[tuple[object, str]], engine: Engine) -> None:
    """Runs made to take room: nothing repeats, everything is remembered, names are as long as names are."""
    chance = chances(7)
    history = History()
    sizes = []
    for number in range(700):
        make, tool = tools[number % len(tools)]
        call, outcome = make(chance, tool.ljust(64, "x") if tool.startswith("tool") else tool)  # type: ignore[operator]
        engine.record(history, call, outcome)
        sizes.append(len(pack_history(history)) + len(pack_memory(history.memory)))
    assert max(sizes[:32]) <= IDLE_LIMIT
    assert max(sizes) <= LIMIT


def test_a_newer_version_is_refused() -> None:
    """The message says what was met, what can be read, and the way out."""
    data = pack_history(History())
    newer = bytes([VERSION + 1]) + data[1:]
    said = rf"a history of version {VERSION + 1}, .* reads up to {VERSION}, .* start with an empty state"
    with pytest.raises(StateError, match=said):
        unpack_history(newer, RunMemory())
    with pytest.raises(StateError, match="a run memory of version 99"):
        unpack_memory(b"c" + pack_memory(RunMemory())[1:])


def test_the_first_version_is_read() -> None:
    """It had no gists: all else is as it was."""
    history = History()
    chance = chances(5)
    for _ in range(30):
        call, outcome = chance_call(chance, 3), chance_outcome(chance, 3, "search")
        ENGINE.record(history, call, outcome.changed(gist=None, counter=None, beside=None))
    parts = msgspec.msgpack.decode(pack_history(history)[1:])
    assert parts[1].pop() == b""
    assert [parts.pop(), parts.pop()] == [None, None]
    first = unpack_history(bytes([1]) + msgspec.msgpack.encode(parts), RunMemory())
    assert pack_history(first) == pack_history(history)
    assert unpack_memory(bytes([1]) + pack_memory(history.memory)[1:]).changes == history.memory.changes


@pytest.mark.parametrize("cut", [0, 1, 2, 9, -1])
def test_damaged_bytes_are_refused(cut: int) -> None:
    """Bytes that were cut, or are something else, are an error of ours."""
    history = History()
    chance = chances(3)
    for _ in range(20):
        call = chance_call(chance, 3)
        ENGINE.record(history, call, chance_outcome(chance, 3, call.tool))
    with pytest.raises(StateError):
        unpack_history(pack_history(history)[:cut], RunMemory())
    with pytest.raises(StateError):
        unpack_memory(pack_memory(history.memory)[:cut])


@given(data=st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: bytes([VERSION]) + data))
def test_any_bytes_are_refused(data: bytes) -> None:
    """Nothing but `StateError` comes of bytes that are no state."""
    with pytest.raises(StateError):
        unpack_history(data, RunMemory())


def test_every_name_has_a_number() -> None:
    """The orders that bytes stand for hold every name that there is: a new one must go to the end of them."""
    assert set(columns._KINDS) == set(get_args(ToolKind))
    assert set(columns._OUTCOMES) == set(get_args(OutcomeKind))
    assert set(columns._CATEGORIES) == set(get_args(Category))
    assert set(codec._FINDINGS) == set(get_args(Kind))


def test_every_field_of_an_entry_is_written() -> None:
    """A field that is not written would be lost without a sound."""
    transient = {"moved", "times"}
    kinds = (MemberDescriptorType, GetSetDescriptorType)
    fields = {name for name, held in vars(Entry).items() if isinstance(held, kinds)}
    assert {"place", "answer", "fresh"} < fields
    chance = chances(5)
    history = History()
    for _ in range(300):
        call = chance_call(chance, 4)
        ENGINE.record(history, call, chance_outcome(chance, 4, call.tool))
    for before, after in zip(history.entries, copied(history).entries, strict=True):
        for name in fields - transient - {"word_count"}:
            assert getattr(after, name) == getattr(before, name), name
