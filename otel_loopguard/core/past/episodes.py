"""The episodes of a history: what was said already, so that one step is said once, and how nudged ones went on.

Not a judge: whether a rule holds is for the detectors, an episode only knows that it held before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from otel_loopguard.core.decision import Finding, NudgeOutcome
from otel_loopguard.core.tag import kept_name, symbol_of_key

from .entry import Entry
from .episode import Episode, Subject
from .turn_mark import TurnMark

__all__ = ["EPISODE_LIMIT", "Episodes"]

EPISODE_LIMIT: Final = 24
_LONGEST_NAME: Final = 32
"""Characters of a tool's name that an outcome shows: names are given by models, and a state has a bound."""
_STRENGTH: Final = {"info": 0, "nudge": 1, "stop": 2}


class Episodes:
    """The episodes of one history, bounded; the one told longest ago is forgotten first."""

    __slots__ = ("held",)

    def __init__(self, held: Iterable[tuple[Subject, Episode]] = ()) -> None:
        self.held: dict[Subject, Episode] = dict(held)
        """By rule and what it holds of, the one told longest ago first."""

    def level(self, subject: Subject, turn: int) -> int:
        """0 where nothing was said in this episode, 1 after a nudge, 2 after a stop."""
        episode = self.held.get(subject)
        return 0 if episode is None or episode.until < turn else episode.level

    def tell(self, subject: Subject, finding: Finding, turn: int, until: int) -> tuple[bool, list[NudgeOutcome]]:
        """A rule holds: whether that is a new step of its episode, and what became of its open nudge.

        A nudge escalates when its rule holds again in a later turn: in its own the agent had not heard it yet.
        """
        level = _STRENGTH[finding.action]
        episode = self.held.pop(subject, None)
        outcomes: list[NudgeOutcome] = []
        is_new = True
        if episode is not None:
            goes_on = episode.until >= turn
            if episode.turn and not goes_on:
                outcomes.append(episode.close("open", episode.place))
            elif episode.turn and episode.turn < turn:
                outcomes.append(episode.close("escalated", finding.sequence))
            is_new = not goes_on or episode.level < level
        if episode is None or is_new:
            episode = Episode(finding.kind, level, until, kept_name(finding.tool, _LONGEST_NAME))
            if finding.action == "nudge":
                episode.turn, episode.place = turn, finding.sequence
        episode.until = until
        self.put(subject, episode)
        return is_new, outcomes

    def put(self, subject: Subject, episode: Episode) -> None:
        """Hold an episode as the one told last."""
        self.held[subject] = episode
        if len(self.held) > EPISODE_LIMIT:
            del self.held[next(iter(self.held))]

    def age(self, entry: Entry) -> list[NudgeOutcome]:
        """End the episodes that a call ends."""
        ended: list[NudgeOutcome] = []
        if entry.key is not None:
            if entry.counts and not entry.linked:
                self._end(("identical", entry.key), entry.place, ended)
            if entry.moved:
                self._end(("poll_unchanged", entry.key), entry.place, ended)
        if entry.moved and entry.group is not None:
            self._end(("page", entry.group), entry.place, ended)
        done = entry.succeeded and not entry.refusal
        if done or entry.resets:
            for subject in [one for one in self.held if one[0] == "same_error"]:
                own = subject[1] >> 32 == entry.tool
                if done if own else entry.resets:
                    self._end(subject, entry.place, ended)
        return ended

    def turn_over(self, mark: TurnMark, place: int) -> list[NudgeOutcome]:
        """End the episodes that a finished turn ends."""
        if not self.held:
            return []
        ended: list[NudgeOutcome] = []
        if mark.fresh:
            self._end(("idle", 0), place, ended)
        for subject in [one for one in self.held if one[0] == "row"]:
            if mark.advanced or mark.symbol != symbol_of_key(subject[1]):
                self._end(subject, place, ended)
        return ended

    def recover(self, entry: Entry) -> list[NudgeOutcome]:
        """Something new came: every nudge given in an earlier turn is answered."""
        return [
            episode.close("recovered", entry.place) for episode in self.held.values() if 0 < episode.turn < entry.turn
        ]

    def leave(self) -> list[NudgeOutcome]:
        """Nothing more comes: every open nudge stays open."""
        return [episode.close("open", episode.place) for episode in self.held.values() if episode.turn]

    def _end(self, subject: Subject, place: int, ended: list[NudgeOutcome]) -> None:
        episode = self.held.pop(subject, None)
        if episode is not None and episode.turn:
            ended.append(episode.close("recovered", place))

    def tools(self, turn: int) -> frozenset[str]:
        """The tools of the episodes that go on."""
        return frozenset(episode.tool for episode in self.held.values() if episode.until >= turn)
