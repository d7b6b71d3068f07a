"""What a guard says to the model: the templates, filled in for a call with the tools that its agent has left.

Not the decision to say it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from otel_loopguard.core.decision import Finding
from otel_loopguard.core.explain import Remaining, Words, tools_of
from otel_loopguard.live import Live

from ._answer import Call

__all__ = ["Speech"]

_NOTHING: Final = Remaining()


class Speech:
    """The words of one guard."""

    def __init__(self, words: Words, live: Live, tools: Iterable[str]) -> None:
        self._words = words
        self._live = live
        self._own = tuple(tools)
        self._known: dict[str, None] = dict.fromkeys(self._own)

    def knows(self, tools: Iterable[str]) -> None:
        """Agents have these tools."""
        self._known.update(dict.fromkeys(tools))

    def remaining(self, call: Call) -> Remaining:
        """What the agent of a call still has."""
        tools = tools_of([*call.tools, *self._own]) if call.tools else tuple(self._known)
        asking = self._live.policy.ask_user
        told = () if call.guarded is None else list(call.guarded.lane.told)
        return Remaining(tools, frozenset(told), tuple(sorted(asking.intersection(tools) if tools else asking)))

    def nudge(self, call: Call, finding: Finding) -> str:
        """Of a call that is told."""
        return self._words.say(self._words.nudge, finding, self.remaining(call))

    def refuse(self, call: Call, finding: Finding, earlier: str, *, stops: bool) -> str:
        """Of a call that is refused; ``earlier`` is what the model got before, if that is known."""
        template = self._words.stop if stops else self._words.refuse
        return self._words.say(template, finding, self.remaining(call), earlier)

    def covered(self, call: Call, stop: Finding | None) -> str:
        """Of a call whose step is stopped; None: the stop is forgiven already."""
        finding = stop or Finding("identical", "stop", "", 0, 0, 0, 0)
        return self._words.say(self._words.covered, finding, _NOTHING if stop is None else self.remaining(call))

    def duplicate(self, call: Call) -> str:
        """Of a read that stands in its step already."""
        finding = Finding("parallel_duplicate", "info", call.tool, 0, 0, 2, 2)
        return self._words.say(self._words.duplicate, finding, self.remaining(call))
