"""One agent's calls in one run and scope, as this process numbers them.

Not the history: that is the core's and judges places; a lane knows under which number and span the outside sees a call.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from otel_loopguard.core.call import ToolCall, Turn
from otel_loopguard.core.decision import Finding, call_reference
from otel_loopguard.core.history import DETAIL_LIMIT, History, RunMemory

__all__ = ["Lane", "Seat"]

_TURNS_KNOWN: Final = 4
"""Model decisions whose late calls still find their number: a call seldom ends after the next but one decision."""


_TOOLS_TOLD: Final = 32
_CALLS_INSISTED: Final = 32


class Seat(NamedTuple):
    """Where a call of the history is seen from outside."""

    number: int
    """What its span carries as `loopguard.sequence`."""
    reference: str
    """What names the call in a finding's id."""
    fingerprint: str
    key_id: str
    call_id: str


class Lane:
    """One history with its numbers, turns and seats."""

    __slots__ = (
        "_seats", "_turn_number", "_turns", "agent", "answering", "branch", "found", "history", "insisted", "messages",
        "number", "process_id", "refused", "state", "stopped_by", "stopped_in", "told",
    )  # fmt: skip

    def __init__(self, memory: RunMemory, agent: str, process_id: str, branch: str = "") -> None:
        self.history = History(memory)
        self.agent = agent
        self.branch = branch
        """Which of the sub-agents of this name it is, by any token; empty for the run's own agent."""
        self.process_id = process_id
        """The counting process, as the outside sees it: a new id wherever numbers start anew."""
        self.number = 0
        """The last number given."""
        self._seats: deque[tuple[int, int, str, str, ToolCall]] = deque(maxlen=2 * DETAIL_LIMIT)
        self._turns: dict[Turn, int] = {}
        self._turn_number = 0
        self.found: dict[str, str] = {}
        """Id of the newest nudge or stop by kind."""
        self.told: dict[str, None] = {}
        """Tools that were found to repeat themselves and have brought nothing new since, bounded."""
        self.refused = 0
        """Calls that a guard refused since anything new came."""
        self.insisted: dict[str, int] = {}
        """How often a guard refused one call since that call itself brought anything new, by fingerprint, bounded."""
        self.stopped_in: Turn = None
        """The model decision in which a guard stopped the agent: none of its calls is dispatched any more."""
        self.stopped_by: Finding | None = None
        """Why it did."""
        self.messages = 0
        """User messages that guarded calls came after."""
        self.answering: object = None
        """The guarded call that is the first after the newest of them, as long as none of those calls has ended."""
        self.state: str | None = None
        """Fingerprint of the application's own state, for the next call that ends."""

    @property
    def who(self) -> str:
        """Tells the agents of a run apart, those of one name too; nothing for the outside."""
        return f"{self.agent}\n{self.branch}" if self.branch else self.agent

    def tell(self, tool: str) -> None:
        """A tool was found to repeat itself."""
        self.told.pop(tool, None)
        self.told[tool] = None
        if len(self.told) > _TOOLS_TOLD:
            del self.told[next(iter(self.told))]

    def insist(self, fingerprint: str) -> int:
        """A guard refuses a call; how often it has refused this one."""
        count = self.insisted.pop(fingerprint, 0) + 1
        self.insisted[fingerprint] = count
        if len(self.insisted) > _CALLS_INSISTED:
            del self.insisted[next(iter(self.insisted))]
        return count

    def forgive(self) -> None:
        """A user spoke: nothing is held against the agent any more."""
        self.refused = 0
        self.stopped_in = self.stopped_by = None
        self.told.clear()
        self.insisted.clear()

    def next_number(self) -> int:
        """The number of a call that ends now."""
        self.number += 1
        return self.number

    def turn_number(self, token: Turn) -> int:
        """The number of a model decision, by whatever token the source has: 1 for the first one seen."""
        if isinstance(token, int):
            return token
        known = self._turns.get(token)
        if known is not None:
            return known
        self._turn_number += 1
        if len(self._turns) >= _TURNS_KNOWN:
            del self._turns[next(iter(self._turns))]
        self._turns[token] = self._turn_number
        return self._turn_number

    def seat(self, place: int, number: int, trace_id: str, span_id: str, call: ToolCall) -> None:
        """Remember under which number and span the outside sees a place."""
        self._seats.append((place, number, trace_id, span_id, call))

    def seat_of(self, place: int) -> Seat:
        """The seat of a place; of one that is forgotten only what can be told from the newest."""
        for held, number, trace_id, span_id, call in reversed(self._seats):
            if held == place:
                name = call_reference(trace_id, span_id, self.process_id, call.call_id, call.turn, number)
                return Seat(number, name, call.fingerprint or "", call.key_id, call.call_id or "")
        # Numbers and places run in step but for a few calls that waited, so the distance is kept.
        newest_place, newest_number = self._seats[-1][:2] if self._seats else (place, place)
        number = max(1, newest_number - (newest_place - place))
        return Seat(number, call_reference("", "", self.process_id, None, None, number), "", "", "")
