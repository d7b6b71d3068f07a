"""Items in groups, in the order in which groups first came: in memory up to a limit, in a temporary file beyond it.

Not a database: every group is written to its end and then read once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Final

__all__ = ["Spool"]

_GROUP: Final = 200
"""Bytes that a group costs beside its items, measured: its key, two dict entries and an empty buffer."""
_HEAD: Final = 4


class Spool:
    """Bytes in groups."""

    def __init__(self, limit: int) -> None:
        """``limit``: bytes held in memory."""
        self._limit = limit
        self._bytes = 0
        self._buffers: dict[str, bytearray] = {}
        self._written: dict[str, list[tuple[int, int]]] = {}
        self._file: IO[bytes] | None = None

    def close(self) -> None:
        """Give the temporary file back."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return len(self._buffers)

    @property
    def spilled(self) -> bool:
        """Whether the temporary file is in use."""
        return self._file is not None

    def add(self, group: str, item: bytes) -> None:
        """One item more at the end of its group."""
        buffer = self._buffers.get(group)
        if buffer is None:
            buffer = self._buffers[group] = bytearray()
        buffer += len(item).to_bytes(_HEAD, "big")
        buffer += item
        self._bytes += len(item) + _HEAD
        # Never less than an eighth at a time: a file of a few bytes each is no way to save memory that groups take.
        if self._bytes > max(self._limit - _GROUP * len(self._buffers), self._limit // 8):
            self._spill()

    def groups(self) -> Iterator[str]:
        """The groups that are left, in the order in which they first came; each may be taken on the way."""
        yield from list(self._buffers)

    def take(self, group: str) -> list[bytes]:
        """A group's items in their order; it is gone afterwards."""
        items: list[bytes] = []
        for offset, length in self._written.pop(group, ()):
            if self._file is not None:
                self._file.seek(offset)
                items.extend(_items(self._file.read(length)))
        rest = self._buffers.pop(group)
        self._bytes -= len(rest)
        items.extend(_items(bytes(rest)))
        return items

    def _spill(self) -> None:
        """Write everything out, small groups too: each costs a seek when it is taken, none costs memory until then."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="loopguard-")  # noqa: SIM115 - closed with the spool
        offset = self._file.seek(0, 2)
        for group, buffer in self._buffers.items():
            if buffer:
                self._file.write(buffer)
                self._written.setdefault(group, []).append((offset, len(buffer)))
                offset += len(buffer)
                self._buffers[group] = bytearray()
        self._bytes = 0


def _items(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        start = position + _HEAD
        position = start + int.from_bytes(data[position:start], "big")
        yield data[start:position]
