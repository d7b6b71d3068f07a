"""The server: receivers, detector and sinks, put together from settings, started and stopped in order.

Not any of them. It starts from the inside out and stops from the outside in: first nobody comes in any more, then what
is under way is kept, then what is to be said is said.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import SettingError
from otel_loopguard.keys import KeySource, PolicySource, load_keyring, text_of
from otel_loopguard.runtimes import Limits, LocalRuntime
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.detector import Detector
from otel_loopguard.service.doorkeeper import Doorkeeper
from otel_loopguard.service.exposition import Gauge, exposition
from otel_loopguard.service.http_connection import HttpLimits
from otel_loopguard.service.http_server import HttpServer
from otel_loopguard.service.keeper import Pace
from otel_loopguard.service.loop_intake import LoopIntake
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.page import Page
from otel_loopguard.service.reading import Reading
from otel_loopguard.service.receiver_grpc import GrpcLimits, GrpcReceiver
from otel_loopguard.service.receiver_http import HttpReceiver
from otel_loopguard.service.settings import ServeSettings
from otel_loopguard.service.sinks import (
    Delivery,
    JsonLinesSink,
    OtlpSink,
    Sink,
    SinkRefusedError,
    SinkUnavailableError,
    WebhookSink,
)
from otel_loopguard.service.sinks.otlp_metrics import metrics_request
from otel_loopguard.service.store import Store
from otel_loopguard.service.tls import Certificates
from otel_loopguard.service.tokens import parse_tokens

__all__ = ["MEMORY", "SIGNALS", "Server"]

MEMORY: Final = ":memory:"
"""The state file's name for none."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
"""What ends a server."""
_SECOND: Final = 1_000_000_000
_TICKS: Final = 8
"""Moments of one lateness: a run is judged at most so often within it, so a busy one costs a call at most so many looks
at those that wait beside it, and a finding comes an eighth of the lateness later at worst."""
_SHORTEST_SECRET: Final = 16


class Server:
    """One detector with its doors and its sinks; made in the thread that runs it."""

    def __init__(self, settings: ServeSettings, agent: Settings, tell: Callable[[str], None]) -> None:
        """``agent``: key and policy, as an agent reads them. ``tell`` gets a sentence without content about what
        should be known. Raises `SettingError`, `KeySettingError`, `PolicyError`, `StoreError` for what cannot work.
        """
        self._settings = settings
        self._tell = tell
        self._instance = secrets.token_hex(8)
        self._started_ns = time.time_ns()
        self.numbers = Numbers()
        self._keys, self._policies = self._sources(agent)
        if settings.token_file:
            parse_tokens(text_of(Path(settings.token_file)))  # a mistake is told now and not to the first sender
        self._doorkeeper = Doorkeeper(settings.token_file or None, tell, time.monotonic_ns)
        self._certificates = self._read_certificates()
        sinks = list(self._sinks())
        self._otlp = next((sink for sink in sinks if isinstance(sink, OtlpSink)), None)
        self._outbox = Outbox([sink.name for sink in sinks], settings.max_outbox)
        self._store = None if settings.state_file == MEMORY else Store(settings.state_file)
        self._engine = Engine(self._policies.policy(time.monotonic_ns()))
        self.runtime = LocalRuntime(self._engine, _limits(settings), self.numbers.mistaken)
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
        load_keyring(agent)  # raises where an agent would make do with a key of its own
        policies = PolicySource(agent.policy_file, self._tell)
        if agent.policy_file is not None:
            from otel_loopguard.core.policy_file.text import parse_policy  # noqa: PLC0415 - only to tell a mistake now

            parse_policy(text_of(Path(agent.policy_file)))
        return KeySource(agent, self._tell), policies

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

    def _sinks(self) -> Iterator[Sink]:
        settings = self._settings
        if settings.otlp_endpoint:
            headers = _headers(settings.otlp_headers_file) if settings.otlp_headers_file else {}
            authority = Path(settings.otlp_ca_file).read_bytes() if settings.otlp_ca_file else None
            protocol = "http" if settings.otlp_protocol == "http" else "grpc"
            yield OtlpSink(settings.otlp_endpoint, protocol, headers, authority, self._instance)  # type: ignore[arg-type]
        if settings.json_file:
            yield JsonLinesSink(settings.json_file)
        if settings.webhook_url:
            secret = text_of(Path(settings.webhook_secret_file)).strip() if settings.webhook_secret_file else ""
            if settings.webhook_secret_file and len(secret) < _SHORTEST_SECRET:
                raise SettingError(
                    f"the secret in `{settings.webhook_secret_file}` is shorter than {_SHORTEST_SECRET} characters",
                    name="webhook_secret_file",
                )
            yield WebhookSink(settings.webhook_url, secret.encode(), time.time_ns)

    # Running ------------------------------------------------------------------------------------------------------

    async def run(self, started: Callable[[Server], None] = lambda _: None, signals: tuple[int, ...] = SIGNALS) -> None:
        """Serve until one of some signals, or `stop`; outside the main thread no signal can be heard."""
        loop = asyncio.get_running_loop()
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        self.detector.start()
        for delivery in self._deliveries:
            delivery.start()
        try:
            await self._open(LoopIntake(self.detector, loop))
            metrics = loop.create_task(self._send_metrics())
            started(self)
            await self._stopping.wait()
            metrics.cancel()
        finally:
            await self._close()

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
            self.ports["grpc_address"] = await self._grpc.start(host, port, "grpc_address", self._certificates)
        if settings.http_address is not None:
            receiver = HttpReceiver(intake, self._doorkeeper, settings.max_request, refused)
            http_limits = HttpLimits(body_bytes=settings.max_request)
            self._http = HttpServer(receiver, http_limits, settings.max_connections, self._certificates)
            self.ports["http_address"] = await self._http.start(*settings.http_address, "http_address")
        if settings.page_address is not None:
            page = Page(self.not_ready, self.metrics)
            self._page = HttpServer(page, HttpLimits(body_bytes=1024), 64)
            self.ports["page_address"] = await self._page.start(*settings.page_address, "page_address")

    async def _close(self) -> None:
        """Nobody comes in, what came in is kept, what is to be said is said, as far as there is time."""
        seconds = self._settings.drain / _SECOND
        if self._grpc is not None:
            await self._grpc.stop(seconds)
        if self._http is not None:
            await self._http.stop(seconds)
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

    async def _send_metrics(self) -> None:
        every = self._settings.otlp_metrics_every / _SECOND
        if self._otlp is None or not every:
            return
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(every)
            gauges = self.gauges()
            request = metrics_request(self.numbers, gauges, self._instance, self._started_ns, time.time_ns())
            try:
                await loop.run_in_executor(None, self._otlp.send_metrics, request)
            except (SinkUnavailableError, SinkRefusedError):
                self.numbers.failed("sink_otlp_metrics")

    # What it shows ------------------------------------------------------------------------------------------------

    def not_ready(self) -> str:
        """Why nothing can be taken in; "" where it can."""
        trouble = self.detector.trouble
        if trouble is not None:
            return f"the state file cannot be written ({trouble.problem})"
        return "stopping" if self._stopping.is_set() else ""

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


def _limits(settings: ServeSettings) -> Limits:
    return Limits(
        lateness=settings.lateness,
        idle=settings.idle,
        age=settings.age,
        runs=settings.max_runs,
        state=settings.max_state,
        awake=settings.max_awake,
    )


def _headers(path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text_of(Path(path)).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or os.linesep in value:
            raise SettingError(f"line {number} of `{path}` is no `name: value`", name="otlp_headers_file")
        found[name.strip()] = value.strip()
    return found
