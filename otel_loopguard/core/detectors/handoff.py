"""Agents that hand one task to each other in a circle.

Rule: the hand-offs of a run in order, each the receiving agent with the fingerprint of what is handed over; laps as
in `cycle`: a nudge before the hand-off that completes the second lap, a stop before the one that completes the
third. A successful write, or a first-time success of an undeclared tool, by any agent between two equal hand-offs
breaks the circle: work was done on the way.

Source: github.com/multica-ai/multica/issues/8753, agents that wake each other without end.

Not flagged: one agent that hands the same task to several others, another task in each lap. Nor the same task in other
words: two agents that work on one thing say much the same to each other all the time.
"""

from __future__ import annotations

from typing import ClassVar, Final

from otel_loopguard.core.decision import Action, Finding, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.run_memory import handoff_symbol
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.tag import print_of_fingerprint

from ._base import Before, Detector, Judged

__all__ = ["Handoff"]

_SHORTEST: Final = 2


class Handoff(Detector):
    """Judged before dispatch, on the memory that the agents of a run share."""

    kind: ClassVar[Kind] = "cycle"
    moments: ClassVar = (Before,)

    def applies(self, settings: ToolPolicy) -> bool:  # noqa: ARG002 - the seam
        """To every tool: only a call tells that it hands work over."""
        return True

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A nudge or a stop on the hand-off that closes the circle again."""
        if moment.call.handoff_to is None or moment.key is None:
            return None
        rule = moment.settings.cycle
        chain = [*history.memory.handoffs, (handoff_symbol(moment.call.handoff_to, moment.key), history.memory.changes)]
        for period in range(_SHORTEST, rule.max_period + 1):
            laps, rest = divmod(_equal(chain, period) + period, period)
            if laps < rule.nudge or (rest and laps < rule.stop) or len(set(chain[-period:])) == 1:
                continue
            action: Action = "stop" if laps >= rule.stop else "nudge"
            prints = () if moment.call.fingerprint is None else (print_of_fingerprint(moment.call.fingerprint),)
            place = history.place + 1
            limit = rule.stop if action == "stop" else rule.nudge
            finding = Finding(
                "cycle", action, moment.call.tool, place, place, laps, limit, period, prints, moment.call.call_id
            )
            return Judged(finding, ("handoff", sum(symbol for symbol, _ in chain[-period:])))
        return None


def _equal(chain: list[tuple[int, int]], period: int) -> int:
    """How many hand-offs in a row, from the newest back, equal the one a lap earlier with no change since."""
    count = 0
    for place in range(len(chain) - 1, period - 1, -1):
        if chain[place] != chain[place - period]:
            break
        count += 1
    return count
