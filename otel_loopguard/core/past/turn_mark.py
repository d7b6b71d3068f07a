"""An ended turn as a symbol: what it asked and what it brought, without its calls."""

from __future__ import annotations

from otel_loopguard.core.compiled import mypyc_attr

__all__ = ["TurnMark"]


@mypyc_attr(acyclic=True)
class TurnMark:
    """One turn: its set of calls as one symbol."""

    __slots__ = ("advanced", "answers", "first", "fresh", "number", "symbol", "thought", "waits")

    def __init__(
        self,
        number: int,
        first: int,
        symbol: int | None,
        answers: int | None,
        advanced: bool,
        waits: bool,
        fresh: bool | None,
        thought: bool = False,
    ) -> None:
        self.number = number
        self.first = first
        """Place of its first call."""
        self.symbol = symbol
        """32 bits of the set of keys; None where one is unknown: such a turn equals no other."""
        self.answers = answers
        """32 bits of the set of keys with what came back; None where something is missing, or the application's state
        was a new one: such a turn equals no other."""
        self.advanced = advanced
        self.waits = waits
        """A declared poller within its budget was among the calls."""
        self.fresh = fresh
        """Whether the turn brought anything new; None where nothing is known of it."""
        self.thought = thought
        """Nothing but thoughts stood in it."""
