"""One answer to a request of which several workers keep a part.

Not the parts' ways: whoever has the answer of one adds it. The request is accepted once all parts are; when one is
refused the whole is, although others may have been kept: copies do no harm, so the sender may send all of it again.
"""

from __future__ import annotations

from collections.abc import Callable

from otel_loopguard.service.intake import Accepted, Answer, Refused

__all__ = ["Joint"]


class Joint:
    """An answer that waits for its parts; for one thread."""

    __slots__ = ("_answer", "_missing", "_so_far")

    def __init__(self, parts: int, answer: Callable[[Answer], None]) -> None:
        """``answer`` is called once, with the last part."""
        self._missing = parts
        self._answer = answer
        self._so_far: Answer = Accepted()

    def add(self, part: Answer) -> None:
        """One part's answer."""
        self._so_far = _merged(self._so_far, part)
        self._missing -= 1
        if not self._missing:
            self._answer(self._so_far)


def _merged(one: Answer, other: Answer) -> Answer:
    if isinstance(one, Accepted) and isinstance(other, Accepted):
        return Accepted(one.rejected + other.rejected, one.message or other.message)
    refused = [answer for answer in (one, other) if isinstance(answer, Refused)]
    worst = max(refused, key=lambda answer: answer.reason == "unavailable")
    return Refused(worst.reason, worst.message, max(answer.retry_after for answer in refused))
