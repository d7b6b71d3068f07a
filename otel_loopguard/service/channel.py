"""Messages between a worker and its parent: small, plain values in frames over a socket pair.

Not the wires between workers (`links`). A message is a name and a value; no message holds content.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any, Final

import msgspec

__all__ = ["Channel"]

_LENGTH: Final = struct.Struct(">I")
_LARGEST: Final = 64 << 20
"""Bytes of a frame: numbers are at most some hundred kilobytes."""


class Channel:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """A channel over one end of a socket pair."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def send(self, name: str, value: object = None) -> None:
        """Send a message; the other end may be gone."""
        data = msgspec.msgpack.encode((name, value))
        if not self._writer.is_closing():
            self._writer.write(_LENGTH.pack(len(data)) + data)

    async def receive(self) -> tuple[str, Any] | None:
        """The next message; None when the other end is gone."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            if length > _LARGEST:
                return None
            name, value = msgspec.msgpack.decode(await self._reader.readexactly(length))
        except (OSError, asyncio.IncompleteReadError):
            return None
        return name, value

    def close(self) -> None:
        """End it."""
        self._writer.close()
