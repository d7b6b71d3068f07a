"""One run as its spans tell it: the calls with what was written on them, and what every step cost.

Reads what any backend has; the verdicts were reached in the agent's process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from demo.receiver import Seen

__all__ = ["DOLLARS_A_MILLION_IN", "DOLLARS_A_MILLION_OUT", "Call", "Run", "Saving", "saving"]

DOLLARS_A_MILLION_IN: Final = 3.0
DOLLARS_A_MILLION_OUT: Final = 15.0
"""The assumed price of a million tokens: a mid-sized model's list price, without prompt caching."""


GUARD_EVENTS: Final = ("loopguard.dispatch.denied", "loopguard.response.terminal", "loopguard.run.end")


class Call(NamedTuple):
    """A tool call as its span shows it."""

    step: int
    tool: str
    fingerprint: str
    repeat: int
    verdict: str
    arguments: str
    """What the span says in place of the arguments."""


class Run(NamedTuple):
    """One agent's run."""

    calls: list[Call]
    dollars: list[float]
    """What each step's request to the model cost."""
    events: list[str]
    """`kind action step` of every loop event that came as a log record."""
    span_events: int
    """Loop events on spans."""
    guard: tuple[str, ...] = ()
    """What a guard did, in order, by the names of its events."""

    @classmethod
    def read(cls, service: str, spans: Iterable[Seen], logs: Iterable[Seen]) -> Run:
        """The run of the agent that calls itself `service`: a step is one model request and the tool call after it."""
        mine = sorted((span for span in spans if span.service == service), key=lambda span: span.start_ns)
        tools = [span for span in mine if span.attributes.get("gen_ai.operation.name") == "execute_tool"]
        chats = [span for span in mine if span.attributes.get("gen_ai.operation.name") == "chat"]
        return cls(
            [_call(step, span) for step, span in enumerate(tools, start=1)],
            [_dollars(span) for span in chats],
            [_event(log) for log in logs if log.service == service and log.name == "loopguard.finding"],
            sum(span.events.count("loopguard.finding") for span in tools),
            tuple(log.name for log in logs if log.service == service and log.name in GUARD_EVENTS),
        )

    def first(self, verdict: str) -> int | None:
        """The step of the first call with that verdict."""
        return next((call.step for call in self.calls if call.verdict == verdict), None)


class Saving(NamedTuple):
    """What stopping a run at `step` leaves out."""

    step: int
    steps: int
    dollars: float
    of_dollars: float


def saving(run: Run) -> Saving | None:
    """What refusing the first call with verdict stop saves: that step's request is already paid, the later ones not."""
    step = run.first("stop")
    if step is None:
        return None
    return Saving(step, len(run.calls) - step, sum(run.dollars[step:]), sum(run.dollars))


def _call(step: int, span: Seen) -> Call:
    value = span.attributes
    return Call(
        step,
        str(value.get("gen_ai.tool.name", "")),
        str(value.get("loopguard.fingerprint", "")),
        int(value.get("loopguard.repeat.count") or 0),
        str(value.get("loopguard.verdict", "")),
        str(value.get("gen_ai.tool.call.arguments", "")),
    )


def _dollars(span: Seen) -> float:
    into = int(span.attributes.get("gen_ai.usage.input_tokens") or 0)
    out = int(span.attributes.get("gen_ai.usage.output_tokens") or 0)
    return (into * DOLLARS_A_MILLION_IN + out * DOLLARS_A_MILLION_OUT) / 1e6


def _event(log: Seen) -> str:
    kind, action = log.attributes.get("loopguard.finding.kind"), log.attributes.get("loopguard.finding.action")
    return f"{kind} {action} {log.attributes.get('loopguard.finding.sequence')}"
