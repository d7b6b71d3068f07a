"""OTLP over gRPC: the answers that the protocol knows, and the limits."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from tests.support.serving import Serving
from tests.support.spans import annotated, logs, traces

BODY = traces([annotated("run", number) for number in range(1, 6)]).SerializeToString()
CUT = BODY.replace(b"search", b"searc\xc3")
"""Texts that are cut within a character."""
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for all."""
    with Serving(tmp_path_factory.mktemp("grpc"), max_request="64KiB") as server:
        yield server


def call(server: Serving, body: bytes, method: str = TRACES, **options: Any) -> bytes:  # noqa: ANN401
    """One request on a channel of its own."""
    with grpc.insecure_channel(server.grpc) as channel:
        answer: bytes = channel.unary_unary(method)(body, timeout=20, **options)
        return answer


def refused(server: Serving, body: bytes, method: str = TRACES, **options: Any) -> grpc.RpcError:  # noqa: ANN401
    """A request that is refused."""
    with pytest.raises(grpc.RpcError) as error:
        call(server, body, method, **options)
    return error.value


@pytest.mark.parametrize(
    ("body", "method", "options"),
    [
        (BODY, TRACES, {}),
        (b"", TRACES, {}),
        (BODY, TRACES, {"compression": grpc.Compression.Gzip}),
        (logs([("loopguard.run.end", {"loopguard.run.id": "run"})]).SerializeToString(), LOGS, {}),
        (BODY + b"\xc0\x3e\x01", TRACES, {}),
        (CUT, TRACES, {}),
    ],
    ids=["traces", "empty", "gzip", "logs", "unknown field", "no UTF-8"],
)
def test_what_is_taken(serving: Serving, body: bytes, method: str, options: dict[str, Any]) -> None:
    """A request that OTLP allows is acknowledged."""
    assert call(serving, body, method, **options) == b""


@pytest.mark.parametrize(
    ("body", "method", "code", "words"),
    [
        (b"\xff", TRACES, "INVALID_ARGUMENT", "the body is no protobuf message of OTLP traces"),
        (bytes(70_000), TRACES, "RESOURCE_EXHAUSTED", "larger than max"),
        (BODY, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "UNIMPLEMENTED", ""),
    ],
)
def test_what_is_refused(serving: Serving, body: bytes, method: str, code: str, words: str) -> None:
    """A refusal for good has its code and no time to wait."""
    error = refused(serving, body, method)
    assert error.code().name == code
    assert words in error.details()
    assert "grpc-status-details-bin" not in dict(error.trailing_metadata()) or _retry(error) is None


def test_a_packed_bomb_is_not_unpacked(serving: Serving) -> None:
    """Sixteen megabytes of nothing in sixteen kilobytes, packed by gRPC and packed by hand."""
    for body, options in (
        (bytes(16 << 20), {"compression": grpc.Compression.Gzip}),
        (gzip.compress(bytes(16 << 20)), {}),
    ):
        error = refused(serving, body, **options)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert any(words in error.details() for words in ("too large once it is unpacked", "larger than max"))


def test_rejected_records_are_counted_for_the_sender(serving: Serving) -> None:
    """Partial success tells how many records will never be taken."""
    ended = {"loopguard.run.id": "run"}
    body = logs(
        [("loopguard.run.end", ended | {"loopguard.termination.reason": "x" * 300}), ("loopguard.run.end", ended)]
    )
    answer = ExportLogsServiceResponse.FromString(call(serving, body.SerializeToString(), LOGS))
    assert answer.partial_success.rejected_log_records == 1


def test_overload_tells_when_to_come_back(tmp_path: Path) -> None:
    """No room for another run: RESOURCE_EXHAUSTED with RetryInfo, and the same over HTTP: 429 with Retry-After."""
    with Serving(tmp_path, max_runs="1") as server:
        assert call(server, traces([annotated("one", 1)]).SerializeToString()) == b""
        two = traces([annotated("two", 1)]).SerializeToString()
        error = refused(server, two)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert _retry(error) == 30
        answer = server.post(two)
        assert (answer.status, answer.headers["retry-after"]) == (429, "30")
        assert 'loopguard_server_requests_total{loopguard_server_answer="overloaded"} 2' in server.page("/metrics")


def test_what_limits_drop_is_counted(tmp_path: Path) -> None:
    """A run that made room for another is counted by the reason."""
    with Serving(tmp_path, max_runs="1", idle="300ms", lateness="50ms") as server:
        call(server, traces([annotated("one", 1)]).SerializeToString())
        server.until(lambda: "loopguard_runs_total{" in server.page("/metrics"))
        call(server, traces([annotated("two", 1)]).SerializeToString())
        assert 'loopguard_dropped_total{loopguard_drop_reason="run_max_runs"} 1' in server.page("/metrics")


def test_a_loop_comes_out(tmp_path: Path) -> None:
    """From the wire to a line of JSON."""
    with Serving(tmp_path) as server:
        call(server, BODY)
        server.until(lambda: len(server.findings()) == 2)


def _retry(error: grpc.RpcError) -> int | None:
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            for detail in Status.FromString(value).details:
                info = RetryInfo()
                if detail.Unpack(info):
                    return info.retry_delay.seconds
    return None
