"""What compose.yaml names exists, and what shall meet listens where the other one looks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from demo.scripts import SCRIPTS
from otel_loopguard import names
from otel_loopguard.core.policy_file.text import parse_policy
from tests.support.collector import binary
from tests.support.queries import COLLECTOR_CONFIG
from tests.support.required import missing
from tests.support.serve_arguments import read_settings

ROOT: Final = COLLECTOR_CONFIG.parent
CACHE: Final = ROOT / ".cache" / "compose"
PARSER: Final = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2"
"""What Docker Compose reads its files with."""
TEXT: Final = (COLLECTOR_CONFIG / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: Final[dict[str, Any]] = yaml.safe_load(TEXT)
SERVICES: Final[dict[str, dict[str, Any]]] = COMPOSE["services"]
OWN_PORTS: Final = {"prometheus": {9090}, "alertmanager": {9093}, "grafana": {3000}}
"""Where these listen, on all addresses, when nobody says otherwise."""


# The file ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def parser() -> Path:
    """Compose's own parser, built once."""
    program = CACHE / PARSER.rpartition("@")[2] / "cmd"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        missing("Go is not installed (https://go.dev/dl/), it builds the parser of Docker Compose")
    environ = {**os.environ, "GOBIN": str(program.parent)}
    done = subprocess.run([go, "install", PARSER], env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        missing(f"Go cannot build {PARSER}: {done.stderr.strip()[-500:]}")
    return program


def parse(parser: Path, file: Path) -> tuple[int, str, str]:
    """Exit code, what is made of the file, and what is said against it."""
    command = [parser, "-no-interpolation", "-format", "json", file]
    done = subprocess.run(command, cwd=COLLECTOR_CONFIG, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_compose_takes_it(parser: Path) -> None:
    """Docker Compose's own parser takes the file, with all services."""
    code, out, errors = parse(parser, COLLECTOR_CONFIG / "compose.yaml")
    assert code == 0, errors
    assert set(json.loads(out)["services"]) == set(SERVICES)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("network_mode:", "network_mood:"), ("interval: 2s", "interval: [2]"), ("services:", "service:")],
)
def test_compose_notices_mistakes(parser: Path, tmp_path: Path, right: str, wrong: str) -> None:
    """The same parser refuses unknown keys and wrong types, so that taking the file means something."""
    broken = tmp_path / "compose.yaml"
    broken.write_text(TEXT.replace(right, wrong), encoding="utf-8")
    assert parse(parser, broken)[0] != 0


def test_everything_mounted_exists() -> None:
    """Files and folders of the clone that are mounted are there, read only; volumes and configs are declared."""
    for name, service in SERVICES.items():
        for volume in service.get("volumes", ()):
            source, _, target = volume.partition(":")
            if source.startswith("."):
                assert (COLLECTOR_CONFIG / source).exists(), f"{name}: {source}"
                assert target.endswith(":ro")
            else:
                assert source in COMPOSE["volumes"]
        for config in service.get("configs", ()):
            assert config["source"] in COMPOSE["configs"]
        build = service.get("build")
        if build:
            assert (COLLECTOR_CONFIG / build["context"] / build["dockerfile"]).is_file()


def test_images_have_versions() -> None:
    """The Collector is the release that the recipes are tested with."""
    images = {service["image"] for service in SERVICES.values()}
    assert all(re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", image) for image in images)
    release = re.search(r"otlpreceiver v([\d.]+)", (COLLECTOR_CONFIG / "builder.yaml").read_text(encoding="utf-8"))[1]
    assert f"otel/opentelemetry-collector-contrib:{release}" in images


def test_commands_in_the_head_name_services() -> None:
    """`docker compose run`, `cp` and the addresses at the top are about what is below."""
    head = TEXT[: TEXT.index("\nname:")]
    assert set(re.findall(r"run --rm (\w+)", head)) | set(re.findall(r"cp (\w+):", head)) <= set(SERVICES)
    assert set(map(int, re.findall(r"localhost:(\d+)", head))) <= published()
    dashboard = json.loads((COLLECTOR_CONFIG / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
    assert f'dashboard "{dashboard["title"]}"' in head
    rules = (COLLECTOR_CONFIG / "prometheus" / "rules.yaml").read_text(encoding="utf-8")
    assert all(f"alert: {alert}\n" in rules for alert in re.findall(r"Loopguard[A-Z]\w+", head))


# The network ------------------------------------------------------------------------------------------------------


def environment(service: str) -> dict[str, str]:
    """A service's variables."""
    return dict(SERVICES[service].get("environment", {}))


def published() -> set[int]:
    """What this machine can reach."""
    return {int(port.rpartition(":")[2]) for port in SERVICES["gateway"]["ports"]}


def resolved(recipe: str, variables: Mapping[str, str]) -> Any:  # noqa: ANN401 - YAML
    """A recipe with its variables filled in, as the Collector does."""
    text = (COLLECTOR_CONFIG / recipe).read_text(encoding="utf-8")
    pattern = re.compile(r"\$\{env:(\w+)(?::-([^${}]*))?\}")
    while pattern.search(text):
        text = pattern.sub(lambda found: variables.get(found[1], found[2] or ""), text)
    return yaml.safe_load(text)


def addresses(value: object, key: str = "") -> set[str]:
    """Every address to listen at: endpoints, and hosts with their ports."""
    if isinstance(value, dict):
        found = {f"{value['host']}:{value['port']}"} if {"host", "port"} <= value.keys() else set()
        return found.union(*(addresses(item, str(name)) for name, item in value.items()))
    if isinstance(value, list):
        return set[str]().union(*(addresses(item) for item in value))
    return {str(value)} if key == "endpoint" else set()


def recipes(service: str) -> list[Any]:
    """The recipes that a service runs, filled in."""
    mounted = dict(volume.split(":")[1::-1] for volume in SERVICES[service].get("volumes", ()))
    named = [mounted[word.removeprefix("--config=")] for word in SERVICES[service]["command"] if word != "--config"]
    return [resolved(source, environment(service)) for source in named]


def listening(service: str) -> set[str]:
    """Where a service listens."""
    if service in OWN_PORTS:
        return {f"0.0.0.0:{port}" for port in OWN_PORTS[service]}
    if service == "detector":
        settings = read_settings(SERVICES[service]["command"])
        ours = (settings.grpc_address, settings.http_address, settings.page_address)
        return {f"{address.host}:{address.port}" for address in ours}
    if service in {"stuck", "healthy"}:
        return set()
    parts = [recipe.get(part, {}) for recipe in recipes(service) for part in ("receivers", "extensions", "service")]
    return addresses([*parts, *(page for recipe in recipes(service) for page in pages(recipe))])


def pages(recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Exporters that wait to be asked."""
    return [item for name, item in recipe.get("exporters", {}).items() if name.partition("/")[0] == "prometheus"]


def everywhere() -> dict[int, str]:
    """Every port that is listened at, with its service."""
    found: dict[int, str] = {}
    for service in SERVICES:
        for port in {int(address.rpartition(":")[2]) for address in listening(service)}:
            assert port not in found, f"{port}: {service} and {found[port]}"
            found[port] = service
    return found


def test_all_share_one_network() -> None:
    """All services are in the gateway's network, and no two listen at one port."""
    shared = {name: service.get("network_mode") for name, service in SERVICES.items() if name != "gateway"}
    assert set(shared.values()) == {"service:gateway"}
    assert len(everywhere()) >= 15


def test_only_what_is_published_can_be_reached() -> None:
    """Ports are published to this machine alone, where somebody listens; the rest is on loopback inside."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["gateway"]["ports"])
    open_ones = {
        int(address.rpartition(":")[2])
        for service in SERVICES
        for address in listening(service)
        if not address.startswith("127.0.0.1:")
    }
    assert published() == open_ones
    assert all("ports" not in service for name, service in SERVICES.items() if name != "gateway")


def test_everybody_is_where_the_other_one_looks() -> None:
    """Senders send to the service that is meant, and so do Prometheus, Grafana and the agents."""
    by_port = everywhere()
    gateway = recipes("gateway")[-1]["exporters"]
    prometheus = yaml.safe_load((COLLECTOR_CONFIG / "prometheus" / "prometheus.yaml").read_text(encoding="utf-8"))
    scraped = [
        target for job in prometheus["scrape_configs"] for group in job["static_configs"] for target in group["targets"]
    ]
    (alerting,) = prometheus["alerting"]["alertmanagers"]
    sources = yaml.safe_load(COMPOSE["configs"]["datasources"]["content"])["datasources"]
    looks = {
        gateway["otlp_grpc/detector"]["endpoint"]: "detector",
        gateway["otlp_grpc/traces"]["endpoint"]: "jaeger",
        gateway["otlp_grpc/logs"]["endpoint"]: "files",
        gateway["otlp_grpc/metrics"]["endpoint"]: "files",
        read_settings(SERVICES["detector"]["command"]).otlp_endpoint: "gateway",
        environment("stuck")["OTEL_EXPORTER_OTLP_ENDPOINT"]: "gateway",
        environment("healthy")["OTEL_EXPORTER_OTLP_ENDPOINT"]: "gateway",
        **{target: "alertmanager" for group in alerting["static_configs"] for target in group["targets"]},
        **{source["url"]: source["name"].lower() for source in sources},
    }
    found = {address: by_port[int(address.rpartition(":")[2])] for address in looks}
    assert found == looks
    assert {by_port[int(target.rpartition(":")[2])] for target in scraped} == {"detector", "gateway"}
    assert all(address.removeprefix("http://").startswith("127.0.0.1:") for address in [*looks, *scraped])


@pytest.mark.parametrize("service", ["gateway", "files"])
def test_the_collector_takes_its_recipes(tmp_path: Path, service: str) -> None:
    """The real Collector takes the files of each service with the variables that it is given."""
    mounted = dict(volume.split(":")[1::-1] for volume in SERVICES[service]["volumes"])
    files = [COLLECTOR_CONFIG / mounted[word.removeprefix("--config=")] for word in SERVICES[service]["command"]]
    command = [binary(), "validate", *(f"--config={file}" for file in files)]
    done = subprocess.run(command, env=environment(service), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# What runs in it --------------------------------------------------------------------------------------------------


def test_the_detector_stays_on_loopback() -> None:
    """Its arguments are taken, and nothing has to be switched off for them."""
    settings = read_settings(SERVICES["detector"]["command"])
    assert not settings.insecure
    assert not settings.page_public
    assert settings.drain < 15_000_000_000  # stop_grace_period
    assert Path(settings.state_file).is_relative_to("/var/lib/loopguard")


@pytest.mark.parametrize("agent", sorted(SCRIPTS))
def test_agents_are_those_of_the_demo(agent: str) -> None:
    """Each plays its script, and is told by variables that exist; all have the detector's key."""
    assert SERVICES[agent]["command"][0] == agent
    variables = environment(agent)
    assert variables["OTEL_SERVICE_NAME"] == agent
    ours = {name for name in variables if name.startswith("LOOPGUARD_")}
    assert ours <= {item.name for item in names.VARIABLES}
    assert variables["LOOPGUARD_KEY"] == environment("detector")["LOOPGUARD_KEY"]
    assert variables["LOOPGUARD_KEY"].startswith("${LOOPGUARD_KEY:?")  # no key of everybody's stands in the file


def test_agents_and_detector_have_one_policy() -> None:
    """The file that the detector mounts is the one in the agents' image, and it is a policy."""
    (mounted,) = [volume for volume in SERVICES["detector"]["volumes"] if "policy" in volume]
    source, target, _ = mounted.split(":")
    assert environment("detector")["LOOPGUARD_POLICY"] == target
    inside = Path(environment("stuck")["LOOPGUARD_POLICY"]).relative_to("/app")
    assert (COLLECTOR_CONFIG / source).resolve() == ROOT / inside
    parse_policy((ROOT / inside).read_text(encoding="utf-8"))
