"""The seam of a detector: a history and a moment in, a finding or nothing out.

Not a place for state: what a rule needs to remember is in the history, so any host can keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.decision import Action, Finding, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.past.episode import LASTING, Subject
from otel_loopguard.core.past.turn import TurnMark
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import print_of_fingerprint

__all__ = ["LASTING", "After", "Before", "Detector", "Judged", "Moment", "TurnOver", "finding_on", "one_a_turn"]


class Before(msgspec.Struct, frozen=True, gc=False):
    """A call is about to be dispatched: its result is not known."""

    call: ToolCall
    key: int | None
    tool: int
    """Tag of the tool's name."""
    turn: int
    """Number of the turn in which the call would stand."""
    settings: ToolPolicy
    last: Entry | None
    """The newest call of the tool that was executed."""


class After(msgspec.Struct, frozen=True, gc=False):
    """A call has ended and is the newest of the history."""

    call: ToolCall
    entry: Entry
    outcome: Outcome
    settings: ToolPolicy


class TurnOver(msgspec.Struct, frozen=True, gc=False):
    """A turn is over and is the newest of the history's turns."""

    mark: TurnMark
    last: Entry
    """Its last call."""
    tool: str
    """Name of that call's tool."""


Moment = Before | After | TurnOver


class Judged(NamedTuple):
    """A finding with the subject of its episode: what must not be said twice."""

    finding: Finding
    subject: Subject
    reach: int | None = None
    """Turns that the episode outlives the last moment at which its rule held; None: the policy's window."""


class Detector(Protocol):
    """One rule. It answers every time that its rule holds; whether it was said already is the engine's to know."""

    @property
    def kind(self) -> Kind:
        """Of the findings that the rule makes."""
        ...

    @property
    def moments(self) -> tuple[type[Moment], ...]:
        """The moments at which the rule can hold: it is asked at no other."""
        ...

    @property
    def early(self) -> bool:
        """Whether its answer before dispatch is a forecast: the finding is made when the turn is over."""
        ...

    def applies(self, settings: ToolPolicy) -> bool:
        """Whether the rule can ever hold for a call of a tool with these settings."""
        ...

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """The rule, applied to one moment. Changes nothing."""
        ...


def finding_on(  # noqa: PLR0913 - evidence has parts
    kind: Kind, action: Action, history: History, moment: Before | After, earlier: Sequence[Entry],
    *, count: int, limit: int,
) -> Finding:  # fmt: skip
    """A finding on the call of a moment; ``earlier`` are the calls that count beside it, newest first."""
    call = moment.call
    if isinstance(moment, After):
        place, key = moment.entry.place, moment.entry.key
    else:
        place, key = history.place + 1, moment.key
    prints = dict.fromkeys([one.print for one in reversed(earlier) if one.print is not None and one.key != key])
    if call.fingerprint is not None:
        prints[print_of_fingerprint(call.fingerprint)] = None
    first = earlier[-1].place if earlier else place
    return Finding(kind, action, call.tool, place, first, count, limit, 1, tuple(prints), call.call_id)


def one_a_turn(entries: Iterable[Entry]) -> list[Entry]:
    """Of entries, newest first, the newest of each turn."""
    found: list[Entry] = []
    for entry in entries:
        if not found or entry.turn < found[-1].turn:
            found.append(entry)
    return found
