"""The guard: what a framework adapter asks before it dispatches a tool call, and tells when the call has ended.

Not an adapter, and no judge: `live` counts and the engine decides. It only acts on what they say, by the mode: nothing
(`observe`), words (`nudge`), or words and refusals (`enforce`).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from secrets import token_hex
from time import time_ns
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace

from otel_loopguard.config import Settings
from otel_loopguard.conventions import RawCall
from otel_loopguard.core import decision as engine
from otel_loopguard.core.call import Absent, Turn
from otel_loopguard.core.explain import Words
from otel_loopguard.core.identifier import bounded
from otel_loopguard.core.policy import Mode, ToolPolicy
from otel_loopguard.core.results import ResultLimits, may_keep
from otel_loopguard.correlate import place
from otel_loopguard.keys import KeySource, PolicySource
from otel_loopguard.live import (
    Guarded,
    Live,
    Sighting,
    Sources,
    Tell,
    enlist,
    guarded_in,
    shared,
    surroundings_of,
)

from ._answer import Allow, Call, Nudge, Refuse, Twin
from ._checkpoint import denied, in_flight, loop_detected
from ._ended import Ended
from ._in_flight import in_flight_of
from ._kept import Kept
from ._option import require_choices, require_texts
from ._speech import Speech

__all__ = ["Guard", "ResultLimits", "Words"]

_EFFECTS: Final = frozenset(["write", "unknown"])
"""Kinds of tools that may change what a read brings."""
_INSISTING: Final = 2
"""Refusals of one call that are answered beyond the others, however much the agent learns beside it."""


class Guard(Ended):
    """One guard serves any number of runs, agents, threads and tasks. It never raises and never waits."""

    def __init__(  # noqa: PLR0913 - every part that a user may choose
        self,
        *,
        mode: Mode | None = None,
        tools: Iterable[str] = (),
        refusals: int = 1,
        words: Words | None = None,
        limits: ResultLimits | None = None,
        attributes: Mapping[str, object] | None = None,
        settings: Settings | None = None,
        live: Live | None = None,
    ) -> None:
        """With no argument it does what the environment and the policy say.

        Args:
            mode: Of every tool, instead of the policy's; `LOOPGUARD_MODE` wins over it.
            tools: Names of the agent's tools, to be named among what remains; adapters add those that they see.
            refusals: Refused calls that are answered before the agent is stopped, since anything new came; 0 stops at
                the first. Of one and the same call two more, whatever else brings news meanwhile. A write that may have
                taken effect already always stops.
            words: Templates instead of the built-in ones.
            limits: Bounds of the results kept to answer repeated reads.
            attributes: What the policy's `scope` looks up.
            settings: Instead of the environment's.
            live: The runs to count in, instead of those that all guards and processors of the process share.

        """
        parts = {"words": words, "limits": limits, "settings": settings, "live": live}
        require_choices(mode=mode, refusals=refusals, attributes=attributes, **parts)
        self._settings = Settings.read(os.environ) if settings is None else settings
        self._mode: Mode | None = self._settings.mode or mode
        self._hold = shared(self._settings, self._sources) if live is None else enlist(live)
        self._live = self._hold.item
        self._edge = self._live.edge
        self._refusals = refusals
        self._speech = Speech(words or Words(), self._live, require_texts("tools", tools))
        self._kept = Kept(limits or ResultLimits(), (words or Words()).max_earlier)
        self._in_flight = in_flight_of(self._live)
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str], str] = {}
        self._attributes = dict(attributes or {})
        self._resource = {"service.name": os.environ.get("OTEL_SERVICE_NAME", "")}
        self._own_run = f"guard-{token_hex(8)}"
        if hasattr(os, "register_at_fork"):
            renew = weakref.WeakMethod(self._renew)
            os.register_at_fork(after_in_child=lambda: (method := renew()) and method())

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def _sources(self, tell: Tell) -> Sources:
        settings = self._settings
        return Sources(PolicySource(settings.policy_file, tell), KeySource(settings, tell), settings.key_scope)

    def knows(self, *tools: str) -> None:
        """The agent has these tools: they are named among what remains."""
        self._speech.knows(tools)

    # Before the dispatch ------------------------------------------------------------------------------------------

    def before(  # noqa: PLR0913 - what a framework may know of a call
        self,
        tool: str,
        arguments: object,
        *,
        call_id: str | None = None,
        turn: Turn = None,
        run: str | None = None,
        agent: str | None = None,
        tools: Iterable[object] = (),
        default_run: str | None = None,
        conversation: str | None = None,
    ) -> Allow | Nudge | Refuse:
        """What to do with a call. Whatever it is, tell its end with `after` or `failed` exactly where it says `Allow`.

        Args:
            tool: Name of the tool.
            arguments: As the model gave them: any value or JSON text.
            call_id: The model's id of the call.
            turn: The model decision that made the call, by any token; calls of one decision share it.
            run: The framework's own run; `otel_loopguard.run()` wins over it.
            agent: The framework's own name of the agent; `otel_loopguard.run()` wins over it.
            tools: Names of all tools that the agent can call; else all that the guard knows.
            default_run: Of the conversation, where nothing else names a run; else it is the current trace. Without both
                such a call is let through, and its result neither kept nor quoted: it could be anybody's.
            conversation: The framework's own, by any token that another one does not have. A new one of an agent has a
                history of its own, as a sub-agent's for its next task, unless the one before was stopped and no user
                has spoken since. Without it all calls of an agent in a run are one history. Where a framework tells no
                conversations, `call_around()` is one for each guarded call around.

        """
        try:
            return self._before(
                RawCall(
                    "guard", bounded(tool), arguments, call_id=bounded(call_id or "") or None,
                    run_id=bounded(run or "") or None, agent=bounded(agent or "") or None,
                    turn=_turn(turn),
                ),
                tools,
                None if default_run is None else bounded(default_run),
                bounded(conversation or ""),
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - nothing of ours reaches the host
            self._edge.caught(error)
            return Allow(Call(tool, arguments, None, None))

    def _before(
        self, raw: RawCall, tools: Iterable[object], default_run: str | None, conversation: str
    ) -> Allow | Nudge | Refuse:
        seen = self._seen(raw, default_run, conversation)
        admitted = self._live.admit(seen)
        if admitted is None or admitted[1]:
            return Allow(Call(raw.tool, raw.arguments, None, None))
        guarded, _ = admitted
        call = Call(raw.tool, raw.arguments, guarded, seen, tools)
        call.is_anonymous = guarded.run.run_id == self._own_run
        if not call.is_anonymous:
            self._worked_on(guarded.run.run_id, guarded.lane.agent)
            if guarded.call.user_message:
                self._forget(guarded.run.run_id)
        settings = self._live.policy.for_tool(raw.tool)
        mode = self._mode or settings.mode
        if settings.kind in _EFFECTS:
            self._in_flight.enter_effect(call)
        if guarded.call.fingerprint is None:
            self._edge.warn(
                f"arguments of {raw.tool}", "the arguments of `%s` are no plain data, so its repeats cannot be told;"
                " guard a function of plain arguments", raw.tool,
            )  # fmt: skip
        if guarded.run.doubts:
            return Allow(call)
        if self._mode is None and guarded.lane.stopped_in is not None and guarded.lane.stopped_in == guarded.call.turn:
            mode = "enforce"  # the agent's turn is over: a step ends as a whole, whatever its tools' own modes
        if mode == "observe":
            return Allow(call)
        if call.is_anonymous:
            self._edge.warn(
                "anonymous", "a guarded call belongs to no run, so it is let through and its result is not kept; name"
                ' the run: `with otel_loopguard.run("ticket-4711"):` around the agent, or `run=`',
            )  # fmt: skip
            return Allow(call)
        return self._judge(call, guarded, settings, mode)

    def _judge(self, call: Call, guarded: Guarded, settings: ToolPolicy, mode: Mode) -> Allow | Nudge | Refuse:
        """What to do with a call whose agent may be told."""
        decision = guarded.decision
        if mode == "enforce":
            if guarded.lane.stopped_in is not None and guarded.lane.stopped_in == guarded.call.turn:
                return self._cover(call, guarded)
            if isinstance(decision, engine.Refuse):
                return self._refuse(call, guarded, decision)
            if not self._in_flight.enter_write(call, settings):
                return self._refuse(call, guarded, in_flight(guarded))
        twin = self._in_flight.enter_read(call) if may_keep(settings) else None
        if twin is not None:
            return self._duplicate(call, guarded, twin, settings)
        if isinstance(decision, engine.Nudge) or (isinstance(decision, engine.Refuse) and not decision.repeated):
            return self._nudge(call, guarded, decision, settings)
        return Allow(call)

    def _duplicate(self, call: Call, guarded: Guarded, twin: Twin, settings: ToolPolicy) -> Nudge:
        """A read that stands in its step already: one dispatch is for both, and it is counted after that one."""
        text, kept = self._speech.duplicate(call), self._kept.get(guarded, settings)
        if not self._in_flight.follow(twin, call):
            self._end(call, ours=True)
        return Nudge(call, text, "" if isinstance(kept, Absent) else kept)

    def _nudge(
        self, call: Call, guarded: Guarded, decision: engine.Nudge | engine.Refuse, settings: ToolPolicy
    ) -> Allow | Nudge:
        """Words before the dispatch: with the earlier result where that is kept, else they wait for the result."""
        if isinstance(decision, engine.Nudge):
            guarded.decided = decision
        call.words = self._speech.nudge(call, decision.finding)
        kept = self._kept.get(guarded, settings)
        if isinstance(kept, Absent):
            return Allow(call)
        self._end(call, ours=True)
        return Nudge(call, call.words, kept)

    def _refuse(self, call: Call, guarded: Guarded, decision: engine.Refuse) -> Refuse:
        finding, lane = decision.finding, guarded.lane
        is_judged = decision is guarded.decision  # else a write in flight: its outcome comes, so nothing stops for it
        guarded.decided = decision
        taken = self._end(call, ours=True)
        with self._lock:
            lane.refused += is_judged
            insisted = lane.insist(guarded.call.fingerprint or "") if is_judged else 0
            stops = lane.refused > self._refusals or insisted > self._refusals + _INSISTING
            stops = is_judged and (stops or finding.kind == "indeterminate")
            if stops:
                lane.stopped_in, lane.stopped_by = guarded.call.turn, finding
        denied(self._live, guarded, finding.kind, taken)
        earlier = self._kept.quote(guarded, self._live.policy.for_tool(call.tool), finding.kind)
        text = self._speech.refuse(call, finding, earlier, stops=stops)
        return Refuse(call, text, loop_detected(guarded, finding, self._speech.remaining(call)) if stops else None)

    def _cover(self, call: Call, guarded: Guarded) -> Refuse:
        """A call of a step that was stopped: it gets its answer, and is not dispatched."""
        taken, finding = self._end(call, ours=True), guarded.lane.stopped_by
        denied(self._live, guarded, "" if finding is None else finding.kind, taken)
        return Refuse(call, self._speech.covered(call, finding))

    def cover(self, call: Call) -> Refuse:
        """Refuse a call that was allowed and not yet dispatched, because another call of the step stops the agent."""
        try:
            if call.guarded is not None:
                return self._cover(call, call.guarded)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
        return Refuse(call, self._speech.covered(call, None))

    def reached(self, call: Call) -> None:
        """The framework has come to a call that was judged with its step: the current span may be the call's own."""
        try:
            span = trace.get_current_span().get_span_context()
            if call.guarded is not None and span.is_valid:
                self._live.reach(call.guarded, span)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def withdraw(self, call: Call) -> None:
        """A call that was allowed does not run, or waits for a person: nothing is counted, and it may come again."""
        try:
            if call.guarded is not None:
                self._live.withdraw(call.guarded)
                self._leave(call, has_failed=True)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    # Inside -------------------------------------------------------------------------------------------------------

    def _seen(self, raw: RawCall, default_run: str | None, conversation: str) -> Sighting:
        context = otel_context.get_current()
        span = trace.get_current_span(context).get_span_context()
        trace_id = trace.format_trace_id(span.trace_id) if span.is_valid else ""
        where = place(raw, trace_id=default_run or trace_id or self._own_run, surroundings=surroundings_of(context))
        return Sighting(
            raw, where, self._attributes, self._resource, trace_id, "", span if span.is_valid else None, time_ns(), 0,
            where.turn, where.turn is not None, guarded_in(context), conversation,
        )  # fmt: skip

    def _forget(self, run_id: str) -> None:
        self._kept.forget(run_id)
        self._in_flight.forget(run_id)


def _turn(token: object) -> Turn:
    """A model decision's token as it is kept: equal ones stay equal."""
    if token is None or isinstance(token, int):
        return token
    if isinstance(token, str):
        return bounded(token)
    try:
        return hash(token)
    except TypeError:  # no value to compare by
        return bounded(token)
