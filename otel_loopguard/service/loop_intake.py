"""The detector as the receivers' event loop sees it: a request goes in, a future comes back.

Not the detector, which works in a thread of its own: answers come from there in bursts, one after each commit, and one
wake-up of the loop serves a whole burst.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque

from otel_loopguard.service.detector import Detector
from otel_loopguard.service.intake import Answer, Request

__all__ = ["LoopIntake"]


class LoopIntake:
    """Made in the event loop's thread."""

    def __init__(self, detector: Detector, loop: asyncio.AbstractEventLoop) -> None:
        self._detector = detector
        self._loop = loop
        self._answers: deque[tuple[asyncio.Future[Answer], Answer]] = deque()
        self._lock = threading.Lock()
        self._told = False

    def submit(self, request: Request) -> asyncio.Future[Answer]:
        """Take in a request; the answer comes when it is kept or refused."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._detector.submit(request, lambda answer: self._answer(future, answer))
        return future

    def _answer(self, future: asyncio.Future[Answer], answer: Answer) -> None:
        self._answers.append((future, answer))
        with self._lock:
            told, self._told = self._told, True
        if not told and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        with self._lock:
            self._told = False
        while self._answers:
            future, answer = self._answers.popleft()
            if not future.done():  # the sender may have gone
                future.set_result(answer)
