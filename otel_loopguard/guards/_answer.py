"""What a guard answers about one call, and how words go with a result.

Not the decision of the engine, which knows no words: these are for adapters to act on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from otel_loopguard.core.call import ABSENT
from otel_loopguard.errors import LoopDetected
from otel_loopguard.live import Guarded, Sighting

__all__ = ["Allow", "Call", "Nudge", "Refuse", "message_of", "text_of", "with_words"]


@dataclass(slots=True)
class Call:
    """One call between `before` and `after`; it holds the arguments and lives no longer."""

    tool: str
    arguments: object = field(repr=False)
    guarded: Guarded | None = field(repr=False)
    """None where the call is not watched: it is ours, or an outer guard has it."""
    seen: Sighting | None = field(repr=False)
    words: str = ""
    """What the model is told together with the result."""
    is_started: bool = False
    """Its dispatch has begun."""
    is_anonymous: bool = False
    """Nothing tells whose call it is: it is let through, and its result goes to nobody else."""


@dataclass(frozen=True, slots=True)
class Allow:
    """Dispatch the call (before); or give the result to the model as it is (after)."""

    call: Call


@dataclass(frozen=True, slots=True)
class Nudge:
    """Tell the model ``text``. From `before`: do not dispatch, ``answer`` is the earlier result of the same read; from
    `after`: with the result.
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


def message_of(error: BaseException) -> str:
    """An exception's text; empty where it has none to give, since it may raise when it is asked."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the host's exception goes on, not this one
        return ""


def text_of(value: object) -> str:
    """A result as a model would read it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def with_words(result: object, text: str) -> object:
    """A result with words for the model: texts and lists get them at the end, objects as the member `loopguard`.

    The result itself is not changed; anything else is put beside the words, in a new object.
    """
    if result is None or (isinstance(result, str) and not result):
        return text
    if isinstance(result, str):
        return f"{result}\n\n{text}"
    if isinstance(result, list):
        return [*result, text]
    if isinstance(result, dict) and "loopguard" not in result:
        return {**result, "loopguard": text}
    return {"result": result, "loopguard": text}
