"""An ended turn as a symbol: what it asked and what it brought, without its calls."""

from __future__ import annotations

import msgspec

__all__ = ["TurnMark"]


class TurnMark(msgspec.Struct, gc=False, eq=False):
    """One turn: its set of calls as one symbol."""

    number: int
    first: int
    """Place of its first call."""
    symbol: int | None
    """32 bits of the set of keys; None where one is unknown: such a turn equals no other."""
    answers: int | None
    """32 bits of the set of keys with what came back; None where something is missing, or the application's state was
    a new one: such a turn equals no other."""
    advanced: bool
    waits: bool
    """A declared poller within its budget was among the calls."""
    fresh: bool | None
    """Whether the turn brought anything new; None where nothing is known of it."""
