"""What one agent did in one run, bounded: recent calls in detail, older ones as tags, and what was already said.

Not a judge: detectors read it and the engine writes it. It holds no content and knows no clock; every collection
has a bound, and forgetting the oldest is part of the rules (a forgotten call counts as never made).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Final

from .call import Outcome, ToolCall
from .past.entry import Entry, entry_of
from .past.episode import Episodes
from .past.memory import Outcomes, Recent, Seen
from .past.refusal import Refusals
from .past.run_memory import RunMemory
from .past.standing import Standing, brings_unseen, over_budget
from .past.state import HistoryState
from .past.turn import TurnMark, Turns
from .policy import PollRule, ToolPolicy
from .tag import kept_name, number_of, tag_of
from .words import SKETCH_SIZE, retold

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
_SKETCHES: Final = 12
"""Calls whose word sketch is kept."""
_NO_BUDGET: Final = PollRule()

# A run that waits for its next call is kept as bytes: so many at most while it is short, so many ever. What does not
# fit is dropped from the details, oldest first. The sizes are those of `stream.codec`, and a test holds them to it.
_IDLE_CALLS: Final = 32
_IDLE_BYTES: Final = 2560
_MOST_BYTES: Final = 8192
_FIXED_BYTES: Final = 170
_TAG_BYTES: Final = 4
_ENTRY_BYTES: Final = 23
_SKETCH_BYTES: Final = 3
_MOST_ENTRY_BYTES: Final = _ENTRY_BYTES + 3 * _TAG_BYTES
_MOST_SKETCH_BYTES: Final = _SKETCH_BYTES + SKETCH_SIZE * _TAG_BYTES


class History:
    """The calls of one agent and scope in one run, in the run's order."""

    __slots__ = (
        "asked", "barren", "by_key", "by_tool", "dropped", "entries", "episodes", "idle_since", "idle_turns",
        "last_tool", "memory", "news", "outcomes", "place", "refusals", "resets", "said", "seen", "standings", "turns",
    )  # fmt: skip

    def __init__(self, memory: RunMemory | None = None) -> None:
        self.memory = RunMemory() if memory is None else memory
        self.place = 0
        """Calls so far."""
        self.dropped = 0
        """Calls whose detail was dropped."""
        self._fill(HistoryState())

    def _fill(self, state: HistoryState) -> None:
        self.turns = Turns(state.turn)
        self.last_tool = state.last_tool
        """Name of the newest call's tool."""
        self.entries: deque[Entry] = deque()
        self.by_key: dict[int, list[Entry]] = {}
        self.by_tool: dict[int, list[Entry]] = {}
        self.resets: deque[Entry] = deque()
        """The calls in detail that may have changed the world."""
        self.news: deque[Entry] = deque()
        """The calls in detail that taught something."""
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
        )  # fmt: skip

    @classmethod
    def from_state(cls, state: HistoryState, memory: RunMemory | None = None) -> History:
        """The history that a state was taken of; the state becomes its own."""
        history = cls(memory)
        history.place, history.dropped = state.place, state.dropped
        history._fill(state)
        for entry in state.entries:
            history._index(entry)
        opened = len(state.entries) - state.open_calls
        history.turns.restore(state.marks, state.entries[opened:], state.token, state.row)
        return history

    # Questions ----------------------------------------------------------------------------------------------------

    def turn_of(self, call: ToolCall) -> int:
        """The number of the turn in which a call would stand."""
        return self.turns.number if self.turns.continues(call.turn) else self.turns.number + 1

    def streak(self, key: int, turn: int, window: int) -> list[Entry]:
        """Equal calls with equal results and nothing new in between that stand before ``turn``, newest first.

        One for each turn; passing failures and missing results are skipped, they neither count nor break.
        """
        found: list[Entry] = []
        last_turn = turn
        for entry in reversed(self.by_key.get(key, ())):
            if entry.turn < turn - window:
                break
            if entry.turn < last_turn and entry.counts:
                found.append(entry)
                last_turn = entry.turn
            if not entry.linked and entry.counts and entry.turn < turn:
                break
        return found

    def reset_between(self, earlier: Entry, turn: int) -> bool:
        """Whether anything that may have changed the world ended since ``earlier`` and in a turn before ``turn``.

        A sibling of the earlier call counts, one of the repeat does not.
        """
        for entry in reversed(self.resets):
            if entry.turn < earlier.turn:
                return False
            if entry.turn >= turn or (entry.key is not None and entry.key == earlier.key):
                continue
            if not entry.rewords(earlier):
                return True
        return False

    def news_within(self, after: int, until: int) -> bool:
        """Whether a first-time read brought an unseen result in a turn after ``after`` and up to ``until``."""
        for entry in reversed(self.news):
            if entry.turn <= after:
                return False
            if entry.turn <= until:
                return True
        return False

    def repeats(self, key: int, turn: int, window: int) -> int:
        """How often a key stands in the window before and in a turn."""
        count = 0
        for entry in reversed(self.by_key.get(key, ())):
            if entry.turn < turn - window:
                break
            count += 1
        return count

    def of_tool(self, tool: int, turn: int, window: int) -> Iterator[Entry]:
        """The tool's calls in the window, newest first."""
        for entry in reversed(self.by_tool.get(tool, ())):
            if entry.turn < turn - window:
                return
            yield entry

    def last_word(self, tool: int) -> Entry | None:
        """The tool's newest call that was executed: our own answers are none of its words."""
        for entry in reversed(self.by_tool.get(tool, ())):
            if entry.outcome != "ours":
                return entry
        return None

    def brings_new(self, entry: Entry) -> bool:
        """Whether the newest call brought something new, and not only the answer to an earlier one in other words."""
        if not entry.resets and not entry.news:
            return False
        return not any(entry.rewords(one) for one in self.by_tool[entry.tool] if one is not entry)

    def changed_between(self, tool: int, earlier: Entry, later_turn: int) -> bool:
        """Whether another tool may have changed the world from the turn of ``earlier`` on and before ``later_turn``."""
        for entry in reversed(self.resets):
            if entry.turn < earlier.turn:
                return False
            if entry.tool != tool and entry.turn < later_turn:
                return True
        return False

    def worked_since(self, place: int, refused: Entry) -> bool:
        """Whether work was accepted after a place: a payload or a write, or a success of the refused call's tool.

        The latter only where that call has no payload: reading between two refused edits is no work.
        """
        for entry in reversed(self.entries):
            if entry.place <= place:
                return False
            if entry.refusal or entry.thought or entry.outcome not in ("ok", "empty"):
                continue
            if entry.payload or entry.kind == "write":
                return True
            if entry.tool == refused.tool and entry.outcome == "ok" and not refused.payload:
                return True
        return False

    # Recording ----------------------------------------------------------------------------------------------------

    def add(  # noqa: PLR0913, PLR0917 - a call with what was worked out about it already
        self, call: ToolCall, outcome: Outcome, settings: ToolPolicy, window: int, key: int | None, tool: int
    ) -> Entry:
        """Take in a call that has ended; one of another turn must be preceded by `end_turn`."""
        self.place += 1
        entry = entry_of(call, outcome, settings.kind, key, tool, self.place, self.turns.enter(call.turn))
        self._judge_result(entry, call, outcome, settings)
        self._judge_novelty(entry, outcome, settings)
        self._link(entry, outcome, window)
        entry.stale = self._is_stale(entry, outcome)
        self.said = outcome.said
        if entry.refusal and entry.outcome != "ours":
            self.refusals.add(entry, partial(self.worked_since, refused=entry))
        self._index(entry)
        self.turns.add(entry)
        self.memory.add(entry, call)
        if call.tool != self.last_tool:
            self.last_tool = kept_name(call.tool, _LONGEST_NAME)
        self._make_room()
        return entry

    def _judge_result(self, entry: Entry, call: ToolCall, outcome: Outcome, settings: ToolPolicy) -> None:
        """Fill in what the result says against what was there before: our own answers, passing failures, progress."""
        if entry.outcome == "ours":
            earlier = reversed(self.by_key.get(entry.key or 0, ()))
            entry.answer = next((one.answer for one in earlier if one.answer is not None), None)
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
        return entry.answer is not None and self.seen.add(tag_of(group, entry.answer))

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
        entry.fresh = unseen
        if outcome.state is not None:
            entry.fresh = self.seen.add(tag_of(number_of(outcome.state)))
        if settings.asks_user:
            if entry.outcome == "ok" and entry.key is not None:
                self.asked.add(entry.key >> 32)
            return
        if entry.thought or entry.kind == "poll" or entry.handoff:
            return
        happened = entry.outcome in ("ok", "empty")
        if entry.key is None:
            entry.resets = entry.kind in ("write", "unknown") and (happened or entry.outcome == "missing")
        elif entry.kind == "write":
            entry.resets = happened
        elif entry.kind == "unknown":
            entry.resets = happened and first_time
        else:
            entry.news = first_time and unseen and entry.succeeded

    def _link(self, entry: Entry, outcome: Outcome, window: int) -> None:
        """Whether the call continues the streak of its key."""
        if entry.key is None:
            return
        previous = None
        for one in reversed(self.by_key.get(entry.key, ())):
            if one.turn < entry.turn - window:
                break
            if one.counts:
                previous = one
                break
        if previous is None:
            return
        if not entry.counts:
            entry.linked = True
        elif previous.turn < entry.turn and self.reset_between(previous, entry.turn):
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

    def _index(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.key is not None:
            self.by_key.setdefault(entry.key, []).append(entry)
        self.by_tool.setdefault(entry.tool, []).append(entry)
        if entry.resets:
            self.resets.append(entry)
        elif entry.news:
            self.news.append(entry)

    def _make_room(self) -> None:
        """Drop what is older than the bounds, of a call first its sketch and then its detail."""
        if len(self.entries) > _SKETCHES:
            self.entries[-_SKETCHES - 1].words = ()
        if len(self.entries) > DETAIL_LIMIT:
            self._drop_oldest()
        if self.place > _IDLE_CALLS and not (self.seen.numbers or self.episodes.held or self.memory.writes.values):
            return  # what else there can be, all of it at its bound, leaves room enough
        spare = (_IDLE_BYTES if self.place <= _IDLE_CALLS else _MOST_BYTES) - self._elsewhere()
        if spare >= _MOST_ENTRY_BYTES * len(self.entries) + _MOST_SKETCH_BYTES * min(_SKETCHES, len(self.entries)):
            return
        spare -= sum(map(_weight, self.entries))
        while spare < 0 and len(self.entries) > len(self.turns.open) + 1:
            spare += _weight(self.entries[0])
            self._drop_oldest()
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

    def _drop_oldest(self) -> None:
        """Drop the oldest call's detail."""
        oldest = self.entries.popleft()
        self.dropped += 1
        if oldest.key is not None:
            _drop_first(self.by_key, oldest.key)
        _drop_first(self.by_tool, oldest.tool)
        for index in (self.resets, self.news):
            if index and index[0] is oldest:
                index.popleft()

    def end_turn(self, limit: int) -> TurnMark:
        """Close the open turn; ``limit`` turns stay as symbols."""
        mark = self.turns.end(limit)
        if mark.fresh:
            self.idle_turns = 0
        elif mark.fresh is not None:
            self.idle_since = self.idle_since if self.idle_turns else mark.first
            self.idle_turns += 1
        return mark


def _drop_first(index: dict[int, list[Entry]], name: int) -> None:
    held = index[name]
    del held[0]
    if not held:
        del index[name]


def _weight(entry: Entry) -> int:
    """Bytes that a call in detail takes in a state, at most."""
    weight = _ENTRY_BYTES + (0 if entry.error is None else _TAG_BYTES) + (0 if entry.shape is None else _TAG_BYTES)
    if entry.group is not None and (entry.key is None or entry.group != entry.key >> 32):
        weight += _TAG_BYTES
    return weight + _SKETCH_BYTES + _TAG_BYTES * len(entry.words) if entry.words else weight
