"""The exporters of the OpenTelemetry SDK for Python, with their own retries, against a server that comes and goes."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from otel_loopguard import LoopGuardSpanProcessor, Settings
from tests.support.serving import KEY, Serving


def grpc_exporter(port: int) -> SpanExporter:
    """Over gRPC."""
    return GrpcExporter(endpoint=f"http://127.0.0.1:{port}", insecure=True)


def http_exporter(port: int) -> SpanExporter:
    """Over HTTP, packed."""
    return HttpExporter(endpoint=f"http://127.0.0.1:{port}/v1/traces", compression=Compression.Gzip)


EXPORTERS = [("grpc_address", grpc_exporter), ("http_address", http_exporter)]


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def agent(exporter: SpanExporter, calls: int, *, watched: bool, begin: int = 0) -> None:
    """An agent that is stuck; ``watched``: with our processor."""
    provider = TracerProvider(shutdown_on_exit=False)
    if watched:
        provider.add_span_processor(LoopGuardSpanProcessor(Settings(key=KEY)))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    for _ in range(begin, begin + calls):
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.conversation.id": "talk",
            "gen_ai.tool.call.arguments": '{"q": "canary"}',
            "gen_ai.tool.call.result": "[]",
        }
        with tracer.start_as_current_span("execute_tool search", attributes=attributes):
            pass
    provider.force_flush()
    exporter.shutdown()


@pytest.mark.parametrize(("address", "make"), EXPORTERS, ids=["grpc", "http"])
def test_a_stuck_agent_is_found(tmp_path: Path, address: str, make: Callable[[int], SpanExporter]) -> None:
    """Spans with content, sent by the SDK's own exporter."""
    with Serving(tmp_path) as server:
        agent(make(server.ports[address]), 5, watched=False)
        server.until(lambda: len(server.findings()) >= 2)
    kinds = [line["attributes"]["loopguard.finding.action"] for line in server.findings()]
    assert kinds[:2] == ["nudge", "stop"]
    assert b"canary" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(("address", "make"), EXPORTERS, ids=["grpc", "http"])
def test_what_the_process_found_is_not_found_again(
    tmp_path: Path, address: str, make: Callable[[int], SpanExporter]
) -> None:
    """The processor in the agent reports its findings on its spans; the detector adds none."""
    with Serving(tmp_path) as server:
        agent(make(server.ports[address]), 5, watched=True)
        server.until(lambda: 'loopguard_finding_action="stop"' in server.page("/metrics"))
    assert server.findings() == []


@pytest.mark.parametrize(("address", "make"), EXPORTERS, ids=["grpc", "http"])
def test_an_exporter_waits_for_the_server(tmp_path: Path, address: str, make: Callable[[int], SpanExporter]) -> None:
    """The server goes away in the middle and comes back: the exporter's own retry brings the rest, nothing is lost."""
    import threading

    port = free_port()
    exporter = make(port)
    with Serving(tmp_path, **{address: f"127.0.0.1:{port}"}):
        agent_part = threading.Thread(target=agent, args=(make(port), 2), kwargs={"watched": False})
        agent_part.start()
        agent_part.join()
    late = threading.Thread(target=agent, args=(exporter, 3), kwargs={"watched": False})
    late.start()
    threading.Event().wait(0.3)
    with Serving(tmp_path, **{address: f"127.0.0.1:{port}"}) as server:
        late.join()
        server.until(lambda: len(server.findings()) >= 2)
    assert server.findings()[1]["attributes"]["loopguard.finding.sequence"] == 5
