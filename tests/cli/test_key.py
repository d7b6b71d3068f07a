"""The commands that make keys and show their ids."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from otel_loopguard.core.fingerprint import SecretKey
from otel_loopguard.keys import decode_secret, read_key_file

ONE = "0123456789abcdef" * 4
ONE_ID = SecretKey(bytes.fromhex(ONE)).id


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`loopguard key` with ``arguments``, in an environment with no setting of ours but ``environ``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOOPGUARD_")}
    command = [sys.executable, "-m", "otel_loopguard", "key", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**kept, **environ}, timeout=60)


def test_a_new_key_is_printed_alone() -> None:
    """Standard output is the key and nothing else, so that it can be put where it belongs."""
    done = run("new")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(decode_secret(done.stdout, "KEY")) == 32
    assert done.stdout.count("\n") == 1
    as_json = json.loads(run("new", "--json").stdout)
    assert SecretKey(decode_secret(as_json["key"], "KEY")).id == as_json["id"]


def test_keys_in_a_file(tmp_path: Path) -> None:
    """The file is its owner's alone, holds every key added, and the key itself is not printed."""
    path = tmp_path / "keys.yaml"
    first = run("new", "--file", str(path))
    assert first.returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = run("new", "--file", str(path), "--id", "autumn", "--inactive", "--json")
    assert json.loads(second.stdout) == {"id": "autumn", "file": str(path), "active": False}
    ring = read_key_file(path.read_text(), str(path))
    assert ring.active.id == first.stdout.strip()
    assert set(ring.keys) == {ring.active.id, "autumn"}
    assert run("id", str(path)).stdout == f"{ring.active.id}\nautumn\n"
    third = run("new", "--file", str(path), "--id", "winter")
    assert third.stdout == "winter\n"
    assert json.loads(run("id", "--json", LOOPGUARD_KEY_FILE=str(path)).stdout) == {
        "active": "winter",
        "ids": ["winter", *sorted([ring.active.id, "autumn"])],
    }
    assert [file.name for file in tmp_path.iterdir()] == ["keys.yaml"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Behind a link, the file is replaced and not the link."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "keys.yaml")
    assert run("new", "--file", str(link), "--id", "a").returncode == 0
    assert link.is_symlink()
    assert read_key_file((tmp_path / "keys.yaml").read_text(), "f").active.id == "a"


def test_the_id_of_the_key_that_is_set() -> None:
    """From the variable; the key itself shows nowhere."""
    done = run("id", LOOPGUARD_KEY=ONE)
    assert (done.stdout, done.stderr, done.returncode) == (f"{ONE_ID}\n", "", 0)


def test_a_readable_file_is_warned_about(tmp_path: Path) -> None:
    """A warning goes to standard error and does not stop the command."""
    path = tmp_path / "key"
    path.write_text(ONE)
    path.chmod(0o644)
    done = run("id", str(path))
    assert (done.stdout, done.returncode) == (f"{ONE_ID}\n", 0)
    assert done.stderr == f"warning: the key file `{path}` can be read by everybody: `chmod 600 {path}`\n"


@pytest.mark.parametrize(
    ("arguments", "environ", "message"),
    [
        (["id"], {}, "no key is set: set `LOOPGUARD_KEY` or `LOOPGUARD_KEY_FILE`, or name a key file"),
        (["id"], {"LOOPGUARD_KEY": "CANARY"}, "`LOOPGUARD_KEY` has 4 bytes, a key needs at least 32"),
        (["id"], {"LOOPGUARD_KEY": "CANARY!"}, "`LOOPGUARD_KEY` is neither hex nor base64"),
        (["id", "/nowhere/key"], {}, "/nowhere/key: No such file or directory"),
        (["new", "--file", "/nowhere/key"], {}, "No such file or directory"),
        (["new", "--id", "a"], {}, "`--id` and `--inactive` need `--file`"),
        (["new", "--file", "{bad}"], {}, "expected a mapping"),
        (["new", "--file", "{new}", "--id", "a b"], {}, "a key id must be up to 64 letters"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: list[str], environ: dict[str, str], message: str) -> None:
    """A user's mistake is one clear error on standard error, exit code 2, no traceback, no key."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("- CANARY")
    bad.chmod(0o600)
    done = run(*(argument.format(bad=bad, new=tmp_path / "new") for argument in arguments), **environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "CANARY" not in done.stderr
    assert bad.read_text() == "- CANARY"
