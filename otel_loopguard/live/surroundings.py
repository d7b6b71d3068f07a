"""What a context says about run, agent and conversation: from code, baggage and other instrumentations.

Not trusted for keys: baggage comes from outside, so it is bounded and only ever names a run or an agent.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from opentelemetry import baggage
from opentelemetry.context import Context

from otel_loopguard.core.identifier import bounded
from otel_loopguard.correlate import NOWHERE, Surroundings
from otel_loopguard.names import AGENT_NAME, RUN_ID

from .context import given_in

__all__ = ["surroundings_of"]

_AGENT_CALL_ID: Final = "gen_ai.agent.call.id"
_CONVERSATIONS: Final = ("gen_ai.conversation.id", "session.id")
_TRACELOOP: Final = "association_properties"
"""Traceloop's own context key; it holds a mapping."""
_TRACELOOP_SESSIONS: Final = ("session_id", "thread_id", "conversation_id")
_TRACELOOP_CONVERSATION: Final = "conversation_id"
_TRACELOOP_AGENT: Final = "agent_name"
_AMBIENT: Final = "opentelemetry.util.genai._conversation_context"


def surroundings_of(context: Context) -> Surroundings:
    """What code, baggage and the context keys of known instrumentations say, each where nothing before it does."""
    given = given_in(context)
    carried = baggage.get_all(context)
    properties = context.get(_TRACELOOP)
    properties = properties if isinstance(properties, Mapping) else {}
    conversation_carried = _first(carried, _CONVERSATIONS)
    ids = (_text(carried.get(RUN_ID)), _text(carried.get(_AGENT_CALL_ID)), conversation_carried) if carried else ()
    found = Surroundings(
        given_run=given.run_id,
        given_agent=given.agent,
        run_id=_text(context.get(RUN_ID)) or _text(carried.get(RUN_ID)),
        agent_call_id=_text(context.get(_AGENT_CALL_ID)) or _text(carried.get(_AGENT_CALL_ID)),
        conversation_id=_first(context, _CONVERSATIONS)
        or _ambient(context)
        or conversation_carried
        or _first(properties, _TRACELOOP_SESSIONS)
        or _text(context.get(_TRACELOOP_CONVERSATION)),
        agent=_text(context.get(AGENT_NAME)) or _text(carried.get(AGENT_NAME)) or _text(context.get(_TRACELOOP_AGENT)),
        carried=frozenset(one for one in ids if one is not None),
    )
    return NOWHERE if found == NOWHERE else found


def _text(value: object) -> str | None:
    return bounded(value) if isinstance(value, str) and value else None


def _first(values: Mapping[str, object], keys: tuple[str, ...]) -> str | None:
    return next((found for key in keys if (found := _text(values.get(key))) is not None), None)


def _ambient(context: Context) -> str | None:
    """The conversation that the official gen-AI instrumentations keep in the context, where they are loaded."""
    module = sys.modules.get(_AMBIENT)
    read = getattr(module, "get_ambient_conversation_id", None)
    return _text(read(context)) if callable(read) else None
