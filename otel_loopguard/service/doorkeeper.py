"""Who may come in: the tenant of a request, by the tokens in force.

Not the tokens' file format (`tokens`): here they are read again when their file changes.
"""

from __future__ import annotations

from collections.abc import Callable

from otel_loopguard.keys import WatchedFile
from otel_loopguard.service.tokens import NO_TENANT, Tokens, parse_tokens

__all__ = ["Doorkeeper"]


class Doorkeeper:
    """Asked once a request; a file that becomes wrong leaves the last good tokens in force."""

    def __init__(self, path: str | None, tell: Callable[[str], None], now_ns: Callable[[], int]) -> None:
        """``path``: of the token file; None lets everybody in, as one tenant."""
        self._now_ns = now_ns
        self._file: WatchedFile[Tokens] | None = None
        if path is not None:
            self._file = WatchedFile(path, parse_tokens, tell, "nobody is let in")

    def tenant(self, authorization: str | None) -> str | None:
        """The tenant; None: not known here."""
        if self._file is None:
            return NO_TENANT
        tokens = self._file.value(self._now_ns())
        return None if tokens is None else tokens.tenant(authorization)
