"""Requests of very many very small parts: refused before anything of them is read.

Not the size of a request, which receivers bound: an empty event takes two bytes and costs as much time as any other,
so four megabytes of them would cost seconds. Small requests are not counted, whatever is in them costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["MOST_PARTS", "UNCOUNTED", "TooManyError", "refuse_json_flood", "refuse_log_flood", "refuse_span_flood"]

MOST_PARTS: Final = 262_144
"""Attributes, events, links and members of lists in one request. A real one has more than 16 bytes, so that 4 MiB of
them are fewer."""
UNCOUNTED: Final = 256 << 10
"""Bytes of a request that is small: it has at most half as many parts as that."""


class TooManyError(ValueError):
    """The request has more parts than any real one of its size."""


class _Budget:
    """What may still come."""

    def __init__(self) -> None:
        self._left = MOST_PARTS

    def take(self, count: int) -> None:
        """Some parts."""
        self._left -= count
        if self._left < 0:
            raise TooManyError(f"more than {MOST_PARTS:,} attributes, events and list members in one request")

    def pairs(self, pairs: Any) -> None:  # noqa: ANN401 - a repeated field
        """Attributes with what is in them; protobuf bounds how deep."""
        self.take(len(pairs))
        for pair in pairs:
            self.value(pair.value)

    def mapping(self, attributes: Mapping[str, Any]) -> None:
        """Attributes that are decoded as a map."""
        self.take(len(attributes))
        for key in attributes:
            self.value(attributes[key])

    def value(self, value: Any) -> None:  # noqa: ANN401 - an AnyValue
        """What is in a value."""
        kind = value.WhichOneof("value")
        if kind == "kvlist_value":
            self.pairs(value.kvlist_value.values)
        elif kind == "array_value":
            members = value.array_value.values
            self.take(len(members))
            for member in members:
                self.value(member)


def refuse_span_flood(holders: Iterable[Any]) -> None:
    """Raise `TooManyError` for too many parts in the spans of a decoded request."""
    budget = _Budget()
    for holder in holders:
        budget.pairs(holder.resource.attributes)
        for scoped in holder.scope_spans:
            budget.take(1)
            for span in scoped.spans:
                budget.take(len(span.events))
                budget.mapping(span.attributes)
                for event in span.events:
                    budget.pairs(event.attributes)


def refuse_log_flood(holders: Iterable[Any]) -> None:
    """Raise `TooManyError` for too many parts in the log records of a decoded request."""
    budget = _Budget()
    for holder in holders:
        budget.pairs(holder.resource.attributes)
        for scoped in holder.scope_logs:
            budget.take(1)
            for log in scoped.log_records:
                budget.pairs(log.attributes)
                budget.value(log.body)


def refuse_json_flood(document: object) -> None:
    """Raise `TooManyError` for too many list members in a decoded request."""
    budget = _Budget()
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list):
            budget.take(len(value))
            left.extend(value)
