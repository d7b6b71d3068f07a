"""Bytes of protobuf messages, put together by hand: what no library writes.

Not a codec: nothing is read here.
"""

from __future__ import annotations

__all__ = ["sized", "varint"]


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def sized(tag: bytes, body: bytes) -> bytes:
    """A field that has a length: its tag, the length, its bytes."""
    return tag + varint(len(body)) + body
