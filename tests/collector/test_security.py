"""`security.yaml` beside a recipe: who has no certificate or not the right token sends nothing."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path

import grpc
import pytest

from tests.support.collector import RECIPES, Collector, binary, free_port
from tests.support.pki import Authority
from tests.support.spans import annotated, traces

TOKEN = "right-" + "t" * 32
OTHER = "newer-" + "t" * 32
BODY = traces([annotated("r", 1)]).SerializeToString()
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who signs for the Collector and for those who may send."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Collector]:
    """A gateway that lets in whom it knows."""
    certificate, key = authority.sign("collector")
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(f"{TOKEN}\n{OTHER}\n")
    with Collector(
        tmp_path_factory.mktemp("secured"),
        "gateway.yaml",
        "security.yaml",
        BACKEND_ENDPOINT="127.0.0.1:1",
        DETECTOR_ENDPOINT=f"127.0.0.1:{free_port()}",
        OTLP_TOKEN_FILE=str(token),
        TLS_CERT_FILE=str(certificate),
        TLS_KEY_FILE=str(key),
        TLS_CLIENT_CA_FILE=str(authority.path),
    ) as collector:
        yield collector


def by_grpc(collector: Collector, authority: Authority, token: str, client: tuple[Path, Path] | None) -> str:
    """How a request over gRPC ends."""
    certificate, key = (path.read_bytes() for path in client) if client else (None, None)
    credentials = grpc.ssl_channel_credentials(authority.path.read_bytes(), key, certificate)
    held = (("authorization", token),) if token else ()
    with grpc.secure_channel(collector.grpc.replace("127.0.0.1", "localhost"), credentials) as channel:
        try:
            channel.unary_unary(EXPORT)(BODY, timeout=10, metadata=held)
        except grpc.RpcError as error:
            return str(error.code().name)
    return "OK"


def by_http(collector: Collector, authority: Authority, token: str, client: tuple[Path, Path] | None) -> str:
    """How a request over HTTP ends."""
    context = ssl.create_default_context(cafile=str(authority.path))
    if client:
        context.load_cert_chain(*client)
    connection = HTTPSConnection("localhost", int(collector.http.rpartition(":")[2]), timeout=10, context=context)
    headers = {"content-type": "application/x-protobuf", **({"authorization": token} if token else {})}
    try:
        connection.request("POST", "/v1/traces", BODY, headers)
        return str(connection.getresponse().status)
    except (ssl.SSLError, ConnectionError):
        return "no connection"
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("token", "name", "over_grpc", "over_http"),
    [
        (f"Bearer {TOKEN}", "agent", "OK", "200"),
        (f"Bearer {OTHER}", "agent", "OK", "200"),
        ("Bearer ", "agent", "UNAUTHENTICATED", "401"),
        ("Bearer wrong", "agent", "UNAUTHENTICATED", "401"),
        ("", "agent", "UNAUTHENTICATED", "401"),
        (f"Bearer {TOKEN}", "", "UNAVAILABLE", "no connection"),
    ],
    ids=["right", "newer", "empty token", "wrong token", "no token", "no certificate"],
)
def test_who_may_send(  # noqa: PLR0913, PLR0917 - the columns of the table
    secured: Collector, authority: Authority, token: str, name: str, over_grpc: str, over_http: str
) -> None:
    """Certificate and token are asked for on both protocols."""
    client = authority.sign(name) if name else None
    assert by_grpc(secured, authority, token, client) == over_grpc
    assert by_http(secured, authority, token, client) == over_http


@pytest.mark.parametrize(
    ("missing", "words"),
    [("TLS_CLIENT_CA_FILE", "TLS_CLIENT_CA_FILE-is-not-set"), ("TLS_CERT_FILE", "TLS_CERT_FILE")],
)
def test_what_is_not_set_keeps_it_from_starting(tmp_path: Path, authority: Authority, missing: str, words: str) -> None:
    """No variable left out lets anybody in: the Collector ends, and says which file it misses."""
    certificate, key = authority.sign("collector")
    token = tmp_path / "token"
    token.write_text(TOKEN)
    held = {"TLS_CERT_FILE": certificate, "TLS_KEY_FILE": key, "TLS_CLIENT_CA_FILE": authority.path,
            "OTLP_TOKEN_FILE": token}  # fmt: skip
    environ = {name: str(path) for name, path in held.items() if name != missing}
    ports = ("OTLP_GRPC_ADDRESS", "OTLP_HTTP_ADDRESS", "FINDINGS_GRPC_ADDRESS", "HEALTH_ADDRESS")
    environ |= {name: f"127.0.0.1:{free_port()}" for name in ports}
    environ |= {"HOME": str(tmp_path), "TELEMETRY_PORT": str(free_port())}
    recipes = [part for name in ("gateway.yaml", "security.yaml") for part in ("--config", str(RECIPES / name))]
    told = subprocess.run(
        [str(binary()), *recipes], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30
    )
    assert told.returncode != 0
    assert words in told.stderr


@pytest.mark.parametrize("token", ["", "Bearer ", "Bearer", f"Bearer {TOKEN}"])
def test_without_a_token_file_nobody_comes_in(tmp_path: Path, authority: Authority, token: str) -> None:
    """A file that is not named is no token at all, the empty one included."""
    certificate, key = authority.sign("collector")
    files = {"TLS_CERT_FILE": certificate, "TLS_KEY_FILE": key, "TLS_CLIENT_CA_FILE": authority.path}
    held = {name: str(path) for name, path in files.items()}
    ends = {"BACKEND_ENDPOINT": "127.0.0.1:1", "DETECTOR_ENDPOINT": f"127.0.0.1:{free_port()}"}
    with Collector(tmp_path / "open", "gateway.yaml", "security.yaml", **ends, **held) as collector:
        client = authority.sign("agent")
        assert by_grpc(collector, authority, token, client) == "UNAUTHENTICATED"
        assert by_http(collector, authority, token, client) == "401"
