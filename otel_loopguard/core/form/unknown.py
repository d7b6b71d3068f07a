"""Why arguments or a result cannot be compared, and the bounds above which we do not try.

Not an error of the caller: a call without a fingerprint is a call like another, it is just never equal to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_loopguard.core.call import UnknownReason

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_DIGITS", "MAX_NODES", "Unknown", "UnreadableError"]

MAX_BYTES: Final = 8 * 1024 * 1024
"""Longest JSON text, and longest canonical form, that is read. Reading this much takes about a tenth of a second,
which is what the host may notice once."""

MAX_DEPTH: Final = 254
"""Most objects and lists in one another, an empty one in the deepest not counted: the native encoder's own limit."""

MAX_DIGITS: Final = 10_000
"""Longest integer, in decimal digits; converting one costs the square of its length."""

MAX_NODES: Final = 500_000
"""Most values that are read one by one, as objects need it that are not plain data already: half a second."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Content that has no canonical form; never equal to anything, itself included."""

    reason: UnknownReason

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class UnreadableError(Exception):
    """Raised and caught inside the core alone, on the way to an `Unknown`."""

    def __init__(self, reason: UnknownReason) -> None:
        super().__init__(reason)
        self.reason = reason
