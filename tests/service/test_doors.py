"""Who may come in: tokens, certificates, addresses; and how many, how slowly."""

from __future__ import annotations

import shutil
import socket
import ssl
import time
from pathlib import Path

import grpc
import pytest

from otel_loopguard.errors import SettingError
from otel_loopguard.service.settings import settings_from
from otel_loopguard.service.tokens import Tokens, parse_tokens
from tests.support.pki import Authority
from tests.support.serving import Serving
from tests.support.spans import annotated, traces

ONE, TWO, THREE = ("1" * 20, "2" * 20, "3" * 20)
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


# Tokens -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "tenant"),
    [
        (f"Bearer {ONE}", "one"),
        (f"bearer {ONE}", "one"),
        (f"Bearer {THREE}", "one"),
        (f"Basic {ONE}", None),
        (ONE, None),
        (f"Bearer {ONE}x", None),
        ("Bearer ", None),
        ("", None),
        (None, None),
    ],
)
def test_tokens(header: str | None, tenant: str | None) -> None:
    """A bearer token stands for its tenant; tokens with one name share it."""
    tokens = parse_tokens(f"# who\none {ONE}\n\n{TWO}  # nameless\none {THREE}\n")
    assert tokens.tenant(header) == tenant


def test_a_token_without_a_name_is_a_tenant_of_its_own() -> None:
    """Its tenant is neither the token nor anybody else's."""
    tokens = parse_tokens(f"{ONE}\n{TWO}\n")
    tenants = [tokens.tenant(f"Bearer {token}") for token in (ONE, TWO)]
    assert len(set(tenants)) == 2
    assert not {ONE, TWO} & set(tenants)
    assert ONE not in repr(tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the token file holds no token"),
        ("# none\n", "the token file holds no token"),
        ("short", "the token in line 1 is no bearer token of at least 16 characters"),
        (f"one {ONE} {TWO}", "line 1 of the tokens is neither"),
        (f"\nö {ONE}", "line 2 of the tokens is neither"),
        ("one " + "ä" * 20, "the token in line 1 is no bearer token"),
    ],
)
def test_token_files_that_are_wrong(text: str, words: str) -> None:
    """The line is named, the token is not shown."""
    with pytest.raises(SettingError, match=words) as error:
        parse_tokens(text)
    assert "ä" not in str(error.value)


def test_every_token_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding the first is no reason to stop: the time tells nothing."""
    compared: list[bytes] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(other)
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert isinstance(tokens := parse_tokens(f"a {ONE}\nb {TWO}\nc {THREE}\n"), Tokens)
    assert tokens.tenant(f"Bearer {ONE}") == "a"
    assert len(compared) == 3


def test_tokens_over_both_protocols(tmp_path: Path) -> None:
    """Without a token nobody comes in, over either; a token that is taken away stops counting without a restart."""
    file = tmp_path / "tokens"
    file.write_text(f"one {ONE}\n")
    body = traces([annotated("run", 1)]).SerializeToString()
    with Serving(tmp_path, token_file=str(file)) as server:
        assert server.post(body).status == 401
        assert server.post(body, authorization=f"Bearer {TWO}").headers["www-authenticate"] == "Bearer"
        assert server.post(body, authorization=f"Bearer {ONE}").status == 200
        with grpc.insecure_channel(server.grpc) as channel:
            export = channel.unary_unary(TRACES)
            with pytest.raises(grpc.RpcError) as error:
                export(body, timeout=10)
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
            assert export(body, timeout=10, metadata=[("authorization", f"Bearer {ONE}")]) == b""
        file.write_text(f"two {TWO}\n")
        server.until(lambda: server.post(body, authorization=f"Bearer {TWO}").status == 200)
        assert server.post(body, authorization=f"Bearer {ONE}").status == 401


# Addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"grpc_address": "0.0.0.0:4317"}, "`grpc_address` 0.0.0.0 can be reached by others: set `tls_cert_file`"),
        ({"http_address": "[::]:4318"}, "`http_address` :: can be reached by others"),
        ({"http_address": "example.org:4318"}, "can be reached by others"),
        ({"http_address": "0.0.0.0:4318", "token_file": "t"}, "can be reached by others"),
        ({"http_address": "0.0.0.0:4318", "tls_cert_file": "c", "tls_key_file": "k"}, "can be reached by others"),
        ({"page_address": "0.0.0.0:9464", "insecure": "true"}, "who would see the names of tools and agents"),
        ({"tls_cert_file": "c"}, "`tls_cert_file` and `tls_key_file` belong together"),
        ({"tls_client_ca_file": "c"}, "`tls_client_ca_file` needs"),
        ({"grpc_address": "off", "http_address": "off"}, "both off"),
        ({"age": "1m"}, "`age` must not be less than `idle`"),
        ({"lateness": "2h"}, "`lateness` must be less than `idle`"),
        ({"webhook_secret_file": "s"}, "is of no use without `webhook_url`"),
        ({"grpc_address": "4317"}, "`--grpc-address`: expected `HOST:PORT` or `off`, found `4317`"),
        ({"lateness": "10"}, "`--lateness`: expected a time such as"),
        ({"max_request": "4X"}, "`--max-request`: expected a size such as"),
        ({"max_runs": "0"}, "`--max-runs`: expected a whole number from 1"),
        ({"insecure": "perhaps"}, "`--insecure`: expected `true` or `false`"),
        ({"otlp_protocol": "udp"}, "expected `grpc` or `http`, found `udp`"),
    ],
)
def test_settings_that_are_refused(flags: dict[str, str], words: str) -> None:
    """What is unsafe, wrong or of no effect is told with the way out."""
    with pytest.raises(SettingError) as error:
        settings_from(flags, {}, {})
    assert words in str(error.value)


@pytest.mark.parametrize(
    "flags",
    [
        {"http_address": "localhost:4318", "grpc_address": "[::1]:4317"},
        {"http_address": "0.0.0.0:4318", "insecure": "true"},
        {"http_address": "0.0.0.0:4318", "token_file": "t", "tls_cert_file": "c", "tls_key_file": "k"},
        {"grpc_address": "0.0.0.0:1", "tls_client_ca_file": "a", "tls_cert_file": "c", "tls_key_file": "k"},
        {"page_address": "0.0.0.0:9464", "page_public": "true"},
    ],
)
def test_settings_that_are_taken(flags: dict[str, str]) -> None:
    """Loopback, or encrypted and known, or on purpose."""
    assert settings_from(flags, {}, {}).lateness == 10_000_000_000


def test_where_settings_come_from() -> None:
    """A flag wins over a variable, that over the file, that over the default."""
    environ = {"LOOPGUARD_SERVE_IDLE": "2m", "LOOPGUARD_SERVE_AGE": "3h"}
    found = settings_from({"idle": "1m"}, environ, {"idle": "3m", "age": "4h", "lateness": "5s"})
    assert (found.idle, found.age, found.lateness, found.drain) == tuple(n * 10**9 for n in (60, 10800, 5, 10))


def test_a_variable_that_is_no_setting_is_refused() -> None:
    """A misspelt variable would silently do nothing."""
    with pytest.raises(SettingError, match="did you mean `LOOPGUARD_SERVE_LATENESS`"):
        settings_from({}, {"LOOPGUARD_SERVE_LATENES": "1s"}, {})


def test_a_taken_port_names_the_flag(tmp_path: Path) -> None:
    """Whoever has the port is left alone, and the flag for another one is told; for all three."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        for name in ("http_address", "grpc_address", "page_address"):
            with pytest.raises(SettingError, match="--" + name.replace("_", "-")), Serving(tmp_path, **{name: taken}):
                pass


# Certificates -----------------------------------------------------------------------------------------------------


def trusting(authority: Authority, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    """A client's view."""
    context = ssl.create_default_context(cafile=str(authority.path))
    if client is not None:
        context.load_cert_chain(*client)
    return context


def test_tls_and_its_reload(tmp_path: Path) -> None:
    """Both protocols are encrypted; a new certificate is used for the next connection."""
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    certificate, key = (tmp_path / name for name in ("server.pem", "server.key"))
    for source, target in zip(old.sign("first"), (certificate, key), strict=True):
        shutil.copy(source, target)
    body = traces([annotated("run", 1)]).SerializeToString()
    headers = {"content-type": "application/x-protobuf"}
    with Serving(tmp_path, tls_cert_file=str(certificate), tls_key_file=str(key)) as server:
        assert server.request("POST", "/v1/traces", body, headers, context=trusting(old)).status == 200
        assert over_grpc(server, old, body) == b""
        for source, target in zip(new.sign("second"), (certificate, key), strict=True):
            shutil.copy(source, target)
        server.until(lambda: is_trusted(server, new))
        assert over_grpc(server, new, body) == b""
        assert any("read again" in sentence for sentence in server.told)


def over_grpc(server: Serving, authority: Authority, body: bytes, client: tuple[Path, Path] | None = None) -> bytes:
    """One encrypted request."""
    pair = (None, None) if client is None else (client[1].read_bytes(), client[0].read_bytes())
    credentials = grpc.ssl_channel_credentials(authority.path.read_bytes(), *pair)
    with grpc.secure_channel(server.grpc.replace("127.0.0.1", "localhost"), credentials) as channel:
        answer: bytes = channel.unary_unary(TRACES)(body, timeout=10)
        return answer


def is_trusted(server: Serving, authority: Authority) -> bool:
    """Whether the server shows a certificate of an authority."""
    try:
        return server.request("GET", "/v1/traces", context=trusting(authority)).status == 405
    except ssl.SSLError:
        return False


def test_mtls(tmp_path: Path) -> None:
    """Only clients of the authority come in, over both protocols."""
    authority, strangers = Authority(tmp_path, "ours"), Authority(tmp_path, "strangers")
    certificate, key = authority.sign("server")
    client, stranger = authority.sign("client"), strangers.sign("stranger")
    body = traces([annotated("run", 1)]).SerializeToString()
    headers = {"content-type": "application/x-protobuf"}
    settings = {"tls_cert_file": certificate, "tls_key_file": key, "tls_client_ca_file": authority.path}
    with Serving(tmp_path, **{name: str(path) for name, path in settings.items()}) as server:
        known = trusting(authority, client)
        assert server.request("POST", "/v1/traces", body, headers, context=known).status == 200
        assert over_grpc(server, authority, body, client) == b""
        for other in (None, stranger):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                server.request("POST", "/v1/traces", body, headers, context=trusting(authority, other))
            with pytest.raises(grpc.RpcError):
                over_grpc(server, authority, body, other)


def test_files_that_are_no_certificate(tmp_path: Path) -> None:
    """It is told at the start, with the files."""
    (tmp_path / "c").write_text("none")
    (tmp_path / "k").write_text("none")
    settings = {"tls_cert_file": str(tmp_path / "c"), "tls_key_file": str(tmp_path / "k")}
    with pytest.raises(SettingError, match="cannot be used for TLS"), Serving(tmp_path, **settings):
        pass


# Crowds and sloths ------------------------------------------------------------------------------------------------


def test_connections_are_bounded(tmp_path: Path) -> None:
    """With fifty at most, two hundred attempts leave fifty; one that goes away makes room."""
    body = traces([annotated("run", 1)]).SerializeToString()
    with Serving(tmp_path, max_connections="50") as server:
        held = []
        for _ in range(200):
            client = server.connect()
            held.append(client)
        server.until(lambda: server.server._http is not None and server.server._http.connections == 50)
        for client in held:
            client.close()
        server.until(lambda: server.server._http is not None and server.server._http.connections == 0)
        assert server.post(body).status == 200


def test_slow_clients_are_sent_away(tmp_path: Path) -> None:
    """One that never finishes its headers, one that never finishes its body: both are ended in time."""
    with Serving(tmp_path) as server:
        assert server.server._http is not None
        limits = server.server._http._limits
        object.__setattr__(limits, "header_seconds", 0.2)
        object.__setattr__(limits, "body_seconds", 0.2)
        begun = time.monotonic()
        with server.connect() as client:
            client.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: h\r\nx-slow: ")
            assert client.recv(1000) == b""
        with server.connect() as client:
            client.sendall(
                b"POST /v1/traces HTTP/1.1\r\nhost: h\r\ncontent-type: application/x-protobuf\r\n"
                b"content-length: 1000\r\n\r\nslow"
            )
            assert client.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - begun < 10


def test_pages_are_not_on_the_senders_port(tmp_path: Path) -> None:
    """Health, readiness and numbers are on an address of their own."""
    with Serving(tmp_path) as server:
        assert server.page("/healthz") == server.page("/readyz") == "ok\n"
        assert "# TYPE loopguard_tool_calls_total counter" in server.page("/metrics")
        assert server.request("GET", "/metrics").status == 404
        assert server.request("GET", "/other", port=server.ports["page_address"]).status == 404


def test_tokens_are_nowhere(tmp_path: Path) -> None:
    """A token that was sent, right or wrong, is in no page, file or sentence."""
    file = tmp_path / "tokens"
    file.write_text(f"one {ONE}\n")
    with Serving(tmp_path, token_file=str(file)) as server:
        server.post(b"", authorization=f"Bearer {ONE}")
        server.post(b"", authorization=f"Bearer {TWO}")
        seen = server.page("/metrics") + " ".join(server.told)
    file.unlink()
    for path in tmp_path.iterdir():
        seen += path.read_bytes().decode("latin-1")
    assert ONE not in seen
    assert TWO not in seen
