"""Compressed request bodies, unpacked within a limit.

Not a stream: a body is there as a whole, and a small one that unpacks to gigabytes is given up at the limit.
"""

from __future__ import annotations

import zlib

__all__ = ["BrokenPackingError", "TooLargeError", "is_gzip", "unpacked"]

_GZIP = b"\x1f\x8b"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class TooLargeError(ValueError):
    """The body is larger than the limit once it is unpacked."""


class BrokenPackingError(ValueError):
    """The body is no gzip or deflate data, or ends too early."""


def is_gzip(body: bytes) -> bool:
    """Whether a body is gzip; no protobuf message begins with these bytes, their wire type does not exist."""
    return body.startswith(_GZIP)


def unpacked(body: bytes, limit: int) -> bytes:
    """A gzip or zlib body as it was; several gzip members follow each other as the format allows."""
    parts: list[bytes] = []
    size = 0
    while body:
        stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        try:
            part = stream.decompress(body, limit - size + 1)
        except zlib.error:
            raise BrokenPackingError("the body cannot be unpacked") from None
        size += len(part)
        if size > limit:
            raise TooLargeError("the body is too large once it is unpacked")
        if not stream.eof:
            raise BrokenPackingError("the packed body ends too early")
        parts.append(part)
        body = stream.unused_data
    return b"".join(parts)
