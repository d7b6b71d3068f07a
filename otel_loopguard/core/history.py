"""What one agent did in one run, bounded: recent calls in detail, older ones as tags, and what was already said.

Not a judge: detectors read it and the engine writes it. It holds no content and knows no clock; every collection
has a bound, and forgetting the oldest is part of the rules (a forgotten call counts as never made).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, TypeVar

from .call import Outcome, ToolCall, Turn
from .entry import Entry, TurnMark, handoff_symbol, tag_of
from .memory import Recent, Seen
from .policy import Policy, PollRule, ToolPolicy
from .standing import Pages, Standing, over_budget, standing_after
from .words import near

__all__ = ["DETAIL_LIMIT", "TAG_LIMIT", "History", "RunMemory", "Told"]

DETAIL_LIMIT: Final = 64
"""Calls kept in detail."""
TAG_LIMIT: Final = 256
"""Calls, results and states remembered as 32-bit tags."""
SKETCH_CALLS: Final = 12
"""Calls whose word sketch is kept."""
TOLD_LIMIT: Final = 64
WRITE_LIMIT: Final = 64
HANDOFF_LIMIT: Final = 32
"""Eight agents in a circle, four laps."""


class Told:
    """What was said in an episode that goes on: 1 a nudge, 2 a stop, and the turn that kept it alive."""

    __slots__ = ("level", "turn")

    def __init__(self, level: int, turn: int) -> None:
        self.level = level
        self.turn = turn


Name = TypeVar("Name", int, str)


def _drop_first(index: dict[Name, list[Entry]], name: Name, entry: Entry) -> None:
    held = index.get(name)
    if held is not None and held[0] is entry:
        del held[0]
        if not held:
            del index[name]


class RunMemory:
    """What a run remembers across its agents: writes and hand-offs."""

    __slots__ = ("changes", "handoffs", "writes")

    def __init__(self) -> None:
        self.writes: Recent[tuple[str, str | None]] = Recent(WRITE_LIMIT)
        """State (`done` or `unknown`) and idempotency fingerprint of declared writes, by their call without the key."""
        self.handoffs: deque[tuple[int, int]] = deque(maxlen=HANDOFF_LIMIT)
        """Every hand-off: its symbol, and the changes of the world before it."""
        self.changes = 0
        """Calls of any agent so far that may have changed the world."""

    def user_message(self) -> None:
        """A user spoke: what was written may be wanted again."""
        self.writes = Recent(WRITE_LIMIT)


class History:
    """The calls of one agent and scope in one run, in the run's order."""

    def __init__(self, memory: RunMemory | None = None) -> None:
        self.memory = RunMemory() if memory is None else memory
        self.place = 0
        """Calls so far."""
        self.turn = 0
        """Turns so far, the open one included."""
        self.dropped = 0
        """Calls whose detail was dropped before they left the window."""
        self._clear()

    def _clear(self) -> None:
        self.token: Turn = None
        self.open: list[Entry] = []
        """Calls of the open turn."""
        self.entries: deque[Entry] = deque()
        self.by_key: dict[int, list[Entry]] = {}
        self.by_tool: dict[str, list[Entry]] = {}
        self.resets: deque[Entry] = deque()
        self.turns: deque[TurnMark] = deque()
        self.seen_calls = Seen(TAG_LIMIT)
        self.seen_results = Seen(TAG_LIMIT)
        self.seen_states = Seen(TAG_LIMIT)
        self.outcomes: Recent[int] = Recent(TAG_LIMIT)
        """Turns in which a call had an outcome, by tag of both."""
        self.standings: Recent[Standing] = Recent(DETAIL_LIMIT)
        self.pages: Recent[Pages] = Recent(16)
        self.asked = Seen(DETAIL_LIMIT)
        self.told: dict[tuple[str, object], Told] = {}
        self.idle_turns = 0
        """Turns in a row that brought nothing new."""
        self.nudged: dict[tuple[str, object], tuple[str, int]] = {}
        """Open nudges: tool and place, by kind and subject."""

    def reset(self) -> None:
        """A user message to this agent: everything starts anew but the numbering."""
        self._clear()

    # What is said already -----------------------------------------------------------------------------------------

    def level(self, kind: str, subject: object) -> int:
        """0 where nothing was said in this episode, 1 after a nudge, 2 after a stop."""
        told = self.told.get((kind, subject))
        return 0 if told is None else told.level

    def tell(self, kind: str, subject: object, level: int) -> None:
        """Remember what was said, as part of the episode that goes on."""
        self.told.pop((kind, subject), None)
        self.told[kind, subject] = Told(level, self.turn)
        if len(self.told) > TOLD_LIMIT:
            del self.told[next(iter(self.told))]

    def forget(self, kind: str, subject: object) -> None:
        """The episode is over."""
        self.told.pop((kind, subject), None)

    def _keep_alive(self, kind: str, subject: object, window: int) -> None:
        told = self.told.get((kind, subject))
        if told is not None:
            if told.turn < self.turn - window:
                del self.told[kind, subject]
            else:
                told.turn = self.turn

    # Questions ----------------------------------------------------------------------------------------------------

    def turn_of(self, call: ToolCall) -> int:
        """The number of the turn in which a call would stand."""
        return self.turn if self.continues(call) else self.turn + 1

    def continues(self, call: ToolCall) -> bool:
        """Whether a call belongs to the open turn."""
        return bool(self.open) and call.turn is not None and call.turn == self.token

    def closed(self, turn: int) -> Iterator[TurnMark]:
        """The turns before ``turn``, newest first; the open one among them where it is older."""
        if self.open and turn > self.turn:
            yield TurnMark(self.turn, self.open)
        yield from reversed(self.turns)

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
            if not self.same_answer_nearby(entry, earlier):
                return True
        return False

    @staticmethod
    def same_answer_nearby(entry: Entry, other: Entry) -> bool:
        """Another wording of the same call that brought the same answer: no news."""
        return (
            entry.answer is not None
            and entry.answer == other.answer
            and entry.tool == other.tool
            and entry.kind != "write"
            and near(entry.words, entry.word_count, other.words, other.word_count)
        )

    def news_within(self, after: int, until: int) -> bool:
        """Whether a first-time read brought an unseen result in a turn after ``after`` and up to ``until``."""
        for entry in reversed(self.entries):
            if entry.turn <= after:
                return False
            if entry.news and entry.turn <= until:
                return True
        return False

    def row(self, key: int, turn: int) -> int:
        """Turns in a row that hold this key alone, the one that is judged included; 0 where its turn holds another."""
        if turn == self.turn and any(entry.key != key for entry in self.open):
            return 0
        count = 1
        if turn == self.turn and any(entry.advanced for entry in self.open):
            return count
        for mark in self.closed(turn):
            if mark.only != key:
                break
            count += 1
            if mark.advanced:
                break
        return count

    def repeats(self, key: int, turn: int, window: int) -> int:
        """How often a key stands in the window before and in a turn."""
        return sum(1 for entry in self.by_key.get(key, ()) if entry.turn >= turn - window)

    def of_tool(self, tool: str, turn: int, window: int) -> Iterator[Entry]:
        """The tool's calls in the window, newest first."""
        for entry in reversed(self.by_tool.get(tool, ())):
            if entry.turn < turn - window:
                return
            yield entry

    def changed_between(self, tool: str, earlier: Entry, later_turn: int) -> bool:
        """Whether another tool may have changed the world in a turn from that of ``earlier`` up to ``later_turn``."""
        for entry in reversed(self.resets):
            if entry.turn < earlier.turn:
                return False
            if entry.tool != tool and entry.turn < later_turn:
                return True
        return False

    # Recording ----------------------------------------------------------------------------------------------------

    def add(self, call: ToolCall, outcome: Outcome, settings: ToolPolicy, policy: Policy) -> Entry:
        """Take in a call that has ended; a call of another turn must be preceded by `end_turn`."""
        if not self.open:
            self.turn += 1
            self.token = call.turn
        self.place += 1
        entry = Entry(call, outcome, settings, self.place, self.turn)
        self._judge_result(entry, call, outcome, settings)
        self._judge_novelty(entry, outcome, settings)
        self._link(entry, outcome, policy.window)
        self._index(entry)
        self._remember(entry, call, settings)
        self._age_episodes(entry, policy.window)
        return entry

    def _remember(self, entry: Entry, call: ToolCall, settings: ToolPolicy) -> None:
        """What outlives the detail: outcomes by call, answered questions, writes and hand-offs of the run."""
        if entry.key is None:
            return
        if entry.answer is not None and entry.outcome != "ours":
            tag = tag_of(entry.key, entry.answer)
            twin = any(one.key == entry.key and one.answer == entry.answer and one is not entry for one in self.open)
            self.outcomes.set(tag, (self.outcomes.get(tag) or 0) + (not twin))
        if settings.asks_user and entry.outcome == "ok":
            self.asked.add(tag_of(entry.key))
        if settings.kind == "write" and entry.group is not None:
            if entry.outcome in ("ok", "empty"):
                self.memory.writes.set(entry.group, ("done", call.idempotency))
            elif entry.outcome == "missing" or entry.category == "unknown_outcome":
                self.memory.writes.set(entry.group, ("unknown", call.idempotency))
        if call.handoff_to is not None:
            self.memory.handoffs.append((handoff_symbol(call.handoff_to, entry.key), self.memory.changes))

    def _judge_result(self, entry: Entry, call: ToolCall, outcome: Outcome, settings: ToolPolicy) -> None:
        """Fill in what the result says against what was there before: our own answers, passing failures, progress."""
        if entry.outcome == "ours":
            earlier = reversed(self.by_key.get(entry.key or 0, ()))
            entry.answer = next((one.answer for one in earlier if one.answer is not None), None)
            return
        entry.counts = entry.outcome != "missing" and entry.category != "transient"
        if entry.key is None:
            return
        if settings.kind == "poll" or outcome.declared:
            standing, moved, entry.advanced = standing_after(self.standings.get(entry.key), entry, call, outcome)
            self.standings.set(entry.key, standing)
            if settings.kind == "poll":
                if moved:
                    self.forget("poll", (entry.key, "max_unchanged"))
                rule = settings.poll or PollRule()
                over = over_budget(standing, rule, call.start_ns, polls=standing.total, same=standing.same)
                entry.waits = over is None and not standing.was_terminal
        if settings.cursor is not None and entry.group is not None:
            pages = self.pages.get(entry.group) or Pages()
            if pages.add(entry, outcome):
                self.forget("page", entry.group)
            self.pages.set(entry.group, pages)

    def _judge_novelty(self, entry: Entry, outcome: Outcome, settings: ToolPolicy) -> None:
        """Whether the call may have changed the world, or taught something."""
        first_time = entry.key is not None and self.seen_calls.add(tag_of(entry.key))
        if entry.outcome == "ours":
            return
        unseen = entry.answer is not None and not entry.thought and self.seen_results.add(tag_of(entry.answer))
        entry.fresh = unseen
        if outcome.state is not None:
            entry.fresh = self.seen_states.add(tag_of(int(outcome.state[:16], 16)))
        if entry.thought or settings.asks_user or entry.kind == "poll" or entry.handoff:
            return
        happened = entry.outcome in ("ok", "empty")
        if entry.key is None:
            entry.resets = entry.kind in ("write", "unknown") and entry.outcome in ("ok", "empty", "missing")
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
        previous = next(
            (one for one in reversed(self.by_key.get(entry.key, ())) if one.counts and one.turn >= entry.turn - window),
            None,
        )
        if not entry.counts:
            entry.linked = previous is not None
        elif previous is not None:
            if previous.turn < entry.turn and self.reset_between(previous, entry.turn):
                return
            if entry.outcome == "ours":
                entry.linked = True
            elif outcome.declared and outcome.kind != "error":
                entry.linked = not entry.advanced
            else:
                entry.linked = entry.answer is not None and (previous.answer is None or entry.answer == previous.answer)

    def _index(self, entry: Entry) -> None:
        self.open.append(entry)
        self.entries.append(entry)
        if entry.key is not None:
            self.by_key.setdefault(entry.key, []).append(entry)
        self.by_tool.setdefault(entry.tool, []).append(entry)
        if entry.resets:
            self.resets.append(entry)
            self.memory.changes += 1
        if len(self.entries) > SKETCH_CALLS:
            self.entries[-SKETCH_CALLS - 1].words = ()
        if len(self.entries) > DETAIL_LIMIT:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = self.entries.popleft()
        self.dropped += 1
        if oldest.key is not None:
            _drop_first(self.by_key, oldest.key, oldest)
        _drop_first(self.by_tool, oldest.tool, oldest)
        if self.resets and self.resets[0] is oldest:
            self.resets.popleft()

    def _age_episodes(self, entry: Entry, window: int) -> None:
        """Keep what was said alive while its episode goes on, and forget it when the episode is over."""
        if entry.resets or entry.succeeded:
            for kind, subject in list(self.told):
                if kind == "same_error" and isinstance(subject, tuple):
                    own = subject[0] == entry.tool
                    if (own and entry.succeeded and not entry.refusal) or (entry.resets and not own):
                        self.forget(kind, subject)
        if entry.key is not None and not entry.linked and entry.counts:
            self.forget("identical", entry.key)
        if not self.told:
            return
        for kind, subject in (
            ("identical", entry.key), ("identical", ("row", entry.key)), ("same_error", (entry.tool, entry.error)),
            ("drift", entry.tool), ("unknown_tool", entry.tool),
        ):  # fmt: skip
            self._keep_alive(kind, subject, window)

    def end_turn(self, mark: TurnMark, window: int, memory: int) -> None:
        """Close the open turn; ``memory`` turns stay."""
        self.turns.append(mark)
        if mark.fresh is not None:
            self.idle_turns = 0 if mark.fresh else self.idle_turns + 1
            if mark.fresh:
                self.forget("no_progress", "turns")
        while len(self.turns) > memory:
            self.turns.popleft()
        for kind, subject in list(self.told):
            if isinstance(subject, tuple) and subject[0] == "row" and (mark.only != subject[1] or mark.advanced):
                self.forget(kind, subject)
        self.open = []
        self.token = None
        horizon = self.turn - max(window, memory)
        while self.entries and self.entries[0].turn < horizon:
            self._drop_oldest()
            self.dropped -= 1
