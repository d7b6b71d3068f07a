"""One tool call as a host saw it end, with its place in the world.

It holds content (in the raw call) and lives only until it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.trace import SpanContext

from otel_loopguard.conventions import RawCall
from otel_loopguard.core.call import Turn
from otel_loopguard.correlate import Place

from .guarded import Guarded

__all__ = ["Sighting"]

_NOTHING: Final[Mapping[str, object]] = {}
_FIELDS: Final = (
    "raw", "place", "attributes", "resource", "trace_id", "span_id", "span", "start_ns", "end_ns", "turn", "turn_known",
    "guarded", "conversation",
)  # fmt: skip


class Sighting:
    """What `Live` needs to know of one call."""

    def __init__(
        self,
        raw: RawCall,
        place: Place,
        attributes: Mapping[str, object] = _NOTHING,
        resource: Mapping[str, object] = _NOTHING,
        trace_id: str = "",
        span_id: str = "",
        span: SpanContext | None = None,
        start_ns: int = 0,
        end_ns: int = 0,
        turn: Turn = None,
        turn_known: bool = False,
        guarded: Guarded | None = None,
        conversation: str = "",
    ) -> None:
        self.raw: Final = raw
        self.place: Final = place
        self.attributes: Final = attributes
        """Of the span: where the policy's scope values are looked up, before the resource."""
        self.resource: Final = resource
        self.trace_id: Final = trace_id
        self.span_id: Final = span_id
        """Of the call's earliest-started span, as far as that is known."""
        self.span: Final = span
        """Whose context the events carry."""
        self.start_ns: Final = start_ns
        self.end_ns: Final = end_ns
        self.turn: Final = turn
        """One model decision, by whatever token; equal tokens are one turn."""
        self.turn_known: Final = turn_known
        """The token names a model decision, not just calls that overlap in time."""
        self.guarded: Final = guarded
        """The guarded call that the context belongs to: this one, or one around it."""
        self.conversation: Final = conversation
        """The framework's own, by any token; empty where nobody says."""

    def changed(self, **changes: Any) -> Sighting:  # noqa: ANN401 - as its fields
        """The same with other values in some fields."""
        return Sighting(**{field: changes.get(field, getattr(self, field)) for field in _FIELDS})

    def __repr__(self) -> str:
        return f"Sighting(run_id={self.place.run_id!r}, tool={self.raw.tool!r}, span_id={self.span_id!r})"
