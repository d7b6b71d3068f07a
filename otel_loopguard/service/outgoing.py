"""The sinks that settings ask for, and the sending of metrics beside them.

Not the sinks themselves: here files with headers and secrets are read, and mistakes in them are told.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from otel_loopguard.errors import SettingError
from otel_loopguard.keys import text_of
from otel_loopguard.service.exposition import Gauge
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.settings import ServeSettings
from otel_loopguard.service.sinks import (
    JsonLinesSink,
    OtlpSink,
    Sink,
    SinkRefusedError,
    SinkUnavailableError,
    WebhookSink,
)
from otel_loopguard.service.sinks.otlp_metrics import metrics_request

__all__ = ["otlp_sink", "send_metrics", "sink_names", "sinks_of"]

_SECOND: Final = 1_000_000_000
_SHORTEST_SECRET: Final = 16


def sinks_of(settings: ServeSettings, instance: str) -> Iterator[Sink]:
    """Every sink that is asked for. Raises `SettingError`."""
    otlp = otlp_sink(settings, instance)
    if otlp is not None:
        yield otlp
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


def sink_names(settings: ServeSettings) -> list[str]:
    """The names of the sinks that are asked for, without making any."""
    kinds = (
        (OtlpSink, settings.otlp_endpoint),
        (JsonLinesSink, settings.json_file),
        (WebhookSink, settings.webhook_url),
    )
    return [kind.name for kind, place in kinds if place]


def otlp_sink(settings: ServeSettings, instance: str) -> OtlpSink | None:
    """The OTLP endpoint, where there is one. Raises `SettingError`."""
    if not settings.otlp_endpoint:
        return None
    headers = _headers(settings.otlp_headers_file) if settings.otlp_headers_file else {}
    authority = Path(settings.otlp_ca_file).read_bytes() if settings.otlp_ca_file else None
    protocol = "http" if settings.otlp_protocol == "http" else "grpc"
    return OtlpSink(settings.otlp_endpoint, protocol, headers, authority, instance)  # type: ignore[arg-type]


async def send_metrics(
    sink: OtlpSink,
    every: int,
    read: Callable[[], Awaitable[tuple[Numbers, Iterable[Gauge]]]],
    instance: str,
    failed: Callable[[str], None],
) -> None:
    """Send numbers every so many nanoseconds, until it is cancelled."""
    loop = asyncio.get_running_loop()
    started = time.time_ns()
    while every:
        await asyncio.sleep(every / _SECOND)
        numbers, gauges = await read()
        request = metrics_request(numbers, gauges, instance, started, time.time_ns())
        try:
            await loop.run_in_executor(None, sink.send_metrics, request)
        except (SinkUnavailableError, SinkRefusedError):
            failed("sink_otlp_metrics")


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
