"""Whether an OTLP endpoint takes spans, asked over both protocols, with the reason in words and no secret in it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from otel_loopguard.cli.diagnosis import check_endpoint
from otel_loopguard.cli.diagnosis.endpoint import target

SECRET: Final = "canary-secret"


ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
HTTP: Final = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "http://localhost:4317 (grpc)"),
        (HTTP, "http://localhost:4318/v1/traces (http)"),
        ({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, "http://localhost:4318/v1/traces (http)"),
        ({**HTTP, ENDPOINT: "https://user:canary@host/otlp/?token=canary"}, "https://host:443/otlp/v1/traces (http)"),
        ({**HTTP, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://host:9/own"}, "http://host:9/own (http)"),
        ({ENDPOINT: "http://host:9"}, "http://host:9 (grpc)"),
        ({ENDPOINT: "host:9"}, "https://host:9 (grpc)"),
        ({ENDPOINT: "host:9", "OTEL_EXPORTER_OTLP_INSECURE": "true"}, "http://host:9 (grpc)"),
        ({ENDPOINT: "https://host"}, "https://host:4317 (grpc)"),
        ({ENDPOINT: "http://host:port"}, "None"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "None"),
        ({"OTEL_TRACES_EXPORTER": "console,otlp"}, "http://localhost:4317 (grpc)"),
    ],
)
def test_where_spans_go(environ: dict[str, str], expected: str) -> None:
    """The variables are read as the exporters read them; user, password and query are not told."""
    assert str(target(environ)) == expected


class Answering(BaseHTTPRequestHandler):
    """Answers with the status that the path's last part names."""

    def do_POST(self) -> None:
        """Take a request."""
        status = int(self.path.split("/")[1])
        if status == 200 and self.headers.get("x-token") not in {None, SECRET}:
            status = 401
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate of its own for a host name, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime(2024, 1, 1, tzinfo=timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / f"{name}.pem", folder / f"{name}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates for `localhost` and for another host."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("localhost", "elsewhere"):
        certificate(folder, name)
    return folder


@pytest.fixture(scope="module")
def http_port() -> Iterator[int]:
    """An HTTP server's port."""
    yield from serve_http(None)


def serve_http(context: ssl.SSLContext | None) -> Iterator[int]:
    """Serve until the fixture ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module", params=["localhost", "elsewhere"])
def https(request: pytest.FixtureRequest, certificates: Path) -> Iterator[tuple[str, int]]:
    """An HTTPS server of a host name, and its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{request.param}.pem", certificates / f"{request.param}.key")
    for port in serve_http(context):
        yield request.param, port


@pytest.fixture(scope="module")
def grpc_ports(certificates: Path) -> Iterator[tuple[int, int]]:
    """A gRPC server's ports, without and with TLS; it wants a token where one is sent."""

    def export(_: bytes, context: Any) -> bytes:  # noqa: ANN401 - grpc ships no types
        token = dict(context.invocation_metadata()).get("x-token")
        if token not in {None, SECRET}:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, token)
        return b""

    server = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.method_handlers_generic_handler(
        "opentelemetry.proto.collector.trace.v1.TraceService", {"Export": grpc.unary_unary_rpc_method_handler(export)}
    )
    server.add_generic_rpc_handlers((handler,))
    pair = [((certificates / "localhost.key").read_bytes(), (certificates / "localhost.pem").read_bytes())]
    plain = server.add_insecure_port("127.0.0.1:0")
    secure = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials(pair))
    server.start()
    yield plain, secure
    server.stop(0).wait()


def asked(environ: Mapping[str, str]) -> tuple[str, str]:
    """Level and text of the check, without the address; never with a secret in it."""
    check = check_endpoint(environ)
    assert SECRET not in check.text + check.way_out
    return check.level, check.text.partition("(")[2]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, ("ok", "http) takes spans")),
        (401, ("error", "http): refuses the request (HTTP 401)")),
        (403, ("error", "http): refuses the request (HTTP 403)")),
        (404, ("error", "http): has nothing at this path (HTTP 404)")),
        (503, ("error", "http): answers HTTP 503")),
    ],
)
def test_an_http_endpoint(http_port: int, status: int, expected: tuple[str, str]) -> None:
    """What the endpoint answers is told in words."""
    assert asked({**HTTP, ENDPOINT: f"http://127.0.0.1:{http_port}/{status}"}) == expected


@pytest.mark.parametrize(("token", "level"), [(SECRET, "ok"), ("wrong", "error")])
def test_headers_are_sent_and_not_told(http_port: int, grpc_ports: tuple[int, int], token: str, level: str) -> None:
    """The exporter's headers go with the question over both protocols, percent-decoded."""
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": f"X-Token={token.replace('-', '%2D')},other=1"}
    assert asked({**HTTP, **headers, ENDPOINT: f"http://127.0.0.1:{http_port}/200"})[0] == level
    assert asked({**headers, ENDPOINT: f"http://127.0.0.1:{grpc_ports[0]}"})[0] == level


def test_a_grpc_endpoint(grpc_ports: tuple[int, int]) -> None:
    """A collector that takes traces is told so; asked in the other protocol, the variable to change is named."""
    plain, _ = grpc_ports
    assert asked({ENDPOINT: f"http://127.0.0.1:{plain}"}) == ("ok", "grpc) takes spans")
    wrong = check_endpoint({**HTTP, ENDPOINT: f"http://127.0.0.1:{plain}"})
    assert (wrong.level, wrong.way_out) == ("error", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc?")


def test_http_asked_in_grpc(http_port: int) -> None:
    """The same the other way round."""
    wrong = check_endpoint({ENDPOINT: f"http://127.0.0.1:{http_port}"})
    assert (wrong.level, wrong.way_out) == ("error", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf?")


def test_tls_in_words(https: tuple[str, int], certificates: Path) -> None:
    """Whom we do not trust, a wrong host and a wrong scheme are told apart; a trusted one is asked."""
    name, port = https
    url = {**HTTP, ENDPOINT: f"https://localhost:{port}/200"}
    assert "its certificate is not trusted: self-signed certificate" in asked(url)[1].replace(
        "self signed", "self-signed"
    )
    trusted = {**url, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificates / f"{name}.pem")}
    level, text = asked(trusted)
    assert level == ("ok" if name == "localhost" else "error")
    assert ("Hostname mismatch" in text) == (name == "elsewhere")


def test_tls_over_grpc(grpc_ports: tuple[int, int], certificates: Path) -> None:
    """The same words for gRPC, whose own say little."""
    url = {ENDPOINT: f"https://localhost:{grpc_ports[1]}"}
    assert "its certificate is not trusted" in asked(url)[1]
    assert asked({**url, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificates / "localhost.pem")})[0] == "ok"
    assert "a certificate file cannot be read" in asked({**url, "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere"})[1]


def test_no_tls_where_it_is_wanted(http_port: int) -> None:
    """A plain server behind https:// is told by the scheme."""
    assert "it speaks no TLS" in asked({**HTTP, ENDPOINT: f"https://127.0.0.1:{http_port}"})[1]


@pytest.mark.parametrize("protocol", [HTTP, {}], ids=["http", "grpc"])
@pytest.mark.parametrize("explicit", [True, False])
def test_nobody_there(
    protocol: dict[str, str],
    explicit: bool,  # noqa: FBT001 - a column of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That nobody listens is an error where the endpoint was set, a warning where it is the default."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr("otel_loopguard.cli.diagnosis.endpoint._PORTS", {"grpc": port, "http": port})
    environ = {**protocol, **({ENDPOINT: f"http://127.0.0.1:{port}"} if explicit else {})}
    level, text = asked(environ)
    assert level == ("error" if explicit else "warning")
    assert text.endswith("nobody listens there")


def test_a_host_without_a_name() -> None:
    """A host that does not exist is told so."""
    assert (
        asked({**HTTP, ENDPOINT: "http://nothing.invalid:4318"})[1] == "http): the name of the host cannot be resolved"
    )


def test_nothing_is_asked() -> None:
    """Where no OTLP exporter is chosen there is nobody to ask; a broken URL is an error."""
    assert check_endpoint({"OTEL_TRACES_EXPORTER": "console"}).level == "info"
    assert check_endpoint({ENDPOINT: "http://host:port"}).level == "error"
