"""OTLP over HTTP: every answer that the protocol knows."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from tests.support.serving import Serving
from tests.support.spans import annotated, logs, traces

BODY = traces([annotated("run", number) for number in range(1, 6)]).SerializeToString()
CUT = BODY.replace(b"search", b"searc\xc3")
"""Texts that are cut within a character."""
JSON = "application/json"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for the table."""
    with Serving(tmp_path_factory.mktemp("http"), max_request="64KiB") as server:
        yield server


def as_json(spans: int = 1) -> dict[str, Any]:
    """A request in OTLP/JSON: ids in hex, where protobuf's own mapping has base64."""
    document: dict[str, Any] = MessageToDict(traces([annotated("run", number + 1) for number in range(spans)]))
    for index, one in enumerate(document["resourceSpans"][0]["scopeSpans"][0]["spans"]):
        one |= {"traceId": f"{1:032x}", "spanId": f"{index + 1:016x}", "kind": 1}
    return document


@pytest.mark.parametrize(
    ("body", "headers", "status", "answer"),
    [
        (BODY, {}, 200, b""),
        (b"", {}, 200, b""),
        (gzip.compress(BODY), {"content_encoding": "gzip"}, 200, b""),
        (gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), {"content_encoding": "gzip"}, 200, b""),
        (zlib.compress(BODY), {"content_encoding": "deflate"}, 200, b""),
        (BODY + b"\xc0\x3e\x01", {}, 200, b""),
        (json.dumps(as_json()).encode(), {"content_type": JSON}, 200, b"{}"),
        (json.dumps(as_json() | {"tomorrow": [1]}).encode(), {"content_type": f"{JSON}; charset=utf-8"}, 200, b"{}"),
        (b"{}", {"content_type": JSON}, 200, b"{}"),
        (CUT, {}, 200, b""),
    ],
    ids=[
        "protobuf",
        "empty",
        "gzip",
        "two gzip members",
        "deflate",
        "unknown field",
        "json",
        "unknown member",
        "{}",
        "no UTF-8",
    ],
)
def test_what_is_taken(serving: Serving, body: bytes, headers: dict[str, str], status: int, answer: bytes) -> None:
    """A request that OTLP allows is acknowledged, in the content type that it came in."""
    found = serving.post(body, **headers)
    assert (found.status, found.body) == (status, answer)
    assert found.headers["content-type"] == headers.get("content_type", "application/x-protobuf").partition(";")[0]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "words"),
    [
        ("POST", "/v1/traces", b"\xff", {}, 400, "the body is no protobuf message of OTLP traces"),
        ("POST", "/v1/traces", b"{", {"content-type": JSON}, 400, "the body is no JSON text in UTF-8"),
        ("POST", "/v1/traces", b'{"a": "\xc3"}', {"content-type": JSON}, 400, "the body is no JSON text in UTF-8"),
        ("POST", "/v1/traces", b"[]", {"content-type": JSON}, 400, "the body is no JSON object"),
        ("POST", "/v1/traces", b'{"resourceSpans": 1}', {"content-type": JSON}, 400,
         "expected a list, found a number - at `$.resourceSpans`"),
        ("POST", "/v1/traces", b"[" * 50_000, {"content-type": JSON}, 400, "values are nested too deep"),
        ("POST", "/v1/traces", b"\x1f\x8b", {"content-encoding": "gzip"}, 400, "the packed body ends too early"),
        ("POST", "/v1/traces", b"none", {"content-encoding": "gzip"}, 400, "the body cannot be unpacked"),
        ("POST", "/v1/traces", gzip.compress(bytes(1 << 24)), {"content-encoding": "gzip"}, 413,
         "the body is too large once it is unpacked: the limit is 65536 bytes"),
        ("POST", "/v1/traces", BODY, {"content-encoding": "br"}, 415,
         "bodies are packed with gzip or deflate or not at all"),
        ("POST", "/v1/traces", BODY, {"content-type": "text/plain"}, 415,
         "the content type is neither application/x-protobuf nor application/json"),
        ("POST", "/v1/metrics", BODY, {}, 404, "nothing is served there, OTLP goes to /v1/traces and /v1/logs"),
        ("GET", "/v1/traces", b"", {}, 405, "OTLP is sent with POST"),
    ],
)  # fmt: skip
def test_what_is_refused(  # noqa: PLR0913, PLR0917 - a table
    serving: Serving, method: str, path: str, body: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    """Every refusal has its status and, in the sender's content type, words that hold none of the body."""
    given = {"content-type": "application/x-protobuf"} | headers
    found = serving.request(method, path, body, given)
    assert found.status == status
    if given["content-type"] == JSON:
        assert json.loads(found.body)["message"] == words
    else:
        assert Status.FromString(found.body).message == words


def test_too_large_is_told_before_it_is_sent(serving: Serving) -> None:
    """A length beyond the limit is refused by the header alone, and the connection ends."""
    with serving.connect() as client:
        client.sendall(_head("content-length: 70000"))
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")
        assert _rest(client) is not None


def test_a_chunked_body_is_bounded_too(serving: Serving) -> None:
    """Nobody said how long it would be."""
    with serving.connect() as client:
        client.sendall(_head("transfer-encoding: chunked") + b"10000\r\n" + bytes(0x10000) + b"\r\n1\r\n0")
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_client_that_asks_first_may_go_on(serving: Serving) -> None:
    """`expect: 100-continue` is answered before the body comes."""
    with serving.connect() as client:
        client.sendall(_head(f"content-length: {len(BODY)}\r\nexpect: 100-continue"))
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(BODY)
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_requests_follow_each_other_on_one_connection(serving: Serving) -> None:
    """Sent all at once, answered in order."""
    with serving.connect() as client:
        one = _head(f"content-length: {len(BODY)}") + BODY
        client.sendall(one * 20)
        found = b""
        while found.count(b"HTTP/1.1 200 ") < 20:
            found += client.recv(65536)


def test_headers_are_bounded(serving: Serving) -> None:
    """A flood of headers is refused."""
    with serving.connect() as client:
        try:
            client.sendall(_head("\r\n".join(f"x-{number}: {'y' * 100}" for number in range(1000))))
            answer = client.recv(1000)
        except ConnectionError:
            answer = b""
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"\r\n" * 9000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(serving: Serving, garbage: bytes) -> None:
    """A TLS hello, HTTP/2 or nonsense ends the connection."""
    with serving.connect() as client:
        client.sendall(garbage)
        client.shutdown(socket.SHUT_WR)
        try:
            answer = client.recv(1000)
        except ConnectionError:
            answer = b""
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


ENDED = {"loopguard.run.id": "run"}


def test_rejected_records_are_counted_for_the_sender(serving: Serving) -> None:
    """Partial success tells how many records will never be taken."""
    body = logs(
        [("loopguard.run.end", ENDED | {"loopguard.termination.reason": "x" * 300}), ("loopguard.run.end", ENDED)]
    )
    answer = serving.post(body.SerializeToString(), "/v1/logs")
    partial = ExportLogsServiceResponse.FromString(answer.body).partial_success
    assert partial.rejected_log_records == 1
    assert "256 characters" in partial.error_message


def test_logs_have_a_path_of_their_own(serving: Serving) -> None:
    """Log records are taken at /v1/logs."""
    body = logs([("loopguard.run.end", {"loopguard.run.id": "run"})]).SerializeToString()
    assert serving.post(body, "/v1/logs").status == 200


def test_a_loop_comes_out(tmp_path: Path) -> None:
    """From the wire to a line of JSON; stopping waits for what is under way."""
    with Serving(tmp_path) as server:
        assert server.post(BODY).status == 200
        server.until(lambda: len(server.findings()) == 2)
    assert [line["attributes"]["loopguard.finding.action"] for line in server.findings()] == ["nudge", "stop"]


def _head(headers: str) -> bytes:
    lines = f"POST /v1/traces HTTP/1.1\r\nhost: here\r\ncontent-type: application/x-protobuf\r\n{headers}\r\n\r\n"
    return lines.encode()


def _rest(client: socket.socket) -> bytes:
    found = b""
    while part := client.recv(4096):
        found += part
    return found
