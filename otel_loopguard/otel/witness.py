"""What an ending span tells about a run: the call that it is, or the decision of a model that calls follow.

Not the writing on it: the processor does that with what comes back.
"""

from __future__ import annotations

import threading
from typing import Any, Final
from weakref import ReferenceType, ref

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan

from otel_loopguard.conventions import RawCall, Record, read, role
from otel_loopguard.conventions.usage import tokens_of
from otel_loopguard.core.call import ToolCall, Turn
from otel_loopguard.correlate import NOWHERE, Place, Surroundings, place
from otel_loopguard.live import Found, Live, Sighting, Taken, guarded_in, surroundings_of
from otel_loopguard.siblings import Siblings

from .nesting import Nesting
from .open_span import OpenSpan, OpenSpans, View
from .spans import attributes_in, time_of

__all__ = ["Witness"]

_NO_CALL: Final = RawCall("", "")
_PLACES: Final = 64
"""Places remembered below one parent."""


class Witness:
    """The open spans of one processor, and what their ends say."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.spans = OpenSpans()
        self.nesting = Nesting(live, self.spans)
        self._last: tuple[ReferenceType[Context] | None, Surroundings] = (None, NOWHERE)
        self.renew()

    def renew(self) -> None:
        """A fresh lock: what a forked child needs."""
        self._lock = threading.Lock()

    def tool(
        self, here: OpenSpan, record: Record, raw: RawCall, context: Context
    ) -> tuple[Taken | None, tuple[Found, ...]]:
        """The call of an ending tool span as it was taken in (None: dropped), and what was found by its end."""
        end_ns = record.end_ns or 0
        parent = self.spans.get(here.parent_id) if here.parent_id else None
        view = None if parent is None else parent.view(self.spans)
        outermost = None if view is None else view.outermost(raw.tool, raw.call_id)
        first = here if outermost is None else outermost
        where = self._place(raw, here, view, self._surroundings(context))
        turn, is_known = where.turn, True
        if turn is None:
            turn, is_known = self._turn(first, parent if outermost is None else None, record)
        seen = Sighting(
            raw, where, record.attributes, record.resource, record.trace_id, first.ids.span_id, here.identity,
            record.start_ns or 0, end_ns, turn, is_known, guarded_in(context),
        )  # fmt: skip
        call, outcome = self._live.read(seen)
        if is_known and where.turn is None:
            turn = self._own_turn(first, turn, call, record)
            if turn != seen.turn:
                seen = seen.changed(turn=turn, turn_known=False)
                call = call.in_turn(turn)
        copy, found = self.nesting.copy_of(here, seen, call) if self.nesting.inner else (None, ())
        if copy is not None and (copy.observation is not None or call.fingerprint is None):
            taken: Taken | None = copy
            if copy.outcome.kind == "missing":
                copy.outcome = outcome
        else:
            may_wait = call.fingerprint is None and self.nesting.may_wait(view, outermost)
            taken = self._live.take(seen, call, outcome, copy_of=copy, may_wait=may_wait)
            if taken is not None and taken.found:
                found += taken.found
        if taken is not None:
            self.nesting.leave(view, taken, end_ns)
        return taken, found

    def other(self, here: OpenSpan, record: Record) -> None:
        """A span of some family that is no tool call ended."""
        told = role(record)
        if told is not None and told.kind == "model":
            parent = self.spans.get(here.parent_id)
            if parent is not None:
                with self._lock:
                    self._siblings(parent).model(record.span_id, record.start_ns)
            tokens = tokens_of(record.attributes) if self._live.has_findings else None
            if tokens is not None:
                self._live.spend(record.trace_id, tokens)
        if self.nesting.inner:
            self.nesting.pass_on(here, record.end_ns or 0)

    def place_in(self, span: ReadableSpan, context: Context) -> Place:
        """Where a call would stand that was made inside an open span, or by a model of which this is the span."""
        identity = span.get_span_context()
        here = None if identity is None else self.spans.get(identity.span_id)
        if here is None or identity is None:
            here = OpenSpan(span, 0 if identity is None else identity.span_id, self.spans.reader)
        record = self.spans.reader.record(span, dict(attributes_in(span)), here.ids, None)
        return self._place(read(record) or _NO_CALL, here, here.view(self.spans), self._surroundings(context))

    @staticmethod
    def _place(raw: RawCall, here: OpenSpan, view: View | None, surroundings: Surroundings) -> Place:
        """Where a call stands: most calls below a parent say nothing of it themselves, and stand where others did."""
        ids = here.ids
        if view is None:
            return place(raw, trace_id=ids.trace_id, parent_span_id=ids.parent_span_id, surroundings=surroundings)
        if view.surroundings is not surroundings or len(view.places) >= _PLACES:
            view.surroundings = surroundings
            view.places = {}
        says = (
            raw.run_id, raw.agent_call_id, raw.conversation_id, raw.channel_id, raw.agent, raw.prompt_id, raw.turn,
        )  # fmt: skip
        found = view.places.get(says)
        if found is None:
            found = view.places[says] = place(
                raw,
                trace_id=ids.trace_id,
                parent_span_id=ids.parent_span_id,
                ancestors=view.ancestors,
                surroundings=surroundings,
            )
        return found

    def _turn(self, first: OpenSpan, parent: OpenSpan | None, record: Record) -> tuple[Turn, bool]:
        """The turn of a call by the spans around its earliest-started one, and whether a model's decision names it."""
        if parent is None:
            parent = self.spans.get(first.parent_id)
        span_id = first.ids.span_id
        if parent is None:
            return span_id, False
        span: Any = first.span()
        start_ns = record.start_ns if span is None else time_of(span.start_time)
        with self._lock:
            siblings = self._siblings(parent)
            turn = siblings.turn(span_id, start_ns, record.end_ns)
            return turn, siblings.is_model(turn)

    def _own_turn(self, first: OpenSpan, turn: Turn, call: ToolCall, record: Record) -> Turn:
        """The turn of a call that its model's decision names, unless it is one equal call too many of it."""
        parent = self.spans.get(first.parent_id)
        if parent is None or first.ids.span_id != record.span_id:
            return turn
        with self._lock:
            siblings = self._siblings(parent)
            return siblings.own_turn(turn, call.fingerprint, record.span_id, record.start_ns, record.end_ns)

    @staticmethod
    def _siblings(parent: OpenSpan) -> Siblings:
        if parent.siblings is None:
            parent.siblings = Siblings()
        return parent.siblings

    def _surroundings(self, context: Context) -> Surroundings:
        """What a context says; spans that start in one context share the object, so the last one is remembered.

        Weakly: a context holds its current span.
        """
        if not context:
            context = otel_context.get_current()
        held, told = self._last
        if held is None or held() is not context:
            told = surroundings_of(context)
            self._last = (ref(context), told)
        return told
