"""Which run, agent and turn a call belongs to.

Not a store of runs: everything that is known about a call comes in, its place goes out, so that a process that has
only open ancestors and a replay that has whole trees get the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from otel_loopguard.conventions import RawCall, Role
from otel_loopguard.core.call import Turn

__all__ = ["NOWHERE", "Ancestor", "Place", "Surroundings", "is_new_message", "place"]


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
    """As given or recorded; None: `siblings` may know."""
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
