"""Where messages go: what arrives, again and again until it does, and nothing twice under another id."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_loopguard import names
from otel_loopguard.errors import SettingError
from otel_loopguard.service.message import Message
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.sinks import Delivery, OtlpSink, SinkRefusedError, SinkUnavailableError, WebhookSink
from otel_loopguard.service.sinks.webhook import signature
from tests.support.serving import Serving
from tests.support.spans import annotated, traces

BODY = traces([annotated("run", number) for number in range(1, 6)]).SerializeToString()


class Backend(HTTPServer):
    """Takes whatever is posted; the first answers are given statuses."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Notes a request."""

    server: Backend

    def do_POST(self) -> None:
        """Keep the request, give the next status."""
        body = self.rfile.read(int(self.headers["content-length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.send_response(status)
        self.send_header("retry-after", "0")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def backend() -> Iterator[Backend]:
    """One that takes everything."""
    server = Backend()
    yield server
    server.shutdown()
    server.server_close()


def finding(number: int) -> Message:
    """A message."""
    attributes: dict[str, Any] = {names.RUN_ID: "run", names.FINDING_SEQUENCE: number, names.RUN_PROGRESSED: True}
    return Message(
        f"{number:032x}", "", names.FINDING, "WARN", 1_700_000_000_000_000_000, "a" * 32, "b" * 16, attributes
    )


def test_otlp_over_http(tmp_path: Path, backend: Backend) -> None:
    """Findings are log records with the event's name, in the scope of all that we emit, in reach of their span."""
    with Serving(tmp_path, otlp_endpoint=backend.url, otlp_protocol="http") as server:
        server.post(BODY)
        server.until(lambda: len(backend.seen) > 0)
    path, headers, body = backend.seen[0]
    assert (path, headers["content-type"]) == ("/v1/logs", "application/x-protobuf")
    (holder,) = ExportLogsServiceRequest.FromString(body).resource_logs
    assert MessageToDict(holder.resource)["attributes"][0]["value"] == {"stringValue": "otel-loopguard"}
    (scoped,) = holder.scope_logs
    assert scoped.scope.name == names.SCOPE
    records = [record for record in scoped.log_records if record.event_name == names.FINDING]
    assert [record.severity_text for record in records] == ["WARN", "WARN"]
    assert all(len(record.trace_id) == 16 and len(record.span_id) == 8 for record in records)


def test_otlp_over_grpc_with_metrics(tmp_path: Path) -> None:
    """The same over gRPC, with metrics beside them."""
    seen: dict[str, list[bytes]] = {"logs": [], "metrics": []}
    with otlp_backend(seen) as target:
        endpoint = {"otlp_endpoint": f"http://{target}", "otlp_metrics_every": "100ms"}
        with Serving(tmp_path, **endpoint) as server:
            server.post(BODY)
            server.until(lambda: bool(seen["logs"]) and len(seen["metrics"]) > 2)
            server.until(lambda: names.FINDINGS in metrics(seen["metrics"][-1]))
    (holder,) = ExportLogsServiceRequest.FromString(seen["logs"][0]).resource_logs
    assert names.FINDING in {record.event_name for record in holder.scope_logs[0].log_records}


def metrics(body: bytes) -> set[str]:
    """Names of the metrics of a request."""
    (holder,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    return {metric.name for metric in holder.scope_metrics[0].metrics}


class otlp_backend:  # noqa: N801 - used like a function
    """A gRPC backend."""

    def __init__(self, seen: dict[str, list[bytes]]) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.server = grpc.server(ThreadPoolExecutor(2))
        for signal in ("logs", "metrics"):
            service = f"opentelemetry.proto.collector.{signal}.v1.{signal.capitalize()}Service"

            def export(body: bytes, _context: object, held: list[bytes] = seen[signal]) -> bytes:
                held.append(body)
                return b""

            handler = grpc.unary_unary_rpc_method_handler(export)
            self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
        self.port = self.server.add_insecure_port("127.0.0.1:0")

    def __enter__(self) -> str:
        self.server.start()
        return f"127.0.0.1:{self.port}"

    def __exit__(self, *_: object) -> None:
        self.server.stop(0).wait()


def test_a_backend_that_is_away(tmp_path: Path) -> None:
    """Findings wait in the file while nobody takes them, over a restart, and come once somebody does."""
    with Serving(tmp_path, otlp_endpoint="http://127.0.0.1:1", otlp_protocol="http", drain="100ms") as server:
        server.post(BODY)
        server.until(lambda: 'queue_size{loopguard_queue_name="otlp"} 3' in server.page("/metrics"))
        server.until(lambda: any("otlp cannot be reached" in sentence for sentence in server.told))
        server.until(lambda: len(server.findings()) == 2)
    later = Backend(503, 429)
    with Serving(tmp_path, otlp_endpoint=later.url, otlp_protocol="http") as server:
        server.until(lambda: len(later.seen) == 1)
    later.shutdown()
    later.server_close()
    (holder,) = ExportLogsServiceRequest.FromString(later.seen[0][2]).resource_logs
    assert len(holder.scope_logs[0].log_records) == 3
    assert len({line["id"] for line in server.findings()}) == 2


def test_a_webhook_is_signed(backend: Backend) -> None:
    """The signature is an HMAC over time and body; only findings are sent."""
    secret = b"s" * 32
    sink = WebhookSink(f"{backend.url}/hook?room=1", secret, lambda: 1_700_000_000_000_000_000)
    other = Message("0" * 32, "", names.RUN_END, "INFO", 0, "", "", {})
    sink.send([finding(1), other])
    sink.send([other])
    ((path, headers, body),) = backend.seen
    assert path == "/hook?room=1"
    expected = hmac.new(secret, b"1700000000." + body, hashlib.sha256).hexdigest()
    assert headers["loopguard-signature"] == f"t=1700000000,v1={expected}" == signature(secret, 1_700_000_000, body)
    (message,) = json.loads(body)["messages"]
    assert (message["id"], message["attributes"][names.FINDING_SEQUENCE]) == (f"{1:032x}", 1)


@pytest.mark.parametrize(
    ("status", "error"),
    [(503, SinkUnavailableError), (429, SinkUnavailableError), (400, SinkRefusedError), (301, SinkRefusedError)],
)
def test_what_a_status_means(status: int, error: type[Exception]) -> None:
    """Some say later, the others never."""
    server = Backend(status)
    with pytest.raises(error):
        WebhookSink(server.url, b"", lambda: 0).send([finding(1)])
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("url", ["ftp://host/", "host:4317", "http://user:pass@host/", "http://host:port/", ""])
def test_addresses_that_are_none(url: str) -> None:
    """An address is checked at the start, and never shown: it may hold a secret."""
    for make in (lambda: WebhookSink(url, b"", lambda: 0), lambda: OtlpSink(url, "http", {}, None, "i")):
        with pytest.raises(SettingError) as error:
            make()
        assert "pass" not in str(error.value)


class Fickle:
    """A sink that is away at first and refuses one message for good."""

    name = "fickle"
    batch = 2

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.calls = 0

    def send(self, messages: list[Message]) -> None:
        """Take most of them, sooner or later."""
        self.calls += 1
        if self.calls <= 2:
            raise SinkUnavailableError("away", 0.0)
        if any(message.attributes[names.FINDING_SEQUENCE] == 3 for message in messages):
            raise SinkRefusedError("never")
        self.taken += [message.id for message in messages]

    def close(self) -> None:
        """Hold nothing."""


def test_delivery_goes_on() -> None:
    """In order, tried again while the sink is away, past what it refuses, which is counted."""
    outbox, numbers, sink = Outbox(["fickle"], 100), Numbers(), Fickle()
    told: list[str] = []
    outbox.add([finding(number) for number in range(1, 7)])
    outbox.stored(outbox.changes())
    delivery = Delivery(sink, outbox, numbers, lambda: None, told.append)
    delivery.start()
    for _ in range(500):
        if outbox.waiting("fickle") == 0:
            break
        threading.Event().wait(0.01)
    assert delivery.stop(5)
    assert sink.taken == [f"{number:032x}" for number in (1, 2, 5, 6)]
    assert numbers.counters.read(names.DROPPED) == [(2, {names.DROP_REASON: "refused_by_fickle"})]
    assert [sentence.split(":")[0] for sentence in told] == [
        "fickle cannot be reached", "fickle is reached again", "fickle refuses 2 messages",
    ]  # fmt: skip


def test_the_queue_is_bounded() -> None:
    """The oldest makes room, counted; a sink never sees what is not stored."""
    outbox = Outbox(["one"], 3)
    outbox.add([finding(number) for number in range(1, 6)])
    assert outbox.wait("one", 10, 0) == []
    outbox.stored(outbox.changes())
    assert [position for position, _ in outbox.wait("one", 10, 0)] == [3, 4, 5]
    assert (outbox.dropped, outbox.waiting("one")) == (2, 3)
    outbox.done("one", 4)
    assert [position for position, _ in outbox.wait("one", 10, 0)] == [5]
