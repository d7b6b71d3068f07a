"""A collector of spans over OTLP/HTTP at any path: the backend of whichever vendor sends there."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_loopguard.conventions import Record
from otel_loopguard.stream.otlp import trace_records


@dataclass
class Collector:
    """What came in."""

    url: str = ""
    raw: list[bytes] = field(default_factory=list)
    spans: list[Record] = field(default_factory=list)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The attributes of the spans that were annotated, in the order of the calls."""
        found = [dict(span.attributes) for span in self.spans if "loopguard.sequence" in span.attributes]
        return sorted(found, key=lambda attributes: int(attributes["loopguard.sequence"]))


@contextmanager
def collecting() -> Iterator[Collector]:
    """Listen on a free port."""
    held = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path.endswith("/traces"):
                held.raw.append(body)
                held.spans += trace_records(ExportTraceServiceRequest.FromString(body))
            self.do_GET()

        def do_GET(self) -> None:
            answer = b"" if self.headers.get("content-type") == "application/x-protobuf" else b"{}"
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        held.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield held
        finally:
            server.shutdown()
            thread.join()
