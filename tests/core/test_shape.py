"""When two error messages have one shape, and when one key."""

from __future__ import annotations

import pytest

from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.core.reading.message import message_shape


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no such table: 'clients'", "no such table: 'buyers'"),
        ("no field '' here", "no field 'age' here"),
        ("call page({'': ''}) is wrong", "call page({'arguments': {}}) is wrong"),
        ("one of ['a', 'b'] expected", "one of ['c'] expected"),
        ("at most 10 lines, got 200", "at most 37 lines, got 120"),
    ],
)
def test_one_shape(one: str, other: str) -> None:
    """What is quoted, what stands in braces or brackets, and numbers belong to the call and not to the message."""
    assert message_shape(one, None) == message_shape(other, None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no such table: 'clients'", "no such column: 'clients'"),
        ("{unclosed at 3", "unclosed} at 3"),
        ("a " + "[" * 300 + "]" * 300, "b " + "[" * 300 + "]" * 300),
    ],
)
def test_two_shapes(one: str, other: str) -> None:
    """Messages that say something else keep what they say."""
    assert message_shape(one, None) != message_shape(other, None)


@pytest.mark.parametrize(
    "arguments",
    [{"width": 3, "height": 0}, {"z": {"b": 1, "a": 2}, "y": True}, {"texts": ["b", "a"]}],
)
def test_arguments_repeated_in_a_message_are_no_part_of_its_key(arguments: dict[str, object]) -> None:
    """Whatever the order in which the members were handed over, and in which they are kept."""
    reader = CallReader(Policy(), fingerprinter(Keyring(SecretKey(b"k" * 32)), "environment"))
    call = reader.call("crop", arguments)
    repeated = reader.outcome(call, arguments, f"rejected {arguments!r}: too small", is_error=True)
    masked = reader.outcome(call, arguments, "rejected \N{MIDDLE DOT}: too small", is_error=True)
    assert repeated.error == masked.error
