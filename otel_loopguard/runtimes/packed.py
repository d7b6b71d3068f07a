"""A hosted run as bytes, with what its host must know about it: what a state file holds.

Not the run (`seat`). It is a struct in a file of its own, because what is decoded must be one: the compiler keeps no
types of a named tuple's fields.
"""

from __future__ import annotations

import msgspec

__all__ = ["Packed"]


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """A run as bytes."""

    state: bytes
    last: int
    ended: bool
    told: bool
    strongest: int
    timer: int | None
    theirs: list[tuple[str, str]] = []
