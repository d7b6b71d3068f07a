"""The final output of an OpenAI agent that was stopped, told from what an agent says itself.

Not what stops it: that is the adapter's.
"""

from __future__ import annotations

from typing import Any

from otel_loopguard.errors import LoopDetected

__all__ = ["Stopped", "stop_of"]


class Stopped(str):
    """The final output of an agent that was stopped: the last words as text, and why in ``loop``."""

    __slots__ = ("loop",)
    loop: LoopDetected

    def __new__(cls, text: str, loop: LoopDetected) -> Stopped:
        """The words of a stop."""
        made = super().__new__(cls, text)
        made.loop = loop
        return made

    def __str__(self) -> str:
        """Itself: the SDK makes a text of a final output, and what it is about must not get lost."""
        return self

    def __reduce__(self) -> tuple[type[Stopped], tuple[str, LoopDetected]]:
        """Its parts: the SDK copies what an agent gives that is another's tool."""
        return Stopped, (self[:], self.loop)


def stop_of(result: Any) -> LoopDetected | None:  # noqa: ANN401 - `RunResult` or `RunResultStreaming`
    """What stopped the agent, from the result of a run; None where it ended by itself."""
    output = getattr(result, "final_output", None)
    return output.loop if isinstance(output, Stopped) else None
