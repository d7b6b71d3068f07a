"""A whole server in this process, on free ports, and plain ways to talk to it."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from otel_loopguard.config import Settings
from otel_loopguard.service.server import Server
from otel_loopguard.service.settings import settings_from

KEY = "0123456789abcdef" * 4


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Serving:
    """A server from entering to leaving; every setting may be given."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.json = folder / "out.jsonl"
        given = {
            "grpc_address": "127.0.0.1:0",
            "http_address": "127.0.0.1:0",
            "page_address": "127.0.0.1:0",
            "state_file": str(folder / "state"),
            "lateness": "200ms",
            "json_file": str(self.json),
            "drain": "5s",
        } | settings
        self.settings = settings_from(given, {}, {})
        self.told: list[str] = []
        self.server: Server
        self._loop: asyncio.AbstractEventLoop
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Serving:
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self.server.stop)
        self._thread.join()

    def _run(self) -> None:
        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            self.server = Server(self.settings, Settings.read({"LOOPGUARD_KEY": KEY}), self.told.append)
            await self.server.run(lambda _: self._started.set(), signals=())

        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self._error = error
            self._started.set()

    @property
    def ports(self) -> Mapping[str, int]:
        """Where it listens."""
        return self.server.ports

    @property
    def grpc(self) -> str:
        """Target of its gRPC receiver."""
        return f"127.0.0.1:{self.ports['grpc_address']}"

    @property
    def http(self) -> str:
        """Address of its HTTP receiver."""
        return f"http://127.0.0.1:{self.ports['http_address']}"

    def page(self, path: str) -> str:
        """A page."""
        return self.request("GET", path, port=self.ports["page_address"]).body.decode()

    def request(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        context: ssl.SSLContext | None = None,
    ) -> Answer:
        """One request on a connection of its own."""
        number = self.ports["http_address"] if port is None else port
        connection = (
            HTTPConnection("127.0.0.1", number, timeout=20)
            if context is None
            else HTTPSConnection("localhost", number, timeout=20, context=context)
        )
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def post(self, body: bytes, path: str = "/v1/traces", **headers: str) -> Answer:
        """A protobuf request, unless headers say otherwise."""
        given = {"content-type": "application/x-protobuf"}
        return self.request(
            "POST", path, body, given | {name.replace("_", "-"): value for name, value in headers.items()}
        )

    def connect(self) -> socket.socket:
        """A bare connection to its HTTP receiver."""
        return socket.create_connection(("127.0.0.1", self.ports["http_address"]), timeout=20)

    def lines(self) -> list[dict[str, Any]]:
        """The lines that were written until now."""
        if not self.json.exists():
            return []
        *whole, _ = self.json.read_text().split("\n")  # the last one may be half written
        return [json.loads(line) for line in whole]

    def findings(self) -> list[dict[str, Any]]:
        """Those of them that are findings."""
        return [line for line in self.lines() if line["event"] == "loopguard.finding"]

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what must come to hold, a minute on a machine that has much else to do."""
        waiting = threading.Event()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if holds():
                return
            waiting.wait(0.02)
        raise AssertionError("it did not come to hold")
