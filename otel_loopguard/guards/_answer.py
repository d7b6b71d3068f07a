"""What a guard answers about one call, and how words go with a result.

Not the decision of the engine, which knows no words: these are for adapters to act on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeGuard, TypeVar

from otel_loopguard.core.call import ABSENT
from otel_loopguard.errors import LoopDetected
from otel_loopguard.live import Guarded, Sighting

__all__ = ["Allow", "Call", "Nudge", "Refuse", "Twin", "is_a", "text_of", "with_words"]

Kind = TypeVar("Kind")


@dataclass(slots=True, eq=False)
class Twin:
    """A read that stands in a model's decision, as the equal ones of that decision see it."""

    has_ended: bool = False
    followers: list[Call] = field(default_factory=list, repr=False)
    """Equal calls, which were answered without a dispatch: they are counted after this one."""


@dataclass(slots=True)
class Call:
    """One call between `before` and `after`; it holds the arguments and lives no longer."""

    tool: str
    arguments: object = field(repr=False)
    guarded: Guarded | None = field(repr=False)
    """None where the call is not watched: it is ours, or an outer guard has it."""
    seen: Sighting | None = field(repr=False)
    tools: Iterable[object] = field(default=(), repr=False)
    """Names of the tools that the agent has."""
    words: str = ""
    """What the model is told together with the result."""
    twin: Twin | None = field(default=None, repr=False)
    """What equal calls of the same decision hold on to."""
    is_started: bool = False
    """Its dispatch has begun."""
    is_anonymous: bool = False
    """Nothing tells whose call it is: it is let through, and its result goes to nobody else."""

    def __copy__(self) -> Call:
        return self

    def __deepcopy__(self, memo: object) -> Call:
        """The call itself: it is one event, and what it holds belongs to its run."""
        return self


@dataclass(frozen=True, slots=True)
class Allow:
    """Dispatch the call (before); or give the result to the model as it is (after)."""

    call: Call


@dataclass(frozen=True, slots=True)
class Nudge:
    """Tell the model ``text``. From `before`: do not dispatch, ``answer`` is the earlier result of the same read (empty
    text where the equal call of the same decision has not ended); from `after`: with the result.
    """

    call: Call
    text: str = field(repr=False)
    answer: object = field(default=ABSENT, repr=False)


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not dispatch; the model gets ``text``. With ``stop`` the agent's turn ends: answer every pending call of the
    step, then hand ``stop`` to `Guard.ended`.
    """

    call: Call
    text: str = field(repr=False)
    stop: LoopDetected | None = None


def is_a(value: object, kind: type[Kind]) -> TypeGuard[Kind]:
    """Whether a result is of a kind, by its type alone: `isinstance` asks the object too, which may raise."""
    return issubclass(type(value), kind)


def text_of(value: object) -> str:
    """A result as a model would read it: a text as it is, else JSON, else what Python prints. Never raises."""
    if is_a(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except Exception:  # noqa: BLE001, S110 - a cycle, keys of other types, anything whose text cannot be had
        pass
    try:
        return str(value)
    except Exception:  # noqa: BLE001
        return f"<{type(value).__name__}>"


def with_words(result: object, text: str) -> object:
    """A result with words for the model: texts and lists get them at the end, objects as the member `loopguard`.

    The result itself is not changed; anything else is put beside the words, in a new object. Never raises.
    """
    try:
        if result is None or (is_a(result, str) and not result):
            return text
        if is_a(result, str):
            return f"{result}\n\n{text}"
        if is_a(result, list):
            return [*result, text]
        if is_a(result, dict) and "loopguard" not in result:
            return {**result, "loopguard": text}
    except Exception:  # noqa: BLE001, S110 - a kind of text, list or object that does not let itself be read
        pass
    return {"result": result, "loopguard": text}
