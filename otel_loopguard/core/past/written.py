"""A declared write that a run remembers."""

from __future__ import annotations

import msgspec

__all__ = ["Written"]


class Written(msgspec.Struct, frozen=True, gc=False):
    """How a declared write went that was made last."""

    done: bool
    """It succeeded; False where nobody knows."""
    idempotency: int | None
    """32 bits of the idempotency key that it was sent with."""
    scope: int
    """Tag of the scope in which it was made."""
