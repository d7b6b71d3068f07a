"""The server's own pages: `/healthz`, `/readyz`, `/metrics`.

Not for senders, and not on their port: numbers name tools and agents. No page names a run, a fingerprint or a tenant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from otel_loopguard.service.http_connection import Head, Reply

__all__ = ["Page"]

_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Page:
    """The handler of the three pages."""

    def __init__(self, ready: Callable[[], Awaitable[str]], metrics: Callable[[], Awaitable[str]]) -> None:
        """``ready`` gives "" or why the server cannot take anything in, ``metrics`` the numbers as text."""
        self._ready = ready
        self._metrics = metrics

    def refuse(self, head: Head) -> Reply | None:
        """What is not there."""
        if head.path not in {"/healthz", "/readyz", "/metrics"}:
            return Reply(404, b"here are /healthz, /readyz and /metrics\n")
        if head.method != "GET":
            return Reply(405, b"ask with GET\n", headers=(("allow", "GET"),))
        return None

    async def answer(self, head: Head, body: bytes) -> Reply:  # noqa: ARG002 - none of the pages takes one
        """The page."""
        if head.path == "/metrics":
            return Reply(200, (await self._metrics()).encode(), _METRICS)
        problem = await self._ready() if head.path == "/readyz" else ""
        return Reply(503, f"not ready: {problem}\n".encode()) if problem else Reply(200, b"ok\n")
