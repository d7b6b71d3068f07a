"""The recent calls of one history in detail, with what one asks of them.

Not the history: what outlives the detail stands beside it there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from otel_loopguard.core.words import LONG_ENOUGH, SKETCH_SIZE, counts_on, fills_a_form, near

from .entry import Entry

__all__ = ["NO_CALLS", "Calls", "weight_of"]

NO_CALLS: Final[list[Entry]] = []
"""What an index holds of a call that is not in it: a list, so that the compiler knows what it goes through."""

_SKETCHES: Final = 12
"""Calls whose word sketch is kept."""

# Bytes of a call in a state, as `stream.codec` writes it; a test holds them to it.
_TAG: Final = 4
_ENTRY: Final = 23
_SKETCH: Final = 3


class Calls:
    """Calls in order, by key and by tool."""

    __slots__ = ("by_key", "by_tool", "dropped", "entries", "news", "resets")

    def __init__(self) -> None:
        self.dropped = 0
        """Calls whose detail was dropped."""
        self.clear()

    def clear(self) -> None:
        """Hold nothing any more."""
        self.entries: deque[Entry] = deque()
        self.by_key: dict[int, list[Entry]] = {}
        self.by_tool: dict[int, list[Entry]] = {}
        self.resets: deque[Entry] = deque()
        """Those that may have changed the world."""
        self.news: deque[Entry] = deque()
        """Those that taught something."""

    def index(self, entry: Entry) -> None:
        """Hold a call as the newest."""
        self.entries.append(entry)
        if entry.key is not None:
            self.by_key.setdefault(entry.key, []).append(entry)
        self.by_tool.setdefault(entry.tool, []).append(entry)
        if entry.resets:
            self.resets.append(entry)
        elif entry.teaches:
            self.news.append(entry)

    def drop_sketches(self) -> None:
        """Forget the words of the newest call whose sketch is too old."""
        if len(self.entries) > _SKETCHES:
            self.entries[-_SKETCHES - 1].words = ()

    def drop_oldest(self) -> None:
        """Drop the oldest call's detail."""
        oldest = self.entries.popleft()
        self.dropped += 1
        if oldest.key is not None:
            _drop_first(self.by_key, oldest.key)
        _drop_first(self.by_tool, oldest.tool)
        for index in (self.resets, self.news):
            if index and index[0] is oldest:
                index.popleft()

    def bytes_at_most(self) -> int:
        """What they could take in a state, told without looking at each."""
        count = len(self.entries)
        return (_ENTRY + 4 * _TAG) * count + (_SKETCH + SKETCH_SIZE * _TAG) * min(_SKETCHES, count)

    def bytes(self) -> int:
        """What they take in a state."""
        return sum(map(weight_of, self.entries))

    # Questions ----------------------------------------------------------------------------------------------------

    def streak(self, key: int, turn: int, window: int) -> list[Entry]:
        """Equal calls with equal results and nothing new in between that stand before ``turn``, newest first.

        One for each turn; passing failures and missing results are skipped, they neither count nor break.
        """
        found: list[Entry] = []
        last_turn = turn
        for entry in reversed(self.by_key.get(key, NO_CALLS)):
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

        A sibling of the earlier call counts, one of the repeat does not, and the call itself only where the application
        says that its state is a new one since.
        """
        for entry in reversed(self.resets):
            if entry.turn < earlier.turn:
                return False
            if entry.turn >= turn or (entry.key is not None and entry.key == earlier.key and not entry.renewed):
                continue
            if not entry.rewords(earlier):
                return True
        return False

    def news_within(self, after: int, until: int) -> bool:
        """Whether a call brought an unseen result in a turn after ``after`` and up to ``until``."""
        for entry in reversed(self.news):
            if entry.turn <= after:
                return False
            if entry.turn <= until:
                return True
        return False

    def repeats(self, key: int, turn: int, window: int) -> int:
        """How often a key stands in the window before and in a turn."""
        count = 0
        for entry in reversed(self.by_key.get(key, NO_CALLS)):
            if entry.turn < turn - window:
                break
            count += 1
        return count

    def of_tool(self, tool: int, turn: int, window: int) -> Iterator[Entry]:
        """The tool's calls in the window, newest first."""
        for entry in reversed(self.by_tool.get(tool, NO_CALLS)):
            if entry.turn < turn - window:
                return
            yield entry

    def last_word(self, tool: int) -> Entry | None:
        """The tool's newest call that was executed: our own answers are none of its words."""
        for entry in reversed(self.by_tool.get(tool, NO_CALLS)):
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
            if entry.kind == "write" or (entry.payload and (refused.payload or not self._is_old(entry, place))):
                return True
            if entry.tool == refused.tool and entry.outcome == "ok" and not refused.payload:
                return True
        return False

    def answered_since(self, place: int, refused: Entry) -> bool:
        """Whether the tool had an answer for another thing of the kind after a place: then it does not refuse them all.

        Of a kind are calls as short as names and ids are, and longer ones that differ in a number or in one word; with
        a payload none.
        """
        if refused.payload or refused.key is None:
            return False
        is_short = refused.word_count < LONG_ENOUGH
        for entry in reversed(self.by_tool.get(refused.tool, NO_CALLS)):
            if entry.place <= place:
                return False
            if entry.outcome != "ok" or entry.refusal or entry.payload or entry.key in (None, refused.key):
                continue
            if entry.word_count < LONG_ENOUGH if is_short else _is_of_one_kind(entry, refused):
                return True
        return False

    def acted_since(self, place: int) -> bool:
        """Whether anything may have been done after a place but looking around, which tells what it has seen."""
        for entry in reversed(self.entries):
            if entry.place <= place:
                return False
            if entry.refusal or entry.thought:
                continue
            if entry.payload or entry.kind == "write" or entry.approval or not entry.informative:
                return True
        return False

    def _is_old(self, payload: Entry, place: int) -> bool:
        """Whether nearly the same was handed over to the same tool up to a place already, not just counted on."""
        return any(
            one.place <= place
            and one.payload
            and near(one.words, one.word_count, payload.words, payload.word_count)
            and (one.key == payload.key or not counts_on(one.words, payload.words))
            for one in reversed(self.by_tool[payload.tool])
        )


def _is_of_one_kind(one: Entry, other: Entry) -> bool:
    """Whether two calls of some words differ in a number, or in one word."""
    if not one.words or not other.words:
        return False
    return counts_on(one.words, other.words) or fills_a_form((one.words, other.words))


def _drop_first(index: dict[int, list[Entry]], name: int) -> None:
    held = index[name]
    del held[0]
    if not held:
        del index[name]


def weight_of(entry: Entry) -> int:
    """Bytes that a call in detail takes in a state, at most."""
    weight = _ENTRY + (0 if entry.error is None else _TAG) + (0 if entry.shape is None else _TAG)
    weight += 0 if entry.gist is None else _TAG
    if entry.group is not None and (entry.key is None or entry.group != entry.key >> 32):
        weight += _TAG
    return weight + _SKETCH + _TAG * len(entry.words) if entry.words else weight
