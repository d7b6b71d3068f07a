"""Whether the OTLP endpoint of the environment takes spans: asked with an empty request, which leaves nothing there.

Not an exporter: one question, a few seconds. Headers and certificates are used as an exporter would, and never told.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from .check import Check

__all__ = ["Target", "check_endpoint", "target"]

TIMEOUT: Final = 5.0
"""Seconds for one question."""
_PATH: Final = "/v1/traces"
_METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_PORTS: Final = {"grpc": 4317, "http": 4318}
_PREFIX: Final = "OTEL_EXPORTER_OTLP_"

Protocol = Literal["grpc", "http"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where an exporter would send spans."""

    protocol: Protocol
    host: str
    port: int
    path: str
    tls: bool
    explicit: bool
    """Somebody set it: that it does not answer is a mistake, not an absence."""

    def __str__(self) -> str:
        """Without user, password and query, which may be secrets."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.host}:{self.port}{self.path if self.protocol == 'http' else ''} ({self.protocol})"


class _Refused(Exception):  # noqa: N818 - an answer
    """Why a question was not answered well, and the way out."""

    def __init__(self, text: str, way_out: str = "") -> None:
        super().__init__(text)
        self.way_out = way_out


def target(environ: Mapping[str, str]) -> Target | None:
    """Where spans go by the variables of OpenTelemetry; None where no OTLP exporter is chosen or the URL is broken."""
    chosen = {word.strip() for word in environ.get("OTEL_TRACES_EXPORTER", "otlp").lower().split(",")}
    names = {"otlp", "otlp_proto_grpc", "otlp_proto_http"} & chosen
    if not names:
        return None
    word = _of(environ, "PROTOCOL").lower()
    is_http = word.startswith("http") or "otlp_proto_http" in names
    protocol: Protocol = "http" if is_http else "grpc"
    own, general = environ.get(f"{_PREFIX}TRACES_ENDPOINT", ""), environ.get(f"{_PREFIX}ENDPOINT", "")
    url = own or general
    explicit = bool(url)
    try:
        parts = urlsplit(url if "://" in url or not url else f"//{url}")
        port, host = parts.port, parts.hostname
    except ValueError:
        return None
    path = parts.path if own else parts.path.rstrip("/") + _PATH
    insecure = _of(environ, "INSECURE").lower() == "true"
    tls = parts.scheme == "https" or (protocol == "grpc" and explicit and parts.scheme != "http" and not insecure)
    if port is None:
        port = (443 if tls else 80) if protocol == "http" and explicit else _PORTS[protocol]
    return Target(protocol, host or "localhost", port, path or "/", tls, explicit)


def check_endpoint(environ: Mapping[str, str]) -> Check:
    """Ask the endpoint, if there is one; never raises."""
    found = target(environ)
    if found is None:
        exporter = environ.get("OTEL_TRACES_EXPORTER", "otlp")
        if exporter.strip().lower() == "otlp":
            return Check("endpoint", "error", f"{_PREFIX}ENDPOINT is no URL", "such as http://localhost:4317")
        return Check("endpoint", "info", "OTEL_TRACES_EXPORTER names no OTLP exporter, nothing was asked")
    try:
        _ask(found, environ)
    except _Refused as error:
        level: Literal["error", "warning"] = "error" if found.explicit else "warning"
        way_out = error.way_out if found.explicit or error.way_out else f"set {_PREFIX}ENDPOINT"
        more = "" if found.explicit else ", the default as none is set"
        return Check("endpoint", level, f"{found}{more}: {error}", way_out or f"set {_PREFIX}ENDPOINT")
    return Check("endpoint", "ok", f"{found} takes spans")


def _of(environ: Mapping[str, str], name: str) -> str:
    """The variable for traces, else that for all signals."""
    return (environ.get(f"{_PREFIX}TRACES_{name}") or environ.get(f"{_PREFIX}{name}") or "").strip()


def _headers(environ: Mapping[str, str]) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in _of(environ, "HEADERS").split(",") if "=" in pair)
    return {unquote(name).strip().lower(): unquote(value).strip() for name, _, value in pairs}


def _ask(found: Target, environ: Mapping[str, str]) -> None:
    try:
        context = _tls_context(environ) if found.tls else None
        if found.protocol == "http":
            _ask_http(found, context, _headers(environ))
        else:
            _connect(found, context)
            _ask_grpc(found, environ, _headers(environ))
    except ssl.SSLError as error:
        raise _Refused(_tls_words(error), f"check {_PREFIX}CERTIFICATE and the scheme of {_PREFIX}ENDPOINT") from None
    except socket.gaierror:
        raise _Refused("the name of the host cannot be resolved") from None
    except ConnectionRefusedError:
        raise _Refused("nobody listens there") from None
    except TimeoutError:
        raise _Refused(f"no answer within {TIMEOUT:.0f} s") from None
    except (BadStatusLine, ConnectionError):
        other = "grpc" if found.protocol == "http" else "http/protobuf"
        raise _Refused(f"what answers there speaks no {found.protocol}", f"{_PREFIX}PROTOCOL={other}?") from None
    except HTTPException as error:
        raise _Refused(f"no HTTP answer ({type(error).__name__})") from None
    except OSError as error:
        raise _Refused(error.strerror or type(error).__name__) from None


def _tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    held = _of(environ, "CERTIFICATE")
    try:
        context = ssl.create_default_context(cafile=held or None)
        if own := _of(environ, "CLIENT_CERTIFICATE"):
            context.load_cert_chain(own, _of(environ, "CLIENT_KEY") or None)
    except (OSError, ssl.SSLError):
        raise _Refused("a certificate file cannot be read", f"check {_PREFIX}CERTIFICATE and CLIENT_KEY") from None
    return context


def _tls_words(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if error.reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNEXPECTED_EOF_WHILE_READING"}:
        return "it speaks no TLS: http:// instead of https://?"
    return f"TLS fails: {(error.reason or 'unknown').lower().replace('_', ' ')}"


def _connect(found: Target, context: ssl.SSLContext | None) -> None:
    """Whether anybody is there, and whom we trust: gRPC's own words for it are few."""
    with socket.create_connection((found.host, found.port), TIMEOUT) as opened:
        if context is not None:
            context.set_alpn_protocols(["h2"])
            with context.wrap_socket(opened, server_hostname=found.host):
                pass


def _ask_http(found: Target, context: ssl.SSLContext | None, headers: Mapping[str, str]) -> None:
    if context is None:
        connection = HTTPConnection(found.host, found.port, timeout=TIMEOUT)
    else:
        connection = HTTPSConnection(found.host, found.port, timeout=TIMEOUT, context=context)
    try:
        connection.request("POST", found.path, b"", {**headers, "content-type": "application/x-protobuf"})
        status = connection.getresponse().status
    finally:
        connection.close()
    if status in {401, 403}:
        raise _Refused(f"refuses the request (HTTP {status})", f"check {_PREFIX}HEADERS")
    if status == 404:  # noqa: PLR2004 - HTTP's own
        raise _Refused("has nothing at this path (HTTP 404)", f"check the path of {_PREFIX}ENDPOINT")
    if not 200 <= status < 300:  # noqa: PLR2004
        raise _Refused(f"answers HTTP {status}")


def _ask_grpc(found: Target, environ: Mapping[str, str], headers: Mapping[str, str]) -> None:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its own lines on standard error are for its developers
    import grpc

    where = f"{found.host}:{found.port}"
    channel = grpc.secure_channel(where, _credentials(environ, grpc)) if found.tls else grpc.insecure_channel(where)
    with channel:
        call = channel.unary_unary(_METHOD)  # bytes in, bytes out
        try:
            call(b"", timeout=TIMEOUT, metadata=tuple(headers.items()))
        except grpc.RpcError as error:
            raise _Refused(*_grpc_words(error.code().name)) from None


def _credentials(environ: Mapping[str, str], grpc):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 - no types
    def held(name: str) -> bytes | None:
        path = _of(environ, name)
        if not path:
            return None
        with open(path, "rb") as file:  # noqa: PTH123 - what the variable says, as it says it
            return file.read()

    return grpc.ssl_channel_credentials(held("CERTIFICATE"), held("CLIENT_KEY"), held("CLIENT_CERTIFICATE"))


def _grpc_words(code: str) -> tuple[str, str]:
    if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
        return f"refuses the request ({code})", f"check {_PREFIX}HEADERS"
    if code == "UNAVAILABLE":
        return "what answers there speaks no grpc", f"{_PREFIX}PROTOCOL=http/protobuf?"
    if code == "UNIMPLEMENTED":
        return "takes no OTLP traces (UNIMPLEMENTED)", ""
    if code == "DEADLINE_EXCEEDED":
        return f"no answer within {TIMEOUT:.0f} s", ""
    return f"answers {code}", ""
