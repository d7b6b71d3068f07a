"""What compose.yaml starts works together: its commands, variables and files, in one network, without containers.

The real Collector, Prometheus and Jaeger stand for the images, folders for volumes. Alertmanager and Grafana are not
among them.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.support.collector import ROOT, binary
from tests.support.jaeger import jaeger_binary
from tests.support.queries import COLLECTOR_CONFIG
from tests.support.required import missing

DRIVER: Final = Path(__file__).parent / "in_network.py"
SERVICES: Final[dict[str, dict[str, Any]]] = yaml.safe_load(
    (COLLECTOR_CONFIG / "compose.yaml").read_text(encoding="utf-8")
)["services"]
STOPPED: Final = urllib.parse.urlencode({"service": "stuck", "tags": '{"loopguard.finding.action":"stop"}'})


def program(service: str) -> list[str]:
    """What runs in a service's container."""
    if service in {"gateway", "files"}:
        return [str(binary())]
    if service == "detector":
        return [sys.executable, "-m", "otel_loopguard"]
    if service == "prometheus":
        found = shutil.which("prometheus")
        if found is None:
            missing("Prometheus is not installed (Debian, Ubuntu: apt install prometheus)")
        return [found]
    if service == "jaeger":
        return [str(jaeger_binary())]
    instrument = Path(sys.executable).with_name("opentelemetry-instrument")
    return [sys.executable, str(instrument), sys.executable, "-m", "demo.agent"]


def planned(service: str, folder: Path, key: str) -> dict[str, Any]:
    """A service as its container would start it, its mounts where they are here."""
    told = SERVICES[service]
    here = {
        target.partition(":")[0]: source for source, _, target in (at.partition(":") for at in told.get("volumes", ()))
    }
    places = {
        target: str((COLLECTOR_CONFIG / source).resolve()) if source.startswith(".") else str(folder / source)
        for target, source in here.items()
    }
    own = {"/prometheus": folder / "tsdb", "/var/lib/otelcol": folder / "queue", "/app": ROOT}
    places = {**{target: str(at) for target, at in own.items()}, **places}
    for place in places.values():
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        if not Path(place).exists():
            Path(place).mkdir()
    variables = {name: moved(value, places) for name, value in told.get("environment", {}).items()}
    if "LOOPGUARD_KEY" in variables:
        variables["LOOPGUARD_KEY"] = key
    return {
        "command": [*program(service), *(moved(argument, places) for argument in told["command"])],
        "environ": {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **variables},
        "folder": str(folder),
        "log": str(folder / f"{service}.log"),
    }


def moved(argument: str, places: dict[str, str]) -> str:
    """An argument, or what stands behind its `=`, with the start of its path as it is here."""
    flag, equals, value = argument.rpartition("=") if argument.startswith("--") else ("", "", argument)
    for target, place in sorted(places.items(), key=lambda item: -len(item[0])):
        if value == target or value.startswith(f"{target}/"):
            return f"{flag}{equals}{place}{value.removeprefix(target)}"
    return argument


def run(folder: Path, services: list[str], asks: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Start the services, then both agents, and ask until the answers are there."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("`unshare -rn` does not work here: it needs Linux with user namespaces")
    key = secrets.token_hex(32)
    plan = {
        "services": [planned(service, folder, key) for service in services],
        "agents": [planned(agent, folder, key) for agent in ("stuck", "healthy")],
        "ready": ["127.0.0.1:9464/readyz", "127.0.0.1:13133/", "127.0.0.1:23133/"],
        "asks": {name: {"url": url, "text": text} for name, (url, text) in asks.items()},
    }
    command = [unshare, "-rn", sys.executable, DRIVER]
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, check=False)
    logs = "".join(path.read_text()[-1500:] for path in sorted(folder.glob("*.log")))
    assert done.returncode == 0, done.stderr + logs
    found: dict[str, Any] = json.loads(done.stdout)
    assert [name for name, (_, text) in asks.items() if text not in found["held"][name]] == [], logs
    assert set(found["codes"]) == {0}, logs
    return found


def events(folder: Path) -> dict[str, set[str]]:
    """The events in the files backend, by the service that told them."""
    found: dict[str, set[str]] = {}
    for line in (folder / "output" / "logs.jsonl").read_text(encoding="utf-8").splitlines():
        for source in json.loads(line)["resourceLogs"]:
            (service,) = [
                pair["value"]["stringValue"]
                for pair in source["resource"]["attributes"]
                if pair["key"] == "service.name"
            ]
            names = {record["eventName"] for scope in source["scopeLogs"] for record in scope["logRecords"]}
            found.setdefault(service, set()).update(names)
    return found


def test_the_stuck_agent_is_told_from_the_healthy_one(tmp_path: Path) -> None:
    """Prometheus reads all pages, its alert is about the stuck agent alone, and so are the loop events in the files."""
    asks = {
        "targets": ("127.0.0.1:9090/api/v1/query?query=sum(up)", ',"3"]'),
        "counted": ("127.0.0.1:9090/api/v1/query?query=sum(loopguard_tool_calls_total)", ',"80"]'),
        "alerts": ("127.0.0.1:9090/api/v1/alerts", '"LoopguardAgentStuck"'),
    }
    held = run(tmp_path, ["gateway", "detector", "files", "prometheus"], asks)["held"]
    alerts = json.loads(held["alerts"])["data"]["alerts"]
    assert {alert["labels"]["gen_ai_agent_name"] for alert in alerts} == {"stuck"}
    told = events(tmp_path)
    assert "loopguard.finding" in told["stuck"]
    assert "loopguard.finding" not in told.get("healthy", set())


def test_jaeger_shows_it(tmp_path: Path) -> None:
    """The search that the head of the file names finds the stuck agent's trace."""
    jaeger_binary()
    asks = {"found": (f"127.0.0.1:16686/api/traces?{STOPPED}", '"demo-stuck"')}
    held = run(tmp_path, ["gateway", "detector", "files", "jaeger"], asks)["held"]
    assert len(json.loads(held["found"])["data"]) == 1
