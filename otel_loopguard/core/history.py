"""What one agent did in one run, bounded: recent calls in detail, older ones as tags, and what was already said.

Not a judge: detectors read it and the engine writes it. It holds no content and knows no clock; every collection
has a bound, and forgetting the oldest is part of the rules (a forgotten call counts as never made).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from .call import Outcome, ToolCall
from .entry import Entry, entry_of
from .episode import Episodes
from .memory import Outcomes, Recent, Seen
from .policy import PollRule, ToolPolicy
from .run_memory import RunMemory
from .standing import Standing, brings_unseen, over_budget
from .tag import number_of, tag_of
from .turn import TurnMark, Turns

__all__ = ["DETAIL_LIMIT", "History", "RunMemory"]

DETAIL_LIMIT: Final = 64
"""Calls kept in detail."""
_OUTCOMES: Final = 256
_SEEN: Final = 256
_ASKED: Final = 32
_STANDINGS: Final = 16
_LISTS: Final = 16
_SKETCHES: Final = 12
"""Calls whose word sketch is kept."""
_NO_BUDGET: Final = PollRule()


class History:
    """The calls of one agent and scope in one run, in the run's order."""

    __slots__ = (
        "asked", "barren", "by_key", "by_tool", "dropped", "entries", "episodes", "idle_since", "idle_turns",
        "last_tool", "memory", "news", "outcomes", "place", "resets", "seen", "standings", "turns",
    )  # fmt: skip

    def __init__(self, memory: RunMemory | None = None) -> None:
        self.memory = RunMemory() if memory is None else memory
        self.place = 0
        """Calls so far."""
        self.dropped = 0
        """Calls whose detail was dropped."""
        self._clear(turn=0)

    def _clear(self, turn: int) -> None:
        self.turns = Turns(turn)
        self.last_tool = ""
        """Name of the newest call's tool."""
        self.entries: deque[Entry] = deque()
        self.by_key: dict[int, list[Entry]] = {}
        self.by_tool: dict[int, list[Entry]] = {}
        self.resets: deque[Entry] = deque()
        """The calls in detail that may have changed the world."""
        self.news: deque[Entry] = deque()
        """The calls in detail that taught something."""
        self.outcomes = Outcomes(_OUTCOMES)
        self.seen = Seen(_SEEN)
        """Items, states and pages."""
        self.asked = Seen(_ASKED)
        """Questions that the user answered."""
        self.standings: Recent[Standing] = Recent(_STANDINGS)
        self.barren: Recent[int] = Recent(_LISTS)
        """Pages in a row that brought nothing unseen, by the call without its cursor."""
        self.episodes = Episodes()
        self.idle_turns = 0
        """Turns in a row that brought nothing new."""
        self.idle_since = 0
        """Place of the first call of those turns."""

    def reset(self) -> None:
        """A user message to this agent: everything starts anew but the numbering."""
        self._clear(self.turns.number)

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

    def changed_between(self, tool: int, earlier: Entry, later_turn: int) -> bool:
        """Whether another tool may have changed the world from the turn of ``earlier`` on and before ``later_turn``."""
        for entry in reversed(self.resets):
            if entry.turn < earlier.turn:
                return False
            if entry.tool != tool and entry.turn < later_turn:
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
        self._index(entry)
        self.turns.add(entry)
        self.memory.add(entry, call)
        self.last_tool = call.tool
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
            entry.moved, entry.advanced = standing.add(entry, call, outcome, self.seen)
            self.standings.set(entry.key, standing)
            if entry.kind == "poll":
                rule = settings.poll or _NO_BUDGET
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
        if call or answer:
            twin = any(one.key == entry.key and one.answer == entry.answer for one in self.turns.open)
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

    def _index(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.key is not None:
            self.by_key.setdefault(entry.key, []).append(entry)
        self.by_tool.setdefault(entry.tool, []).append(entry)
        if entry.resets:
            self.resets.append(entry)
        elif entry.news:
            self.news.append(entry)
        if len(self.entries) > _SKETCHES:
            self.entries[-_SKETCHES - 1].words = ()
        while len(self.entries) > DETAIL_LIMIT:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
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

