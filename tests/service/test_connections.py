"""Ten thousand connections: those that are too many are sent away, and whoever is inside is served all the while."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import grpc
import pytest

from otel_loopguard.service.descriptors import make_room, needed
from otel_loopguard.service.http_server import BACKLOG
from otel_loopguard.service.settings import settings_from
from tests.support.crewing import Crewing
from tests.support.spans import annotated, traces

ATTEMPTS = 10_000
MOST = 100
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
BODY = traces([annotated("run", 1)]).SerializeToString()
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""How a client of HTTP/2 begins: the preface and empty settings."""


@pytest.fixture(autouse=True)
def room() -> Iterator[int]:
    """As many open files as this system lets us have, for a while; how many connections may be held open at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else ATTEMPTS + 1000
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(most, ATTEMPTS + 1000)), hard))
    yield min(ATTEMPTS, most - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def files(process: int) -> int:
    """Open files of a process."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def megabytes(process: int) -> float:
    """Memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_ten_thousand_connections(tmp_path: Path, room: int, protocol: str) -> None:
    """With a hundred at most: files and memory stay bounded, requests from inside go on, and there is room after."""
    with Crewing(tmp_path, 1, max_connections=str(MOST)) as server, ExitStack() as stack:
        process = server.process.pid
        if protocol == "http":
            inside = HTTPConnection("127.0.0.1", server.ports["http"], timeout=60)
            stack.callback(inside.close)
        else:
            channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}"))
            export = channel.unary_unary(TRACES)

        def served() -> bool:
            if protocol == "grpc":
                return bool(export(BODY, timeout=60) == b"")
            inside.request("POST", "/v1/traces", BODY, {"content-type": "application/x-protobuf"})
            answer = inside.getresponse()
            return (answer.status, answer.read()) == (200, b"")

        assert served()
        before, memory = files(process), megabytes(process)
        held: list[socket.socket] = []

        def close() -> None:
            for client in held:
                client.close()

        stack.callback(close)  # where it fails too: the next test needs the files
        peak = 0
        for attempt in range(ATTEMPTS):
            if len(held) == room:
                held.pop(0).close()
            client = socket.create_connection(("127.0.0.1", server.ports[protocol]), timeout=60)
            held.append(client)
            if protocol == "grpc":
                client.sendall(PREFACE)
            if attempt % 500 == 0:
                assert served()
                peak = max(peak, files(process))
        # The loop takes in a backlog at each turn, and what is too many is closed three turns after that.
        assert peak - before <= MOST + 4 * BACKLOG
        server.until(lambda: files(process) - before <= MOST)
        assert megabytes(process) - memory < 64
        close()
        server.until(lambda: files(process) <= before)
        server.send(BODY)
        assert served()


def test_room_for_the_connections_is_asked_for(room: int) -> None:
    """A low limit of open files is raised to what the settings need; what the system does not give is told."""
    del room
    settings = settings_from({"max_connections": "500"}, {}, {})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    assert make_room(settings) == ""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == needed(settings) == 2 * (500 + 2 * BACKLOG) + 192
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    many = settings_from({"max_connections": "100000000"}, {}, {})
    assert f"may open {hard} files, `max_connections` 100000000 may need 200000704" in make_room(many)
