"""The delivery of messages to one sink: in order, again and again until they are there, at least once each.

Not the queue (`outbox`) and not the sending. What a sink refuses for good is dropped and counted; what it cannot take
now is tried again, less and less often.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.sinks._base import Sink, SinkRefusedError, SinkUnavailableError

__all__ = ["Delivery"]

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_POLL: Final = 1.0


class Delivery:
    """A thread that brings messages from the outbox to a sink."""

    def __init__(
        self, sink: Sink, outbox: Outbox, numbers: Numbers, delivered: Callable[[], None], tell: Callable[[str], None]
    ) -> None:
        """``delivered`` is called when a cursor has moved; ``tell`` gets a sentence when a sink fails or is back."""
        self._sink = sink
        self._outbox = outbox
        self._numbers = numbers
        self._delivered = delivered
        self._tell = tell
        self._stop = threading.Event()
        self._deadline: float | None = None
        self._failing = False
        self._thread = threading.Thread(target=self._work, name=f"loopguard-{sink.name}", daemon=True)

    @property
    def name(self) -> str:
        """Of the sink."""
        return self._sink.name

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self, seconds: float) -> bool:
        """Deliver what is there, then end; False where that took longer than some seconds and something is left."""
        self._stop.set()
        self._outbox.nudge()
        self._thread.join(seconds)
        done = not self._thread.is_alive() and self._outbox.waiting(self._sink.name) == 0
        if not self._thread.is_alive():
            self._sink.close()
        return done

    def _work(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            stopping = self._stop.is_set()
            batch = self._outbox.wait(self._sink.name, self._sink.batch, 0.0 if stopping else _POLL)
            if not batch:
                if stopping:
                    return
                continue
            try:
                self._sink.send([message for _, message in batch])
            except SinkUnavailableError as error:
                if not self._failing:
                    self._failing = True
                    self._tell(f"{self._sink.name} cannot be reached: {error}; messages wait in the queue")
                self._numbers.failed(f"sink_{self._sink.name}")
                if stopping:
                    return
                self._stop.wait(error.retry_after if error.retry_after is not None else pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            except SinkRefusedError as error:
                self._tell(f"{self._sink.name} refuses {len(batch)} messages: {error}; they are dropped")
                self._numbers.dropped(f"refused_by_{self._sink.name}", len(batch))
            if self._failing:
                self._failing = False
                self._tell(f"{self._sink.name} is reached again")
            pause = _FIRST_PAUSE
            self._outbox.done(self._sink.name, batch[-1][0])
            self._delivered()
