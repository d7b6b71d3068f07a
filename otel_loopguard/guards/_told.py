"""What the application tells a guard beside its calls: its state, its users' messages, how a run ended.

Not the judging of calls: `Guard` does that, and is one of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry import context as otel_context
from opentelemetry import trace

from otel_loopguard.config import Settings
from otel_loopguard.core.identifier import bounded
from otel_loopguard.emit import Origin
from otel_loopguard.live import TERMINATION_REASONS, Edge, Live, given_in, surroundings_of

from ._checkpoint import blocked

__all__ = ["Told"]


class Told:
    """The application's side of a guard."""

    _live: Live
    _edge: Edge
    _settings: Settings
    _own_run: str

    def _forget(self, run_id: str) -> None:
        """Drop what is held of a run's calls."""
        raise NotImplementedError

    def state(self, value: object, *, run: str | None = None, agent: str | None = None) -> None:
        """The application's own state now, any JSON: with it, it alone decides whether the agent gets anywhere."""
        try:
            run_id, trace_id, given = self._here(run)
            self._live.state(run_id, trace_id, bounded(agent or given), value)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def user_message(self, *, run: str | None = None, agent: str | None = None) -> None:
        """A user spoke (to one agent; None: to all): what was repeated before is no repetition any more."""
        try:
            run_id, trace_id, _ = self._here(run)
            self._live.user_message(run_id, trace_id, bounded(agent or ""))
            self._forget(run_id or trace_id)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def new_message(self, run: str | None) -> None:
        """A framework begins to work on a user's message. Where the application names the run, it says that itself."""
        if given_in(otel_context.get_current()).run_id is None:
            self.user_message(run=run)

    def finish(self, reason: str = "", *, run: str | None = None) -> None:
        """A run is over, for one of `otel_loopguard.live.TERMINATION_REASONS` (anything else is left out)."""
        try:
            run_id, trace_id, _ = self._here(run)
            known = reason if reason in TERMINATION_REASONS else ""
            if reason and not known:
                allowed = ", ".join(f"`{one}`" for one in TERMINATION_REASONS)
                self._edge.warn("reason", "unknown termination reason, expected one of %s; left out", allowed)
            span = trace.get_current_span().get_span_context()
            self._live.finish(run_id, trace_id, known, span if span.is_valid else None)
            self._forget(run_id or trace_id)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def report_blocked(self, tried: Sequence[str] = (), needed: Sequence[str] = (), *, run: str | None = None) -> str:  # noqa: ARG002 - what was tried stays in the conversation
        """The tool `report_blocked`: count what the agent needs, and tell it to hand over."""
        try:
            run_id, trace_id, agent = self._here(run)
            origin = Origin(run_id or trace_id, agent, policy_version=self._live.policy_version)
            said = [needed] if isinstance(needed, str) else needed
            blocked(self._live, origin, said, may_quote=self._settings.content == "keep")
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
        return "Recorded. Do not call more tools; tell the user what you tried and what you need."

    def _here(self, run: str | None) -> tuple[str, str, str]:
        """The run, trace and agent that this code runs for."""
        around = surroundings_of(otel_context.get_current())
        span = trace.get_current_span().get_span_context()
        trace_id = trace.format_trace_id(span.trace_id) if span.is_valid else self._own_run
        named = around.given_run or bounded(run or "") or around.run_id
        run_id = named or around.agent_call_id or around.conversation_id or ""
        return run_id, trace_id, around.given_agent or around.agent or ""
