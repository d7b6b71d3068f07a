"""Attempts at one thing: which calls of a tool are some, what each came to, and what else was done in between.

Not a verdict: how many of them are too many is a detector's to say.
"""

from __future__ import annotations

from typing import Final

from .history import History
from .past.entry import Entry
from .words import SKETCH_SIZE, counts_on, near

__all__ = [
    "NO_WORD", "SILENCE", "attempts_at", "ends_of", "fails_alike", "has_shape", "is_attempt", "is_hitless", "is_near",
    "is_next", "is_receipt", "last_new_change",
]  # fmt: skip

SILENCE: Final = None
"""The end of an attempt that brought nothing."""
NO_WORD: Final = ("ours", "missing")
"""Outcomes in which the tool said nothing."""
_NOT_TAKEN: Final = 0
"""An end that no answer is by chance."""


def is_near(one: Entry, other: Entry) -> bool:
    """One call, or nearly the same words."""
    return one.key == other.key or near(one.words, one.word_count, other.words, other.word_count)


def is_next(one: Entry, other: Entry) -> bool:
    """The same question about another id, or another number."""
    return one.key != other.key and counts_on(one.words, other.words)


def _is_as_near(one: Entry, other: Entry, words: frozenset[int]) -> bool:
    """Near, and no more than twice as long: a short text can be all in a long one. ``words`` are the other's."""
    if one.key == other.key:
        return True
    if one.word_count > 2 * other.word_count or other.word_count > 2 * one.word_count:
        return False
    return near(one.words, one.word_count, words, other.word_count)


def is_receipt(entry: Entry) -> bool:
    """An approval that says so, or the answer to an accepted payload."""
    if entry.refusal:
        return False
    return entry.payload or (entry.approval and entry.outcome == "ok")


def is_attempt(entry: Entry) -> bool:
    """Whether the call asked for something and its outcome says whether it got that."""
    if is_receipt(entry):
        return False
    return entry.outcome != "ok" or entry.informative


def is_hitless(entry: Entry) -> bool:
    """Whether the answer says that there was no hit: of unflagged answers beside refusals those alone have a shape."""
    return entry.outcome == "ok" and not entry.refusal and entry.shape is not None


def has_shape(entry: Entry) -> bool:
    """Whether the call failed with a message that has a shape."""
    return entry.outcome == "error" and entry.shape is not None


def _end(entry: Entry) -> int | None:
    """What an attempt came to: its answer, the shape of its failure or its refusal, or silence.

    What was handed over and not taken has come to that, whatever the reason.
    """
    if _is_not_taken(entry):
        return _NOT_TAKEN
    if has_shape(entry) or is_hitless(entry) or (entry.refusal and not entry.approval and entry.shape is not None):
        return entry.shape
    return SILENCE if entry.outcome == "empty" else entry.answer


def _is_not_taken(entry: Entry) -> bool:
    """Whether a payload was handed over and refused."""
    return entry.payload and entry.refusal and not entry.approval


def ends_of(attempts: list[Entry]) -> list[int | None]:
    """What each attempt came to; answers that differ in what they repeat of the call are one end."""
    ends: list[int | None] = []
    known: dict[int, int | None] = {}
    for one in attempts:
        end = _end(one)
        ends.append(end if one.gist is None or end != one.answer else known.setdefault(one.gist, end))
    return ends


def attempts_at(history: History, attempt: Entry, window: int) -> list[Entry]:
    """The attempt and those before it at nearly the same, newest first, back to where something else was done."""
    found = [attempt]
    barrier = _last_other(history, attempt)
    words = frozenset(attempt.words)
    for earlier in history.of_tool(attempt.tool, attempt.turn, window):
        if earlier.turn >= found[-1].turn or earlier.outcome in NO_WORD or not _is_as_near(earlier, attempt, words):
            continue
        if earlier.place < barrier or is_receipt(earlier):
            break
        if earlier.outcome != "ok" or (earlier.informative and (earlier.refusal or not is_next(earlier, attempt))):
            found.append(earlier)
        elif earlier.informative and attempt.outcome == "error":
            break  # a hit among things that differ in a number: what fails since is another beginning
    return found


def _last_other(history: History, attempt: Entry) -> int:
    """Place of the newest call that may have changed the world and is no attempt at the same; 0: there is none.

    Looking at a file between two payloads that are refused changes nothing.
    """
    looks_count = not _is_not_taken(attempt)
    for entry in reversed(history.resets):
        if not looks_count and not entry.payload and entry.kind != "write":
            continue
        if entry is not attempt and not (entry.tool == attempt.tool and is_near(entry, attempt)):
            return entry.place
    return 0


def fails_alike(one: Entry, other: Entry) -> bool:
    """Whether two near calls failed in one form."""
    return one.refusal and one.shape == other.shape and not one.approval and is_near(one, other)


def last_new_change(history: History, attempt: Entry) -> tuple[int, list[int]]:
    """Place of the newest call that may have changed the world anew, or that the attempt was well with; 0: there is
    none. Beside it those since of changes that were tried before.

    Tried before is what nearly the same call of the tool did, in silence: a server that is started again. A payload
    and a call of more words than a sketch holds, are changes of their own.
    """
    places: list[int] = []
    for entry in reversed(history.resets):
        if entry.tool == attempt.tool and is_near(entry, attempt):
            if entry.refusal or entry.outcome == "empty":
                continue
            return entry.place, places
        tried = not (entry.payload or entry.informative or entry.word_count > SKETCH_SIZE) and any(
            one.place < entry.place and one.answer == entry.answer and one.key != entry.key and is_near(one, entry)
            for one in history.by_tool[entry.tool]
        )
        if not tried:
            return entry.place, places
        places.append(entry.place)
    return 0, places
