"""Ids of a span, spelled out."""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.compiled import mypyc_attr

__all__ = ["Ids"]


@mypyc_attr(acyclic=True)
class Ids:
    """Ids as records hold them."""

    def __init__(self, trace_id: str, span_id: str, parent_span_id: str) -> None:
        self.trace_id: Final = trace_id
        """32 lowercase hex digits."""
        self.span_id: Final = span_id
        """16 lowercase hex digits, as the next one."""
        self.parent_span_id: Final = parent_span_id
        """Empty for a root."""
