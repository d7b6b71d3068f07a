"""Ids of a span, spelled out."""

from __future__ import annotations

import msgspec

__all__ = ["Ids"]


class Ids(msgspec.Struct, frozen=True, gc=False):
    """Ids as records hold them."""

    trace_id: str
    """32 lowercase hex digits."""
    span_id: str
    """16 lowercase hex digits, as the next one."""
    parent_span_id: str
    """Empty for a root."""
