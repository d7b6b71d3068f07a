"""Turns: model decisions with the calls that each made, the open one in detail and the ended ones as symbols.

Not calls: those are in the history. A turn is known here by what it asked and by what it brought.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from otel_loopguard.core.call import Turn
from otel_loopguard.core.tag import symbol_of, symbol_of_key, tag_of_two

from .entry import Entry
from .turn_mark import TurnMark

__all__ = ["CALL_LIMIT", "TurnMark", "Turns", "mark_of", "token_of"]

CALL_LIMIT: Final = 32
"""Calls of one turn; a host that knows no turns, and gives one token to all calls, still has a bound."""
_LONGEST_TOKEN: Final = 48


def token_of(turn: Turn) -> str | int | None:
    """A turn's token as it is kept: long and outlandish ones are hashed."""
    if isinstance(turn, int):
        return turn if 0 <= turn < 1 << 63 else hash(turn)
    if turn is None or (len(turn) <= _LONGEST_TOKEN and turn.isascii()):
        return turn
    return blake2b(turn.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def mark_of(number: int, entries: list[Entry]) -> TurnMark:
    """The mark of a turn."""
    key = entries[0].key
    if len(entries) == 1 and key is not None:
        symbol: int | None = symbol_of_key(key)
    else:
        symbol = symbol_of({entry.key for entry in entries})
    advanced = waits = fresh = stated = renewed = known = False
    for entry in entries:
        advanced = advanced or entry.advanced
        waits = waits or entry.waits
        fresh = fresh or entry.moves
        stated = stated or entry.stated
        renewed = renewed or (entry.stated and entry.fresh)
        known = known or (entry.key is not None and entry.outcome != "missing")
    unlike = symbol is None or (stated and any(entry.renewed for entry in entries))
    return TurnMark(
        number, entries[0].place, symbol, None if unlike else _answers_of(entries), advanced, waits,
        renewed if stated else fresh if known else None, all(entry.thought for entry in entries),
    )  # fmt: skip


def _answers_of(entries: list[Entry]) -> int | None:
    if len(entries) == 1:
        key, answer = entries[0].key, entries[0].answer
        return None if key is None or answer is None else tag_of_two(key, answer)
    total = 0
    for key, answer in {(entry.key, entry.answer) for entry in entries}:
        if key is None or answer is None:
            return None
        total += tag_of_two(key, answer)
    return total & 0xFFFFFFFF


class Turns:
    """The turns of one history, bounded: the ended ones, newest last, and the calls of the open one."""

    __slots__ = ("marks", "number", "open", "row", "symbols", "token")

    def __init__(self, number: int = 0) -> None:
        self.number = number
        """Turns so far, the open one included."""
        self.token: str | int | None = None
        self.open: list[Entry] = []
        self.marks: list[TurnMark] = []
        self.symbols: dict[int, int] = {}
        """How many of the marks have a symbol."""
        self.row = 0
        """Ended turns in a row with the newest symbol, back to one whose declared value advanced."""

    def restore(self, marks: list[TurnMark], calls: list[Entry], token: str | int | None, row: int) -> None:
        """Take over the turns of another history of the same number."""
        self.marks = marks
        for mark in marks:
            if mark.symbol is not None:
                self.symbols[mark.symbol] = self.symbols.get(mark.symbol, 0) + 1
        self.open, self.token, self.row = calls, token, row

    def continues(self, turn: Turn) -> bool:
        """Whether a call with this token belongs to the open turn, which holds so many calls and no more."""
        return turn is not None and 0 < len(self.open) < CALL_LIMIT and token_of(turn) == self.token

    def enter(self, turn: Turn) -> int:
        """The number of the turn of a call that has ended; the turn is opened where none is open."""
        if not self.open:
            self.number += 1
            self.token = token_of(turn)
        return self.number

    def add(self, entry: Entry) -> None:
        """A call of the open turn."""
        self.open.append(entry)

    def current(self) -> TurnMark:
        """The mark of the open turn as it stands."""
        return mark_of(self.number, self.open)

    def end(self, limit: int) -> TurnMark:
        """Close the open turn; ``limit`` turns stay."""
        mark = self.current()
        self.row = self._row_with(mark)
        self.marks.append(mark)
        if mark.symbol is not None:
            self.symbols[mark.symbol] = self.symbols.get(mark.symbol, 0) + 1
        while len(self.marks) > limit:
            oldest = self.marks.pop(0).symbol
            if oldest is not None:
                self.symbols[oldest] -= 1
                if not self.symbols[oldest]:
                    del self.symbols[oldest]
        self.open = []
        self.token = None
        return mark

    def _row_with(self, mark: TurnMark) -> int:
        if mark.symbol is None:
            return 0
        goes_on = bool(self.marks) and self.marks[-1].symbol == mark.symbol and not mark.advanced
        return self.row + 1 if goes_on else 1

    def before(self, turn: int) -> list[TurnMark]:
        """The turns before ``turn``, newest first; the open one among them where it is older."""
        ended = self.marks[::-1]
        return [self.current(), *ended] if self.open and turn > self.number else ended

    def row_of(self, key: int, turn: int) -> int:
        """Turns in a row that hold this key alone, ``turn`` included; 0 where that holds another."""
        if turn == self.number:
            advanced = False
            for entry in self.open:
                if entry.key != key:
                    return 0
                advanced = advanced or entry.advanced
            if advanced:
                return 1
        elif self.open:
            mark = self.current()
            return 1 + self._row_with(mark) if mark.symbol == symbol_of_key(key) else 1
        return 1 + self.row if self.marks and self.marks[-1].symbol == symbol_of_key(key) else 1
