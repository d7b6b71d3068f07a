"""Secret keys as people write them, and that no error shows one."""

from __future__ import annotations

import base64
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.errors import KeySettingError
from otel_loopguard.keys import decode_secret, new_secret

NEITHER = (
    "`KEY` is neither hex nor base64, "
    "write at least 32 random bytes in one of them, as `loopguard key new` prints a key"
)
REPEATS = "`KEY` repeats a few bytes and can be guessed: `loopguard key new` makes a random key"


@given(st.binary(min_size=24, max_size=72).map(bytes(range(8)).__add__))
def test_hex_and_both_kinds_of_base64_are_read(secret: bytes) -> None:
    """Hex, base64 and its URL form, padded or not, with line breaks as files have them."""
    padded = base64.b64encode(secret).decode()
    safe = base64.urlsafe_b64encode(secret).decode()
    for text in (
        secret.hex(),
        secret.hex().upper(),
        padded,
        padded.rstrip("="),
        safe,
        safe.rstrip("="),
        f" {padded[:9]}\n{padded[9:]}\n",
    ):
        if not all(character in "0123456789abcdefABCDEF" for character in text.strip()) or text.lower() == secret.hex():
            assert decode_secret(text, "KEY") == secret


def test_a_new_key_is_strong_and_new() -> None:
    """A new key has 32 random bytes."""
    keys = {new_secret() for _ in range(50)}
    assert len(keys) == 50
    assert {len(decode_secret(text, "KEY")) for text in keys} == {32}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", NEITHER),
        ("correct horse battery!", NEITHER),
        ("a" * 45, NEITHER),
        ("=" * 44, NEITHER),
        ("é" * 44, NEITHER),
        ("00" * 31, "`KEY` has 31 bytes, a key needs at least 32, in hex or base64: `loopguard key new` makes one"),
        ("c2hvcnQ=", "`KEY` has 5 bytes, a key needs at least 32, in hex or base64: `loopguard key new` makes one"),
        ("00" * 32, REPEATS),
        ("6b" * 64, REPEATS),
        ("A" * 43, REPEATS),
        (bytes([*range(7)] * 5).hex(), REPEATS),
    ],
)  # fmt: skip
def test_weak_and_broken_keys_are_refused(text: str, message: str) -> None:
    """The message says what is wrong and what helps; neither it nor the frames behind it hold what was written."""
    with pytest.raises(KeySettingError) as caught:
        decode_secret(text, "KEY")
    assert str(caught.value) == message
    assert caught.value.name == "KEY"
    assert caught.value.__context__ is None
    if text:
        shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
        assert text not in shown.split("secret_text.py")[-1]
