"""The runs that everything in this process shares by default, and what an application says about them.

Not the only place for runs: whoever makes a `Live` of its own has its own, found here all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Final
from weakref import WeakSet, WeakValueDictionary

from opentelemetry import context as otel_context
from opentelemetry import trace

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.identifier import bounded
from otel_loopguard.emit import Counters

from .context import given_in, speak
from .edge import Edge
from .hold import Hold
from .live import Live
from .outlet import Outlet
from .rules import Sources

__all__ = ["CHANGED", "TERMINATION_REASONS", "Tell", "enlist", "finish", "shared", "user_message"]

TERMINATION_REASONS: Final = (
    "final_answer", "loop_detected", "turn_limit", "budget", "deadline", "tool_error", "cancelled",
)  # fmt: skip
"""Why a run may end; a reason is recorded, never inferred."""

CHANGED: Final = "was read again"
"""How the sentence of a source ends that only tells of a change."""

NO_KEY: Final = "no key is set"
"""How the sentence of a source begins where nobody set a key: a way to run, not an error."""

Tell = Callable[[str], None]
"""Takes one sentence about a key or a policy."""

_all: Final[WeakSet[Hold[Live]]] = WeakSet()
_shared: Final[WeakValueDictionary[Hashable, Hold[Live]]] = WeakValueDictionary()
_outlets: Final[WeakValueDictionary[Hashable, Outlet]] = WeakValueDictionary()

_logger = logging.getLogger("otel_loopguard")


def shared(
    settings: Settings,
    sources: Callable[[Tell], Sources],
    *,
    logger_provider: object = None,
    meter_provider: object = None,
) -> Hold[Live]:
    """The one `Live` of the process for some settings and providers (None: the global ones); made where there is none.

    It is enlisted as long as somebody keeps what is returned. ``sources`` makes the sources of policy and keys, which
    have something to tell.
    """
    ways = (id(logger_provider), id(meter_provider))
    hold = _shared.get((settings, ways))
    if hold is None:
        # One outlet for all settings: a second set of instruments would count into the same names.
        outlet = _outlets.get(ways)
        if outlet is None:
            counters = Counters()
            outlet = Outlet(counters, Edge(counters), logger_provider=logger_provider, meter_provider=meter_provider)
            outlet = _outlets.setdefault(ways, outlet)
        for warning in settings.warnings:
            outlet.edge.warn(warning, "%s", warning)
        hold = _shared.setdefault((settings, ways), enlist(Live(sources(_teller(outlet)), outlet)))
    return hold


def _teller(outlet: Outlet) -> Tell:
    """Logs what a file has to say, and counts it as an error unless nothing is wrong."""

    def tell(text: str) -> None:
        if text.endswith(CHANGED):
            _logger.info("otel-loopguard: %s", text)
            return
        if not text.startswith(NO_KEY):
            outlet.counters.add(names.ERRORS, ("SettingError",))
        _logger.warning("otel-loopguard: %s", text)

    return tell


def enlist(live: Live) -> Hold[Live]:
    """Let the application's words and forks reach a `Live`, as long as somebody keeps what is returned."""
    hold = Hold(live)
    hold.after_fork(Live.restart)
    _all.add(hold)
    return hold


def _enlisted() -> list[Live]:
    return list({id(hold.item): hold.item for hold in list(_all)}.values())


def user_message(agent: str | None = None) -> None:
    """A user spoke: what was repeated before is no repetition any more.

    It is for the run that `run` names, else for that of the trace of the current span, else for the runs to which the
    calls of this context belong. ``agent`` None speaks to all agents of the run.
    """
    run_id, trace_id = _here()
    agent = bounded(agent or "")
    is_known = [live.user_message(run_id, trace_id, agent) for live in _enlisted()]
    if not run_id and not any(is_known):
        speak(agent)


def finish(reason: str = "", *, run_id: object = None) -> None:
    """A run is over: report its last findings and its totals, once an end. It may go on under its id.

    It is the run of ``run_id``, else the one that `run` names, else that of the current span's trace. ``reason`` is one
    of `TERMINATION_REASONS`; any other text is left out, with a warning.
    """
    if reason and reason not in TERMINATION_REASONS:
        allowed = ", ".join(f"`{one}`" for one in TERMINATION_REASONS)
        _logger.warning("otel-loopguard: unknown termination reason, expected one of %s; left out", allowed)
        reason = ""
    reason = reason or ""  # whatever an application takes for none
    named, trace_id = _here()
    named = bounded(str(run_id)) if run_id else named
    span = trace.get_current_span().get_span_context()
    for live in _enlisted():
        live.finish(named, trace_id, reason, span if span.is_valid else None)


def _here() -> tuple[str, str]:
    """The run that code names, and the trace of the current span."""
    given = given_in(otel_context.get_current())
    span = trace.get_current_span().get_span_context()
    return given.run_id or "", trace.format_trace_id(span.trace_id) if span.is_valid else ""
