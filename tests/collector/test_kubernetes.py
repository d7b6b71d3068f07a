"""The manifests are what Kubernetes takes, and say of the product only what the product does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from tests.support.collector import binary
from tests.support.manifests import FILES, FOLDER, KUSTOMIZATION, containers, documents, one, pod, secrets_of
from tests.support.required import missing
from tests.support.serve_arguments import read_settings

CHECKER: Final = FOLDER.parent / ".cache" / "kubernetes"
REQUIREMENTS: Final = Path(__file__).parent / "kubernetes.txt"
README: Final = (FOLDER / "kubernetes" / "README.md").read_text(encoding="utf-8")
MOUNTS: Final = "/etc/loopguard"
SECONDS: Final = 1_000_000_000


# As Kubernetes reads them -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def validate() -> Path:
    """kubernetes-validate in an environment of its own, since the schemas of all versions take 108 MB."""
    program = CHECKER / "bin" / "kubernetes-validate"
    held = CHECKER / "requirements.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if held.exists() and held.read_text(encoding="utf-8") == wanted:
        return program
    if os.environ.get("CI") != "true" and os.environ.get("LOOPGUARD_TEST_KUBERNETES") != "true":
        pytest.skip("kubernetes-validate is not installed in .cache/kubernetes: make test-kubernetes")
    shutil.rmtree(CHECKER, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", CHECKER],
        [CHECKER / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", REQUIREMENTS],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            missing(f"kubernetes-validate cannot be installed: {done.stderr.strip()[-500:]}")
    held.write_text(wanted, encoding="utf-8")
    return program


def complaints(validate: Path, *files: Path) -> str:
    """What kubernetes-validate has against these files; "" where it has nothing."""
    done = subprocess.run([validate, "--strict", *files], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_manifests_are_valid(validate: Path, tmp_path: Path) -> None:
    """By Kubernetes' own schemas, without a cluster, and no key in them is unknown; a misspelt one is noticed."""
    assert complaints(validate, *(FOLDER / file for file in FILES)) == ""
    for file in KUSTOMIZATION["resources"]:
        wrong = tmp_path / Path(file).name
        wrong.write_text(re.sub(r"^spec:", "speck:", (FOLDER / file).read_text(encoding="utf-8"), flags=re.MULTILINE))
        if "spec:" in (FOLDER / file).read_text(encoding="utf-8"):
            assert "speck" in complaints(validate, wrong)


def test_the_kustomization_builds() -> None:
    """What kubectl puts together is all of it, the gateway's own file among it."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed (https://kubernetes.io/docs/tasks/tools/)")
    done = subprocess.run([kubectl, "kustomize", FOLDER], capture_output=True, text=True, check=True)
    built = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(done.stdout)}
    written = documents(*KUSTOMIZATION["resources"])
    generated = [key for key in built if key[1].startswith("loopguard-gateway-")]
    assert set(built) == {(item["kind"], item["metadata"]["name"]) for item in written} | set(generated)
    (config,) = generated
    assert built[config]["data"]["gateway.yaml"] == (FOLDER / "gateway.yaml").read_text(encoding="utf-8")
    volumes = pod(built["StatefulSet", "loopguard-gateway"])["volumes"]
    assert [volume["configMap"]["name"] for volume in volumes if "configMap" in volume] == [config[1]]


def test_generated_files_exist() -> None:
    """The gateway reads the files that the kustomization gives it."""
    (generator,) = KUSTOMIZATION["configMapGenerator"]
    given = dict(file.split("=") if "=" in file else (Path(file).name, file) for file in generator["files"])
    assert all((FOLDER / file).is_file() for file in given.values())
    gateway = one("StatefulSet", "loopguard-gateway")
    (collector,) = pod(gateway)["containers"]
    assert collector["args"] == [f"--config=/etc/otelcol/{name}" for name in given]


# The detector -----------------------------------------------------------------------------------------------------


def detector() -> tuple[dict[str, Any], dict[str, Any]]:
    """Its StatefulSet and container."""
    workload = one("StatefulSet", "loopguard-detector")
    (container,) = pod(workload)["containers"]
    return workload, container


def ports(container: dict[str, Any]) -> dict[str, int]:
    """A container's ports by name."""
    return {port["name"]: port["containerPort"] for port in container["ports"]}


def test_the_detector_takes_its_arguments() -> None:
    """Every argument is a setting, they fit together, and the ports are the container's."""
    workload, container = detector()
    settings = read_settings(container["args"])
    assert ports(container) == {
        "otlp-grpc": settings.grpc_address.port,
        "otlp-http": settings.http_address.port,
        "page": settings.page_address.port,
    }
    assert {settings.grpc_address.host, settings.http_address.host, settings.page_address.host} == {"0.0.0.0"}  # noqa: S104
    assert settings.drain < pod(workload)["terminationGracePeriodSeconds"] * SECONDS
    assert settings.max_state <= 0.5 * mebibytes(container["resources"]["limits"]["memory"])
    assert not settings.insecure


def mebibytes(quantity: str) -> int:
    """The bytes of a Kubernetes quantity."""
    number, unit = re.fullmatch(r"(\d+)([MG]i)", quantity).groups()
    return int(number) * {"Mi": 2**20, "Gi": 2**30}[unit]


def test_the_detector_reads_what_is_mounted() -> None:
    """Every file that it is told of lies in a volume, and only the state's can be written."""
    workload, container = detector()
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    told = [value for argument in container["args"] for value in [argument.partition("=")[2]] if value.startswith("/")]
    told += [variable["value"] for variable in container["env"]]
    assert {str(Path(path).parent) for path in told} == set(mounts) - {"/tmp"}  # noqa: S108
    writable = {path for path, mount in mounts.items() if not mount.get("readOnly")}
    assert writable == {"/var/lib/loopguard", "/tmp"}  # noqa: S108
    (claim,) = workload["spec"]["volumeClaimTemplates"]
    assert mounts["/var/lib/loopguard"]["name"] == claim["metadata"]["name"]
    assert all("subPath" not in mount for mount in mounts.values())


def test_the_policy_is_one() -> None:
    """The policy of the ConfigMap is taken."""
    assert parse_policy(one("ConfigMap", "loopguard-policy")["data"]["policy.yaml"]) != Policy()


# The gateway ------------------------------------------------------------------------------------------------------


def gateway() -> dict[str, Any]:
    """The Collector's container."""
    (container,) = pod(one("StatefulSet", "loopguard-gateway"))["containers"]
    return container


def test_the_gateway_sets_variables_that_its_recipe_reads() -> None:
    """Every variable is one of the recipe's; the addresses are the container's ports and can be reached by others."""
    recipe = (FOLDER / "gateway.yaml").read_text(encoding="utf-8")
    beside = (FOLDER / "kubernetes" / "gateway_to_detector.yaml").read_text(encoding="utf-8")
    variables = {item["name"]: item.get("value", "") for item in gateway()["env"]}
    read = set(re.findall(r"\$\{env:([A-Z_0-9]+)", recipe + beside))
    assert set(variables) <= read
    assert set(re.findall(r"\$\{env:([A-Z_0-9]+)\}", recipe + beside)) <= set(variables)  # those without a default
    listening = {name: value for name, value in variables.items() if name.endswith(("_ADDRESS", "_HOST"))}
    assert {value.partition(":")[0] for value in listening.values()} == {"0.0.0.0"}  # noqa: S104
    expected = {
        "otlp-grpc": variables["OTLP_GRPC_ADDRESS"],
        "otlp-http": variables["OTLP_HTTP_ADDRESS"],
        "findings": variables["FINDINGS_GRPC_ADDRESS"],
        "health": variables["HEALTH_ADDRESS"],
        "metrics": ":" + re.search(r"TELEMETRY_PORT:-(\d+)", recipe)[1],
    }
    assert {name: f"{port}" for name, port in ports(gateway()).items()} == {
        name: address.rpartition(":")[2] for name, address in expected.items()
    }
    assert Path(variables["QUEUE_DIR"]).is_relative_to("/var/lib/otelcol")


def test_gateway_and_detector_meet() -> None:
    """Each is told the other's Service, at a port which that Service has."""
    _, container = detector()
    variables = {item["name"]: item.get("value", "") for item in gateway()["env"]}
    sent = read_settings(container["args"]).otlp_endpoint.removeprefix("http://")
    for address, port in ((variables["DETECTOR_ENDPOINT"], "otlp-grpc"), (sent, "findings")):
        name, _, number = address.partition(":")
        service = one("Service", name)
        assert {item["name"]: item["port"] for item in service["spec"]["ports"]}[port] == int(number)


def test_the_collector_takes_both_files(tmp_path: Path) -> None:
    """The gateway's recipe with TLS and token towards the detector is a configuration of the real Collector."""
    authority = tmp_path / "ca.crt"
    authority.write_text("")
    beside = (FOLDER / "kubernetes" / "gateway_to_detector.yaml").read_text(encoding="utf-8")
    (tmp_path / "beside.yaml").write_text(beside.replace(f"{MOUNTS}/tls", str(tmp_path)))
    command = [binary(), "validate", "--config", FOLDER / "gateway.yaml", "--config", tmp_path / "beside.yaml"]
    done = subprocess.run(
        command, env={"DETECTOR_TOKEN": "t" * 32}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# All of it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Service", "PodDisruptionBudget", "NetworkPolicy"])
def test_selectors_find_their_pods(kind: str) -> None:
    """What selects Pods selects those of one workload, and names ports that they have."""
    found = [item for item in documents() if item["kind"] == kind]
    assert {item["metadata"]["labels"]["app.kubernetes.io/component"] for item in found} == {"detector", "gateway"}
    for item in found:
        spec = item["spec"]
        selector = spec.get("podSelector", spec.get("selector"))
        labels = selector.get("matchLabels", selector)
        (container,) = [
            container
            for workload, container in containers()
            if labels.items() <= workload["spec"]["template"]["metadata"]["labels"].items()
        ]
        used = {port.get("targetPort", port.get("port")) for port in spec.get("ports", ())}
        used |= {port["port"] for rule in spec.get("ingress", ()) for port in rule["ports"]}
        assert used <= set(ports(container))


def test_only_gateways_and_prometheus_reach_the_detector() -> None:
    """Its OTLP ports take gateways alone, its page Prometheus alone; it reaches gateways and DNS alone."""
    spec = one("NetworkPolicy", "loopguard-detector")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    rules = {
        tuple(port["port"] for port in rule["ports"]): [source.get("podSelector") for source in rule["from"]]
        for rule in spec["ingress"]
    }
    gateways = one("StatefulSet", "loopguard-gateway")["spec"]["selector"]
    assert rules == {
        ("otlp-grpc", "otlp-http"): [gateways],
        ("page",): [{"matchLabels": {"app.kubernetes.io/name": "prometheus"}}],
    }
    assert [port["port"] for rule in spec["egress"] for port in rule["ports"]] == ["findings", 53, 53]


def test_pods_are_restricted() -> None:
    """Every Pod keeps to the Pod Security Standard `restricted` and writes to volumes alone; its resources are told."""
    for workload, container in containers():
        own = container["securityContext"]
        shared = pod(workload)["securityContext"]
        assert shared["runAsNonRoot"] is True
        assert shared["runAsUser"] != 0
        assert shared["seccompProfile"] == {"type": "RuntimeDefault"}
        assert own["allowPrivilegeEscalation"] is False
        assert own["readOnlyRootFilesystem"] is True
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]
    namespace = one("Namespace", KUSTOMIZATION["namespace"])
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_images_are_pinned() -> None:
    """No image without a version; that of the Collector is the release that the recipes are tested with."""
    images = {container["image"] for _, container in containers()}
    assert all(re.fullmatch(r"[a-z./-]+:\d+\.\d+\.\d+", image) for image in images)
    release = re.search(r"otlpreceiver v([\d.]+)", (FOLDER / "builder.yaml").read_text(encoding="utf-8"))[1]
    assert f"otel/opentelemetry-collector-contrib:{release}" in images


def test_secrets_are_made_as_told() -> None:
    """The README makes every Secret and every key of it that a Pod reads, and no manifest holds one."""
    made: dict[str, set[str]] = {}
    for line in README.splitlines():
        command = re.search(r"create secret generic (\S+)(.*)", line)
        if command:
            made.setdefault(command[1], set()).update(re.findall(r"--from-(?:file|literal)=([\w.]+)", command[2]))
    needed = {secret for workload, _ in containers() for secret in secrets_of(workload)}
    assert all(key in made[name] or key == "*" for name, key in needed)
    assert set(made) == {name for name, _ in needed}
    assert [item["kind"] for item in documents() if item["kind"] == "Secret"] == []
    _, container = detector()
    for argument in [*container["args"], *(variable["value"] for variable in container["env"])]:
        place = re.search(rf"{MOUNTS}/(key|tokens|tls)/(\S+)", argument)
        if place:
            assert any(place[2] in keys for keys in made.values())


def test_an_agent_is_told_what_it_understands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's variables exist, their values are allowed, and its OTLP goes to the gateway's Service."""
    workload = one("Deployment", "agent")
    (container,) = pod(workload)["containers"]
    variables = {item["name"]: item.get("value", "") for item in container["env"]}
    ours = {name: value for name, value in variables.items() if name.startswith("LOOPGUARD_")}
    assert set(ours) <= {item.name for item in names.VARIABLES}
    for place in ("key", "policy"):
        (tmp_path / place).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(
        [sys.executable, "-m", "otel_loopguard", "key", "new", "--file", tmp_path / "key" / "loopguard.key"],
        check=True,
        capture_output=True,
    )
    (tmp_path / "policy" / "policy.yaml").write_text(one("ConfigMap", "loopguard-policy")["data"]["policy.yaml"])
    settings = Settings.read_strict({name: value.replace(MOUNTS, str(tmp_path)) for name, value in ours.items()})
    assert settings.enabled
    name, _, port = variables["OTEL_EXPORTER_OTLP_ENDPOINT"].removeprefix("http://").partition(":")
    service, _, namespace = name.partition(".")
    assert namespace == KUSTOMIZATION["namespace"]
    assert int(port) in {item["port"] for item in one("Service", service)["spec"]["ports"]}


def test_prometheus_finds_the_detector_under_the_name_of_the_rules() -> None:
    """The ServiceMonitor takes the job's name from a label: that which the alert rules ask for."""
    spec = one("ServiceMonitor", "loopguard-detector")["spec"]
    service = one("Service", "loopguard-detector")
    job = service["metadata"]["labels"][spec["jobLabel"]]
    rules = (FOLDER / "prometheus" / "rules.yaml").read_text(encoding="utf-8")
    assert f'job="{job}"' in rules
    alerts = set(re.findall(r"`(Loopguard[A-Z]\w+)`", README))
    assert alerts
    assert all(f"alert: {alert}\n" in rules for alert in alerts)
    assert "jobLabel" not in one("ServiceMonitor", "loopguard-gateway")["spec"]  # its job must be another one
    for name in ("loopguard-detector", "loopguard-gateway"):
        watched, behind = one("ServiceMonitor", name)["spec"], one("Service", name)
        assert watched["selector"]["matchLabels"].items() <= behind["metadata"]["labels"].items()
        assert {item["port"] for item in watched["endpoints"]} <= {item["name"] for item in behind["spec"]["ports"]}
