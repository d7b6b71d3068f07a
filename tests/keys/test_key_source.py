"""Which key is in force in an agent and in a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_loopguard.config import Settings
from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.errors import KeySettingError
from otel_loopguard.keys import KeySource, load_keyring

SECOND = 1_000_000_000
ONE = "0123456789abcdef" * 4
TWO = "fedcba9876543210" * 4
ONE_ID = SecretKey(bytes.fromhex(ONE)).id


def test_the_key_of_the_variable() -> None:
    """A good key is in force at once, and nothing is said."""
    said: list[str] = []
    source = KeySource(Settings.read({"LOOPGUARD_KEY": ONE}), said.append)
    assert source.keyring(0).active.id == ONE_ID
    assert source.keyring(0) is source.keyring(5 * SECOND)
    assert said == []


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {},
            (
                "no key is set, so fingerprints of this process cannot be compared with those of others: "
                "set `LOOPGUARD_KEY` or `LOOPGUARD_KEY_FILE`, `loopguard key new` makes a key"
            ),
        ),
        (
            {"LOOPGUARD_KEY": "00"},
            (
                "`LOOPGUARD_KEY` has 1 bytes, a key needs at least 32, "
                "in hex or base64: `loopguard key new` makes one; "
                "using a key of this process alone"
            ),
        ),
        (
            {"LOOPGUARD_KEY_FILE": "/nowhere/keys.yaml", "LOOPGUARD_KEY": ONE},
            (
                "`LOOPGUARD_KEY_FILE`: `/nowhere/keys.yaml` cannot be read: No such file or directory; "
                "using a key of this process alone"
            ),
        ),
        (
            {"LOOPGUARD_KEY": "00" * 32},
            (
                "`LOOPGUARD_KEY` repeats a few bytes and can be guessed: `loopguard key new` makes a random key; "
                "using a key of this process alone"
            ),
        ),
    ],
)
def test_an_agent_without_a_good_key_has_an_ephemeral_one(environ: dict[str, str], message: str) -> None:
    """It is told about once, the key stays the same as long as the process lives, and no other process has it."""
    said: list[str] = []
    source = KeySource(Settings.read(environ), said.append)
    ring = source.keyring(0)
    assert ring.active.id == "ephemeral"
    assert [source.keyring(second * SECOND) for second in (1, 2, 3)] == [ring] * 3
    assert said == [message]
    other = KeySource(Settings.read(environ), said.append).keyring(0)
    assert fingerprinter(ring, "environment").result(b"1") != fingerprinter(other, "environment").result(b"1")


def test_a_rotation_needs_no_restart(tmp_path: Path) -> None:
    """The new key is known first, then active; the old one is known until it is removed."""
    path = tmp_path / "keys.yaml"
    path.write_text(f"keys: {{old: {ONE}}}\n")
    path.chmod(0o600)
    said: list[str] = []
    source = KeySource(Settings.read({"LOOPGUARD_KEY_FILE": str(path)}), said.append)
    before = source.keyring(0)
    assert (before.active.id, set(before.keys)) == ("old", {"old"})
    path.write_text(f"active: old\nkeys: {{old: {ONE}, new: {TWO}}}\n")
    known = source.keyring(SECOND)
    assert (known.active.id, set(known.keys)) == ("old", {"old", "new"})
    path.write_text(f"active: new\nkeys: {{old: {ONE}, new: {TWO}}}\n")
    active = source.keyring(2 * SECOND)
    assert (active.active.id, set(active.keys)) == ("new", {"old", "new"})
    path.write_text(f"keys: {{new: {TWO}}}\n")
    assert set(source.keyring(3 * SECOND).keys) == {"new"}
    assert said == [f"`{path}` has changed and was read again"] * 3


@pytest.mark.parametrize(
    ("mode", "warning"),
    [
        (0o600, None),
        (0o640, None),
        (0o400, None),
        (0o644, "can be read by everybody"),
        (0o602, "can be written by everybody"),
        (0o620, "can be written by its group"),
    ],
)
def test_rights_of_a_key_file(tmp_path: Path, mode: int, warning: str | None) -> None:
    """Whoever can read the key can try arguments, whoever can write it can choose it: said, in agents and commands."""
    path = tmp_path / "keys.yaml"
    path.write_text(ONE)
    path.chmod(mode)
    settings = Settings.read({"LOOPGUARD_KEY_FILE": str(path)})
    expected = [] if warning is None else [f"the key file `{path}` {warning}: `chmod 600 {path}`"]
    said: list[str] = []
    assert KeySource(settings, said.append).keyring(0).active.id == ONE_ID
    assert said == expected
    told: list[str] = []
    assert load_keyring(settings, told.append).active.id == ONE_ID
    assert told == expected


def test_commands_refuse_what_an_agent_only_warns_about(tmp_path: Path) -> None:
    """A command with a bad key ends; without any it goes on with an ephemeral one, and says so."""
    with pytest.raises(KeySettingError, match="`LOOPGUARD_KEY` has 2 bytes"):
        load_keyring(Settings.read({"LOOPGUARD_KEY": "0000"}))
    with pytest.raises(FileNotFoundError):
        load_keyring(Settings.read({"LOOPGUARD_KEY_FILE": str(tmp_path / "none")}))
    (tmp_path / "bad").write_text("keys: []")
    with pytest.raises(KeySettingError, match="expected a mapping"):
        load_keyring(Settings.read({"LOOPGUARD_KEY_FILE": str(tmp_path / "bad")}))
    said: list[str] = []
    assert load_keyring(Settings.read({}), said.append).active.id == "ephemeral"
    assert len(said) == 1


def test_a_source_prints_no_key() -> None:
    """A key that was set shows in no text about where keys come from."""
    source = KeySource(Settings.read({"LOOPGUARD_KEY": ONE}), lambda _: None)
    assert ONE not in repr(source) + repr(source.keyring(0)) + str(vars(Keyring).keys())
