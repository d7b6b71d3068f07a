"""Other languages' SDKs with their exporters: what they send is taken, and they wait for a server that is yet to come.

Needs their packages: `make test-senders` installs them from their registries.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("h11", reason="needs the extra `serve`")

from tests.support.serving import Serving
from tests.support.spans import annotated, traces

HERE = Path(__file__).parent
CACHE = HERE.parent.parent / ".cache" / "senders"
SENDERS = [
    ("node", "grpc"),
    ("node", "http-protobuf"),
    ("node", "http-json"),
    ("go", "grpc"),
    ("go", "http"),
]


REFUSED = 'loopguard_server_requests_total{loopguard_server_answer="unavailable"}'
"""The number of requests that could not be kept."""


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def command(language: str, protocol: str, port: int) -> list[str]:
    """How to start an agent."""
    if language == "go":
        program = CACHE / "go" / "agent"
        if not program.exists():
            pytest.skip("the Go agent is not built: make test-senders")
        return [str(program), protocol, f"127.0.0.1:{port}"]
    if not (CACHE / "node" / "node_modules").is_dir() or shutil.which("node") is None:
        pytest.skip("the packages for Node are not installed: make test-senders")
    return ["node", str(CACHE / "node" / "agent.mjs"), protocol, f"http://127.0.0.1:{port}"]


@pytest.mark.parametrize(("language", "protocol"), SENDERS)
def test_a_stuck_agent_is_found(tmp_path: Path, language: str, protocol: str) -> None:
    """Five equal calls: a nudge and a stop, and no content anywhere."""
    with Serving(tmp_path) as server:
        port = server.ports["grpc_address" if protocol == "grpc" else "http_address"]
        subprocess.run(command(language, protocol, port), check=True, timeout=60)
        server.until(lambda: len(server.findings()) >= 2)
    assert [line["attributes"]["loopguard.finding.action"] for line in server.findings()][:2] == ["nudge", "stop"]
    assert b"canary" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_sender_waits_for_the_server(tmp_path: Path) -> None:
    """Go's gRPC exporter finds nobody at first and tries again by its own rules; that over HTTP gives up at once."""
    language, port, protocol = "go", free_port(), "grpc"
    with subprocess.Popen(command(language, protocol, port)) as agent:
        threading.Event().wait(1.0)
        with Serving(tmp_path, grpc_address=f"127.0.0.1:{port}") as server:
            assert agent.wait(60) == 0
            server.until(lambda: len(server.findings()) >= 2)


@pytest.mark.parametrize(("language", "protocol"), [one for one in SENDERS if one[1].startswith("http")])
def test_a_sender_waits_as_long_as_it_is_told(tmp_path: Path, language: str, protocol: str) -> None:
    """While nothing can be written the answer is 503 with a time to wait, which Node's and Go's exporters keep to."""
    with Serving(tmp_path) as server:
        store = server.server._store
        assert store is not None
        store._db.execute("PRAGMA query_only = 1")
        answer = server.post(traces([annotated("other", 1)]).SerializeToString())
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        with subprocess.Popen(command(language, protocol, server.ports["http_address"])) as agent:
            server.until(lambda: f"{REFUSED} 2\n" in server.page("/metrics"))
            refused = time.monotonic()
            store._db.execute("PRAGMA query_only = 0")
            assert agent.wait(60) == 0
        assert time.monotonic() - refused > 4
        assert f"{REFUSED} 2\n" in server.page("/metrics")
        server.until(lambda: len(server.findings()) >= 2)
