"""What one agent did in one run, bounded: recent calls in detail, older ones as tags, and what was already said.

Not a judge: detectors read it and the engine writes it. It holds no content and knows no clock; every collection
has a bound, and forgetting the oldest is part of the rules (a forgotten call counts as never made).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from .call import Outcome, ToolCall
from .past.calls import NO_CALLS, Calls, weight_of
from .past.entering import entry_of
from .past.entry import Entry
from .past.episodes import Episodes
from .past.memory import Outcomes, Recent, Seen
from .past.refusal import Refusals
from .past.run_memory import RunMemory
from .past.standing import Standing, brings_unseen, over_budget
from .past.state import HistoryState
from .past.turn import TurnMark, Turns
from .policy import PollRule, ToolPolicy
from .tag import kept_name, number_of, tag_of, tag_of_two
from .words import retold

__all__ = ["DETAIL_LIMIT", "History", "RunMemory"]

DETAIL_LIMIT: Final = 64
"""Calls kept in detail."""
_OUTCOMES: Final = 256
_SEEN: Final = 256
_ASKED: Final = 32
_STANDINGS: Final = 16
_LISTS: Final = 16
_LONGEST_NAME: Final = 64
"""Characters of a tool's name: longer ones are told apart by their tags alone."""
_NO_BUDGET: Final = PollRule()

# A run that waits for its next call is kept as bytes: so many at most while it is short, so many ever. What does not
# fit is dropped from the details, oldest first. The sizes are those of `stream.codec`, and a test holds them to it.
_IDLE_CALLS: Final = 32
_IDLE_BYTES: Final = 2560
_MOST_BYTES: Final = 8192
_USUAL_TURNS: Final = 64
_FIXED_BYTES: Final = 170
_TAG_BYTES: Final = 4


class History(Calls):
    """The calls of one agent and scope in one run, in the run's order."""

    __slots__ = (
        "asked", "barren", "beside", "counter", "episodes", "idle_since", "idle_turns", "last_tool", "memory",
        "outcomes", "place", "refusals", "said", "seen", "standings", "turns",
    )  # fmt: skip

    def __init__(self, memory: RunMemory | None = None) -> None:
        super().__init__()
        self.memory = RunMemory() if memory is None else memory
        self.place = 0
        """Calls so far."""
        self._fill(HistoryState())

    def _fill(self, state: HistoryState) -> None:
        self.turns = Turns(state.turn)
        self.last_tool = state.last_tool
        """Name of the newest call's tool."""
        self.clear()
        self.outcomes = Outcomes(_OUTCOMES, state.outcomes)
        self.seen = Seen(_SEEN, state.seen)
        """Items, states and pages."""
        self.asked = Seen(_ASKED, state.asked)
        """Questions that the user answered."""
        self.standings: Recent[Standing] = Recent(_STANDINGS, state.standings)
        self.barren: Recent[int] = Recent(_LISTS, state.barren)
        """Pages in a row that brought nothing unseen, by the call without its cursor."""
        self.said = state.said
        """Outline of the newest call's answer."""
        self.counter = state.counter
        """How far the newest call's answer counts."""
        self.beside = state.beside
        """32 bits of what that answer says beside."""
        self.refusals = Refusals(state.refusals)
        self.episodes = Episodes(state.episodes)
        self.idle_turns = state.idle_turns
        """Turns in a row that brought nothing new."""
        self.idle_since = state.idle_since
        """Place of the first call of those turns."""

    def reset(self) -> None:
        """A user message to this agent: everything starts anew but the numbering."""
        self._fill(HistoryState(turn=self.turns.number))

    def state(self) -> HistoryState:
        """All of it but the run's memory as plain data, which is the history's own until the next change."""
        turns = self.turns
        return HistoryState(
            self.place, self.dropped, turns.number, turns.token, len(turns.open), turns.row, self.last_tool,
            self.idle_turns, self.idle_since, list(self.entries), turns.marks, list(self.outcomes.pairs.items()),
            list(self.seen.numbers), list(self.asked.numbers), list(self.standings.values.items()),
            list(self.barren.values.items()), list(self.episodes.held.items()), self.said, self.refusals.held,
            self.counter, self.beside,
        )  # fmt: skip

    @classmethod
    def from_state(cls, state: HistoryState, memory: RunMemory | None = None) -> History:
        """The history that a state was taken of; the state becomes its own."""
        history = cls(memory)
        history.place, history.dropped = state.place, state.dropped
        history._fill(state)
        for entry in state.entries:
            history.index(entry)
        opened = len(state.entries) - state.open_calls
        history.turns.restore(state.marks, state.entries[opened:], state.token, state.row)
        return history

    def turn_of(self, call: ToolCall) -> int:
        """The number of the turn in which a call would stand."""
        return self.turns.number if self.turns.continues(call.turn) else self.turns.number + 1

    # Recording ----------------------------------------------------------------------------------------------------

    def add(  # noqa: PLR0913, PLR0917 - a call with what was worked out about it already
        self, call: ToolCall, outcome: Outcome, settings: ToolPolicy, window: int, key: int | None, tool: int
    ) -> Entry:
        """Take in a call that has ended; one of another turn must be preceded by `end_turn`."""
        self.place += 1
        entry = entry_of(call, outcome, settings.kind, key, tool, self.place, self.turns.enter(call.turn))
        self._judge_result(entry, call, outcome, settings)
        self._judge_novelty(entry, outcome, settings)
        if entry.stated and entry.fresh and any(one.stated for one in self.entries):
            entry.advanced = entry.resets = True
        self._link(entry, outcome, window)
        entry.stale = self._is_stale(entry, outcome)
        entry.goes_on = self._goes_on(entry, outcome)
        self.said, self.counter = outcome.said, outcome.counter
        self.beside = None if outcome.beside is None else number_of(outcome.beside) >> 32
        if entry.refusal and entry.outcome != "ours":
            works, answers = (partial(rule, refused=entry) for rule in (self.worked_since, self.answered_since))
            self.refusals.add(entry, works, answers)
        self.index(entry)
        self.turns.add(entry)
        self.memory.add(entry, call)
        if call.tool != self.last_tool:
            self.last_tool = kept_name(call.tool, _LONGEST_NAME)
        self._make_room()
        return entry

    def _judge_result(self, entry: Entry, call: ToolCall, outcome: Outcome, settings: ToolPolicy) -> None:
        """Fill in what the result says against what was there before: our own answers, passing failures, progress."""
        if entry.outcome == "ours":
            entry.answer = None
            for one in reversed(self.by_key.get(entry.key or 0, NO_CALLS)):
                if one.answer is not None:
                    entry.answer = one.answer
                    break
            return
        entry.counts = entry.outcome != "missing" and entry.category != "transient"
        if entry.key is None:
            return
        if entry.kind == "poll" or outcome.declared:
            standing = self.standings.get(entry.key) or Standing()
            rule = settings.poll or _NO_BUDGET
            timed = rule.deadline is not None or rule.min_interval is not None
            entry.moved, entry.advanced = standing.add(entry, call.start_ns if timed else None, outcome, self.seen)
            self.standings.set(entry.key, standing)
            if entry.kind == "poll":
                over = over_budget(standing, rule, call.start_ns, polls=standing.total, same=standing.same)
                entry.waits = over is None and not standing.was_terminal
        if settings.cursor is not None and entry.group is not None and entry.counts:
            entry.moved = self._add_page(entry, outcome, entry.group)
            self.barren.set(entry.group, 0 if entry.moved else (self.barren.get(entry.group) or 0) + 1)

    def _add_page(self, entry: Entry, outcome: Outcome, group: int) -> bool:
        """Whether a page brings anything unseen: an item, or where none are declared a page like no other."""
        if outcome.items is not None or outcome.unseen is not None:
            return brings_unseen(group, outcome, self.seen)
        return entry.answer is not None and self.seen.add(tag_of_two(group, entry.answer))

    def _judge_novelty(self, entry: Entry, outcome: Outcome, settings: ToolPolicy) -> None:
        """Whether the call may have changed the world, or taught something."""
        is_ours = entry.outcome == "ours"
        call = 0 if entry.key is None else entry.key >> 32
        answer = 0 if entry.answer is None or entry.thought or is_ours else entry.answer >> 32
        first_time = call != 0 and not self.outcomes.knows_call(call)
        unseen = answer != 0 and not self.outcomes.knows_answer(answer)
        if (call or answer) and not is_ours:
            siblings = self.turns.open
            twin = siblings and any(one.key == entry.key and one.answer == entry.answer for one in siblings)
            entry.times = self.outcomes.add(call, answer, 0 if twin else 1)
        if is_ours:
            return
        unseen = unseen and not self._is_told(entry, outcome)
        entry.fresh = unseen
        if outcome.state is not None:
            entry.fresh = self.seen.add(tag_of(number_of(outcome.state)))
        if settings.asks_user:
            if entry.outcome == "ok" and entry.key is not None:
                self.asked.add(entry.key >> 32)
            return
        if entry.thought or entry.kind == "poll" or entry.handoff:
            return
        happened = entry.outcome in ("ok", "empty") and not entry.refusal
        if entry.key is None:
            entry.resets = entry.kind in ("write", "unknown") and (happened or entry.outcome == "missing")
        elif entry.kind == "write":
            entry.resets = happened
        elif entry.kind == "unknown":
            entry.resets = happened and first_time and not outcome.hitless
        else:
            entry.news = first_time and unseen and entry.succeeded

    def _is_told(self, entry: Entry, outcome: Outcome) -> bool:
        """Whether the tool has shown this page, said no or found nothing before, whatever it quoted of the call."""
        earlier = self.by_tool.get(entry.tool, NO_CALLS)
        if entry.refusal:
            return entry.error is not None and any(one.error == entry.error for one in earlier)
        if outcome.hitless:
            return any(one.shape == entry.shape for one in earlier)
        return entry.gist is not None and any(one.gist == entry.gist for one in earlier)

    def _link(self, entry: Entry, outcome: Outcome, window: int) -> None:
        """Whether the call continues the streak of its key."""
        if entry.key is None:
            return
        previous = None
        for one in reversed(self.by_key.get(entry.key, NO_CALLS)):
            if one.turn < entry.turn - window:
                break
            if one.counts:
                previous = one
                break
        if previous is None:
            return
        if not entry.counts:
            entry.linked = True
        elif entry.renewed or (previous.turn < entry.turn and self.reset_between(previous, entry.turn)):
            return
        elif entry.outcome == "ours":
            entry.linked = True
        elif outcome.declared and outcome.kind != "error":
            entry.linked = not entry.advanced
        else:
            entry.linked = entry.answer is not None and (previous.answer is None or entry.answer == previous.answer)

    def _is_stale(self, entry: Entry, outcome: Outcome) -> bool:
        """Whether the answer is that of the equal call just before, or retells it."""
        if not self.entries or entry.key is None or self.entries[-1].key != entry.key:
            return False
        last = self.entries[-1].answer
        return (entry.answer is not None and entry.answer == last) or retold(outcome.said, self.said)

    def _goes_on(self, entry: Entry, outcome: Outcome) -> bool:
        """Whether the answer goes on from that of the equal call just before: it counts further, or is a new page."""
        if entry.key is None or not self.entries or self.entries[-1].key != entry.key:
            return False
        if outcome.counter is not None and self.counter is not None and outcome.counter > self.counter:
            return outcome.beside is not None and number_of(outcome.beside) >> 32 != self.beside
        return outcome.page and entry.fresh and not entry.stale

    def _make_room(self) -> None:
        """Drop what is older than the bounds, of a call first its sketch and then its detail."""
        self.drop_sketches()
        if len(self.entries) > DETAIL_LIMIT:
            self.drop_oldest()
        rare = self.seen.numbers or self.episodes.held or self.memory.writes.values
        if self.place > _IDLE_CALLS and not rare and len(self.turns.marks) <= _USUAL_TURNS:
            return  # what else there can be, all of it at its bound, leaves room enough
        spare = (_IDLE_BYTES if self.place <= _IDLE_CALLS else _MOST_BYTES) - self._elsewhere()
        if spare >= self.bytes_at_most():
            return
        spare -= self.bytes()
        while spare < 0 and len(self.entries) > len(self.turns.open) + 1:
            spare += weight_of(self.entries[0])
            self.drop_oldest()
        while spare < 0 and self.seen.numbers:
            self.seen.forget()
            spare += _TAG_BYTES

    def _elsewhere(self) -> int:
        """Bytes that everything but the calls in detail would take, at most."""
        return (
            _FIXED_BYTES
            + _TAG_BYTES * (len(self.seen.numbers) + len(self.asked.numbers) + len(self.by_tool))
            + 9 * len(self.outcomes.pairs)
            + 10 * len(self.turns.marks)
            + 44 * len(self.standings.values)
            + 7 * len(self.barren.values)
            + 62 * len(self.episodes.held)
            + 40 * len(self.refusals.held)
            + self.memory.weight
        )

    def end_turn(self, limit: int) -> TurnMark:
        """Close the open turn; ``limit`` turns stay as symbols."""
        mark = self.turns.end(limit)
        if mark.fresh:
            self.idle_turns = 0
        elif mark.fresh is not None:
            self.idle_since = self.idle_since if self.idle_turns else mark.first
            self.idle_turns += 1
        return mark
