"""Spans of one call inside each other: a framework's tool, an MCP client in it, a server in that.

Not the merging of exported spans: here the inner span ends first and the outer one can still be written.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.call import ToolCall
from otel_loopguard.live import Found, Live, Sighting, Taken

from .open_span import OpenSpan, OpenSpans, View

__all__ = ["MAX_INNER", "MAX_PARENTS", "Nesting"]


MAX_PARENTS: Final = 1024
"""Open spans inside which calls are remembered; abandoned ones among them are given up first, as the oldest."""
MAX_INNER: Final = 64
"""Calls remembered inside one open span, the oldest given up first."""


class Nesting:
    """Which calls of ended spans wait inside open ones, and what becomes of them."""

    def __init__(self, live: Live, spans: OpenSpans) -> None:
        self._live = live
        self._spans = spans
        self.inner: dict[int, list[Taken]] = {}
        """Calls that ended inside an open span and may be the same call as it or one around it, by its id."""

    def copy_of(self, span: OpenSpan, seen: Sighting, call: ToolCall) -> tuple[Taken | None, tuple[Found, ...]]:
        """The call of an inner span that an ending tool span is once more: a recorded one before one that waits.

        What waits inside and is another call is recorded now, because it stands before the one around it; what was
        found by that comes second.
        """
        inner = self.inner.pop(span.span_id, None)
        if not inner:
            return None, ()
        same = [taken for taken in inner if self._is_same(taken, seen, call)]
        found: list[Found] = []
        for taken in inner:
            if taken not in same:
                found += self._live.settle(taken, seen.end_ns)
        recorded = next((taken for taken in same if taken.observation is not None), None)
        return recorded or (same[0] if same else None), tuple(found)

    def _is_same(self, taken: Taken, seen: Sighting, call: ToolCall) -> bool:
        """One tool or call id, and nothing that contradicts it: two ids, or two known arguments."""
        theirs = taken.call
        same_id = call.call_id is not None and call.call_id == theirs.call_id
        if call.tool != theirs.tool:
            if not same_id:
                return False
            if call.fingerprint is not None and theirs.fingerprint is not None:
                # Layers name a tool in their own ways, and the name is part of the fingerprint: read under theirs.
                renamed = seen.raw.changed(tool=theirs.tool)
                call, _ = self._live.read(seen.changed(raw=renamed))
        elif not same_id and None not in {call.call_id, theirs.call_id}:
            return False
        unknown = call.fingerprint is None or theirs.fingerprint is None or call.key_id != theirs.key_id
        return unknown or call.fingerprint == theirs.fingerprint

    @staticmethod
    def may_wait(view: View | None, outermost: OpenSpan | None) -> bool:
        """Whether a call without arguments waits: an enclosing span is the same call, or the parent may become it."""
        return outermost is not None or (view is not None and not view.reading.is_marked)

    def leave(self, view: View | None, taken: Taken, now_ns: int) -> None:
        """Hand a tool span's call to its parent, which may be the same call."""
        if view is None or view.reading.is_boundary:
            self._live.settle(taken, now_ns)
        else:
            self._keep(view.span, taken, now_ns)

    def pass_on(self, span: OpenSpan, now_ns: int) -> None:
        """A span that is no tool call ended: what is inside goes on to its parent, or has waited long enough."""
        inner = self.inner.pop(span.span_id, None)
        if not inner:
            return
        parent = None if span.reading().is_boundary else self._spans.get(span.parent_id)
        view = None if parent is None else parent.view(self._spans)
        if view is not None and view.reading.is_boundary:
            view = None
        for taken in inner:
            is_waiting = taken.observation is None
            if view is not None and (not is_waiting or view.outermost(taken.call.tool, taken.call.call_id) is not None):
                self._keep(view.span, taken, now_ns)
            elif is_waiting:
                self._live.settle(taken, now_ns)

    def give_up(self, now_ns: int) -> None:
        """Nothing is waited for any longer: record what waits on its own."""
        while self.inner:
            self._give_up_oldest(now_ns)

    def _give_up_oldest(self, now_ns: int) -> None:
        for taken in self.inner.pop(next(iter(self.inner), 0), ()):
            self._live.settle(taken, now_ns)

    def _keep(self, parent: OpenSpan, taken: Taken, now_ns: int) -> None:
        held = self.inner.setdefault(parent.span_id, [])
        held.append(taken)
        if len(held) > MAX_INNER:
            self._live.settle(held.pop(0), now_ns)
        if len(self.inner) > MAX_PARENTS:
            self._give_up_oldest(now_ns)
