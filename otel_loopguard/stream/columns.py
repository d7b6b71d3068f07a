"""The calls and turns of a history as columns of numbers: those of one kind together, each in its fixed width.

Not the whole history (`codec`). An entry takes 23 to 39 bytes and its word sketch at most 67: what most entries lack,
an error or a group of its own, is told by a bit and left out. What can be counted (places, numbers of turns) is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final

from otel_loopguard.core.call import Category, OutcomeKind
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.past.turn import TurnMark
from otel_loopguard.core.policy import ToolKind
from otel_loopguard.core.words import LONG_ENOUGH

__all__ = [
    "EntryColumns", "FirstEntryColumns", "MarkColumns", "pack_entries", "pack_marks", "packed", "table_of",
    "unpack_entries", "unpack_marks", "unpacked",
]  # fmt: skip

EntryColumns = tuple[
    int, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, list[tuple[int, bytes]], bytes
]
"""The first turn, then columns in the order of `pack_entries`; the sketches are with their word counts."""
FirstEntryColumns = tuple[
    int, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, list[tuple[int, bytes]]
]
"""Those of version 1, which had no gists."""
MarkColumns = tuple[int, bytes, bytes, bytes, bytes]
"""The first place, then columns in the order of `pack_marks`."""

# In these orders for good: new ones go to the end.
_KINDS: Final[tuple[ToolKind, ...]] = ("read", "write", "poll", "none", "unknown")
_OUTCOMES: Final[tuple[OutcomeKind, ...]] = ("ok", "empty", "noop", "error", "missing", "ours")
_CATEGORIES: Final[tuple[Category, ...]] = (
    "", "transient", "unknown_outcome", "validation", "permission", "not_found", "unknown_tool", "unknown",
)  # fmt: skip
_CLASSES: Final = {
    (kind, outcome, category): _KINDS.index(kind) << 8 | _OUTCOMES.index(outcome) << 4 | _CATEGORIES.index(category)
    for kind in _KINDS
    for outcome in _OUTCOMES
    for category in _CATEGORIES
}
_HAS_GIST: Final = 1 << 23
_HAS_KEY: Final = 1 << 24
_HAS_ANSWER: Final = 1 << 25
_HAS_GROUP: Final = 1 << 26
"""A group other than the key's own."""
_HAS_ERROR: Final = 1 << 27
_HAS_SHAPE: Final = 1 << 28
_HAS_WORDS: Final = 1 << 29
_IS_LONG: Final = 1 << 30
"""Four words or more, which are no longer held."""
_OPENS_TURN: Final = 1 << 31

_ADVANCED: Final = 1
_WAITS: Final = 2
_HAS_SYMBOL: Final = 4
_HAS_ANSWERS: Final = 8
_THOUGHT: Final = 64
_FRESHNESS: Final = (None, False, True)


def packed(width: str, numbers: Sequence[int]) -> bytes:
    """Numbers in one width (a format character of `struct`)."""
    return struct.pack(f"<{len(numbers)}{width}", *numbers)


def unpacked(width: str, data: bytes) -> tuple[int, ...]:
    """The numbers that `packed` made the bytes of."""
    return struct.unpack(f"<{len(data) // struct.calcsize(width)}{width}", data)


def table_of(values: Iterable[int]) -> dict[int, int]:
    """Different values with their place among them."""
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


# Entries ----------------------------------------------------------------------------------------------------------


def pack_entries(entries: Sequence[Entry]) -> EntryColumns:
    """Entries, oldest first, with places and turns that go up by one."""
    tools = table_of(entry.tool for entry in entries)
    salts = table_of(entry.salt for entry in entries)
    bits: list[int] = []
    turn = 0
    for entry in entries:
        bits.append(_bits(entry) | (_OPENS_TURN if entry.turn != turn else 0))
        turn = entry.turn
    sketches = [(min(entry.word_count, 0xFFFF), packed("I", entry.words)) for entry in entries if entry.words]
    return (
        entries[0].turn if entries else 0,
        packed("I", bits),
        packed("H", [_CLASSES[entry.kind, entry.outcome, entry.category] for entry in entries]),
        packed("I", list(tools)),
        bytes([tools[entry.tool] for entry in entries]),
        packed("Q", list(salts)),
        bytes([salts[entry.salt] for entry in entries]) if len(salts) > 1 else b"",
        packed("Q", [entry.key for entry in entries if entry.key is not None]),
        packed("Q", [entry.answer for entry in entries if entry.answer is not None]),
        packed("I", [entry.group or 0 for entry in entries if _has_group(entry)]),
        packed("I", [entry.error for entry in entries if entry.error is not None]),
        packed("I", [entry.shape for entry in entries if entry.shape is not None]),
        sketches,
        packed("I", [entry.gist for entry in entries if entry.gist is not None]),
    )


def _has_group(entry: Entry) -> bool:
    return entry.group is not None and (entry.key is None or entry.group != entry.key >> 32)


def _bits(entry: Entry) -> int:
    """Flags from the lowest bit, then what is there; spelled out, because states are written after every batch."""
    return (
        entry.payload
        | entry.thought << 1
        | entry.refusal << 2
        | entry.informative << 3
        | entry.stated << 4
        | entry.handoff << 5
        | entry.advanced << 6
        | entry.news << 7
        | entry.resets << 8
        | entry.counts << 9
        | entry.linked << 10
        | entry.waits << 11
        | entry.fresh << 12
        | entry.approval << 13
        | entry.stale << 14
        | entry.goes_on << 15
        | (0 if entry.gist is None else _HAS_GIST)
        | (0 if entry.key is None else _HAS_KEY)
        | (0 if entry.answer is None else _HAS_ANSWER)
        | (_HAS_GROUP if _has_group(entry) else 0)
        | (0 if entry.error is None else _HAS_ERROR)
        | (0 if entry.shape is None else _HAS_SHAPE)
        | (_HAS_WORDS if entry.words else _IS_LONG if entry.word_count >= LONG_ENOUGH else 0)
    )


def _flags_of(bits: int) -> tuple[bool, ...]:
    """The flags in the order of an entry's fields."""
    return tuple([bits >> place & 1 == 1 for place in range(16)])


def unpack_entries(parts: EntryColumns, last_place: int) -> list[Entry]:
    """The entries that `pack_entries` made these parts of, the newest of which has this place."""
    (
        turn, all_bits, classes, tools, tool_of, salts, salt_of, keys, answers, groups, errors, shapes, sketches, gists,
    ) = parts  # fmt: skip
    turn -= 1
    bits_of = unpacked("I", all_bits)
    place = last_place - len(bits_of)
    tool_table, salt_table = unpacked("I", tools), unpacked("Q", salts)
    salt_of = salt_of or bytes(len(bits_of))
    key_of, answer_of = iter(unpacked("Q", keys)), iter(unpacked("Q", answers))
    group_of, error_of, shape_of, gist_of = (iter(unpacked("I", column)) for column in (groups, errors, shapes, gists))
    words_of = iter(sketches)
    entries: list[Entry] = []
    for bits, kind, tool, salt in zip(bits_of, unpacked("H", classes), tool_of, salt_of, strict=True):
        place += 1
        turn += bits >> 31
        key = next(key_of) if bits & _HAS_KEY else None
        group = next(group_of) if bits & _HAS_GROUP else None if key is None else key >> 32
        count, sketch = next(words_of) if bits & _HAS_WORDS else (LONG_ENOUGH if bits & _IS_LONG else 0, b"")
        flags = _flags_of(bits)
        entry = Entry(
            place, turn, tool_table[tool], _KINDS[kind >> 8], key, salt_table[salt], group,
            _OUTCOMES[kind >> 4 & 15], _CATEGORIES[kind & 15], next(answer_of) if bits & _HAS_ANSWER else None,
            next(error_of) if bits & _HAS_ERROR else None, next(shape_of) if bits & _HAS_SHAPE else None,
            unpacked("I", sketch), count, *flags,
        )  # fmt: skip
        if bits & _HAS_GIST:
            entry.gist = next(gist_of)
        entries.append(entry)
    return entries


# Turns ------------------------------------------------------------------------------------------------------------


def pack_marks(marks: Sequence[TurnMark]) -> MarkColumns:
    """Ended turns, oldest first, with numbers that go up by one."""
    firsts = [mark.first for mark in marks]
    return (
        firsts[0] if firsts else 0,
        bytes([after - before for before, after in pairwise(firsts)]),
        bytes(
            [
                _ADVANCED * mark.advanced | _WAITS * mark.waits | _HAS_SYMBOL * (mark.symbol is not None)
                | _HAS_ANSWERS * (mark.answers is not None) | _FRESHNESS.index(mark.fresh) << 4
                | _THOUGHT * mark.thought
                for mark in marks
            ]
        ),
        packed("I", [mark.symbol for mark in marks if mark.symbol is not None]),
        packed("I", [mark.answers for mark in marks if mark.answers is not None]),
    )  # fmt: skip


def unpack_marks(parts: MarkColumns, last_number: int) -> list[TurnMark]:
    """The turns that `pack_marks` made these parts of, the newest of which has this number."""
    first, steps, flags, symbols, answers = parts
    firsts = accumulate(steps, initial=first)
    rest_symbols, rest_answers = iter(unpacked("I", symbols)), iter(unpacked("I", answers))
    return [
        TurnMark(
            last_number - len(flags) + 1 + place,
            begins,
            next(rest_symbols) if bits & _HAS_SYMBOL else None,
            next(rest_answers) if bits & _HAS_ANSWERS else None,
            bool(bits & _ADVANCED),
            bool(bits & _WAITS),
            _FRESHNESS[bits >> 4 & 3],
            bool(bits & _THOUGHT),
        )
        for place, (bits, begins) in enumerate(zip(flags, firsts, strict=False))
    ]
