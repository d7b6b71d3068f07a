"""The seam of a detector: a history and a moment in, a finding or nothing out.

Not a place for state: what a rule needs to remember is in the history, so any host can keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.core.decision import Action, Finding, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.past.episode import LASTING, Subject
from otel_loopguard.core.past.turn import TurnMark
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import print_of_fingerprint

__all__ = ["LASTING", "After", "Before", "Detector", "Judged", "Moment", "TurnOver", "finding_on", "one_a_turn"]


@mypyc_attr(acyclic=True)
class Before:
    """A call is about to be dispatched: its result is not known."""

    __slots__ = ("call", "key", "last", "settings", "tool", "turn")

    def __init__(  # noqa: PLR0913, PLR0917 - a plain record
        self, call: ToolCall, key: int | None, tool: int, turn: int, settings: ToolPolicy, last: Entry | None
    ) -> None:
        self.call = call
        self.key = key
        self.tool = tool
        """Tag of the tool's name."""
        self.turn = turn
        """Number of the turn in which the call would stand."""
        self.settings = settings
        self.last = last
        """The newest call of the tool that was executed."""


@mypyc_attr(acyclic=True)
class After:
    """A call has ended and is the newest of the history."""

    __slots__ = ("call", "entry", "outcome", "settings")

    def __init__(self, call: ToolCall, entry: Entry, outcome: Outcome, settings: ToolPolicy) -> None:
        self.call = call
        self.entry = entry
        self.outcome = outcome
        self.settings = settings


@mypyc_attr(acyclic=True)
class TurnOver:
    """A turn is over and is the newest of the history's turns."""

    __slots__ = ("last", "mark", "tool")

    def __init__(self, mark: TurnMark, last: Entry, tool: str) -> None:
        self.mark = mark
        self.last = last
        """Its last call."""
        self.tool = tool
        """Name of that call's tool."""


Moment = Before | After | TurnOver


class Judged(NamedTuple):
    """A finding with the subject of its episode: what must not be said twice."""

    finding: Finding
    subject: Subject
    reach: int | None = None
    """Turns that the episode outlives the last moment at which its rule held; None: the policy's window."""


class Detector:
    """One rule. It answers every time that it holds; whether it was said already is the engine's to know.

    A base class and no protocol: compiled code calls its methods without looking them up.
    """

    kind: ClassVar[Kind]
    """Of the findings that the rule makes."""
    moments: ClassVar[tuple[type[Moment], ...]]
    """The moments at which the rule can hold: it is asked at no other."""
    early: ClassVar[bool] = False
    """Whether its answer before dispatch is a forecast: the finding is made when the turn is over."""

    def applies(self, settings: ToolPolicy) -> bool:
        """Whether the rule can ever hold for a call of a tool with these settings."""
        raise NotImplementedError

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """The rule, applied to a call before its dispatch. Changes nothing, as the next two."""
        return None

    def after(self, history: History, moment: After, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """The rule, applied to a call that has ended."""
        return None

    def turn_over(self, history: History, moment: TurnOver, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """The rule, applied to a turn that is over."""
        return None


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
