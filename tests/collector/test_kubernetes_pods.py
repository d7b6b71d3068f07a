"""The detector and the gateway of the manifests, run with the arguments that stand there: they find each other.

Only places are changed: folders for mounts, free ports on loopback for Services.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc
import pytest

from tests.support.collector import Collector, free_port, until
from tests.support.incident import DETECTED, agents
from tests.support.manifests import FOLDER, one, pod
from tests.support.pki import Authority

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@dataclass
class Pods:
    """A backend, a gateway and a detector, and what the detector's Secrets hold."""

    backend: Collector
    gateway: Collector
    detector: subprocess.Popen[bytes]
    address: str
    """Of the detector's OTLP over gRPC."""
    page: str
    authority: bytes
    token: str


def mounted(folder: Path, token: str) -> None:
    """The volumes of the detector's Pod, as the README's commands fill them."""
    for place in ("key", "tokens", "tls", "policy", "state"):
        (folder / place).mkdir()
    command = [sys.executable, "-m", "otel_loopguard", "key", "new", "--file", folder / "key" / "loopguard.key"]
    subprocess.run(command, check=True, capture_output=True)
    (folder / "tokens" / "tokens").write_text(f"default {token}\n", encoding="utf-8")
    policy = one("ConfigMap", "loopguard-policy")["data"]["policy.yaml"]
    (folder / "policy" / "policy.yaml").write_text(policy, encoding="utf-8")
    authority = Authority(folder / "tls")
    certificate, key = authority.sign("loopguard-detector")
    for made, name in ((certificate, "tls.crt"), (key, "tls.key"), (authority.path, "ca.crt")):
        shutil.copy(made, folder / "tls" / name)


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    """All of it, running."""
    token = secrets.token_hex(32)
    mounted(tmp_path, token)
    places = {"/etc/loopguard": str(tmp_path), "/var/lib/loopguard": str(tmp_path / "state")}
    beside = tmp_path / "gateway_to_detector.yaml"
    beside.write_text(_moved((FOLDER / "kubernetes" / beside.name).read_text(encoding="utf-8"), places))
    ports = {"14317": free_port(), "14318": free_port(), "9464": free_port()}
    backend = Collector(tmp_path / "backend", "files_backend.yaml")
    gateway = Collector(
        tmp_path / "gateway", "gateway.yaml", beside,
        BACKEND_ENDPOINT=backend.grpc, DETECTOR_ENDPOINT=f"localhost:{ports['14317']}", DETECTOR_TOKEN=token,
    )  # fmt: skip
    places |= {f"0.0.0.0:{told}": f"127.0.0.1:{port}" for told, port in ports.items()}
    places["loopguard-gateway:4319"] = gateway.findings
    (container,) = pod(one("StatefulSet", "loopguard-detector"))["containers"]
    arguments = [_moved(argument, places) for argument in container["args"]]
    variables = {item["name"]: _moved(item["value"], places) for item in container["env"]}
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LOOPGUARD_SERVE_LATENESS": "1s", **variables}
    with backend, gateway:
        detector = subprocess.Popen([sys.executable, "-m", "otel_loopguard", *arguments], env=environ, cwd=tmp_path)
        page = f"127.0.0.1:{ports['9464']}"
        try:
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                url = page + container[probe]["httpGet"]["path"]
                until(partial(_is_well, url), f"{probe} is answered")
            yield Pods(
                backend, gateway, detector, f"localhost:{ports['14317']}", page,
                (tmp_path / "tls" / "ca.crt").read_bytes(), token,
            )  # fmt: skip
        finally:
            detector.send_signal(signal.SIGTERM)
            assert detector.wait(30) == 0


def _moved(text: str, places: dict[str, str]) -> str:
    for told, here in places.items():
        text = text.replace(told, here)
    return text


def _is_well(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{url}", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_loop_over_two_pods_is_found(pods: Pods) -> None:
    """Agents' calls go through the gateway to the detector, by TLS and with its token, and its findings come back."""
    sent = agents()
    for request in sent.spans:
        pods.gateway.send(request)
    until(lambda: _events(pods.backend) >= DETECTED, "the detector's events are at the backend")


def test_nobody_else_comes_in(pods: Pods) -> None:
    """Who has no token is refused, and so is who speaks without TLS; the page is open."""
    credentials = grpc.ssl_channel_credentials(pods.authority)
    body = agents().spans[0].SerializeToString()
    with grpc.secure_channel(pods.address, credentials) as channel:
        call = channel.unary_unary(EXPORT)
        call(body, timeout=20, metadata=[("authorization", f"Bearer {pods.token}")])
        with pytest.raises(grpc.RpcError) as refused:
            call(body, timeout=20)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with grpc.insecure_channel(pods.address) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(EXPORT)(body, timeout=5, metadata=[("authorization", f"Bearer {pods.token}")])
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert _is_well(f"{pods.page}/metrics")


def _events(backend: Collector) -> set[str]:
    return {log.name for log in backend.logs() if log.resource["service.name"] == "otel-loopguard"}
