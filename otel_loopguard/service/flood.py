"""Requests of very many very small parts: what has them is taken out, or all refused, before anything is read.

Not the size of a request, which receivers bound: an empty event takes two bytes and costs as much time as any other,
so four megabytes of them would cost seconds. Small requests are not counted, whatever is in them costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

__all__ = ["MOST_PARTS", "UNCOUNTED", "TooManyError", "drop_log_floods", "drop_span_floods", "refuse_json_flood"]

MOST_PARTS: Final = 262_144
"""Attributes, events, links and members of lists in one request. A real one has more than 16 bytes, so that 4 MiB of
them are fewer."""
UNCOUNTED: Final = 256 << 10
"""Bytes of a request that is small: it has at most half as many parts as that."""

_MOST_DROPPED: Final = 16
"""Spans with too many parts in one request whose other spans are read: where more have, it is no mishap of one."""


class TooManyError(ValueError):
    """The request has more parts than any real one of its size."""


class _Budget:
    """What may still come."""

    def __init__(self) -> None:
        self._left = MOST_PARTS
        self.dropped = 0
        """Spans or log records that were too large."""

    def take(self, count: int) -> None:
        """Some parts."""
        if count > self._left:
            raise TooManyError(f"more than {MOST_PARTS:,} attributes, events and list members in one request")
        self._left -= count

    def span(self, span: Any) -> None:  # noqa: ANN401 - a span whose attributes are a map
        """A span. What was counted of one that is too large stays counted: it was the work of counting."""
        self.take(len(span.events))
        self.mapping(span.attributes)
        for event in span.events:
            self.pairs(event.attributes)

    def log(self, log: Any) -> None:  # noqa: ANN401 - a log record
        """A log record, as `span`."""
        self.pairs(log.attributes)
        self.value(log.body)

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


def drop_span_floods(holders: Iterable[Any]) -> list[str]:
    """Take each span with too many parts out of a decoded request; what to tell the sender of each.

    Raise `TooManyError` for too many parts beside spans, and for too many such spans.
    """
    budget = _Budget()
    dropped: list[str] = []
    for holder in holders:
        budget.pairs(holder.resource.attributes)
        for scoped in holder.scope_spans:
            budget.take(1)
            for at in reversed(_floods(budget, budget.span, scoped.spans)):
                dropped.append(_told("span", scoped.spans[at].span_id[:8].hex()))
                del scoped.spans[at]
    return dropped


def drop_log_floods(holders: Iterable[Any]) -> list[str]:
    """As `drop_span_floods`, for log records."""
    budget = _Budget()
    dropped: list[str] = []
    for holder in holders:
        budget.pairs(holder.resource.attributes)
        for scoped in holder.scope_logs:
            budget.take(1)
            for at in reversed(_floods(budget, budget.log, scoped.log_records)):
                dropped.append(_told("log record of span", scoped.log_records[at].span_id[:8].hex()))
                del scoped.log_records[at]
    return dropped


def _floods(budget: _Budget, take: Callable[[Any], None], items: Iterable[Any]) -> list[int]:
    """Where the items are that the budget is too small for, first to last; with many of them, all is refused."""
    found: list[int] = []
    for at, item in enumerate(items):
        try:
            take(item)
        except TooManyError:  # noqa: PERF203 - one span must not take the others with it
            budget.dropped += 1
            if budget.dropped > _MOST_DROPPED:
                raise
            found.append(at)
    return found


def _told(what: str, name: str) -> str:
    return f"{what} {name or 'without an id'}: more than {MOST_PARTS:,} attributes, events and list members"


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
