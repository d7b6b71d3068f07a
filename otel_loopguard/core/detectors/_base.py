"""The seam of a detector: a history and a moment in, a finding or nothing out.

Not a place for state: what a rule needs to remember is in the history, so any host can keep it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.decision import Action, Finding, Kind
from otel_loopguard.core.entry import Entry, TurnMark
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy, ToolPolicy

__all__ = ["After", "Before", "Detector", "Judged", "Moment", "TurnOver", "finding_on"]


@dataclass(frozen=True, slots=True)
class Before:
    """A call is about to be dispatched: its result is not known."""

    call: ToolCall
    key: int | None
    turn: int
    """Number of the turn in which the call would stand."""
    settings: ToolPolicy


@dataclass(frozen=True, slots=True)
class After:
    """A call has ended and is the newest of the history."""

    call: ToolCall
    entry: Entry
    outcome: Outcome
    settings: ToolPolicy


@dataclass(frozen=True, slots=True)
class TurnOver:
    """A turn is over and is the newest of the history's turns."""

    mark: TurnMark


Moment = Before | After | TurnOver


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with the subject of its episode: what must not be said twice."""

    finding: Finding
    subject: object = field(default=None)


class Detector(Protocol):
    """One rule. It answers every time that its rule holds; whether it was said already is the engine's to know."""

    @property
    def kind(self) -> Kind:
        """Of the findings that the rule makes."""
        ...

    @property
    def early(self) -> bool:
        """Whether its answer before dispatch is a forecast: the finding is made when the turn is over."""
        ...

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """The rule, applied to one moment. Changes nothing."""
        ...


def finding_on(  # noqa: PLR0913 - evidence has parts
    kind: Kind, action: Action, history: History, moment: Before | After, earlier: list[Entry],
    *, count: int, limit: int,
) -> Finding:  # fmt: skip
    """A finding on the call of a moment; ``earlier`` are the calls that count beside it, newest first."""
    call = moment.call
    place = moment.entry.place if isinstance(moment, After) else history.place + 1
    prints = dict.fromkeys(
        [entry.fingerprint for entry in reversed(earlier) if entry.fingerprint is not None]
        + ([call.fingerprint] if call.fingerprint is not None else [])
    )
    ids = [entry.call_id for entry in reversed(earlier)] + [call.call_id]
    return Finding(
        kind, action, call.tool, place, earlier[-1].place if earlier else place, count, limit,
        fingerprints=tuple(prints), call_ids=tuple(call_id for call_id in ids if call_id is not None),
    )  # fmt: skip
