"""A round of different calls that comes again: A, B, A, B or A, B, C, A, B, C, up to the policy's longest period.

Rule: a turn is one symbol, the set of its calls; a lap equals the one before when its symbols are equal and so is
what came back, except for the lap's last turn, which counts by its calls alone so that a stop can be decided before
their results. The finding falls on the turn that completes the lap. Writes do not break a lap: edits that are undone
and done again, with every result as before, are a cycle and not work.

Source: OpenHands' stuck detector knows two pairs that alternate; reports of longer rounds, and the measure of equal
results lap by lap, make it any period.

Not flagged: one call over and over, with thoughts in between or not (that is `identical`), laps with a new target or a
changed result, laps that wait on a declared poller within its budget, turns with unknown arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from otel_loopguard.core.decision import Action, Finding, Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.turn import TurnMark, Turns
from otel_loopguard.core.policy import CycleRule, Policy, ToolPolicy
from otel_loopguard.core.tag import print_of_fingerprint, symbol_of, symbol_of_key

from ._base import Before, Detector, Judged, TurnOver

__all__ = ["Cycle"]

_SHORTEST: Final = 2


class _Laps(NamedTuple):
    action: Action
    period: int
    number: int


class Cycle(Detector):
    """Judges a finished turn; before dispatch it forecasts what the turn would be if it ended with this call."""

    kind: ClassVar[Kind] = "cycle"
    moments: ClassVar = (Before, TurnOver)
    early: ClassVar = True

    def applies(self, settings: ToolPolicy) -> bool:  # noqa: ARG002 - the seam
        """To every tool."""
        return True

    def before(self, history: History, moment: Before, policy: Policy) -> Judged | None:  # noqa: ARG002 - the seam
        """A stop on the call that would complete a lap too many, and a forecast of a nudge."""
        turns = history.turns
        if moment.key is None:
            return None
        if moment.turn == turns.number and turns.open:
            symbol = symbol_of({moment.key, *[entry.key for entry in turns.open]})
        else:
            symbol = symbol_of_key(moment.key)
        if symbol is None or symbol not in turns.symbols:
            return None
        newest = turns.current().symbol if turns.open and moment.turn > turns.number else None
        if not _is_known(turns, newest, 0):
            return None
        return self._judge(history, moment, symbol, turns.before(moment.turn), moment.settings.cycle)

    def turn_over(self, history: History, moment: TurnOver, policy: Policy) -> Judged | None:
        """A nudge or a stop on the turn that completes a lap."""
        turns = history.turns
        symbol = moment.mark.symbol
        if symbol is None or turns.symbols[symbol] == 1 or moment.mark.waits or not _is_known(turns, None, 1):
            return None
        return self._judge(history, moment, symbol, turns.marks[-2::-1], policy.for_tool(moment.tool).cycle)

    def _judge(
        self, history: History, moment: Before | TurnOver, symbol: int, earlier: list[TurnMark], rule: CycleRule
    ) -> Judged | None:
        before = earlier[: rule.max_period * (rule.stop + 1)]
        laps = _laps(symbol, before, rule)
        if laps is None:
            return None
        subject = sum(one.symbol or 0 for one in before[: laps.period])
        return Judged(_finding(laps, history, moment, before, rule), (self.kind, subject), laps.period)


def _is_known(turns: Turns, newest: int | None, skipped: int) -> bool:
    """Whether the turn before the judged one was there before: else no lap can end here, told without looking.

    It is the open one, with the symbol ``newest``, or the newest of the ended ones but for so many.
    """
    if newest is not None:
        return newest in turns.symbols
    if len(turns.marks) <= skipped:
        return False
    symbol = turns.marks[-1 - skipped].symbol
    return symbol is not None and turns.symbols[symbol] > 1


def _laps(symbol: int, before: Sequence[TurnMark], rule: CycleRule) -> _Laps | None:
    """The laps that a turn with this symbol completes; ``before`` are the turns before it, newest first."""
    row = 0
    for mark in before[: rule.max_period - 1]:
        if mark.symbol != symbol:
            break
        row += 1
    # A lap that is shorter than the row before it, or just as long, is one turn said several times.
    for period in range(max(_SHORTEST, row + 2), min(rule.max_period, len(before)) + 1):
        if before[period - 1].symbol != symbol or len(before) < period * rule.nudge - 1:
            continue
        equal = 1 + _equal_turns(before, period, period * (rule.stop - 1) - 1)
        count = (equal + period) // period
        if count < rule.nudge or not _is_primitive(symbol, before, period):
            continue
        if len({mark.symbol for mark in before[:period] if not mark.thought}) < _SHORTEST:
            continue  # one call, and what was thought about it
        if any(mark.waits for mark in before[:period]):
            continue
        if count >= rule.stop:
            return _Laps("stop", period, rule.stop)
        if (equal + period) % period == 0:
            return _Laps("nudge", period, count)
    return None


def _equal_turns(before: Sequence[TurnMark], period: int, limit: int) -> int:
    """How many turns in a row, from the newest back, equal the turn a period earlier in calls and results."""
    count = 0
    for place in range(min(limit, len(before) - period)):
        mine, other = before[place], before[place + period]
        if mine.symbol is None or mine.answers is None or mine.answers != other.answers or mine.symbol != other.symbol:
            break
        count += 1
    return count


def _is_primitive(symbol: int, before: Sequence[TurnMark], period: int) -> bool:
    """Whether the lap is no shorter lap, or one turn, said several times."""
    lap = [symbol, *[mark.symbol for mark in before[: period - 1]]]
    return not any(
        period % shorter == 0 and lap == lap[:shorter] * (period // shorter) for shorter in range(1, period // 2 + 1)
    )


def _finding(
    laps: _Laps, history: History, moment: Before | TurnOver, before: Sequence[TurnMark], rule: CycleRule
) -> Finding:
    limit = rule.nudge if laps.action == "nudge" else rule.stop
    first = before[min(len(before), laps.number * laps.period - 1) - 1].first
    prints = dict.fromkeys(_prints(history, before[laps.period - 2].number))
    premature = False
    if isinstance(moment, Before):
        place, tool, call_id = history.place + 1, moment.call.tool, moment.call.call_id
        if moment.call.fingerprint is not None:
            one = print_of_fingerprint(moment.call.fingerprint)
            prints.pop(one, None)
            prints[one] = None
    else:
        place, tool, call_id = moment.last.place, moment.tool, None
        premature = laps.action == "nudge" and moment.mark.answers != before[laps.period - 1].answers
    return Finding(
        "cycle", laps.action, tool, place, first, laps.number, limit, laps.period, tuple(prints), call_id, premature
    )


def _prints(history: History, oldest: int) -> list[str]:
    """Fingerprints of the calls from a turn on, oldest first."""
    found: list[str] = []
    for entry in reversed(history.entries):
        if entry.turn < oldest:
            break
        one = entry.print
        if one is not None:
            found.append(one)
    return found[::-1]
