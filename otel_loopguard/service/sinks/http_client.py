"""One request to a web server, for the sinks that speak HTTP.

Not a session: findings are rare, so a connection each is cheap, and none can be stale. It follows no redirects and
reads no environment, so that a token goes only where the settings say.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from otel_loopguard.errors import SettingError
from otel_loopguard.service.sinks._base import SinkRefusedError, SinkUnavailableError

__all__ = ["HttpClient"]

_TIMEOUT: Final = 10.0
_AGAIN: Final = frozenset([408, 425, 429, 500, 502, 503, 504])
_LONGEST_WAIT: Final = 300.0
_MOST_READ: Final = 64 << 10


class HttpClient:
    """Posts to one address."""

    def __init__(self, url: str, setting: str) -> None:
        """Raises `SettingError` for what is no http or https address."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
            raise SettingError(
                f"`{setting}` must be an address such as https://host:port/path without a user name", name=setting
            )
        self._scheme, self._host, self._port = parts.scheme, parts.hostname, port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._context = ssl.create_default_context() if parts.scheme == "https" else None

    def post(self, body: bytes, headers: Mapping[str, str], path: str | None = None) -> bytes:
        """Send a body; what came back. Raises `SinkUnavailableError` or `SinkRefusedError`."""
        connection: http.client.HTTPConnection
        if self._scheme == "https":
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=_TIMEOUT, context=self._context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)
        try:
            connection.request("POST", self._path if path is None else path, body, dict(headers))
            response = connection.getresponse()
            found = response.read(_MOST_READ)
        except (OSError, http.client.HTTPException) as error:
            raise SinkUnavailableError(f"{type(error).__name__}: {error}") from None
        finally:
            connection.close()
        if response.status in _AGAIN:
            raise SinkUnavailableError(f"HTTP status {response.status}", _seconds(response.getheader("retry-after")))
        if not 200 <= response.status < 300:  # noqa: PLR2004 - the class of success
            raise SinkRefusedError(f"HTTP status {response.status}")
        return found


def _seconds(text: str | None) -> float | None:
    """A `retry-after` header in seconds; a date in it is passed over."""
    try:
        return None if text is None else min(max(float(text), 0.0), _LONGEST_WAIT)
    except ValueError:
        return None
