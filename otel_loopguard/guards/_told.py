"""What the application tells a guard beside its calls: its state, its users' messages, how a run ended.

Not the judging of calls: `Guard` does that, and is one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace

from otel_loopguard.config import Settings
from otel_loopguard.core.identifier import bounded
from otel_loopguard.emit import Origin
from otel_loopguard.live import TERMINATION_REASONS, Edge, Live, given_in, guarded_in, speak, surroundings_of

from ._checkpoint import blocked

__all__ = ["Told"]

_last: Final[ContextVar[tuple[str, str]]] = ContextVar("loopguard-last-run", default=("", ""))
"""Run and agent of the last guarded call of this context: what is told next is about them, where it names nobody."""


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
            *here, given = self._here(run)
            last_run, last_agent = _last.get()
            who = bounded(agent or given or (last_agent if here[0] in {"", last_run} else ""))
            if not self._reaches(here, lambda run_id, trace_id: self._live.state(run_id, trace_id, who, value)):
                self._nowhere("state")
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def user_message(self, *, run: str | None = None, agent: str | None = None) -> None:
        """A user spoke (to one agent; None: to all): what was repeated before is no repetition any more."""
        try:
            run_id, trace_id, _ = self._here(run)
            who = bounded(agent or "")
            if not self._live.user_message(run_id, trace_id, who) and not run_id:
                self._live.user_message(_last.get()[0], "", who)
                speak(who)  # a worker's last run may be another conversation's: it counts for those that come next too
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def new_message(self, run: str | None) -> None:
        """A framework begins to work on a user's message. Where the application names the run, it says that itself.

        Inside of a guarded call it is the tool's own message to an agent of its own: no user spoke.
        """
        if given_in(otel_context.get_current()).run_id is None and not self.inside_of():
            self.user_message(run=run)

    @staticmethod
    def inside_of() -> str:
        """The tool whose guarded call this code runs in; empty outside of one."""
        around = guarded_in(otel_context.get_current())
        return "" if around is None or around.ended_ns is not None else around.call.tool

    @staticmethod
    def call_around() -> str | None:
        """The guarded call that this code runs in, as a conversation of its own: what it calls has a history there."""
        around = guarded_in(otel_context.get_current())
        return None if around is None or around.ended_ns is not None else f"call {around.serial}"

    def finish(self, reason: str = "", *, run: str | None = None) -> None:
        """A run is over, for one of `otel_loopguard.live.TERMINATION_REASONS` (anything else is left out)."""
        try:
            *here, _ = self._here(run)
            known = reason if reason in TERMINATION_REASONS else ""
            if reason and not known:
                allowed = ", ".join(f"`{one}`" for one in TERMINATION_REASONS)
                self._edge.warn("reason", "unknown termination reason, expected one of %s; left out", allowed)
            span = trace.get_current_span().get_span_context()
            context = span if span.is_valid else None

            def end(run_id: str, trace_id: str) -> bool:
                self._forget(run_id or trace_id)
                return self._live.finish(run_id, trace_id, known, context)

            if not self._reaches(here, end):
                self._nowhere("finish")
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def report_blocked(self, tried: Sequence[str] = (), needed: Sequence[str] = (), *, run: str | None = None) -> str:  # noqa: ARG002 - what was tried stays in the conversation
        """The tool `report_blocked`: count what the agent needs, and tell it to hand over."""
        try:
            run_id, trace_id, agent = self._here(run)
            last_run, last_agent = _last.get()
            named = run_id or self._live.run_named(trace_id) or last_run
            if not named and trace_id != self._own_run:
                named = trace_id
            agent = agent or (last_agent if named == last_run else "")
            origin = Origin(named, agent, policy_version=self._live.policy_version)
            said = list(needed) if isinstance(needed, (list, tuple)) else [needed]
            blocked(self._live, origin, said, may_quote=self._settings.content == "keep")
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
        return "Recorded. Do not call more tools; tell the user what you tried and what you need."

    def report(self, /, **said: object) -> str:
        """`report_blocked` with the arguments as a model wrote them: what is missing or unknown does no harm."""
        return self.report_blocked(_listed(said.get("tried")), _listed(said.get("needed")))

    @staticmethod
    def _worked_on(run_id: str, agent: str) -> None:
        """A call of a run and agent is guarded here."""
        if _last.get() != (run_id, agent):
            _last.set((run_id, agent))

    @staticmethod
    def _reaches(here: Sequence[str], tell: Callable[[str, str], bool]) -> bool:
        """Whether the run that is named is known, or, where none is, that of the trace or of the last guarded call."""
        run_id, trace_id = here
        if tell(run_id, trace_id):
            return True
        last = "" if run_id else _last.get()[0]
        return bool(last) and tell(last, "")

    def _nowhere(self, what: str) -> None:
        self._edge.warn(
            what, "`guard.%s` is about no run that is known here; say which: `run=`, or `with otel_loopguard.run(...)`"
            " around it", what,
        )  # fmt: skip

    def _here(self, run: str | None) -> tuple[str, str, str]:
        """The run, trace and agent that this code runs for: what names them, else those of the guarded call around."""
        context = otel_context.get_current()
        around, guarded = surroundings_of(context), guarded_in(context)
        span = trace.get_current_span().get_span_context()
        trace_id = trace.format_trace_id(span.trace_id) if span.is_valid else self._own_run
        named = around.given_run or bounded(run or "")
        if not named and guarded is not None:
            return guarded.run.run_id, trace_id, around.given_agent or guarded.lane.agent
        run_id = named or around.run_id or around.agent_call_id or around.conversation_id or ""
        return run_id, trace_id, around.given_agent or around.agent or ""


def _listed(said: object) -> list[str]:
    """A list, or one text alone, as texts; anything else says nothing."""
    if isinstance(said, str):
        return [said]
    return [one for one in said if isinstance(one, str)] if isinstance(said, (list, tuple)) else []
