"""One HTTP/1.1 connection: bounded in size and time, one request after the other.

Not the server (`http_server`) and not what a request means: that is a handler's. The protocol itself is h11's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

import h11

__all__ = ["Connection", "Handler", "Head", "HttpLimits", "Reply"]


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one connection may take."""

    header_bytes: int = 16 << 10
    """Request line and headers."""
    body_bytes: int = 4 << 20
    header_seconds: float = 10.0
    """From the first byte, or the connection, to the end of the headers."""
    body_seconds: float = 30.0
    idle_seconds: float = 120.0
    """Between requests."""
    reply_seconds: float = 30.0
    """Until a reply is read by the client."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request without its body."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    """By lowercase name; they may hold a token."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    close: bool = False
    """The connection ends with it: the rest of the request is not read."""


class Handler(Protocol):
    """What requests mean."""

    def refuse(self, head: Head) -> Reply | None:
        """A reply that needs no body: the body is not read then."""
        ...

    async def answer(self, head: Head, body: bytes) -> Reply:
        """The reply to a whole request. Never raises."""
        ...


_PHRASES: Final = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    413: b"Content Too Large",
    415: b"Unsupported Media Type",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    503: b"Service Unavailable",
}


class Connection(asyncio.Protocol):
    """Reads requests, writes replies, gives up on clients that are slow or send too much."""

    def __init__(self, handler: Handler, limits: HttpLimits, open_connections: set[Connection], most: int) -> None:
        self._handler = handler
        self._limits = limits
        self._open = open_connections
        self._most = most
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._head: Head | None = None
        self._body = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    # What the event loop says -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there; one too many is sent away."""
        self._transport = cast("asyncio.Transport", transport)
        if len(self._open) >= self._most:
            self._transport.abort()
            return
        self._open.add(self)
        self._expect(self._limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it is gone makes no difference
        """The client is gone; what it asked for is finished all the same."""
        self._open.discard(self)
        self._stop_timer()
        if self._transport is not None:
            self._transport.close()  # before Python 3.11 an encrypted one does not know that it is closed
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        if self._closing:
            return
        try:
            self._http.receive_data(data)
            if self._http.our_state is h11.IDLE and self._head is None and self._task is None:
                self._expect(self._limits.header_seconds, restart=False)
            self._read()
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint or 400
            self._reply(Reply(status, b"the request is no valid HTTP/1.1\n", close=True))

    def eof_received(self) -> bool:
        """The client sends no more; a reply that is under way is still written."""
        return self._task is not None

    # Requests -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        while not self._closing:
            event = self._http.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.Request):
                self._begin(event)
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > self._limits.body_bytes:
                    self._reply(_too_large(self._limits.body_bytes))
            elif isinstance(event, h11.EndOfMessage):
                self._stop_timer()
                if self._transport is not None:
                    self._transport.pause_reading()
                self._task = asyncio.get_running_loop().create_task(self._handle())
                return
            else:
                self._close()

    def _begin(self, request: h11.Request) -> None:
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
        path = request.target.decode("latin-1").partition("?")[0]
        self._head = Head(request.method.decode("ascii"), path, headers)
        self._body = bytearray()
        refused: Reply | None = None
        # The limit of h11 is for what is incomplete, and all of a flood may come in one piece.
        if sum(len(name) + len(value) for name, value in request.headers) > self._limits.header_bytes:
            refused = Reply(431, b"the headers are too large\n", close=True)
        refused = refused or self._handler.refuse(self._head)
        if refused is None and int(headers.get("content-length", "0")) > self._limits.body_bytes:
            refused = _too_large(self._limits.body_bytes)
        if refused is not None:
            has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
            self._reply(refused, close=refused.close or has_body)
            return
        self._expect(self._limits.body_seconds)
        if self._http.they_are_waiting_for_100_continue and self._transport is not None:
            go_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
            self._transport.write(self._http.send(go_on) or b"")

    async def _handle(self) -> None:
        head, body = self._head, bytes(self._body)
        self._body = bytearray()
        if head is None:
            return
        reply = await self._handler.answer(head, body)
        self._task = None
        self._reply(reply)

    # Replies ------------------------------------------------------------------------------------------------------

    def _reply(self, reply: Reply, *, close: bool = False) -> None:
        if self._transport is None or self._transport.is_closing() or self._closing:
            return
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self._close()
            return
        ends = close or reply.close
        headers = [("content-type", reply.content_type), ("content-length", str(len(reply.body))), *reply.headers]
        if ends:
            headers.append(("connection", "close"))
        raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]
        response = h11.Response(status_code=reply.status, headers=raw, reason=_PHRASES.get(reply.status, b""))
        written = (self._http.send(response) or b"") + (self._http.send(h11.Data(data=reply.body)) or b"")
        self._transport.write(written + (self._http.send(h11.EndOfMessage()) or b""))
        self._head = None
        states = self._http.states
        if ends or states[h11.SERVER] is not h11.DONE or states[h11.CLIENT] is not h11.DONE:
            self._close()
            return
        self._http.start_next_cycle()
        self._expect(self._limits.idle_seconds)
        self._transport.resume_reading()
        try:
            self._read()
        except h11.RemoteProtocolError as error:
            self._reply(Reply(error.error_status_hint or 400, b"the request is no valid HTTP/1.1\n", close=True))

    def _close(self) -> None:
        """End the connection once what was written is read, or after a while in any case."""
        if self._closing or self._transport is None:
            return
        self._closing = True
        self._stop_timer()
        self._transport.close()
        self._timer = asyncio.get_running_loop().call_later(self._limits.reply_seconds, self._transport.abort)

    def finish(self) -> None:
        """The server is stopping: end the connection unless a reply is under way."""
        if self._task is None:
            self._close()

    def abort(self) -> None:
        """The server has waited long enough."""
        self._stop_timer()
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    # Time ---------------------------------------------------------------------------------------------------------

    def _expect(self, seconds: float, *, restart: bool = True) -> None:
        """Give the client so long for what comes next; ``restart``: from now, else at most from now."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            if not restart and self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._head is not None:
            self._reply(Reply(408, b"the request took too long\n", close=True))
        self._close()


def _too_large(limit: int) -> Reply:
    return Reply(413, f"the body is larger than the limit of {limit} bytes\n".encode(), close=True)
