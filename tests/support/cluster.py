"""Several detectors without threads that share the runs: a test sends to them, waits and crashes them, step by step."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from google.protobuf.message import Message as Protobuf

from otel_loopguard.runtimes import Limits
from otel_loopguard.service.exchange import GREETING, Exchange
from otel_loopguard.service.intake import Accepted, Answer
from otel_loopguard.service.partition import Share, state_path
from tests.support.detecting import SECOND, Detecting


class Cluster:
    """Workers on files in a folder; what one sends another is there at once, and taken in with its next step."""

    def __init__(self, folder: Path, workers: int, limits: Limits) -> None:
        self.wall = 1_800_000_000 * SECOND
        self._wire = 0
        self.workers: list[Detecting] = []
        for number in range(workers):
            path = Path(state_path(str(folder / "state"), number))
            share = Share(number, workers)
            self.workers.append(Detecting(path, limits, exchange=lambda share=share: self._exchange(share)))  # type: ignore[misc]
        for number in range(workers):
            self._wire_up(number, range(number))
        self.settle()

    def _exchange(self, share: Share) -> Exchange:
        def send(peer: int, wire: int, frame: bytes) -> None:
            self.workers[peer].detector.hear(share.worker, wire, frame)

        return Exchange(share, send, lambda: self.wall / SECOND)

    def _wire_up(self, worker: int, peers: range) -> None:
        for peer in peers:
            if peer != worker:
                self._wire += 1
                for one, other in ((worker, peer), (peer, worker)):
                    self.workers[one].detector.hear(other, self._wire, GREETING)

    def settle(self) -> None:
        """Step until nothing is on its way."""
        while any(one.detector._mail for one in self.workers):
            for one in self.workers:
                one.wall = self.wall
                one.detector._step([])

    def send(self, message: Protobuf, worker: int) -> Answer:
        """A request that comes in at one of the workers."""
        answers = self.workers[worker].send(message)
        self.settle()
        (answer,) = answers
        return answer

    def deliver(self, message: Protobuf, worker: int) -> None:
        """A request that is sent again until it is acknowledged."""
        while self.send(message, worker) != Accepted():
            self.wait(0.5)

    def wait(self, seconds: float, crashing: Collection[int] = ()) -> None:
        """Let time pass; at its end, in the middle of what workers send each other, some of them crash."""
        until = self.wall + int(seconds * SECOND)
        while self.wall < until:
            self.wall = min(self.wall + SECOND, until)
            for one in self.workers:
                one.wall = self.wall
            for one in reversed(self.workers):  # the last ones have the mail of the first ones yet to read
                one.detector._step([])
            if self.wall < until or not crashing:
                self.settle()
        self.crash(crashing)
        for one in self.workers:
            one.deliver()

    def crash(self, workers: Collection[int]) -> None:
        """End workers without a word, with what was sent to them, and start them anew."""
        for worker in workers:
            for peer, one in enumerate(self.workers):
                if peer not in workers:
                    for wire in range(1, self._wire + 1):
                        one.detector.hear(worker, wire, None)
        for worker in workers:
            self.workers[worker].crash()
        for worker in workers:
            self._wire_up(worker, range(len(self.workers)))
        self.settle()

    def ids(self) -> set[str]:
        """The ids of the findings that were delivered."""
        return set().union(*(one.ids() for one in self.workers))

    def close(self) -> None:
        """Close the files."""
        for one in self.workers:
            if one.store is not None:
                one.store.close()
