"""Keyed fingerprints: the derivation, the messages, what separates them, and that no secret gets out."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.fingerprint import Fingerprinter, Keyring, SecretKey, fingerprinter

SECRET = bytes(range(32))
KEY = SecretKey(SECRET)
RING = Keyring(KEY)


def derived(purpose: str, scope: str = "environment", value: str = "") -> bytes:
    """HKDF-SHA256 of RFC 5869 with nothing but HMAC: no salt, one block."""
    info = f"otel-loopguard/1/{purpose}/{scope}/{value}".encode()
    extracted = hmac.digest(bytes(32), SECRET, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def mac(key: bytes, message: bytes) -> str:
    """The first 128 bits of HMAC-SHA256."""
    return hmac.digest(key, message, "sha256").hex()[:32]


def test_messages() -> None:
    """Each kind of fingerprint is the truncated HMAC of its message under the key of its purpose."""
    maker = fingerprinter(RING, "environment")
    assert maker.arguments("t", b'{"a":1}') == mac(derived("arguments"), b'["t",{"a":1}]')
    assert maker.arguments('caf"e\u0301', b"1", b'{"x":2}') == mac(
        derived("arguments"), '["caf\\"é",1,{"x":2}]'.encode()
    )
    assert maker.result(b"[]") == mac(derived("results"), b"[]")
    assert maker.error(b"no") == mac(derived("results"), b"error\x00no")
    assert maker.shape(b"no") == mac(derived("results"), b"shape\x00no")
    assert maker.state(b"[]") == mac(derived("state"), b"[]")


def test_a_tool_keeps_its_fingerprints_while_others_come() -> None:
    """What is remembered of a tool's name is bounded and changes nothing."""
    maker = fingerprinter(RING, "environment")
    first = maker.arguments("tool 0", b"1")
    for number in range(600):
        maker.arguments(f"tool {number}", b"1")
    assert maker.arguments("tool 0", b"1") == first


@pytest.mark.parametrize("tool", ["", "\ud800", "a" * 10_000])
def test_any_name_of_a_tool_will_do(tool: str) -> None:
    """Names are not checked: they come from a model."""
    assert len(fingerprinter(RING, "environment").arguments(tool, b"{}")) == 32


def test_what_separates_fingerprints() -> None:
    """Secret, scope, scope value, purpose and tool each make another fingerprint; 32 lowercase hex digits each."""
    found = [
        maker.arguments(tool, b"{}")
        for maker in (
            fingerprinter(RING, "environment"),
            fingerprinter(RING, "service", "a"),
            fingerprinter(RING, "service", "b"),
            fingerprinter(RING, "run", "a"),
            fingerprinter(Keyring(SecretKey(bytes(32))), "environment"),
        )
        for tool in ("t", "u")
    ]
    maker = fingerprinter(RING, "environment")
    found += [maker.result(b'["t",{}]'), maker.state(b'["t",{}]'), maker.error(b'["t",{}]'), maker.shape(b'["t",{}]')]
    assert len(set(found)) == len(found)
    assert all(len(text) == 32 and set(text) <= set("0123456789abcdef") for text in found)


def test_environment_scope_has_no_value() -> None:
    """Fingerprints of scope `environment` agree across services and runs, whatever value is given."""
    assert fingerprinter(RING, "environment", "r1").result(b"1") == fingerprinter(RING, "environment", "r2").result(
        b"1"
    )


def test_key_ids() -> None:
    """An id is given, or derived from the secret one way; it travels with the fingerprinter."""
    assert (
        KEY.id
        == SecretKey(SECRET).id
        == hmac.digest(hmac.digest(bytes(32), SECRET, "sha256"), b"otel-loopguard/1/id//\x01", "sha256")[:4].hex()
    )
    assert SecretKey(bytes(32)).id != KEY.id
    assert SecretKey(SECRET, "autumn").id == "autumn"
    assert fingerprinter(Keyring(SecretKey(SECRET, "autumn")), "run", "r").key_id == "autumn"


def test_older_keys_are_still_known() -> None:
    """A ring makes fingerprints with one key and knows the others by id."""
    old = SecretKey(bytes(32), "old")
    ring = Keyring(KEY, [old])
    assert set(ring.keys) == {KEY.id, "old"}
    assert fingerprinter(ring, "environment").key_id == KEY.id
    assert fingerprinter(ring, "environment", key_id="old").result(b"1") == fingerprinter(
        Keyring(old), "environment"
    ).result(b"1")
    with pytest.raises(KeyError):
        fingerprinter(ring, "environment", key_id="never heard of")


def test_short_secrets_are_refused() -> None:
    """A secret is at least as long as the hash."""
    with pytest.raises(ValueError, match="at least 32 bytes"):
        SecretKey(bytes(31))


# Tags -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=40), max_size=300))
def test_tags_depend_on_the_value_alone(values: list[bytes]) -> None:
    """A tag is a 32-bit number of its value, wherever the value stands in the list."""
    maker = fingerprinter(RING, "environment")
    tags = maker.tags(values)
    assert tags == tuple(maker.tags([value])[0] for value in values)
    assert all(0 <= tag < 2**32 for tag in tags)


def test_tags_tell_values_apart() -> None:
    """No two of three thousand values share a tag; by chance one in a thousand keys would have it otherwise."""
    values = (
        [str(number).encode() for number in range(3000)]
        + [b"x" * size for size in range(1, 60)]
        + [b"", b"\x00", b"\x00\x00"]
    )
    tags = fingerprinter(RING, "environment").tags(values)
    assert len(set(tags)) == len(values)
    assert tags != fingerprinter(RING, "run", "r").tags(values)


def test_a_long_value_is_its_digest() -> None:
    """A value over fifteen bytes has the tag of the first fifteen bytes of its SHA-256."""
    value = b"a value of more than fifteen bytes"
    assert fingerprinter(RING, "environment").tags([value]) == fingerprinter(RING, "environment").tags(
        [hashlib.sha256(value).digest()[:15]]
    )


# Secrets ----------------------------------------------------------------------------------------------------------

MARK = b"CANARYCANARYCANARYCANARYCANARYCA"
HOLDERS = [SecretKey(MARK), Keyring(SecretKey(MARK)), fingerprinter(Keyring(SecretKey(MARK)), "environment")]


@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_nothing_prints_or_pickles_a_secret(holder: SecretKey | Keyring | Fingerprinter) -> None:
    """No repr, text or format shows it, pickling and turning into a dict are refused, copies are the object itself."""
    for shown in (repr(holder), str(holder), f"{holder}", repr([holder]), repr({"k": holder})):
        assert "CANARY" not in shown
        assert MARK.hex() not in shown
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(holder, protocol)
    assert copy.copy(holder) is holder
    assert copy.deepcopy(holder) is holder
    with pytest.raises(TypeError):
        vars(holder)


@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_a_traceback_with_local_variables_shows_no_secret(holder: SecretKey | Keyring | Fingerprinter) -> None:
    """Error reporters print the local variables of every frame: those of a frame that holds a key, too."""

    def fails(kept: object) -> None:
        raise RuntimeError(type(kept).__name__)

    try:
        fails(holder)
    except RuntimeError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert type(holder).__name__ in shown
    assert "CANARY" not in shown


def test_a_short_secret_is_not_in_the_error() -> None:
    """The error for a weak secret leaves no frame behind that holds it."""
    try:
        SecretKey(b"CANARY")
    except ValueError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    own = shown.split("fingerprint.py")[-1]
    assert "CANARY" not in own


@given(st.lists(st.text(max_size=20), max_size=40))
def test_words_have_the_tags_of_their_bytes(words: list[str]) -> None:
    """Looking words up gives what making their tags gives, the first time and the second, however many there are.

    But for the lowest bit, which says whether there is anything but letters in the word.
    """
    maker = fingerprinter(RING, "environment")
    tags = maker.tags([word.encode("utf-8", "surrogatepass") for word in words])
    expected = [tag - tag % 2 + (not word.isalpha()) for word, tag in zip(words, tags, strict=True)]
    assert maker.word_tags(words) == expected
    assert maker.word_tags(words) == expected
    assert maker.word_tags(words[::-1]) == expected[::-1]


def test_remembered_words_are_bounded() -> None:
    """A process that says ever new words remembers the tags of some thousand of them."""
    maker = fingerprinter(RING, "environment")
    for number in range(5_000):
        maker.word_tags([f"word {number}"])
    assert len(maker._known) <= 4_097
