"""The parent of several workers: starts them, wires them up, starts again what died, and is one server to the outside.

Not a worker: no span comes here. Workers listen on the same ports, and the kernel divides the connections among them.
It holds the ports, the pages, the metrics that are sent, and the signals.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import msgspec

from otel_loopguard import names
from otel_loopguard.core.fingerprint import MIN_SECRET
from otel_loopguard.errors import SettingError
from otel_loopguard.service.channel import Channel
from otel_loopguard.service.exposition import Gauge, exposition
from otel_loopguard.service.http_connection import HttpLimits
from otel_loopguard.service.http_server import HttpServer, bind_problem
from otel_loopguard.service.links import pass_link
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outgoing import otlp_sink, send_metrics
from otel_loopguard.service.page import Page
from otel_loopguard.service.server import SIGNALS
from otel_loopguard.service.setting_values import Address
from otel_loopguard.service.settings import ServeSettings
from otel_loopguard.service.totals import Totals
from otel_loopguard.service.worker import UNUSABLE

__all__ = ["Supervisor"]

_SECOND: Final = 1_000_000_000
_CODE: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[3])
from otel_loopguard.service.worker import main
main(*map(int, sys.argv[1:3]))
"""
"""What a worker's interpreter runs: the same files as its parent, whatever the current folder holds."""
_LOOK: Final = 1.0
"""Seconds between looks at the workers' numbers: what one counted since is lost with it."""
_PATIENCE: Final = 5.0
"""Seconds for a worker's answer; one that takes longer is not ready."""
_DEATHS: Final = 5
_WITHIN: Final = 60.0
"""So many deaths of one worker within so many seconds are too many."""


class _Hand:
    """One worker as its parent sees it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: asyncio.subprocess.Process | None = None
        self.channel: Channel | None = None
        self.wires: socket.socket | None = None
        self.problem = ""
        """Why it cannot work at all."""
        self.not_ready = "a part of the detector is starting"
        self.closed = asyncio.Event()
        self.heard = asyncio.Event()
        """Its numbers have come."""
        self.totals: Totals | None = None
        self.gauges: list[Gauge] = []
        self.deaths: deque[float] = deque(maxlen=_DEATHS)


class Supervisor:
    """Made in the event loop's thread."""

    def __init__(self, settings: ServeSettings, texts: Mapping[str, str], tell: Callable[[str], None]) -> None:
        """``texts``: the same settings as they are written. Raises `SettingError`."""
        self._settings = settings
        self._texts = dict(texts) | {"page_address": "off"}
        self._tell = tell
        self._hands = [_Hand(number) for number in range(settings.workers)]
        self._spare_key = secrets.token_bytes(MIN_SECRET)
        self._instance = secrets.token_hex(8)
        self._past = Numbers()
        """Of workers that died, and our own."""
        self._stopping = asyncio.Event()
        self._held: list[socket.socket] = []
        self._asking: asyncio.Lock = asyncio.Lock()
        self.ports: dict[str, int] = {}
        """Where it listens, by setting."""
        self.dead = False
        """A worker died too often."""

    async def run(self, started: Callable[[Supervisor], None]) -> None:
        """Serve until one of some signals. Raises `SettingError` where a worker cannot work."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._stopping.set)
        page, keeping, others = None, list[asyncio.Task[None]](), list[asyncio.Task[None]]()
        try:
            self._reserve_ports()
            if self._settings.page_address is not None:
                page = HttpServer(Page(self._not_ready, self._metrics), HttpLimits(body_bytes=1024), 64)
                self.ports["page_address"] = await page.start(*self._settings.page_address, "page_address")
            keeping += [loop.create_task(self._keep(hand)) for hand in self._hands]
            others += [loop.create_task(self._look(started)), loop.create_task(self._send_metrics())]
            await self._stopping.wait()
        finally:
            await self._close(keeping)
            for task in (*keeping, *others):
                task.cancel()
            if page is not None:
                await page.stop(1.0)
            for held in self._held:
                held.close()
        for hand in self._hands:
            if hand.problem:
                raise SettingError(hand.problem)

    async def _send_metrics(self) -> None:
        sink = otlp_sink(self._settings, self._instance)
        if sink is not None:
            every = self._settings.otlp_metrics_every
            await send_metrics(sink, every, self._numbers, self._instance, self._past.failed)

    # Ports --------------------------------------------------------------------------------------------------------

    def _reserve_ports(self) -> None:
        for name in ("grpc_address", "http_address"):
            address: Address | None = getattr(self._settings, name)
            if address is not None:
                self._reserve(name, address)

    def _reserve(self, name: str, address: Address) -> None:
        """Hold a port that nobody else has, so that it is known and stays ours; only workers listen on it."""
        family, kind, protocol, _, place = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        try:
            with socket.socket(family, kind, protocol) as free:
                free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                free.bind(place)
            held = socket.socket(family, kind, protocol)
            self._held.append(held)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            held.bind(place)
        except OSError as error:
            raise SettingError(bind_problem(*address, name, error), name=name) from None
        self.ports[name] = held.getsockname()[1]
        self._texts[name] = str(Address(address.host, self.ports[name]))

    # Workers ------------------------------------------------------------------------------------------------------

    async def _keep(self, hand: _Hand) -> None:
        """Start a worker, and start it again when it dies."""
        while True:
            code = await self._serve(hand)
            if self._stopping.is_set():
                return
            self._bury(hand)
            if code == UNUSABLE and hand.problem:
                self._stopping.set()
                return
            now = time.monotonic()
            hand.deaths.append(now)
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            if len(hand.deaths) == _DEATHS and now - hand.deaths[0] < _WITHIN:
                self._tell(f"worker {hand.number + 1} ended {how}, again and again; what was acknowledged is kept")
                self.dead = True
                self._stopping.set()
                return
            self._tell(f"worker {hand.number + 1} ended {how}, it is started again")

    async def _serve(self, hand: _Hand) -> int:
        """One life of a worker."""
        ours, theirs = socket.socketpair()
        wires, taken = socket.socketpair()
        hand.problem = ""
        with theirs, taken:
            pair = (theirs.fileno(), taken.fileno())
            arguments = [sys.executable, "-c", _CODE, *map(str, pair), json.dumps(sys.path)]
            process = await asyncio.create_subprocess_exec(*arguments, pass_fds=pair)
        channel = await Channel.over(ours)
        hand.process, hand.channel, hand.wires = process, channel, wires  # at once with the wiring: each pair once
        share = hand.number, len(self._hands)
        channel.send("begin", (*share, self._texts, self._spare_key))
        for other in self._hands:
            if other is not hand and other.wires is not None:
                self._wire(hand, other)
        if self._stopping.is_set():
            channel.send("close")
        await self._listen(hand, channel)
        channel.close()
        wires.close()
        hand.channel, hand.wires = None, None
        hand.closed.set()
        return await process.wait()

    @staticmethod
    def _wire(one: _Hand, other: _Hand) -> None:
        ends = socket.socketpair()
        with ends[0], ends[1]:
            for hand, peer, end in ((one, other, ends[0]), (other, one, ends[1])):
                if hand.wires is not None:
                    pass_link(hand.wires, peer.number, end)

    async def _listen(self, hand: _Hand, channel: Channel) -> None:
        while (message := await channel.receive()) is not None:
            name, value = message
            if name == "unusable":
                hand.problem = value
            elif name == "closed":
                hand.closed.set()
            elif name == "numbers":
                hand.not_ready, totals, gauges = value
                hand.totals = msgspec.convert(totals, Totals)
                hand.gauges = [(gauge, attributes, amount) for gauge, attributes, amount in gauges]
                hand.heard.set()

    def _bury(self, hand: _Hand) -> None:
        """What a worker has counted is kept."""
        hand.not_ready = "a part of the detector is starting again"
        if hand.totals is not None:
            self._past.add(hand.totals)
        hand.totals, hand.gauges = None, []
        hand.closed.clear()

    async def _close(self, keeping: list[asyncio.Task[None]]) -> None:
        """Nobody comes in anywhere, then everything is kept, then everything ends."""
        seconds = self._settings.drain / _SECOND
        self._stopping.set()
        self._send("close")
        running = [hand for hand in self._hands if hand.channel is not None]
        await _within(seconds + 1, *(hand.closed.wait() for hand in running))
        self._send("finish")
        if keeping:
            _, late = await asyncio.wait(keeping, timeout=2 * seconds + 5)
            for hand in self._hands if late else ():
                if hand.process is not None and hand.process.returncode is None:
                    self._tell(f"worker {hand.number + 1} did not end in time; what was acknowledged is kept")
                    hand.process.kill()
            if late:
                await asyncio.wait(late, timeout=5)

    def _send(self, name: str) -> None:
        for hand in self._hands:
            if hand.channel is not None:
                hand.channel.send(name)

    # What it shows ------------------------------------------------------------------------------------------------

    async def _look(self, started: Callable[[Supervisor], None]) -> None:
        """Keep the numbers of the workers, and say once that all are ready."""
        told = False
        while True:
            reason = await self._not_ready()
            if not (told or reason):
                told = True
                started(self)
            await asyncio.sleep(_LOOK if told else 0.05)

    async def _ask(self) -> None:
        """The workers' numbers as they are now."""
        async with self._asking:
            asked = [hand for hand in self._hands if hand.channel is not None]
            for hand in asked:
                hand.heard.clear()
            self._send("numbers")
            if not await _within(_PATIENCE, *(hand.heard.wait() for hand in asked)):
                for hand in asked:
                    if not hand.heard.is_set():
                        hand.not_ready = "a part of the detector does not answer"

    async def _not_ready(self) -> str:
        await self._ask()
        if self._stopping.is_set():
            return "stopping"
        return next((hand.not_ready for hand in self._hands if hand.not_ready), "")

    async def _numbers(self) -> tuple[Numbers, list[Gauge]]:
        """Of all workers together."""
        await self._ask()
        numbers = Numbers()
        numbers.add(self._past.totals())
        found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        for hand in self._hands:
            if hand.totals is not None:
                numbers.add(hand.totals)
            for name, attributes, amount in hand.gauges:
                key = name, tuple(attributes.items())
                both = found.get(key, 0), amount
                found[key] = max(both) if name == names.LAST_RECORD_TIME else sum(both)
        return numbers, [(name, dict(attributes), amount) for (name, attributes), amount in found.items()]

    async def _metrics(self) -> str:
        return exposition(*await self._numbers())


async def _within(seconds: float, *waits: Coroutine[Any, Any, object]) -> bool:
    """Whether all of it came in time."""
    if not waits:
        return True
    _, late = await asyncio.wait([asyncio.ensure_future(one) for one in waits], timeout=seconds)
    for task in late:
        task.cancel()
    return not late
