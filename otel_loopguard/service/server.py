"""The server: receivers, detector and sinks, put together from settings, started and stopped in order.

Not any of them. It starts from the inside out and stops from the outside in: first nobody comes in any more, then what
is under way is kept, then what is to be said is said.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.policy import Policy
from otel_loopguard.keys import KeySource, PolicySource, load_keyring, text_of
from otel_loopguard.runtimes import Limits, LocalRuntime
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.crew import Crew
from otel_loopguard.service.detector import Detector
from otel_loopguard.service.doorkeeper import Doorkeeper
from otel_loopguard.service.exchange import GREETING, Exchange
from otel_loopguard.service.exposition import Gauge, exposition
from otel_loopguard.service.http_connection import HttpLimits
from otel_loopguard.service.http_server import HttpServer
from otel_loopguard.service.keeper import Pace
from otel_loopguard.service.links import Links, take_link
from otel_loopguard.service.loop_intake import LoopIntake
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.outgoing import send_metrics, sinks_of
from otel_loopguard.service.page import Page
from otel_loopguard.service.partition import Share, state_path
from otel_loopguard.service.reading import Reading
from otel_loopguard.service.receiver_grpc import GrpcLimits, GrpcReceiver
from otel_loopguard.service.receiver_http import HttpReceiver
from otel_loopguard.service.settings import ServeSettings
from otel_loopguard.service.sinks import Delivery, OtlpSink
from otel_loopguard.service.store import Store
from otel_loopguard.service.tls import Certificates
from otel_loopguard.service.tokens import parse_tokens

__all__ = ["MEMORY", "SIGNALS", "Server", "limits_of"]

MEMORY: Final = ":memory:"
"""The state file's name for none."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
"""What ends a server."""
_SECOND: Final = 1_000_000_000
_TICKS: Final = 8
"""Moments of one lateness: a run is judged at most so often within it, so a busy one costs a call at most so many looks
at those that wait beside it, and a finding comes an eighth of the lateness later at worst."""
_LOOK: Final = 0.01
"""Seconds between looks whether all workers are there."""


class Server:
    """One detector with its doors and its sinks; made in the thread that runs it."""

    def __init__(
        self, settings: ServeSettings, agent: Settings, tell: Callable[[str], None], crew: Crew | None = None
    ) -> None:
        """``agent``: key and policy, as an agent reads them. ``tell`` gets a sentence without content about what
        should be known. ``crew``: its place, where it is one of several workers. Raises `SettingError`,
        `KeySettingError`, `PolicyError`, `StoreError` for what cannot work.
        """
        share = Share() if crew is None else crew.share
        self._settings = settings = settings.of_one(share.workers)
        self._tell = tell
        self._crew = crew
        self._instance = secrets.token_hex(8)
        self.numbers = Numbers()
        self._keys, self._policies = self._sources(agent)
        if settings.token_file:
            parse_tokens(text_of(Path(settings.token_file)))  # a mistake is told now and not to the first sender
        self._doorkeeper = Doorkeeper(settings.token_file or None, tell, time.monotonic_ns)
        self._certificates = self._read_certificates()
        sinks = list(sinks_of(settings, self._instance))
        self._otlp = next((sink for sink in sinks if isinstance(sink, OtlpSink)), None)
        self._outbox = Outbox([sink.name for sink in sinks], settings.max_outbox)
        self._store = (
            None if settings.state_file == MEMORY else Store(state_path(settings.state_file, share.worker), share)
        )
        self._engine = Engine(self._policies.policy(time.monotonic_ns()))
        self.runtime = LocalRuntime(
            self._engine, limits_of(settings), self.numbers.mistaken, None if crew is None else share.owns
        )
        self._links = Links(self._hear)
        exchange = None if crew is None else Exchange(share, self._links.send, time.monotonic)
        self.detector = Detector(
            self.runtime,
            Reading(
                self._policy, lambda: self._keys.keyring(time.monotonic_ns()), agent.key_scope, self.numbers.mistaken
            ),
            self._outbox,
            self.numbers,
            Clock(time.time_ns, settings.lateness // _TICKS),
            time.time_ns,
            store=self._store,
            exchange=exchange,
            pace=Pace(queue_bytes=settings.max_waiting),
            policy_version=lambda: self._engine.policy.revision or "",
            died=self._died,
        )
        self._deliveries = [Delivery(sink, self._outbox, self.numbers, self.detector.wake, tell) for sink in sinks]
        self._http: HttpServer | None = None
        self._grpc: GrpcReceiver | None = None
        self._page: HttpServer | None = None
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.dead = False
        """The detector ended by a mistake of ours."""
        self._dropped: Counter[str] = Counter()
        self.ports: dict[str, int] = {}
        """Where it listens, by setting."""

    # Parts --------------------------------------------------------------------------------------------------------

    def _sources(self, agent: Settings) -> tuple[KeySource, PolicySource]:
        spare = None if self._crew is None else self._crew.spare_key
        load_keyring(agent)  # raises where an agent would make do with a key of its own
        policies = PolicySource(agent.policy_file, self._tell)
        if agent.policy_file is not None:
            from otel_loopguard.core.policy_file.text import parse_policy  # noqa: PLC0415 - only to tell a mistake now

            parse_policy(text_of(Path(agent.policy_file)))
        return KeySource(agent, self._tell, spare), policies

    def _policy(self) -> Policy:
        policy = self._policies.policy(time.monotonic_ns())
        if policy is not self._engine.policy:
            self._engine = Engine(policy)
            self.runtime.roster.rule(self._engine)
        return policy

    def _read_certificates(self) -> Certificates | None:
        settings = self._settings
        if not settings.tls_cert_file:
            return None
        return Certificates(
            settings.tls_cert_file,
            settings.tls_key_file,
            settings.tls_client_ca_file or None,
            self._tell,
            time.monotonic_ns,
        )

    # Running ------------------------------------------------------------------------------------------------------

    async def run(self, started: Callable[[Server], None] = lambda _: None, signals: tuple[int, ...] = SIGNALS) -> None:
        """Serve until one of some signals, or `stop`; outside the main thread no signal can be heard."""
        loop = asyncio.get_running_loop()
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        self.detector.start()
        for delivery in self._deliveries:
            delivery.start()
        metrics: asyncio.Task[None] | None = None
        try:
            if self._crew is not None:
                threading.Thread(target=self._take_links, args=(self._crew,), daemon=True).start()
                while not (self.detector.is_whole or self._stopping.is_set()):  # noqa: ASYNC110 - set by a thread
                    await asyncio.sleep(_LOOK)
            await self._open(LoopIntake(self.detector, loop))
            if self._otlp is not None and self._crew is None:
                every = self._settings.otlp_metrics_every
                sending = send_metrics(self._otlp, every, self._read_numbers, self._instance, self.numbers.failed)
                metrics = loop.create_task(sending)
            started(self)
            await self._stopping.wait()
        finally:
            if metrics is not None:
                metrics.cancel()
            await self._close()

    def _hear(self, peer: int, wire: int, frame: bytes | None) -> None:
        self.detector.hear(peer, wire, frame)

    def _take_links(self, crew: Crew) -> None:
        while (link := take_link(crew.wires)) is not None:
            self._links.attach(*link, GREETING)

    def stop(self) -> None:
        """Begin to stop; for the loop's own thread."""
        self._stopping.set()

    def _died(self) -> None:
        self.dead = True
        self._loop.call_soon_threadsafe(self.stop)

    async def _open(self, intake: LoopIntake) -> None:
        settings = self._settings
        refused = self.numbers.refused
        if settings.grpc_address is not None:
            limits = GrpcLimits(message_bytes=settings.max_request, connections=settings.max_connections)
            self._grpc = GrpcReceiver(intake, self._doorkeeper, limits, refused)
            host, port = settings.grpc_address
            self.ports["grpc_address"] = await self._grpc.start(
                host, port, "grpc_address", self._certificates, shared=self._crew is not None
            )
        if settings.http_address is not None:
            receiver = HttpReceiver(intake, self._doorkeeper, settings.max_request, refused)
            http_limits = HttpLimits(body_bytes=settings.max_request)
            self._http = HttpServer(receiver, http_limits, settings.max_connections, self._certificates)
            self.ports["http_address"] = await self._http.start(
                *settings.http_address, "http_address", shared=self._crew is not None
            )
        if settings.page_address is not None and self._crew is None:
            page = Page(self._ready_page, self._metrics_page)
            self._page = HttpServer(page, HttpLimits(body_bytes=1024), 64)
            self.ports["page_address"] = await self._page.start(*settings.page_address, "page_address")

    async def _close(self) -> None:
        """Nobody comes in, what came in is kept, what is to be said is said, as far as there is time."""
        seconds = self._settings.drain / _SECOND
        if self._grpc is not None:
            await self._grpc.stop(seconds)
        if self._http is not None:
            await self._http.stop(seconds)
        if self._crew is not None:
            await self._crew.closed()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.detector.stop)
        for delivery in self._deliveries:
            if not await loop.run_in_executor(None, delivery.stop, seconds):
                kept = "they are kept" if self._store is not None else "they are lost"
                self._tell(f"{delivery.name} has not had all messages, {kept}")
        self.detector.close()
        if self._page is not None:
            await self._page.stop(1.0)
        if self._store is not None:
            self._store.close()

    # What it shows ------------------------------------------------------------------------------------------------

    def not_ready(self) -> str:
        """Why nothing can be taken in; "" where it can."""
        trouble = self.detector.trouble
        if trouble is not None:
            return f"the state file cannot be written ({trouble.problem})"
        if not self.detector.is_whole:
            return "a part of the detector is starting"
        return "stopping" if self._stopping.is_set() else ""

    async def _ready_page(self) -> str:
        return self.not_ready()

    async def _metrics_page(self) -> str:
        return self.metrics()

    async def _read_numbers(self) -> tuple[Numbers, list[Gauge]]:
        gauges = self.gauges()  # counts what was dropped, so it comes first
        return self.numbers, gauges

    def metrics(self) -> str:
        """The numbers as Prometheus reads them."""
        gauges = self.gauges()  # counts what was dropped, so it comes first
        return exposition(self.numbers, gauges)

    def _count_dropped(self) -> None:
        """Count what the parts have dropped since the last look."""
        found = Counter({f"run_{reason}": count for reason, count in self.runtime.roster.dropped.items()})
        found["trace_spans"] = self.runtime.window.dropped
        found["outbox"] = self._outbox.dropped
        for reason, count in (found - self._dropped).items():
            self.numbers.dropped(reason, count)
        self._dropped = found

    def gauges(self) -> list[Gauge]:
        """What is as it is now."""
        self._count_dropped()
        roster = self.runtime.roster
        found: list[Gauge] = [
            (names.SERVER_RUNS, {}, len(roster)),
            (names.SERVER_STATE_SIZE, {}, roster.state_bytes),
            (names.QUEUE_SIZE, {names.QUEUE_NAME: "requests"}, self.detector.queued),
            (names.SERVER_CONNECTIONS, {}, 0 if self._http is None else self._http.connections),
            (names.LAST_RECORD_TIME, {}, self.numbers.last_record / 1e9),
        ]
        found += [
            (names.QUEUE_SIZE, {names.QUEUE_NAME: delivery.name}, self._outbox.waiting(delivery.name))
            for delivery in self._deliveries
        ]
        return found


def limits_of(settings: ServeSettings) -> Limits:
    """The bounds of runs."""
    return Limits(
        lateness=settings.lateness,
        idle=settings.idle,
        age=settings.age,
        runs=settings.max_runs,
        state=settings.max_state,
        awake=settings.max_awake,
    )
