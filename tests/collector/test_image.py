"""The Dockerfile: what it copies, installs and starts exists, and nothing runs as root. No image is built here."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.support.queries import COLLECTOR_CONFIG

ROOT: Final = COLLECTOR_CONFIG.parent


def stages() -> dict[str, list[tuple[str, str]]]:
    """The Dockerfile's instructions by stage; a stage begins with those of the stage that it is made from."""
    text = (COLLECTOR_CONFIG / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    found: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base, _, stage = rest.partition(" AS ")
            found[stage] = [*found.get(base, []), ("FROM", base)]
            current = stage
        elif line.strip() and not line.startswith("#"):
            found[current].append((instruction, rest))
    return found


def of(stage: str, instruction: str) -> list[str]:
    """What a stage says by one instruction."""
    return [rest for name, rest in stages()[stage] if name == instruction]


def test_stages_that_compose_builds_exist() -> None:
    """Each target is a stage; the last one, built where nobody names one, is the detector."""
    compose = yaml.safe_load((COLLECTOR_CONFIG / "compose.yaml").read_text(encoding="utf-8"))
    built = [service["build"] for service in compose["services"].values() if "build" in service]
    assert {build["target"] for build in built} <= set(stages())
    assert list(stages())[-1] == "detector"


@pytest.mark.parametrize("stage", ["agent", "detector"])
def test_nothing_runs_as_root(stage: str) -> None:
    """The user is a number that is not nought, as Kubernetes' `runAsNonRoot` asks for."""
    (user,) = of(stage, "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_what_is_copied_exists() -> None:
    """Every source is in the clone and not kept from the builder, or in a stage before."""
    ignored = (COLLECTOR_CONFIG / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    for stage in stages():
        for words in (shlex.split(rest) for rest in of(stage, "COPY")):
            if words[0].startswith("--from="):
                assert words[0].removeprefix("--from=") in stages()
                continue
            for source in words[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in ignored


def test_what_is_installed_exists() -> None:
    """The packages are ours with an extra that we have, and those of the constraints; Python is one that we support."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for stage in ("agent", "detector"):
        (base,) = {rest for rest in of(stage, "FROM") if rest.startswith("python:")}
        version = base.removeprefix("python:").partition("-")[0]
        assert f"Programming Language :: Python :: {version}" in project
    installs = [shlex.split(rest) for rest in of("build-agent", "RUN") if "pip install" in rest]
    assert [words[-1] for words in installs] == [".[serve]", "opentelemetry-distro"]
    assert re.search(r"^serve = \[", project, re.MULTILINE)
    pinned = (ROOT / "constraints" / "newest.txt").read_text(encoding="utf-8")
    assert re.search(r"^opentelemetry-distro==", pinned, re.MULTILINE)
    assert all(words[words.index("--constraint") + 1] == "constraints/newest.txt" for words in installs)


def test_the_entry_points_start_what_they_name(tmp_path: Path) -> None:
    """`loopguard serve` is taken by the program; the agent's command runs here, as far as its help."""
    scripts = {script.name for script in entry_points(group="console_scripts")}
    for stage in ("agent", "detector"):
        (entry,) = of(stage, "ENTRYPOINT")
        assert json.loads(entry)[0] in scripts
    (entry,), (command,) = of("detector", "ENTRYPOINT"), of("detector", "CMD")
    assert [*json.loads(entry), *json.loads(command)] == ["loopguard", "serve"]
    program, *rest = json.loads(of("agent", "ENTRYPOINT")[0])
    beside = Path(sys.executable).with_name(program)
    environ = {
        "PATH": str(beside.parent),
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "OTEL_TRACES_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_METRICS_EXPORTER": "none",
    }
    arguments = json.loads(of("agent", "CMD")[0])
    done = subprocess.run(
        [beside, *rest, *arguments], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
