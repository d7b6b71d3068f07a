"""`loopguard doctor`: what would keep loops from being found, in words and with the way out, and no secret in it."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
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

from otel_loopguard.cli.diagnosis import INSTRUMENTATIONS, check_endpoint, check_sampling, check_settings
from otel_loopguard.cli.diagnosis.endpoint import target

KEY: Final = "ab" * 32
SECRET: Final = "canary-secret"  # noqa: S105 - what must not be shown
BY_NAME: Final = {one.distribution: one for one in INSTRUMENTATIONS}
SENSITIVE: Final = {"ENABLE_SENSITIVE_DATA": "true"}
GONE: Final = "on tool spans; exception texts are removed"
CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def doctor(environ: Mapping[str, str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command in an environment: exit code and what it says."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPGUARD_", "OTEL_", "COV"))}
    done = subprocess.run(
        [sys.executable, "-m", "otel_loopguard", "doctor", "--json", "--offline", *arguments],
        env={**own, **environ}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, told


def levels(told: Mapping[str, Any], subject: str) -> list[str]:
    """The levels of the checks of a subject."""
    return [check["level"] for check in told["checks"] if check["subject"] == subject]


# The command ------------------------------------------------------------------------------------------------------


def test_a_bare_environment_is_told() -> None:
    """Where nothing is switched on, that is what prevents detection."""
    code, told = doctor({})
    assert (code, told["prevented"]) == (1, True)
    assert levels(told, "switch") == ["error"]
    assert levels(told, "provider") == []


def test_an_environment_that_works() -> None:
    """Switched on with a key, a provider that the process makes is watched, and nothing prevents detection."""
    code, told = doctor({"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": KEY})
    assert (levels(told, "switch"), levels(told, "key"), levels(told, "start-up")) == (["ok"], ["ok"], ["ok"])
    assert levels(told, "provider") == ["ok"]
    assert (code, told["prevented"]) == (0, False)
    assert KEY not in json.dumps(told)


def test_the_providers_of_a_command(tmp_path: Path) -> None:
    """Of a command that is run, each provider is told with who made it, its sampler and limits; vendors' own too."""
    vendor = tmp_path / "crewai" / "telemetry"
    vendor.mkdir(parents=True)
    (vendor.parent / "__init__.py").write_text("")
    (vendor / "__init__.py").write_text("from opentelemetry.sdk.trace import TracerProvider\nown = TracerProvider()\n")
    script = tmp_path / "agent.py"
    script.write_text(
        "import sys\n"
        "from opentelemetry.sdk.trace import SpanLimits, TracerProvider, sampling\n"
        "TracerProvider()\n"
        "TracerProvider(sampler=sampling.ParentBased(sampling.TraceIdRatioBased(0.5)))\n"
        "TracerProvider(span_limits=SpanLimits(max_span_attribute_length=9))\n"
        "import crewai.telemetry\n"
        "sys.exit(3)\n"
    )
    environ = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": KEY, "PYTHONPATH": str(tmp_path)}
    code, told = doctor(environ, "--", sys.executable, str(script))
    providers = [check for check in told["checks"] if check["subject"] == "provider"]
    assert [one["level"] for one in providers] == ["ok", "warning", "warning", "info"]
    assert "TraceIdRatioBased{0.5} drops spans" in providers[1]["text"]
    assert "cuts attributes at 9 characters" in providers[2]["text"]
    assert "made by crewai.telemetry: the vendor's own telemetry" in providers[3]["text"]
    assert levels(told, "command") == ["warning"]
    assert code == 0


def test_a_command_that_makes_no_provider() -> None:
    """Nothing to watch is what prevents detection."""
    code, told = doctor({"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": KEY}, "--", sys.executable, "-c", "pass")
    assert (code, levels(told, "provider")) == (1, ["error"])


def test_the_table_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--json`, a line a check with a mark and the way out, and the sum at the end."""
    from otel_loopguard.cli import main

    monkeypatch.setenv("LOOPGUARD_ENABLED", "false")
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--offline"])
    out = capsys.readouterr().out
    assert left.value.code == 1
    assert "LOOPGUARD_ENABLED is not on" in out
    assert "-> LOOPGUARD_ENABLED=true" in out
    assert out.splitlines()[-1].endswith("of these prevents detection")


# Settings ---------------------------------------------------------------------------------------------------------


def settings(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Subject, level and text of every check of our own variables."""
    return [(check.subject, check.level, check.text) for check in check_settings(environ)]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("switch", "error", "LOOPGUARD_ENABLED is not on")),
        ({"LOOPGUARD_ENABLED": "yes"}, ("switch", "ok", "LOOPGUARD_ENABLED is on")),
        ({"LOOPGUARD_CONTENT": "keep"},
         ("redaction", "info", f"LOOPGUARD_CONTENT=keep: arguments and results stay {GONE}")),
        ({"LOOPGUARD_EXCEPTIONS": "keep"},
         ("redaction", "ok", "LOOPGUARD_CONTENT=redact: arguments and results are removed from tool spans; exception "
          "texts stay")),
        ({"LOOPGUARD_MODE": "enforce"},
         ("policy", "info", "mode `enforce` for every tool, by LOOPGUARD_MODE or LOOPGUARD_GUARD")),
        ({"LOOPGUARD_BAGGAGE": "on"}, ("baggage", "ok", "run id and agent are sent as W3C baggage")),
        ({"LOOPGUARD_BAGGAGE": "on", "OTEL_PROPAGATORS": "tracecontext"},
         ("baggage", "warning", "LOOPGUARD_BAGGAGE=on, and OTEL_PROPAGATORS has no `baggage`")),
        ({"LOOPGUARD_POLICY": "/nowhere/policy.yaml"},
         ("policy", "error", "/nowhere/policy.yaml: No such file or directory")),
        ({"LOOPGUARD_KEY_FILE": "/nowhere/key"},
         ("key", "error", "/nowhere/key: No such file or directory; agents use a key of one process alone")),
    ],
)  # fmt: skip
def test_settings(environ: dict[str, str], expected: tuple[str, str, str]) -> None:
    """Each variable of ours has its line."""
    assert expected in settings(environ)


@pytest.mark.parametrize("secret", [SECRET, "short", "not base64 at all!!" * 4])
def test_a_broken_key_is_told_without_it(secret: str) -> None:
    """A key that cannot be used is an error that does not repeat it."""
    (found,) = [one for one in settings({"LOOPGUARD_KEY": secret}) if one[0] == "key"]
    assert found[1] == "error"
    assert secret not in found[2]


def test_a_policy_and_its_errors(tmp_path: Path) -> None:
    """A policy is counted; one that is wrong is told with path and line."""
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("version: 1\ntools:\n  a: {kind: read}\n")
    bad.write_text("version: 1\ntools:\n  a: {kind: raed}\n")
    assert ("policy", "ok", f"{good}: 1 tools") in settings({"LOOPGUARD_POLICY": str(good)})
    (found,) = [one for one in settings({"LOOPGUARD_POLICY": str(bad)}) if one[0] == "policy"]
    assert found[1] == "error"
    assert "at `$.tools.a.kind` (line 3" in found[2]


def test_a_key_file_has_its_id(tmp_path: Path) -> None:
    """The id of the key that is in force is told, and what is wrong with the file's rights."""
    from otel_loopguard.keys import new_secret, with_key

    file = tmp_path / "key.yaml"
    text, _ = with_key("", str(file), new_secret(), "spring", active=True)
    file.write_text(text)
    file.chmod(0o644)
    found = [one[1:] for one in settings({"LOOPGUARD_KEY_FILE": str(file)}) if one[0] == "key"]
    assert found[0] == ("ok", "key id `spring`, scope `environment`")
    assert found[1][0] == "warning"


# Instrumentations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "environ", "visible", "way_out"),
    [
        ("opentelemetry-instrumentation-genai-langchain", {}, False, f"{CAPTURE}=SPAN_ONLY"),
        ("opentelemetry-instrumentation-genai-langchain", {CAPTURE: "true"}, False, f"{CAPTURE}=SPAN_ONLY"),
        ("opentelemetry-instrumentation-genai-langchain", {CAPTURE: "EVENT_ONLY"}, False, f"{CAPTURE}=SPAN_ONLY"),
        ("opentelemetry-instrumentation-genai-langchain", {CAPTURE: "span_and_event"}, True, ""),
        ("opentelemetry-instrumentation-genai-openai", {CAPTURE: "SPAN_ONLY"}, False, ""),
        ("openinference-instrumentation-crewai", {}, True, ""),
        ("openinference-instrumentation-crewai", {"OPENINFERENCE_HIDE_INPUTS": "true"},
         False, "unset OPENINFERENCE_HIDE_INPUTS"),
        ("traceloop-sdk", {"TRACELOOP_TRACE_CONTENT": "False"}, False, "unset TRACELOOP_TRACE_CONTENT"),
        ("opentelemetry-instrumentation-crewai", {}, False, ""),
        ("agent-framework-core", SENSITIVE,
         False, "ENABLE_SENSITIVE_DATA=true and OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"),
        ("agent-framework-core", {**SENSITIVE, "OTEL_SEMCONV_STABILITY_OPT_IN": "http, gen_ai_latest_experimental"},
         True, ""),
        ("mcp", {}, False, ""),
        ("mlflow", {}, True, ""),
    ],
)  # fmt: skip
def test_visibility(distribution: str, environ: dict[str, str], visible: bool, way_out: str) -> None:  # noqa: FBT001
    """Whether arguments are on the spans follows from the variables, and so does what to set."""
    known = BY_NAME[distribution]
    assert (known.is_visible(environ), known.way_out(environ)) == (visible, way_out)


def test_each_distribution_is_there_once() -> None:
    """The table has one row for each."""
    assert len(BY_NAME) == len(INSTRUMENTATIONS)


# Sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, ["error", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}, ["warning", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, ["error", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1.0"}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "most"}, ["ok", "ok"]),
        ({"OTEL_TRACES_SAMPLER": "of_my_vendor"}, ["warning", "ok"]),
        ({"OTEL_SDK_DISABLED": "true"}, ["error", "ok", "ok"]),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "4096"}, ["ok", "warning"]),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "32"}, ["ok", "warning"]),
        ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "128"}, ["ok"]),
        ({"OTEL_CONFIG_FILE": "otel.yaml"}, ["info"]),
    ],
)
def test_sampling(environ: dict[str, str], expected: list[str]) -> None:
    """What drops spans blinds us, what cuts them makes calls unknown; the SDK's reading of a wrong number is ours."""
    assert [check.level for check in check_sampling(environ)] == expected


# Endpoints --------------------------------------------------------------------------------------------------------

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
