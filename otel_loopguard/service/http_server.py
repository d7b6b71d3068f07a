"""An HTTP server on one address: connections counted and bounded, with or without TLS.

Not a handler: what requests mean is given in.
"""

from __future__ import annotations

import asyncio
import errno
from typing import Final

from otel_loopguard.errors import SettingError
from otel_loopguard.service.http_connection import Connection, Handler, HttpLimits
from otel_loopguard.service.tls import Certificates

__all__ = ["BACKLOG", "HttpServer", "bind_problem"]

BACKLOG: Final = 128
"""Connections that are accepted at a time, before those too many are sent away."""
_QUEUE: Final = 1024
"""Connections that wait to be accepted: more than is accepted at a time, so that a burst need not come again."""
_HANDSHAKE: Final = 10.0
"""Seconds for a client's TLS handshake."""


class HttpServer:
    """Listens from `start` to `stop`."""

    def __init__(
        self, handler: Handler, limits: HttpLimits, most_connections: int, certificates: Certificates | None = None
    ) -> None:
        self._handler = handler
        self._limits = limits
        self._most = most_connections
        self._certificates = certificates
        self._open: set[Connection] = set()
        self._shaking: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        """Open connections."""
        return len(self._open)

    async def start(self, host: str, port: int, setting: str, *, shared: bool = False) -> int:
        """Listen; the port, which differs from ``port`` where that is 0. Raises `SettingError` naming ``setting``.

        ``shared``: other processes of ours listen there too, each gets some of the connections.
        """
        loop = asyncio.get_running_loop()
        factory = self._plain if self._certificates is None else self._encrypted
        try:
            self._server = await loop.create_server(factory, host, port, backlog=BACKLOG, reuse_port=shared or None)
        except OSError as error:
            raise SettingError(bind_problem(host, port, setting, error), name=setting) from None
        for listening in self._server.sockets:
            with listening.dup() as same:
                same.listen(_QUEUE)
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def stop(self, seconds: float) -> None:
        """Let requests that are under way end within some seconds, then end everything."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._open):
            connection.finish()
        until = asyncio.get_running_loop().time() + seconds
        while self._open and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.01)
            for connection in list(self._open):
                connection.finish()
        for connection in list(self._open):
            connection.abort()
        for task in list(self._shaking):
            task.cancel()

    def _plain(self) -> Connection:
        return Connection(self._handler, self._limits, self._open, self._most)

    def _encrypted(self) -> asyncio.Protocol:
        return _Handshake(self)

    def shake(self, transport: asyncio.Transport) -> None:
        """Begin TLS on a new connection, with the certificates that are in force now."""
        certificates = self._certificates
        if certificates is None or len(self._open) + len(self._shaking) >= self._most:
            transport.abort()
            return
        transport.pause_reading()
        certificates.refresh()
        task = asyncio.get_running_loop().create_task(self._shake(transport, certificates))
        self._shaking.add(task)
        task.add_done_callback(self._shaking.discard)

    async def _shake(self, transport: asyncio.Transport, certificates: Certificates) -> None:
        connection = self._plain()
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport, connection, certificates.context, server_side=True, ssl_handshake_timeout=_HANDSHAKE
            )
        except (OSError, asyncio.CancelledError):
            transport.abort()
            return
        if encrypted is not None:
            connection.connection_made(encrypted)


class _Handshake(asyncio.Protocol):
    """What a connection is until its TLS handshake begins."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Before Python 3.11 a transport begins to read after this, even one that is paused here; the next round of the
        # loop is after that and before anything is read.
        if isinstance(transport, asyncio.Transport):
            asyncio.get_running_loop().call_soon(self._server.shake, transport)


def bind_problem(host: str, port: int, setting: str, error: OSError) -> str:
    """Why an address cannot be had, and the way out."""
    flag = "--" + setting.replace("_", "-")
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken, name another with `{flag} {host}:PORT` or stop what has it"
    if error.errno == errno.EACCES:
        return f"this user may not listen on port {port}, name one from 1024 up with `{flag} {host}:PORT`"
    return f"cannot listen on {host}:{port}: {error.strerror or error}; name another address with `{flag}`"
