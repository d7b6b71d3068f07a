"""`security.yaml` beside a recipe: who has no certificate or not the right token sends nothing."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from http.client import HTTPSConnection
from itertools import product
from pathlib import Path

import grpc
import pytest

from tests.support.collector import RECIPES, Collector, binary, free_port, until
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


FILES = ("TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_CLIENT_CA_FILE", "OTLP_TOKEN_FILE")
NO_FILE = ("not set", "set to nothing", "no file", "a folder")
NO_PEM = ("an empty file", "no PEM")
"""For the first three: a token may be any text."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> dict[str, str]:
    """A right file for every variable."""
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(TOKEN)
    certificate, key = authority.sign("collector")
    return {name: str(path) for name, path in zip(FILES, (certificate, key, authority.path, token), strict=True)}


@pytest.mark.parametrize(("variable", "how"), [*product(FILES, NO_FILE), *product(FILES[:3], NO_PEM)])
def test_a_wrong_variable_keeps_it_from_starting(
    tmp_path: Path, files: dict[str, str], variable: str, how: str
) -> None:
    """Whatever is wrong with a file that says who may come in, the Collector ends before it listens."""
    empty, words = tmp_path / "empty", tmp_path / "words"
    empty.write_text("")
    words.write_text("no PEM")
    wrong = {"set to nothing": "", "no file": "/is/nowhere", "a folder": str(tmp_path), "an empty file": str(empty),
             "no PEM": str(words)}  # fmt: skip
    environ = {name: path for name, path in files.items() if name != variable}
    if how != "not set":
        environ[variable] = wrong[how]
    ports = ("OTLP_GRPC_ADDRESS", "OTLP_HTTP_ADDRESS", "FINDINGS_GRPC_ADDRESS", "HEALTH_ADDRESS")
    environ |= {name: f"127.0.0.1:{free_port()}" for name in ports}
    environ |= {"HOME": str(tmp_path), "TELEMETRY_PORT": str(free_port())}
    recipes = [part for name in ("gateway.yaml", "security.yaml") for part in ("--config", str(RECIPES / name))]
    told = subprocess.run(
        [str(binary()), *recipes], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30
    )
    assert told.returncode != 0
    assert "Error: " in told.stderr


@pytest.mark.parametrize("token", ["", "Bearer ", "Bearer", f"Bearer {TOKEN}"])
def test_an_empty_token_file_lets_nobody_in(
    tmp_path: Path, authority: Authority, files: dict[str, str], token: str
) -> None:
    """No token is not the empty token."""
    empty = tmp_path / "token"
    empty.write_text("")
    ends = {"BACKEND_ENDPOINT": "127.0.0.1:1", "DETECTOR_ENDPOINT": f"127.0.0.1:{free_port()}"}
    held = {**files, "OTLP_TOKEN_FILE": str(empty)}
    with Collector(tmp_path / "open", "gateway.yaml", "security.yaml", **ends, **held) as collector:
        client = authority.sign("agent")
        assert by_grpc(collector, authority, token, client) == "UNAUTHENTICATED"
        assert by_http(collector, authority, token, client) == "401"


def test_only_what_the_file_says_now_is_a_token(tmp_path: Path, authority: Authority, files: dict[str, str]) -> None:
    """A token that was taken away opens nothing any more, though the Collector read it at its start."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    ends = {"BACKEND_ENDPOINT": "127.0.0.1:1", "DETECTOR_ENDPOINT": f"127.0.0.1:{free_port()}"}
    held = {**files, "OTLP_TOKEN_FILE": str(token)}
    with Collector(tmp_path / "changed", "gateway.yaml", "security.yaml", **ends, **held) as collector:
        client = authority.sign("agent")
        assert by_grpc(collector, authority, f"Bearer {TOKEN}", client) == "OK"
        token.write_text(OTHER)
        until(lambda: by_grpc(collector, authority, f"Bearer {OTHER}", client) == "OK", "the new token is known")
        assert by_grpc(collector, authority, f"Bearer {TOKEN}", client) == "UNAUTHENTICATED"
