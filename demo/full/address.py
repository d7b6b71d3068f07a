"""Addresses on loopback: those that the recipes have, where they are free."""

from __future__ import annotations

import random
import socket
from typing import Final

__all__ = ["Addresses"]

OTHERS: Final = range(29_000, 32_768)
"""Below the range from which Linux gives outgoing connections their ports."""


class Addresses:
    """Hands out addresses, none twice."""

    def __init__(self, *, usual: bool) -> None:
        self._usual = usual
        self._given: set[int] = set()

    def take(self, port: int) -> str:
        """Host and port: ``port`` where usual ports are wanted and it is free, else any free one."""
        if not (self._usual and self._is_free(port)):
            port = next(other for other in random.sample(OTHERS, len(OTHERS)) if self._is_free(other))
        self._given.add(port)
        return f"127.0.0.1:{port}"

    def _is_free(self, port: int) -> bool:
        if port in self._given:
            return False
        with socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the programs do
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                return False
        return True
