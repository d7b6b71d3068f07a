"""What a history remembers, in which turn calls stand, and what is forgotten when."""

from __future__ import annotations

from hashlib import sha256

import pytest

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.history import History
from otel_loopguard.core.past.turn import token_of
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.tag import key_of, name_tag, number_of, print_of, salt_of, symbol_of, symbol_of_key
from otel_loopguard.stream.codec import pack_history
from tests.support.script import Row, run, step

ENGINE = Engine(Policy())


def fingerprint(number: int) -> str:
    """One that differs from another number's in all its parts."""
    return sha256(str(number).encode()).hexdigest()[:32]


def record(history: History, number: int, *, turn: int | str | None = None, outcome: Outcome | None = None) -> None:
    """One call of a tool, told apart by its number."""
    call = ToolCall("look", fingerprint(number), "key", turn=turn)
    ENGINE.record(history, call, outcome or Outcome("ok", fingerprint(number)))


# Turns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "turns"),
    [
        ([None, None, None], [1, 2, 3]),
        ([1, 1, 2, 2], [1, 1, 2, 2]),
        ([1, 2, 1], [1, 2, 3]),
        (["a", "a", None, "a"], [1, 1, 2, 3]),
        ([7, 100, 9], [1, 2, 3]),
        (["x" * 500, "x" * 500, "x" * 499], [1, 1, 2]),
        (["ä", "ä", "\ud800", "\ud800"], [1, 1, 2, 2]),
        ([0, 0, 1 << 80, 1 << 80], [1, 1, 2, 2]),
    ],
)
def test_turns_are_counted_by_order(tokens: list[int | str | None], turns: list[int]) -> None:
    """Calls with the token of the call before them are of its turn; numbers of the source do not matter."""
    history = History()
    for number, token in enumerate(tokens):
        record(history, number, turn=token)
    assert [entry.turn for entry in history.entries] == turns


def test_asking_opens_no_turn() -> None:
    """The turn of a call that is asked about does not exist yet."""
    history = History()
    record(history, 1, turn=1)
    call = ToolCall("look", "ab" * 16, "key", turn=2)
    assert history.turn_of(call) == 2
    ENGINE.decide(history, call)
    assert history.turns.number == 1
    assert history.turn_of(ToolCall("look", "ab" * 16, "key", turn=1)) == 1


def test_long_tokens_are_kept_short() -> None:
    """A token is only compared, so its hash does."""
    assert token_of("turn 7") == "turn 7"
    assert token_of(7) == 7
    assert len(str(token_of("x" * 100_000))) == 32


# Memory -----------------------------------------------------------------------------------------------------------


def test_details_are_of_the_last_calls() -> None:
    """Sixty-four calls in detail, the sketches of twelve, and the rest counted as dropped."""
    history = History()
    for number in range(100):
        words = tuple(range(number * 20, number * 20 + 16))
        call = ToolCall("look", fingerprint(number), "key", words=words, word_count=16)
        ENGINE.record(history, call, Outcome("ok", fingerprint(number)))
    assert [entry.place for entry in history.entries] == list(range(37, 101))
    assert history.dropped == 36
    assert [entry.place for entry in history.entries if entry.words] == list(range(89, 101))
    assert list(history.by_tool) == [name_tag("look")]
    assert len(history.by_key) == 64


def test_a_call_long_ago_is_still_no_first_time() -> None:
    """Two hundred and fifty-five outcomes later a call is known to have been made, one later it is new again."""
    probe: Row = ("look", {"at": "start"}, "seen")

    def rounds(count: int) -> list[Row]:
        others: list[Row] = [("look", {"at": number}, f"seen {number}") for number in range(count)]
        return [probe, *others, ("ask", {"q": 1}, "a"), ("ask", {"q": 1}, "a"), probe, ("ask", {"q": 1}, "a")]

    assert [one[2] for one in run(rounds(254)).said if one[1:] == ("nudge", "identical")] == ["identical"]
    assert [one for one in run(rounds(300)).said if one[2] == "identical"] == []


def test_a_user_message_forgets_all_but_the_numbers() -> None:
    """Everything of a history starts anew, its turns and places go on."""
    told = run([step("look", {"at": 1}, "seen")] * 4 + [step("look", {"at": 1}, "seen", user_message=True)])
    assert (told.history.place, told.history.turns.number, len(told.history.entries)) == (5, 5, 1)
    assert [one.repeat for one in told.observations] == [1, 2, 3, 4, 1]
    assert told.observations[-1].verdict == "allow"


def test_a_state_holds_no_content() -> None:
    """Nothing of names, keys and texts that a call is made of can be read in the bytes, but tools' names."""
    content = "correct horse battery staple"
    told = run([step("look", {"at": content}, content, call_id=content, turn=1, state=content)] * 3)
    data = pack_history(told.history)
    assert content.encode() not in data
    assert b"look" in data


# Tags -------------------------------------------------------------------------------------------------------------


def test_keys_are_bound_to_their_key_id() -> None:
    """Equal digits under two ids are two keys, and the evidence shows the digits again."""
    fingerprint = "0123456789abcdef" * 2
    mine, other = key_of(fingerprint, "a"), key_of(fingerprint, "b")
    assert mine is not None
    assert other is not None
    assert mine != other
    assert print_of(mine, salt_of("a")) == print_of(other, salt_of("b")) == fingerprint[:16]
    assert key_of(None, "a") is None


@pytest.mark.parametrize("text", ["", "not hex at all", "-1", "0x12", "\ud800", "ß" * 99, "1_2"])
def test_what_is_no_fingerprint_still_has_a_number(text: str) -> None:
    """Spans of other programs may carry anything; it fits 64 bits and is the same each time."""
    assert 0 <= number_of(text) < 1 << 64
    assert number_of(text) == number_of(str(text))


def test_symbols_are_of_sets() -> None:
    """Order and repetition do not matter, a key that is not known does."""
    assert symbol_of([1, 2, 3]) == symbol_of([3, 1, 2])
    assert symbol_of({1, 2}) != symbol_of({1, 3})
    assert symbol_of([1, None]) is None
    assert all(symbol_of_key(key) == symbol_of([key]) for key in (0, 1, 2**63, 2**64 - 1))
