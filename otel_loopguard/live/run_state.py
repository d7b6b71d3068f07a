"""One run in this process: its agents' lanes, what they remember together, and its totals.

Not a lock and not a judge: `Live` holds the one, the engine is the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from otel_loopguard.core.decision import Finding, Verdict
from otel_loopguard.core.history import RunMemory
from otel_loopguard.core.observation import Observation
from otel_loopguard.core.reader import CallReader
from otel_loopguard.emit import Totals

from .context import Spoken
from .lane import Lane

__all__ = ["MAX_LANES", "RunState"]

MAX_LANES: Final = 64
"""Agents and scopes a run; the least recently active one is dropped, counted."""

MAX_CONVERSATIONS: Final = 4 * MAX_LANES
"""Conversations of a run whose agents are told apart; one that was forgotten begins anew."""

_STRENGTH: Final[Mapping[Verdict, int]] = {"allow": 0, "unknown": 1, "nudge": 2, "stop": 3}


class RunState:
    """What is known of one run id."""

    __slots__ = (
        "_calls", "_calls_at_first", "_conversations", "_lanes", "_latest", "_news_after", "_repeat_max",
        "_spoken_to", "_tokens", "doubts", "ended", "key_run", "memory", "message", "process_id", "reader", "run_id",
        "speaks_to_all", "ticket", "verdict",
    )  # fmt: skip

    def __init__(self, run_id: str, process_id: str, ticket: int) -> None:
        self.run_id = run_id
        self.process_id = process_id
        """For lanes made from now on: renewed wherever one of them might number calls a second time."""
        self.memory = RunMemory()
        self.key_run = run_id
        """What the run's own key is derived from: see `Place.key_run`."""
        self.reader: tuple[object, CallReader] | None = None
        """The reader with the run's own key (key scope `run`), with what it was made from."""
        self.message: str | None = None
        """The user message that the last call worked on, by its token (`Place.message`)."""
        self.ticket = ticket
        """The newest user message of any run that this run has seen."""
        self._spoken_to: set[str] | None = None
        """Agents to which a user spoke since their last call; one named "" stands for all; None: nobody spoke."""
        self.speaks_to_all = True
        """The last user message was not addressed to one agent."""
        self.ended = False
        """The application said so, and no call has come since."""
        self.doubts: set[str] = set()
        """What is wrong with the run's telemetry; guards let everything through while there is anything."""
        self.verdict: Verdict = "allow"
        """The strongest so far."""
        self._lanes: OrderedDict[tuple[str, str, str], Lane] = OrderedDict()
        self._conversations: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        """Which branch a conversation of an agent and scope counts in."""
        self._latest: dict[tuple[str, str], str] = {}
        """The branch of an agent's and scope's latest conversation."""
        self._calls = 0
        self._repeat_max = 0
        self._calls_at_first: int | None = None
        self._news_after = True
        self._tokens: int | None = None

    def branch(self, agent: str, scope: str, conversation: str) -> str:
        """Which of the agents of a name has a conversation: a new one, unless nobody has spoken since the last stopped.

        The first has none to be told from; nor has an agent of whose conversations nobody says anything.
        """
        if not conversation:
            return ""
        who, key = (agent, scope), (agent, scope, conversation)
        found = self._conversations.get(key)
        if found is None:
            found = self._latest.get(who, "")
            last = self._lanes.get((*who, found))
            if last is not None and last.stopped_by is None and who in self._latest:
                found = conversation
            self._conversations[key] = found
            if len(self._conversations) > MAX_CONVERSATIONS:
                self._conversations.popitem(last=False)
        self._latest[who] = found
        return found

    def lane(self, agent: str, scope: str, branch: str, branch_id: Callable[[], str]) -> Lane:
        """The lane of an agent and scope, made where there is none; ``branch_id`` names the numbers of a sub-agent."""
        key = (agent, scope, branch)
        lane = self._lanes.get(key)
        if lane is None:
            process_id = branch_id() if branch else self.process_id
            lane = self._lanes[key] = Lane(self.memory, agent, process_id, branch)
        else:
            self._lanes.move_to_end(key)
        return lane

    def surplus(self) -> Lane | None:
        """The least recently active lane, taken out, where there are too many: a sub-agent's before others."""
        if len(self._lanes) <= MAX_LANES:
            return None
        newest = next(reversed(self._lanes))
        return self._lanes.pop(next((key for key in self._lanes if key[2] and key != newest), next(iter(self._lanes))))

    def lanes(self) -> Iterable[Lane]:
        """All lanes, least recently active first."""
        return list(self._lanes.values())

    def speak(self, agent: str) -> None:
        """A user spoke to an agent; "": to all of them."""
        self._spoken_to = {*(self._spoken_to or ()), agent}

    def may_answer(self, message: Spoken, token: str) -> bool:
        """Whether a call can be the first after a user message at all: seldom, and told at once."""
        return self._spoken_to is not None or message.ticket > self.ticket or bool(token and token != self.message)

    def answers(self, agent: str) -> bool:
        """Whether a call of an agent is the first after a user spoke to it; asked once a call."""
        if self._spoken_to is None:
            return False
        if "" in self._spoken_to:
            self._spoken_to = None
            self.speaks_to_all = True
            return True
        if agent not in self._spoken_to:
            return False
        self._spoken_to = self._spoken_to - {agent} or None
        self.speaks_to_all = False
        return True

    def count(self, observation: Observation) -> None:
        """Take a judged call into the totals."""
        self._calls += 1
        self.ended = False
        if observation.repeat > self._repeat_max:  # noqa: PLR1730 - `max` takes three times as long
            self._repeat_max = observation.repeat
        if observation.verdict != self.verdict and _STRENGTH[observation.verdict] > _STRENGTH[self.verdict]:
            self.verdict = observation.verdict
        if observation.progress == "advanced":
            self._news_after = True
        if observation.nudges and any(nudge.result == "recovered" for nudge in observation.nudges):
            self._news_after = True
        if observation.findings:
            self.found(observation.findings)

    def found(self, findings: Iterable[Finding]) -> None:
        """Take findings into the totals."""
        for finding in findings:
            if finding.action != "info":
                self._news_after = False
                if self._calls_at_first is None:
                    self._calls_at_first = self._calls
                if _STRENGTH[finding.action] > _STRENGTH[self.verdict]:
                    self.verdict = finding.action

    def spend(self, tokens: int) -> None:
        """Take a model's tokens into the totals: those after the first finding count."""
        if self._calls_at_first is not None:
            self._tokens = (self._tokens or 0) + tokens

    @property
    def has_findings(self) -> bool:
        """Whether anything was found."""
        return self._calls_at_first is not None

    def totals(self) -> Totals:
        """What the run came to so far."""
        wasted = 0 if self._calls_at_first is None else self._calls - self._calls_at_first
        return Totals(self._calls, self._repeat_max, self._news_after, wasted, self._tokens)
