"""One tool call as a host saw it end, with its place in the world.

It holds content (in the raw call) and lives only until it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from opentelemetry.trace import SpanContext

from otel_loopguard.conventions import RawCall
from otel_loopguard.core.call import Turn
from otel_loopguard.correlate import Place

from .guarded import Guarded

__all__ = ["Sighting"]


class Sighting(msgspec.Struct, frozen=True):
    """What `Live` needs to know of one call."""

    raw: RawCall
    place: Place
    attributes: Mapping[str, object] = {}
    """Of the span: where the policy's scope values are looked up, before the resource."""
    resource: Mapping[str, object] = {}
    trace_id: str = ""
    span_id: str = ""
    """Of the call's earliest-started span, as far as that is known."""
    span: SpanContext | None = None
    """Whose context the events carry."""
    start_ns: int = 0
    end_ns: int = 0
    turn: Turn = None
    """One model decision, by whatever token; equal tokens are one turn."""
    turn_known: bool = False
    """The token names a model decision, not just calls that overlap in time."""
    guarded: Guarded | None = None
    """The guarded call that the context belongs to: this one, or one around it."""
    conversation: str = ""
    """The framework's own, by any token; empty where nobody says."""

    def __repr__(self) -> str:
        return f"Sighting(run_id={self.place.run_id!r}, tool={self.raw.tool!r}, span_id={self.span_id!r})"
