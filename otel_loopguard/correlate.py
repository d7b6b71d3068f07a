"""Which run, agent and turn a call belongs to.

Not a store of runs: everything that is known about a call comes in, its place goes out, so that a process that has
only open ancestors and a replay that has whole trees get the same answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from otel_loopguard.conventions import RawCall, Role
from otel_loopguard.core.call import Turn

__all__ = ["NOWHERE", "Ancestor", "Place", "Siblings", "Surroundings", "is_new_message", "place"]


class Ancestor(msgspec.Struct, frozen=True):
    """A span that encloses a call, as far as it is known when the call is placed."""

    span_id: str
    role: Role | None = None
    """None: no span of an agent, or not known (yet)."""


class Surroundings(msgspec.Struct, frozen=True):
    """What is known beside the call's own record and its ancestors."""

    given_run: str | None = None
    """From code: `otel_loopguard.run()`. Wins over everything."""
    given_agent: str | None = None
    given_turn: Turn = None
    run_id: str | None = None
    """`loopguard.run.id` from the context or baggage."""
    agent_call_id: str | None = None
    """`gen_ai.agent.call.id` from the context or baggage."""
    conversation_id: str | None = None
    """`gen_ai.conversation.id`, `session.id` and the like from the context or baggage."""
    agent: str | None = None
    """`gen_ai.agent.name` from the context or baggage."""
    carried: frozenset[str] = frozenset()
    """The ids that baggage names: it comes from outside, so they enter no key."""


NOWHERE: Final = Surroundings()
"""Nothing is known from code or context."""


class Place(msgspec.Struct, frozen=True):
    """Where a call stands."""

    run_id: str
    run_named: bool
    """False: the run id is only the trace id, and the call joins a named run seen in that trace."""
    by_conversation: bool
    """The run is known only by a conversation or session id: it goes on over user messages, which reset it."""
    agent: str
    """Empty where nobody names one."""
    agent_named: bool
    """Code or the call's own record names the agent; a copy of the call that does wins over one that does not."""
    turn: Turn
    """As given or recorded; None: `Siblings` may know."""
    message: str
    """The user message that the call works on, by whatever token there is: the id of its outermost agent span, or the
    instrumentation's own. Empty where unknown. A new one in a run by conversation is a new user message."""
    key_run: str = ""
    """What a run's own key is derived from: its id, but the trace id where baggage names that run and code does not."""


def place(
    call: RawCall,
    *,
    trace_id: str,
    parent_span_id: str = "",
    ancestors: Sequence[Ancestor] = (),
    surroundings: Surroundings = NOWHERE,
) -> Place:
    """The place of a call.

    The run is the one given by code, else `loopguard.run.id`, else `gen_ai.agent.call.id`, else the conversation's or
    session's id, each looked for on the record, in the context and on the ancestors; else a transport's session where
    the call's span has no parent; else the trace.

    Args:
        call: What the record says.
        trace_id: 32 hex digits; the run's id where nothing names it.
        parent_span_id: Of the call's span; a call with a parent elsewhere joins the run of its trace.
        ancestors: The enclosing spans, nearest first, as many as are known.
        surroundings: What code and context say.

    """
    roles = [ancestor.role for ancestor in ancestors if ancestor.role is not None] if ancestors else []
    run_id = surroundings.given_run or call.run_id or surroundings.run_id or _first(roles, "run_id")
    run_id = run_id or call.agent_call_id or surroundings.agent_call_id or _first(roles, "agent_call_id")
    by_conversation = run_id is None
    if run_id is None:
        run_id = call.conversation_id or surroundings.conversation_id or _first(roles, "conversation_id")
        by_conversation = run_id is not None
    if run_id is None and not parent_span_id:
        run_id = call.channel_id
    named = surroundings.given_agent or call.agent
    return Place(
        run_id=run_id or trace_id,
        run_named=run_id is not None,
        by_conversation=by_conversation,
        agent=named or surroundings.agent or _nearest_agent(roles),
        agent_named=bool(named),
        turn=surroundings.given_turn if surroundings.given_turn is not None else call.turn,
        message=call.prompt_id or _outermost_agent(ancestors),
        key_run=trace_id if not surroundings.given_run and run_id in surroundings.carried else run_id or trace_id,
    )


def is_new_message(place: Place, previous: str | None) -> bool:
    """Whether a call is the first after a user message that nobody told of.

    ``previous`` is the `Place.message` of the run's call before, None for its first call: the run may have been served
    by another process until now, so the first one counts.
    """
    return place.by_conversation and bool(place.message) and place.message != previous


def _first(roles: Sequence[Role], field: str) -> str | None:
    """The nearest ancestor's value."""
    for role in roles:
        value: str | None = getattr(role, field)
        if value:
            return value
    return None


def _nearest_agent(roles: Sequence[Role]) -> str:
    for role in roles:
        if role.kind == "agent" and role.agent:
            return role.agent
    return ""


def _outermost_agent(ancestors: Sequence[Ancestor]) -> str:
    for ancestor in reversed(ancestors):
        if ancestor.role is not None and ancestor.role.kind == "agent":
            return ancestor.span_id
    return ""


@dataclass(slots=True)
class _Decision:
    """Calls that one model decision made, as far as their times tell."""

    turn: Turn
    latest_start: int
    first_end: int

    def takes(self, start_ns: int, end_ns: int) -> bool:
        """Whether a call ran beside all of them: it began before any had ended, and none began after its end.

        A long call beside a row of short ones joins the first of them only, so a background task hides no loop.
        """
        return start_ns < self.first_end and self.latest_start < end_ns


class Siblings:
    """The spans below one parent, for the turn of each call: one object a parent span, fed in the order of ends.

    A turn is named by its model span, else by the first call of a group that overlaps in time. Bounded: the models and
    decisions of long ago are forgotten, and a call that reaches back to them is a turn of its own.
    """

    __slots__ = ("_decisions", "_equal", "_latest_end", "_models")

    MODELS: Final = 8
    """Model spans remembered; a decision's calls follow it before the next one ends."""
    DECISIONS: Final = 16
    """Groups of overlapping calls remembered."""
    EQUAL: Final = 4
    """Equal calls, one after the other, that one model decision is believed to have made: a call and three retries."""
    PRINTS: Final = 64
    """Different calls of model spans whose equals are counted."""

    def __init__(self) -> None:
        self._models: OrderedDict[str, int] = OrderedDict()
        self._decisions: list[_Decision] = []
        self._equal: OrderedDict[tuple[Turn, str], tuple[int, int]] = OrderedDict()
        """How many equal calls a model's turn holds that did not overlap, and when the last of them ended."""
        self._latest_end = 0
        """No decision took calls that began later than this."""

    def model(self, span_id: str, start_ns: int | None) -> None:
        """A model span under the parent has ended."""
        if start_ns is None:
            return
        self._models[span_id] = start_ns
        if len(self._models) > self.MODELS:
            self._models.popitem(last=False)

    def is_model(self, turn: Turn) -> bool:
        """Whether a turn that was handed out is named by its model span."""
        return turn in self._models

    def turn(self, span_id: str, start_ns: int | None, end_ns: int | None) -> Turn:
        """The turn of a call under the parent that has ended.

        The model span that began last before it; else the turn of calls that overlap it in time; else its own.
        """
        if start_ns is None:
            return span_id or None
        if self._models:
            before = [(start, model) for model, start in self._models.items() if start <= start_ns]
            if before:
                return max(before)[1]
        end_ns = start_ns if end_ns is None else end_ns
        if start_ns < self._latest_end:  # calls one after the other need no search
            for decision in self._decisions:
                if decision.takes(start_ns, end_ns):
                    decision.latest_start = max(decision.latest_start, start_ns)
                    decision.first_end = min(decision.first_end, end_ns)
                    return decision.turn
        self._decisions.append(_Decision(span_id or None, start_ns, end_ns))
        if len(self._decisions) > self.DECISIONS:
            del self._decisions[0]
        self._latest_end = max(self._latest_end, end_ns)
        return span_id or None

    def own_turn(
        self, turn: Turn, fingerprint: str | None, span_id: str, start_ns: int | None, end_ns: int | None
    ) -> Turn:
        """The turn of a call whose model span was given as its ``turn``, now that its fingerprint is known.

        A model that asks for one call again and again without a span of its own for each time would hide a loop: after
        `EQUAL` equal calls that ended one before the next, each further one is a turn of its own. Calls that differ
        stay in the turn, however many one decision made.
        """
        if fingerprint is None or start_ns is None or turn not in self._models:
            return turn
        key = (turn, fingerprint)
        count, latest_end = self._equal.pop(key, (0, 0))
        follows = start_ns >= latest_end
        end_ns = start_ns if end_ns is None else end_ns
        self._equal[key] = (count + follows, max(latest_end, end_ns))
        if len(self._equal) > self.PRINTS:
            self._equal.popitem(last=False)
        return (span_id or None) if follows and count >= self.EQUAL else turn
