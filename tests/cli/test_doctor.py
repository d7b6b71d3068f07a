"""`loopguard doctor`: what would keep loops from being found, in words and with the way out, and no secret in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from otel_loopguard.core import engine

KEY: Final = "0123456789abcdef" * 4


def doctor(environ: Mapping[str, str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command in an environment: exit code and what it says."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPGUARD_", "OTEL_", "COV"))}
    done = subprocess.run(
        [sys.executable, "-m", "otel_loopguard", "doctor", "--json", "--offline", *arguments],
        env={**own, **environ}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, told


def levels(told: Mapping[str, Any], subject: str) -> list[str]:
    """The levels of the checks of a subject."""
    return [check["level"] for check in told["checks"] if check["subject"] == subject]


def test_a_bare_environment_is_told() -> None:
    """Where nothing is switched on, that is what prevents detection."""
    code, told = doctor({})
    assert (code, told["prevented"]) == (1, True)
    assert levels(told, "switch") == ["error"]
    assert levels(told, "provider") == []


def test_the_package_is_told() -> None:
    """Whether it is compiled, by the name of a file of it."""
    is_compiled = not str(engine.__file__).endswith(".py")
    (text,) = [check["text"] for check in doctor({})[1]["checks"] if check["subject"] == "package"]
    assert text.split(":")[0] == ("compiled" if is_compiled else "interpreted")


def test_an_environment_that_works() -> None:
    """Switched on with a key, a provider that the process makes is watched, and nothing prevents detection."""
    code, told = doctor({"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": KEY})
    assert (levels(told, "switch"), levels(told, "key"), levels(told, "start-up")) == (["ok"], ["ok"], ["ok"])
    assert levels(told, "provider") == ["ok"]
    assert (code, told["prevented"]) == (0, False)
    assert KEY not in json.dumps(told)


def test_the_providers_of_a_command(tmp_path: Path) -> None:
    """Of a command that is run, each provider is told with who made it, its sampler and limits; vendors' own too."""
    vendor = tmp_path / "crewai" / "telemetry"
    vendor.mkdir(parents=True)
    (vendor.parent / "__init__.py").write_text("")
    (vendor / "__init__.py").write_text("from opentelemetry.sdk.trace import TracerProvider\nown = TracerProvider()\n")
    script = tmp_path / "agent.py"
    script.write_text(
        "import sys\n"
        "from opentelemetry.sdk.trace import SpanLimits, TracerProvider, sampling\n"
        "TracerProvider()\n"
        "TracerProvider(sampler=sampling.ParentBased(sampling.TraceIdRatioBased(0.5)))\n"
        "TracerProvider(span_limits=SpanLimits(max_span_attribute_length=9))\n"
        "import crewai.telemetry\n"
        "sys.exit(3)\n"
    )
    environ = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": KEY, "PYTHONPATH": str(tmp_path)}
    code, told = doctor(environ, "--", sys.executable, str(script))
    providers = [check for check in told["checks"] if check["subject"] == "provider"]
    assert [one["level"] for one in providers] == ["ok", "warning", "warning", "info"]
    assert "TraceIdRatioBased{0.5} drops spans" in providers[1]["text"]
    assert "cuts attributes at 9 characters" in providers[2]["text"]
    assert "made by crewai.telemetry: the vendor's own telemetry" in providers[3]["text"]
    assert levels(told, "command") == ["warning"]
    assert code == 0


def test_a_command_that_makes_no_provider() -> None:
    """Nothing to watch is what prevents detection."""
    code, told = doctor({"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": KEY}, "--", sys.executable, "-c", "pass")
    assert (code, levels(told, "provider")) == (1, ["error"])


def test_the_table_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--json`, a line a check with a mark and the way out, and the sum at the end."""
    from otel_loopguard.cli import main

    monkeypatch.setenv("LOOPGUARD_ENABLED", "false")
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--offline"])
    out = capsys.readouterr().out
    assert left.value.code == 1
    assert "LOOPGUARD_ENABLED is not on" in out
    assert "-> LOOPGUARD_ENABLED=true" in out
    assert out.splitlines()[-1].endswith("of these prevents detection")
