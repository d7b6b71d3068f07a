"""A detector without threads: a test sends, lets time pass, crashes and starts it anew, step by step."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from pathlib import Path

from google.protobuf.message import Message as Protobuf
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.runtimes import Limits, LocalRuntime
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.detector import Detector
from otel_loopguard.service.exchange import Exchange
from otel_loopguard.service.intake import Answer, Request
from otel_loopguard.service.keeper import Pace
from otel_loopguard.service.message import Message
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.reading import Reading
from otel_loopguard.service.store import Store

SECOND = 1_000_000_000
SINK = "test"


class Detecting:
    """One detector; ``path`` is its state file, None: in memory."""

    def __init__(
        self,
        path: Path | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        exchange: Callable[[], Exchange] | None = None,
    ) -> None:
        self.path = path
        self.limits = limits or Limits(lateness=10 * SECOND)
        self.policy = policy or Policy()
        self._new_exchange = exchange
        self.wall = 1_800_000_000 * SECOND
        self.delivered: list[Message] = []
        self.keys = Keyring(SecretKey(b"k" * 32, "k1"))
        self.pace = Pace(save_after=15 * SECOND, saves=3)
        self._begin()

    def _begin(self) -> None:
        exchange = None if self._new_exchange is None else self._new_exchange()
        share = None if exchange is None else exchange.share
        self.store = None if self.path is None else Store(str(self.path), share)
        if self.store is not None:
            weakref.finalize(self, self.store.close)
        self.outbox = Outbox([SINK], 10_000)
        self.numbers = Numbers()
        self.runtime = LocalRuntime(
            Engine(self.policy), self.limits, self._raise, None if share is None else share.owns
        )
        self.detector = Detector(
            self.runtime,
            Reading(lambda: self.policy, lambda: self.keys, failed=self._raise),
            self.outbox,
            self.numbers,
            Clock(lambda: self.wall, self.limits.lateness // 50),
            lambda: self.wall,
            store=self.store,
            exchange=exchange,
            pace=self.pace,
        )
        self.detector.recover()

    @staticmethod
    def _raise(error: Exception) -> None:
        raise error

    def send(self, *messages: Protobuf, tenant: str = "") -> list[Answer]:
        """Requests that come together; their answers."""
        answers: list[Answer] = []
        for message in messages:
            signal = "traces" if isinstance(message, ExportTraceServiceRequest) else "logs"
            request = Request(tenant, signal, is_json=False, body=message.SerializeToString())  # type: ignore[arg-type]
            self.detector.submit(request, answers.append)
        batch, _ = self.detector._gather()
        self.detector._step(batch)
        return answers

    def wait(self, seconds: float, stride: float = 1) -> None:
        """Let time pass in strides, and what is due be done after each."""
        until = self.wall + int(seconds * SECOND)
        while self.wall < until:
            self.wall = min(self.wall + int(stride * SECOND), until)
            self.detector._step([])
        self.deliver()

    def deliver(self) -> None:
        """Bring what is stored to the sink."""
        self.detector._step([])
        while batch := self.outbox.wait(SINK, 100, 0):
            self.delivered += [message for _, message in batch]
            self.outbox.done(SINK, batch[-1][0])

    def crash(self) -> None:
        """End without a word, and start anew on what is on the disk."""
        if self.store is not None:
            self.store.close()
        self._begin()

    def findings(self) -> list[tuple[str, str, str]]:
        """Run, kind and action of every finding that was delivered, in order."""
        names = ("loopguard.run.id", "loopguard.finding.kind", "loopguard.finding.action")
        return [
            tuple(str(message.attributes[name]) for name in names)  # type: ignore[misc]
            for message in self.delivered
            if message.name == "loopguard.finding"
        ]

    def ids(self, name: str = "loopguard.finding") -> set[str]:
        """The ids of what was delivered."""
        return {message.id for message in self.delivered if message.name == name}

    def events(self, name: str) -> Iterable[Message]:
        """What was delivered under a name."""
        return [message for message in self.delivered if message.name == name]
