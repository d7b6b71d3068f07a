"""`loopguard serve` as a process: help, sample, start, stop, and nothing said of what it saw."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from otel_loopguard.cli import main
from otel_loopguard.service.settings import SETTINGS, parse_file, settings_from
from tests.support.serving import KEY
from tests.support.spans import raw, traces


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_help_names_every_setting() -> None:
    """Each setting with its default, in groups."""
    shown = CliRunner().invoke(main, ["serve", "--help"]).stdout
    for setting in SETTINGS:
        assert "--" + setting.name.replace("_", "-") in shown
    assert "Who may come in:" in shown


def test_the_sample_is_what_holds_without_one() -> None:
    """Every setting stands in the sample, with the value that it has anyway."""
    sample = CliRunner().invoke(main, ["serve", "--sample"]).stdout
    assert list(yaml.safe_load(sample)) == [setting.name for setting in SETTINGS]
    assert settings_from({}, {}, parse_file(sample)) == settings_from({}, {}, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("latenes: 1s", "`latenes` is no setting, did you mean `lateness`?"),
        ("- lateness", "the settings file must hold `name: value` lines"),
        ("lateness: [1s]", "`lateness` must be a single value"),
        ("lateness: {", "the settings file is no YAML at line 1"),
        ("lateness: 10", "`lateness`: expected a time such as"),
    ],
)
def test_settings_files_that_are_wrong(tmp_path: Path, text: str, words: str) -> None:
    """The setting or the line is named; exit 2."""
    (tmp_path / "serve.yaml").write_text(text)
    done = CliRunner().invoke(main, ["serve", "--config", str(tmp_path / "serve.yaml")])
    assert (done.exit_code, words in done.output) == (2, True), done.output


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"LOOPGUARD_KEY": "weak"}, "LOOPGUARD_KEY"),
        ({"LOOPGUARD_POLICY": "/no/policy.yaml"}, "/no/policy.yaml"),
        ({"LOOPGUARD_SERVE_TOKEN_FILE": "/no/tokens"}, "/no/tokens"),
    ],
)
def test_what_an_agent_would_make_do_without(environ: dict[str, str], words: str) -> None:
    """A server with a broken key, policy or token file does not start; exit 2."""
    done = CliRunner().invoke(main, ["serve", "--state-file", ":memory:"], env=environ)
    assert (done.exit_code, words in done.output) == (2, True), done.output


def test_from_start_to_stop(tmp_path: Path) -> None:
    """SIGTERM ends it with everything kept and sent; nothing that it saw is in any line, file or page."""
    port, page = free_port(), free_port()
    command = [
        sys.executable, "-m", "otel_loopguard", "serve", "--http-address", f"127.0.0.1:{port}", "--grpc-address", "off",
        "--page-address", f"127.0.0.1:{page}", "--state-file", str(tmp_path / "state"), "--json-file", "-",
        "--lateness", "10m",
    ]  # fmt: skip
    environ = {**os.environ, "LOOPGUARD_KEY": KEY}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said == f"loopguard: ready: OTLP/HTTP on port {port}, pages on port {page}\n"
        body = traces([raw("run", number, {"q": "canary"}, ["canary"]) for number in range(1, 6)]).SerializeToString()
        for content, kind in ((body, "application/x-protobuf"), (b'{"canary": ', "application/json")):
            client = HTTPConnection("127.0.0.1", port, timeout=20)
            client.request("POST", "/v1/traces", content, {"content-type": kind})
            answer = client.getresponse()
            said += f"{answer.status} {answer.read()!r}"
            client.close()
        client = HTTPConnection("127.0.0.1", page, timeout=20)
        client.request("GET", "/metrics")
        said += client.getresponse().read().decode()
        client.close()
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        out, errors = process.communicate(timeout=20)
        assert time.monotonic() - begun < 15
    assert process.returncode == 0
    assert errors.endswith("loopguard: stopped, everything is kept\n")
    assert "canary" not in said + out + errors
    for path in tmp_path.iterdir():
        assert b"canary" not in path.read_bytes()
    checked = CliRunner().invoke(main, ["state", "check", str(tmp_path / "state")])
    assert "is whole" in checked.output
