"""Whether we are on, with which key, what is removed, under which policy: a line for each variable of ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from otel_loopguard.cli.diagnosis import check_settings

SECRET: Final = "canary-secret"
GONE: Final = "on tool spans; exception texts are removed"


def settings(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Subject, level and text of every check of our own variables."""
    return [(check.subject, check.level, check.text) for check in check_settings(environ)]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("switch", "error", "LOOPGUARD_ENABLED is not on")),
        ({"LOOPGUARD_ENABLED": "yes"}, ("switch", "ok", "LOOPGUARD_ENABLED is on")),
        ({"LOOPGUARD_CONTENT": "keep"},
         ("redaction", "info", f"LOOPGUARD_CONTENT=keep: arguments and results stay {GONE}")),
        ({"LOOPGUARD_EXCEPTIONS": "keep"},
         ("redaction", "ok", ("LOOPGUARD_CONTENT=redact: arguments and results are removed from tool spans; exception "
          "texts stay"))),
        ({"LOOPGUARD_MODE": "enforce"},
         ("policy", "info", "mode `enforce` for every tool, by LOOPGUARD_MODE or LOOPGUARD_GUARD")),
        ({"LOOPGUARD_BAGGAGE": "on"}, ("baggage", "ok", "run id and agent are sent as W3C baggage")),
        ({"LOOPGUARD_BAGGAGE": "on", "OTEL_PROPAGATORS": "tracecontext"},
         ("baggage", "warning", "LOOPGUARD_BAGGAGE=on, and OTEL_PROPAGATORS has no `baggage`")),
        ({"LOOPGUARD_POLICY": "/nowhere/policy.yaml"},
         ("policy", "error", "/nowhere/policy.yaml: No such file or directory")),
        ({"LOOPGUARD_KEY_FILE": "/nowhere/key"},
         ("key", "error", "/nowhere/key: No such file or directory; agents use a key of one process alone")),
    ],
)  # fmt: skip
def test_settings(environ: dict[str, str], expected: tuple[str, str, str]) -> None:
    """Each variable of ours has its line."""
    assert expected in settings(environ)


@pytest.mark.parametrize("secret", [SECRET, "short", "not base64 at all!!" * 4])
def test_a_broken_key_is_told_without_it(secret: str) -> None:
    """A key that cannot be used is an error that does not repeat it."""
    (found,) = [one for one in settings({"LOOPGUARD_KEY": secret}) if one[0] == "key"]
    assert found[1] == "error"
    assert secret not in found[2]


def test_a_policy_and_its_errors(tmp_path: Path) -> None:
    """A policy is counted; one that is wrong is told with path and line."""
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("version: 1\ntools:\n  a: {kind: read}\n")
    bad.write_text("version: 1\ntools:\n  a: {kind: raed}\n")
    assert ("policy", "ok", f"{good}: 1 tools") in settings({"LOOPGUARD_POLICY": str(good)})
    (found,) = [one for one in settings({"LOOPGUARD_POLICY": str(bad)}) if one[0] == "policy"]
    assert found[1] == "error"
    assert "at `$.tools.a.kind` (line 3" in found[2]


def test_a_key_file_has_its_id(tmp_path: Path) -> None:
    """The id of the key that is in force is told, and what is wrong with the file's rights."""
    from otel_loopguard.keys import new_secret, with_key

    file = tmp_path / "key.yaml"
    text, _ = with_key("", str(file), new_secret(), "spring", active=True)
    file.write_text(text)
    file.chmod(0o644)
    found = [one[1:] for one in settings({"LOOPGUARD_KEY_FILE": str(file)}) if one[0] == "key"]
    assert found[0] == ("ok", "key id `spring`, scope `environment`")
    assert found[1][0] == "warning"
