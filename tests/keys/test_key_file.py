"""Key files: what they may say, what is refused and how, and adding a key to one."""

from __future__ import annotations

import json

import pytest

from otel_loopguard.core.fingerprint import SecretKey
from otel_loopguard.errors import KeySettingError
from otel_loopguard.keys import read_key_file, with_key

ONE = "0123456789abcdef" * 4
TWO = "fedcba9876543210" * 4
DERIVED = SecretKey(bytes.fromhex(ONE)).id


@pytest.mark.parametrize(
    ("text", "active", "ids"),
    [
        (ONE, DERIVED, {DERIVED}),
        (f"\n{ONE}\n", DERIVED, {DERIVED}),
        (f"keys: {{autumn: {ONE}}}", "autumn", {"autumn"}),
        (f"active: autumn\nkeys:\n  autumn: {ONE}\n  spring: {TWO}\n", "autumn", {"autumn", "spring"}),
        (
            f"# rotation\nactive: 2026-11-01\nkeys:\n  2026-11-01: {ONE}\n  1e5: '{TWO}'\n",
            "2026-11-01",
            {"2026-11-01", "1e5"},
        ),
        (json.dumps({"active": "b", "keys": {"a": ONE, "b": TWO}}), "b", {"a", "b"}),
    ],
)
def test_what_a_key_file_may_say(text: str, active: str, ids: set[str]) -> None:
    """One key alone, or keys by id with the active one; scalars are texts, whatever YAML would make of them."""
    ring = read_key_file(text, "keys.yaml")
    assert ring.active.id == active
    assert set(ring.keys) == ids


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`keys.yaml` is empty, `loopguard key new --file` adds a key"),
        ("a: [", "`keys.yaml` is not YAML in line 1, column 5"),
        ("- x", "expected a mapping with `active` and `keys`, or one key alone - in `keys.yaml` (line 1, column 1)"),
        ("active: a", "`keys.yaml` has no `keys`, write one as `keys: {ID: KEY}`"),
        ("keys: {}", "`keys` is empty, `loopguard key new --file` adds one - in `keys.yaml` (line 1, column 7)"),
        ("keys: []", "expected a mapping of ids to keys at `keys` - in `keys.yaml` (line 1, column 7)"),
        (f"keys: {{a: {ONE}, a: {TWO}}}", "`a` is named twice - in `keys.yaml` (line 1, column 77)"),
        (f"keys: {{a: {ONE}, b: {TWO}}}", "`keys.yaml` has several keys, say which is `active`: `a`, `b`"),
        (
            f"active: c\nkeys: {{a: {ONE}, b: {TWO}}}",
            "`active` names no key, expected one of `a`, `b` - in `keys.yaml` (line 1, column 9)",
        ),
        (f"key: {ONE}\nkeys: {{}}", "unknown setting, expected `active` or `keys` - in `keys.yaml` (line 1, column 6)"),
        ("keys: {a: }", "expected a key at `keys.a` - in `keys.yaml` (line 1, column 10)"),
        ("keys: {a: [1]}", "expected a key at `keys.a` - in `keys.yaml` (line 1, column 11)"),
        (
            "keys: {a: 1234}",
            "`keys.yaml: a` has 2 bytes, a key needs at least 32, in hex or base64: `loopguard key new` makes one",
        ),
        (
            "secret!",
            (
                "`keys.yaml` is neither hex nor base64, write at least 32 random bytes in one of them, as "
                "`loopguard key new` prints a key"
            ),
        ),
        ("00" * 32, "`keys.yaml` repeats a few bytes and can be guessed: `loopguard key new` makes a random key"),
        (
            f"keys: {{ephemeral: {ONE}}}",
            "`keys.yaml`: a key id `ephemeral` must be up to 64 letters, digits, `.`, `_` or `-`, and not `ephemeral`",
        ),
        (
            f"keys: {{'a b': {ONE}}}",
            "`keys.yaml`: a key id must be up to 64 letters, digits, `.`, `_` or `-`, and not `ephemeral`",
        ),
        ("x" * 300_000, "`keys.yaml` is longer than 262,144 characters, it is no key file"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    """Each mistake is named with its place and the way out, and no message holds a key."""
    with pytest.raises(KeySettingError) as caught:
        read_key_file(text, "keys.yaml")
    assert str(caught.value) == message
    assert ONE not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_broken_file_is_not_quoted() -> None:
    """The YAML reader would show the line that it stumbled over, which may hold a key."""
    with pytest.raises(KeySettingError) as caught:
        read_key_file(f"keys: {{a: {ONE}", "keys.yaml")
    assert ONE not in str(caught.value)
    assert caught.value.__context__ is None


def test_adding_keys() -> None:
    """To nothing, to a key alone, and to a file; active or not yet."""
    text, first = with_key("", "f", ONE, None, active=False)
    assert first == DERIVED == read_key_file(text, "f").active.id
    text, second = with_key(text, "f", TWO, "autumn", active=False)
    assert second == "autumn"
    assert read_key_file(text, "f").active.id == first
    text, third = with_key(text, "f", "00112233445566778899aabbccddeeff" * 2, "winter", active=True)
    ring = read_key_file(text, "f")
    assert ring.active.id == third == "winter"
    assert set(ring.keys) == {first, "autumn", "winter"}
    from_alone, added = with_key(ONE, "f", TWO, None, active=True)
    assert set(read_key_file(from_alone, "f").keys) == {DERIVED, added}


def test_an_id_is_given_once() -> None:
    """Adding under an id that is there already is refused."""
    text, _ = with_key("", "f", ONE, "autumn", active=True)
    with pytest.raises(KeySettingError, match="has a key `autumn` already"):
        with_key(text, "f", TWO, "autumn", active=True)
