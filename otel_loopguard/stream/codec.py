"""Histories and a run's memory as bytes, and back: for state files, checkpoints and runs that wait.

Not a wire format: only this package reads it. It holds what `core.state` holds, which is keyed tags and names, no
content. The first byte is the version; a release reads all versions up to its own and refuses newer ones. What it
gives back behaves as what was given: the same calls make the same observations.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

import msgspec

from otel_loopguard.core.decision import Kind
from otel_loopguard.core.history import History
from otel_loopguard.core.past.episode import LASTING, Episode, Subject
from otel_loopguard.core.past.refusal import Reason
from otel_loopguard.core.past.run_memory import RunMemory, Written
from otel_loopguard.core.past.standing import Standing
from otel_loopguard.core.past.state import HistoryState
from otel_loopguard.errors import StateError
from otel_loopguard.stream.columns import (
    EntryColumns,
    FirstEntryColumns,
    MarkColumns,
    pack_entries,
    pack_marks,
    packed,
    table_of,
    unpack_entries,
    unpack_marks,
    unpacked,
)  # fmt: skip

__all__ = ["VERSION", "pack_history", "pack_memory", "unpack_history", "unpack_memory"]

VERSION: Final = 2

Item = TypeVar("Item")

_FINDINGS: Final[tuple[Kind, ...]] = (
    "identical", "cycle", "drift", "same_error", "no_progress", "poll", "page", "write", "indeterminate",
    "unknown_tool", "ask_again", "parallel_duplicate",
)  # fmt: skip
"""In this order for good: new ones go to the end."""

# What decodes is checked to be of this shape, so that bytes of anything else are refused before they do harm.
_Head = tuple[int, int, int, str | int | None, int, int, str, int, int]
_Standing = tuple[int, float | None, int | None, int, int, int | None, int | None, bool]
_Episode = tuple[int, int, int, int, int | None, str, int | None, int | None]
_Reason = tuple[int, int, int, int, int, int, int, int, int, int]
_Numbers = bytes
_FirstHistory = tuple[
    _Head, FirstEntryColumns, MarkColumns, _Numbers, bytes, _Numbers, _Numbers, list[_Standing], list[tuple[int, int]],
    tuple[list[str], list[_Episode]], int, list[_Reason],
]  # fmt: skip
"""Of version 1."""
_History = tuple[
    _Head, EntryColumns, MarkColumns, _Numbers, bytes, _Numbers, _Numbers, list[_Standing], list[tuple[int, int]],
    tuple[list[str], list[_Episode]], int, list[_Reason], int | None, int | None,
]  # fmt: skip
_Memory = tuple[int, _Numbers, bytes, _Numbers, list[int], bytes, _Numbers, list[int]]
_READ_HISTORY: Final = msgspec.msgpack.Decoder(_History)
_READ_FIRST: Final = msgspec.msgpack.Decoder(_FirstHistory)
_READ_MEMORY: Final = msgspec.msgpack.Decoder(_Memory)


def pack_history(history: History) -> bytes:
    """A history, without the run's memory."""
    state = history.state()
    return _sealed(
        (
            (state.place, state.dropped, state.turn, state.token, state.open_calls, state.row, state.last_tool,
             state.idle_turns, state.idle_since),
            pack_entries(state.entries),
            pack_marks(state.marks),
            packed("Q", [pair for pair, _ in state.outcomes]),
            bytes([times for _, times in state.outcomes]),
            packed("I", state.seen),
            packed("I", state.asked),
            [(key, *_standing_packed(standing)) for key, standing in state.standings],
            state.barren,
            _episodes_packed(state.episodes, state.turn, state.place),
            state.said,
            [_reason_packed(reason, state.turn, state.place) for reason in state.refusals],
            state.counter,
            state.beside,
        )
    )  # fmt: skip


def unpack_history(data: bytes, memory: RunMemory) -> History:
    """The history that bytes were made of, in a run with this memory.

    Raises `StateError` for bytes of a newer release, and for bytes that are no history.
    """

    def make(version: int, packed_state: bytes) -> History:
        return History.from_state(_history_state(_read_history(version, packed_state)), memory)

    return _opened(data, make, "history")


def pack_memory(memory: RunMemory) -> bytes:
    """What a run remembers across its agents."""
    writes = list(memory.writes.values.items())
    scopes = table_of(written.scope for _, written in writes)
    return _sealed(
        (
            memory.changes,
            packed("Q", [group for group, _ in writes]),
            bytes([written.done | (written.idempotency is not None) << 1 for _, written in writes]),
            packed("I", [written.idempotency for _, written in writes if written.idempotency is not None]),
            list(scopes),
            bytes([scopes[written.scope] for _, written in writes]) if len(scopes) > 1 else b"",
            packed("I", [symbol for symbol, _ in memory.handoffs]),
            [memory.changes - changes for _, changes in memory.handoffs],
        )
    )


def unpack_memory(data: bytes) -> RunMemory:
    """The memory that bytes were made of.

    Raises `StateError` for bytes of a newer release, and for bytes that are no memory.
    """
    return _opened(data, lambda _, packed_memory: _memory(_READ_MEMORY.decode(packed_memory)), "run memory")


# The envelope -----------------------------------------------------------------------------------------------------


def _sealed(parts: tuple[object, ...]) -> bytes:
    return bytes([VERSION]) + msgspec.msgpack.encode(parts)


def _opened(data: bytes, make: Callable[[int, bytes], Item], what: str) -> Item:
    if data[:1] > bytes([VERSION]):
        raise StateError(
            f"a {what} of version {data[0]}, which a newer release wrote; this one reads up to {VERSION}, "
            "so use that release or start with an empty state"
        )
    if not data or not data[0]:
        raise StateError(f"not a {what}")
    try:
        return make(data[0], data[1:])
    except (ValueError, msgspec.DecodeError, IndexError, StopIteration, struct.error) as error:
        raise StateError(f"a {what} that is damaged") from error


# Progress and episodes --------------------------------------------------------------------------------------------


def _standing_packed(standing: Standing) -> tuple[object, ...]:
    return (
        standing.best, standing.answer, standing.total, standing.same, standing.first_start, standing.last_start,
        standing.terminal,
    )  # fmt: skip


def _standing(parts: _Standing) -> Standing:
    _, best, answer, total, same, first_start, last_start, terminal = parts
    return Standing(best, answer, total, same, first_start, last_start, terminal=terminal)


def _episodes_packed(episodes: Sequence[tuple[Subject, Episode]], turn: int, place: int) -> tuple[object, ...]:
    rules = list(dict.fromkeys(rule for (rule, _), _ in episodes))
    return rules, [
        (
            rules.index(rule),
            number,
            _FINDINGS.index(one.kind),
            one.level,
            None if one.until == LASTING else one.until - turn,
            one.tool,
            turn - one.turn if one.turn else None,
            place - one.place if one.place else None,
        )
        for (rule, number), one in episodes
    ]


def _episodes(parts: tuple[list[str], list[_Episode]], turn: int, place: int) -> list[tuple[Subject, Episode]]:
    rules, held = parts
    return [
        (
            (rules[rule], number),
            Episode(
                _FINDINGS[kind],
                level,
                LASTING if until is None else turn + until,
                tool,
                0 if ago is None else turn - ago,
                0 if back is None else place - back,
            ),
        )
        for rule, number, kind, level, until, tool, ago, back in held
    ]


# Refusals ---------------------------------------------------------------------------------------------------------


def _reason_packed(reason: Reason, turn: int, place: int) -> tuple[int, ...]:
    return (
        reason.tool, reason.error, reason.answer, reason.key, place - reason.first, place - reason.last,
        turn - reason.turn, reason.count, reason.weight, reason.equal,
    )  # fmt: skip


def _reason(parts: _Reason, turn: int, place: int) -> Reason:
    tool, error, answer, key, first, last, ago, count, weight, equal = parts
    return Reason(tool, error, answer, key, place - first, place - last, turn - ago, count, weight, equal)


# The whole --------------------------------------------------------------------------------------------------------


def _read_history(version: int, data: bytes) -> _History:
    """The parts of a history of any version."""
    if version > 1:
        return _READ_HISTORY.decode(data)
    head, entries, *rest = _READ_FIRST.decode(data)
    return cast("_History", (head, (*entries, b""), *rest, None, None))


def _history_state(parts: _History) -> HistoryState:
    head, entries, marks, pairs, times, seen, asked, standings, barren, episodes, said, refusals, counter, beside = (
        parts
    )
    place, dropped, turn, token, opened, row, last_tool, idle_turns, idle_since = head
    return HistoryState(
        place, dropped, turn, token, opened, row, last_tool, idle_turns, idle_since,
        unpack_entries(entries, place),
        unpack_marks(marks, turn - (opened > 0)),
        list(zip(unpacked("Q", pairs), times, strict=True)),
        list(unpacked("I", seen)),
        list(unpacked("I", asked)),
        [(one[0], _standing(one)) for one in standings],
        barren,
        _episodes(episodes, turn, place),
        said,
        [_reason(one, turn, place) for one in refusals],
        counter,
        beside,
    )  # fmt: skip


def _memory(parts: _Memory) -> RunMemory:
    changes, groups, flags, idempotency, scopes, scope_of, symbols, ago = parts
    rest = iter(unpacked("I", idempotency))
    writes = [
        (
            group,
            Written(bool(bits & 1), next(rest) if bits & 2 else None, scopes[scope_of[place] if scope_of else 0]),
        )
        for place, (group, bits) in enumerate(zip(unpacked("Q", groups), flags, strict=True))
    ]
    return RunMemory(writes, zip(unpacked("I", symbols), (changes - one for one in ago), strict=True), changes)
