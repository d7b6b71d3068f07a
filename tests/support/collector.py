"""The real Collector with a recipe of `collector_config/`, on free ports in a folder; what it wrote; what goes in.

Not a stand-in: the binary of `make collector`, or one that is given, as a process that can be killed and started again.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import grpc
import pytest
from google.protobuf.message import Message

from tests.support.required import missing

ROOT: Final = Path(__file__).resolve().parent.parent.parent
RECIPES: Final = ROOT / "collector_config"
ADDRESSES: Final = (
    "OTLP_GRPC_ADDRESS", "OTLP_HTTP_ADDRESS", "FINDINGS_GRPC_ADDRESS", "HEALTH_ADDRESS", "PROMETHEUS_ADDRESS",
)  # fmt: skip
"""Variables of the recipes that say where a Collector listens."""
Protocol = Literal["grpc", "http"]
_SIGNALS: Final = {"ExportTraceServiceRequest": "trace", "ExportLogsServiceRequest": "logs"}
_PORTS: Final = range(29_000, 32_768)
"""Below the range from which Linux gives outgoing connections theirs, above what the recipes listen on."""
_given: Final[set[int]] = set()
_POLLS: Final = 1500
_POLL: Final = 0.02


@cache
def binary() -> Path:
    """The Collector that `COLLECTOR` names, else the built one; without one the test is skipped, and fails in CI."""
    named = os.environ.get("COLLECTOR")
    if named:
        found = shutil.which(named)
        command = [found or "false", "--version"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if found is None or " version " not in said:
            pytest.fail(f"COLLECTOR={named} is no OpenTelemetry Collector", pytrace=False)
        return Path(found).absolute()
    command = [sys.executable, str(RECIPES / "build.py"), "--find"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        reason = "the Collector is not built: `make collector` builds it once, in 5 to 20 minutes"
        if shutil.which("go") is None:
            reason += "; it needs Go 1.26 or newer (https://go.dev/dl/)"
        missing(reason)
    return Path(told.stdout.splitlines()[-1])


def free_port() -> int:
    """A port that nobody has, and that no outgoing connection is given: one may be closed and opened again."""
    while True:
        port = random.choice(_PORTS)
        if port in _given:
            continue
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            _given.add(port)
            return port


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for what must come to hold within half a minute."""
    waiting = threading.Event()
    for _ in range(_POLLS):
        if holds():
            return
        waiting.wait(_POLL)
    raise AssertionError(f"it did not come to hold: {what}")


class Collector:
    """One Collector from entering to leaving, with the recipes that are named and variables for them."""

    def __init__(self, folder: Path, *recipes: str | Path, **variables: str) -> None:
        """Recipes by file name or path; later ones win. Every address is a free port, unless it is given."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "collector.log"
        self._command = [str(binary())]
        for recipe in recipes:
            self._command += ["--config", str(RECIPES / recipe)]
        self.variables = {name: f"127.0.0.1:{free_port()}" for name in ADDRESSES}
        self.variables |= {
            "TELEMETRY_PORT": str(free_port()),
            "QUEUE_DIR": str(folder / "queue"),
            "OUTPUT_DIR": str(folder / "output"),
        }
        self.variables |= variables
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Collector:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def grpc(self) -> str:
        """Target of its gRPC receiver."""
        return self.variables["OTLP_GRPC_ADDRESS"]

    @property
    def http(self) -> str:
        """Host and port of its HTTP receiver."""
        return self.variables["OTLP_HTTP_ADDRESS"]

    @property
    def findings(self) -> str:
        """Where the detector sends to, in the gateway."""
        return self.variables["FINDINGS_GRPC_ADDRESS"]

    @property
    def output(self) -> Path:
        """Where `files_backend.yaml` writes."""
        return Path(self.variables["OUTPUT_DIR"])

    def start(self) -> None:
        """Start it, again after a kill with the same ports and folders, and wait until it is healthy."""
        environ = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), **self.variables}
        with self.log.open("ab") as log:
            process = subprocess.Popen(self._command, env=environ, stdout=log, stderr=log, cwd=self.folder)
        self._process = process
        until(lambda: process.poll() is not None or self._is_healthy(), f"it runs\n{self.log.read_text()[-3000:]}")
        if process.poll() is not None:
            raise AssertionError(f"the Collector ended with {process.returncode}\n{self.log.read_text()[-3000:]}")

    def stop(self) -> None:
        """SIGTERM, and its end; what it holds in memory it hands on first."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the Collector did not stop\n{self.log.read_text()[-3000:]}") from None

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.variables['HEALTH_ADDRESS']}/", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def send(self, message: Message, protocol: Protocol = "grpc") -> None:
        """Send an OTLP request to its receiver; raises where it is not taken."""
        if protocol == "grpc":
            send_grpc(self.grpc, message)
        else:
            send_http(self.http, message)

    def rates(self) -> dict[str, float]:
        """The samples of the page of `metrics.yaml`: name with labels, sorted, to value."""
        return samples(page(self.variables["PROMETHEUS_ADDRESS"]))

    def telemetry(self) -> dict[str, float]:
        """The samples of its own metrics."""
        return samples(page(f"127.0.0.1:{self.variables['TELEMETRY_PORT']}"))

    def spans(self) -> list[Exported]:
        """What `files_backend.yaml` has written of spans until now."""
        return list(_exported(self.output / "traces.jsonl", "resourceSpans", "scopeSpans", "spans"))

    def logs(self) -> list[Exported]:
        """What `files_backend.yaml` has written of log records until now."""
        return list(_exported(self.output / "logs.jsonl", "resourceLogs", "scopeLogs", "logRecords"))

    def metrics(self) -> list[Exported]:
        """What `files_backend.yaml` has written of metrics until now."""
        return list(_exported(self.output / "metrics.jsonl", "resourceMetrics", "scopeMetrics", "metrics"))

    def written(self) -> bytes:
        """Everything in its folder but its log: outputs and queues."""
        held = [path for path in self.folder.rglob("*") if path.is_file() and path != self.log]
        return b"".join(path.read_bytes() for path in held)


@dataclass(frozen=True)
class Exported:
    """One span, log record or metric as the file exporter wrote it."""

    resource: Mapping[str, Any]
    scope: Mapping[str, Any]
    """Its name and attributes, as they were written."""
    fields: Mapping[str, Any]
    """The whole record in OTLP/JSON."""

    @property
    def name(self) -> str:
        """A span's or metric's name, a log record's event name."""
        return str(self.fields.get("name") or self.fields.get("eventName") or "")

    @property
    def attributes(self) -> dict[str, Any]:
        """Its own attributes, as plain values."""
        return plain(self.fields.get("attributes", ()))

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """A span's events: name and attributes."""
        return [(event["name"], plain(event.get("attributes", ()))) for event in self.fields.get("events", ())]


def _exported(path: Path, holders: str, scopes: str, leaves: str) -> Iterator[Exported]:
    if not path.exists():
        return
    *lines, _ = path.read_text().split("\n")  # the last one may be half written
    for line in lines:
        for holder in json.loads(line).get(holders, ()):
            resource = plain(holder.get("resource", {}).get("attributes", ()))
            for scoped in holder.get(scopes, ()):
                scope = scoped.get("scope", {})
                for leaf in scoped.get(leaves, ()):
                    yield Exported(resource, scope, leaf)


def plain(pairs: Any) -> dict[str, Any]:  # noqa: ANN401 - parsed JSON
    """Attributes in OTLP/JSON as a plain object."""
    return {pair["key"]: _plain(pair.get("value", {})) for pair in pairs}


def _plain(value: Mapping[str, Any]) -> Any:  # noqa: ANN401
    for kind, held in value.items():
        if kind == "kvlistValue":
            return plain(held.get("values", ()))
        if kind == "arrayValue":
            return [_plain(member) for member in held.get("values", ())]
        return int(held) if kind == "intValue" else held
    return None


def send_grpc(target: str, message: Message, metadata: tuple[tuple[str, str], ...] = ()) -> None:
    """One request over gRPC; raises `grpc.RpcError`."""
    signal_name = _SIGNALS.get(type(message).__name__, "metrics")
    service = {"trace": "Trace", "logs": "Logs", "metrics": "Metrics"}[signal_name]
    method = f"/opentelemetry.proto.collector.{signal_name}.v1.{service}Service/Export"
    with grpc.insecure_channel(target) as channel:
        channel.unary_unary(method)(message.SerializeToString(), timeout=20, metadata=metadata)


def send_http(address: str, message: Message, headers: Mapping[str, str] | None = None) -> None:
    """One request over HTTP; raises `AssertionError` for what is not accepted."""
    signal_name = _SIGNALS.get(type(message).__name__, "metrics")
    path = {"trace": "/v1/traces", "logs": "/v1/logs", "metrics": "/v1/metrics"}[signal_name]
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    try:
        held = {"content-type": "application/x-protobuf", **(headers or {})}
        connection.request("POST", path, message.SerializeToString(), held)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    assert answer.status == 200, f"{answer.status}: {body!r}"


def page(address: str) -> str:
    """The metrics page of an address."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
        text: str = answer.read().decode()
        return text


def samples(text: str) -> dict[str, float]:
    """The samples of a page: name with its labels in order, to value; what tells the scope is left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, value = line.rsplit(" ", 1)
        if "{" in name:
            bare, _, labels = name.partition("{")
            kept = sorted(one for one in _labels(labels.rstrip("}")) if not one.startswith("otel_scope_"))
            name = f"{bare}{{{','.join(kept)}}}"
        found[name] = float(value)
    return found


def _labels(text: str) -> list[str]:
    """Labels apart from each other; ours hold no commas."""
    return [one for one in text.split(",") if one]
