"""Puts on a span what is to be there, and takes from it what is not: the two settings of privacy at work.

Not the rules of either (`annotation`, `redact`) and not the SDK's ways (`rewrite`): it decides what happens when one of
them fails. Content fails closed: a span that cannot be redacted is emptied, one that cannot be emptied does not leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, Span

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.conventions import Event, RawCall, Record
from otel_loopguard.live import Found, Live, Taken
from otel_loopguard.redact import NOTHING, Redaction, redaction

from . import rewrite
from .annotation import Value, annotation, event_of

__all__ = ["Editor"]

# Variables to the compiler rather than constants: tests put faults in the place of each.
_redaction = redaction
_annotation = annotation
_fit = rewrite.fit
_rebuild_events = rewrite.rebuild_events
_drop_status = rewrite.drop_status
_strip = rewrite.strip


class Editor:
    """Writes on spans under one set of settings; every method says whether the span may leave."""

    def __init__(self, live: Live, settings: Settings) -> None:
        self._live = live
        self._content = settings.content
        self._exceptions = settings.exceptions

    def tool(self, span: Span, record: Record, raw: RawCall, taken: Taken | None, found: Sequence[Found]) -> bool:
        """Redact a tool span and annotate it with its call, if that was taken in."""
        try:
            removal = self._removal(record, is_tool=True)
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)
            return self.strip(span)
        may_leave = self._write(span, removal, self._written(span, record, raw, taken, removal))
        if found and may_leave:
            self._tell(span, found, record.end_ns or 0)
        return may_leave

    def other(self, span: Span, record: Record) -> bool:
        """Redact a span that was read as no tool call."""
        try:
            removal = self._removal(record, is_tool=False, is_incomplete=span.dropped_attributes > 0)
            if removal is NOTHING:
                return True
            written, _ = _fit(span, record.attributes, _listed(removal))
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)
            return self.strip(span)
        return self._write(span, removal, written)

    def strip(self, span: Span) -> bool:
        """Empty a span of which nothing is certain."""
        self._live.counters.add(names.DROPPED, ("content",))
        try:
            _strip(span)
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)
            self._live.counters.add(names.DROPPED, ("spans",))
            return False
        return True

    def late(self, span: ReadableSpan, record: Record, raw: RawCall | None, taken: Taken | None) -> None:
        """The same on a span that no longer records."""
        removal = self._removal(record, is_tool=raw is not None, is_incomplete=span.dropped_attributes > 0)
        written = _listed(removal) if raw is None else self._written(span, record, raw, taken, removal)
        rewrite.force(span, removal, written)

    def _removal(self, record: Record, *, is_tool: bool, is_incomplete: bool = False) -> Redaction:
        return _redaction(
            record,
            is_tool=is_tool,
            content=self._content,
            exceptions=self._exceptions,
            is_incomplete=is_incomplete,
        )

    def _written(
        self, span: ReadableSpan, record: Record, raw: RawCall, taken: Taken | None, removal: Redaction
    ) -> dict[str, Value]:
        """Our attributes, as many as fit."""
        try:
            if taken is None:
                written = _listed(removal)
            else:
                version = self._live.policy_version
                written = _annotation(taken, raw, record.attributes, redacted=removal.keys, policy_version=version)
            fitting, lost = _fit(span, record.attributes, written)
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)
            return {}
        if lost:
            self._live.counters.add(names.DROPPED, ("attribute_limit",), lost)
        return fitting

    def _write(self, span: Span, removal: Redaction, written: dict[str, Value]) -> bool:
        try:
            if removal.events is not None:
                self._replace_events(span, removal.events)
            if removal.drop_status:
                _drop_status(span)
            if written or removal is not NOTHING:
                rewrite.put(span, removal.attributes, written)
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)
            return self.strip(span)
        return True

    def _replace_events(self, span: Span, events: Sequence[Event]) -> None:
        try:
            _rebuild_events(span, events)
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)
            self._live.counters.add(names.DROPPED, ("events",))
            rewrite.remove_events(span)

    def _tell(self, span: Span, found: Sequence[Found], time_ns: int) -> None:
        """Add the span events of findings."""
        try:
            lost = rewrite.add_events(span, [event_of(one) for one in found], time_ns)
            if lost:
                self._live.counters.add(names.DROPPED, ("event_limit",), lost)
        except Exception as error:  # noqa: BLE001
            self._live.edge.caught(error)


def _listed(removal: Redaction) -> dict[str, Value]:
    return {names.REDACTED_KEYS: removal.keys} if removal.keys else {}
