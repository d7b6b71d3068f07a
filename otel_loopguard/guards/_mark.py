"""A name that an object of a framework carries: for conversations of which nothing else tells that they go on.

Not part of what the framework reads, prints, compares or stores of the object.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Any, Final

__all__ = ["is_marked", "mark", "run_of"]

_MARK: Final = "_loopguard"


def mark(thing: Any) -> str:  # noqa: ANN401 - any object of a framework
    """The name of an object, which goes along where that is copied, as for a run that is to be resumed."""
    known = getattr(thing, "__dict__", {})
    return str(known.get(_MARK) or known.setdefault(_MARK, f"agent-{token_hex(8)}"))


def is_marked(thing: Any) -> bool:  # noqa: ANN401
    """Whether an object has its name already."""
    return _MARK in getattr(thing, "__dict__", {})


def run_of(context: Any) -> str:  # noqa: ANN401
    """The run of a context of the OpenAI Agents SDK, for want of a trace: all contexts of one run share its usage.

    So do those of the agents that are its tools. What tells them apart is that each has a context of its own, from
    which those of its calls are made.
    """
    return mark(getattr(context, "usage", context))
