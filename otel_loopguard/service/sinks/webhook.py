"""Messages as signed requests to a web address, for chat or paging.

Not a chat's own format: a small relay, or the chat's workflow, makes that of it. The body is `{"messages": [...]}` with
the objects of the JSON lines; the header `Loopguard-Signature` is `t=UNIX_SECONDS,v1=HEX`, HMAC-SHA256 under the shared
secret over the seconds, a full stop and the body.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from otel_loopguard.service.message import Message
from otel_loopguard.service.sinks.http_client import HttpClient
from otel_loopguard.service.sinks.json_lines import as_object

__all__ = ["SIGNATURE", "WebhookSink", "signature"]

SIGNATURE: Final = "Loopguard-Signature"
_ENCODER: Final = msgspec.json.Encoder()


def signature(secret: bytes, seconds: int, body: bytes) -> str:
    """The signature of a body at a time."""
    digest = hmac.new(secret, f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


class WebhookSink:
    """Findings to one address; other events are not worth a page."""

    name = "webhook"
    batch = 20

    def __init__(self, url: str, secret: bytes, wall: Callable[[], int]) -> None:
        """``secret`` signs; empty: nothing is signed. ``wall`` gives Unix time in nanoseconds."""
        self._client = HttpClient(url, "webhook_url")
        self._secret = secret
        self._wall = wall

    def send(self, messages: Sequence[Message]) -> None:
        """Post the findings among the messages."""
        found = [as_object(message) for message in messages if message.name == "loopguard.finding"]
        if not found:
            return
        body = _ENCODER.encode({"messages": found})
        headers = {"content-type": "application/json", "user-agent": "otel-loopguard"}
        if self._secret:
            headers[SIGNATURE] = signature(self._secret, self._wall() // 1_000_000_000, body)
        self._client.post(body, headers)

    def close(self) -> None:
        """Hold nothing."""
