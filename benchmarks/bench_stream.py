"""What the streaming detector costs a span: the whole of it, against a loop that parses the same requests and reads
the same attributes and does nothing with them.

Not the cost of the network: requests come as bytes, as they do from a socket. Traffic is that of agents: of four spans
one is a tool call, beside a model's, an HTTP client's and an agent's step; runs take turns, each repeats itself now and
then. Time goes on a tenth of a second a request, so that calls wait, are judged and states are saved as they are
in a server. The limits hold for spans that our processor annotated; spans with content are shown beside them.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

import _compiled  # noqa: F401 - first: the package is to come from where it says
from _harness import LEAST_ROUNDS, Case, main
from _workers import speed_up
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.runtimes import Limits, LocalRuntime
from otel_loopguard.service.clock import Clock
from otel_loopguard.service.detector import Detector
from otel_loopguard.service.intake import Request
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.outbox import Outbox
from otel_loopguard.service.reading import Reading
from otel_loopguard.service.store import Store

SPANS: Final = 256
"""Of a request: between the batch of one SDK (512 at most) and of a quiet one."""
PAUSE: Final = 5
"""Seconds from one tool call of a run to the next: a model thinks in between."""
SECOND: Final = 1_000_000_000
START: Final = 1_800_000_000 * SECOND
A_REQUEST: Final = SECOND // 10
RUNS: Final = PAUSE * 10 * SPANS // 4
"""Live runs of the cost cases: as many as send that many spans."""
LATENESS: Final = Limits().lateness
KEY_ID: Final = "0f3a91c2"
"""The agents and the detector have one key."""
SHARED: Final = 400
"""Requests that several workers share."""
PACE: Final = 0.03
"""Seconds between requests where latency is measured."""
MEASURED: Final = 5_000
"""Spans that are measured, at least, for each number of live runs."""
IDLE_STATE: Final = "idle run, bytes of state"


def digest(size: int, *parts: object) -> bytes:
    """Bytes without a pattern, as ids and fingerprints have them; the same for the same parts."""
    return blake2b(repr(parts).encode(), digest_size=size).digest()


def pairs(attributes: Mapping[str, object]) -> list[KeyValue]:
    """Attributes as OTLP has them."""
    return [
        KeyValue(
            key=key, value=AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=str(value))
        )
        for key, value in attributes.items()
    ]


def tool(run: int, step: int, *, content: bool) -> dict[str, object]:
    """A tool span's attributes; a run's calls repeat after seven steps, and one in fifty runs is stuck."""
    key = 0 if run % 50 == 0 else step % 7
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_orders",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"call_{run}_{step}",
    }
    if content:
        return attributes | {
            "gen_ai.conversation.id": f"run-{run:08}",
            "gen_ai.tool.call.arguments": json.dumps({"customer": f"C-{key}", "state": "open", "limit": 20}),
            "gen_ai.tool.call.result": json.dumps({"orders": [{"id": f"O-{key}", "total": 12.5}], "next": None}),
        }
    return attributes | {
        "gen_ai.agent.name": "triage",
        "gen_ai.tool.call.arguments": "[REDACTED]",
        "gen_ai.tool.call.result": "[REDACTED]",
        "loopguard.redacted.keys": "gen_ai.tool.call.arguments",
        "loopguard.run.id": f"run-{run:08}",
        "loopguard.key.id": KEY_ID,
        "loopguard.fingerprint": digest(16, "call", key).hex(),
        "loopguard.result.fingerprint": digest(16, "result", key).hex(),
        "loopguard.sequence": step + 1,
        "loopguard.repeat.count": step // 7 + 1,
        "loopguard.process.id": digest(8, "process", run).hex(),
        "loopguard.outcome": "ok",
        "loopguard.verdict": "allow",
    }


BESIDE: Final[tuple[Mapping[str, object], ...]] = (
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.model": "gpt-5-2026-06-01",
        "gen_ai.response.finish_reasons": "tool_calls",
        "gen_ai.usage.input_tokens": 2_000,
        "gen_ai.usage.output_tokens": 60,
    },
    {
        "http.request.method": "POST",
        "url.full": "https://api.example.org/v1/responses",
        "server.address": "api.example.org",
        "server.port": 443,
        "http.response.status_code": 200,
        "network.protocol.version": "2",
    },
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "triage", "gen_ai.provider.name": "openai"},
)
"""The three spans beside a tool call."""
_BESIDE: Final = [pairs(attributes) for attributes in BESIDE]


def requests(  # noqa: PLR0913 - what traffic may be like
    count: int,
    runs: int,
    *,
    content: bool = False,
    tools_only: bool = False,
    between: int = A_REQUEST,
    size: int = SPANS,
) -> list[bytes]:
    """Requests whose tool calls belong to runs in turn, ``between`` nanoseconds apart."""
    found, number = [], 0
    for request in range(count):
        spans = []
        for index in range(size):
            at = START + request * between + index * (between // size)
            is_tool = tools_only or index % 4 == 0
            run, step = number % runs, number // runs
            attributes = pairs(tool(run, step, content=content)) if is_tool else _BESIDE[index % 4 - 1]
            spans.append(
                Span(
                    # Steps of one run share a trace for a while, as those of one message to an agent do.
                    trace_id=digest(16, "trace", run, step // 8),
                    span_id=digest(8, "span", request, index),
                    parent_span_id=digest(8, "agent", run, step // 8),
                    name="execute_tool search_orders" if is_tool else "chat gpt-5",
                    kind=Span.SPAN_KIND_INTERNAL,
                    start_time_unix_nano=at,
                    end_time_unix_nano=at + between // size,
                    attributes=attributes,
                )
            )
            number += is_tool
        resource = pairs({"service.name": "agent", "service.instance.id": "i-1", "telemetry.sdk.language": "python"})
        holder = ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])
        holder.resource.attributes.extend(resource)
        found.append(ExportTraceServiceRequest(resource_spans=[holder]).SerializeToString())
    return found


class Ours:
    """A detector that is handed one request after the other; time goes on with each."""

    def __init__(
        self, bodies: list[bytes], state: Path | None = None, limits: Limits | None = None, between: int = A_REQUEST
    ) -> None:
        self.now = START
        self._between = between
        self.store = None if state is None else Store(str(state))
        self.outbox = Outbox(["sink"], 1_000_000)
        keys, policy = Keyring(SecretKey(b"k" * 32, KEY_ID)), Policy()
        self.runtime = LocalRuntime(Engine(policy), limits or Limits())
        self.detector = Detector(
            self.runtime,
            Reading(lambda: policy, lambda: keys),
            self.outbox,
            Numbers(),
            Clock(lambda: self.now, LATENESS // 8),
            lambda: self.now,
            store=self.store,
        )
        self.detector.recover()
        self._bodies: Iterator[bytes] = iter(bodies)

    def __call__(self) -> None:
        """One request, from bytes to what is to be delivered."""
        self.detector.submit(Request("", "traces", is_json=False, body=next(self._bodies)), lambda _: None)
        batch, _ = self.detector._gather()
        self.detector._step(batch)
        self.now += self._between
        found = self.outbox.wait("sink", 1000, 0)
        if found:
            self.outbox.done("sink", found[-1][0])


def bare(bodies: list[bytes]) -> Callable[[], object]:
    """The obvious way to look at a request: parse it and read every attribute of every span."""
    held = iter(bodies)

    def read() -> int:
        count = 0
        for holder in ExportTraceServiceRequest.FromString(next(held)).resource_spans:
            for pair in holder.resource.attributes:
                value = pair.value
                pair.key, getattr(value, value.WhichOneof("value"))
            for scoped in holder.scope_spans:
                for span in scoped.spans:
                    attributes = {}
                    for pair in span.attributes:
                        value = pair.value
                        attributes[pair.key] = getattr(value, value.WhichOneof("value"))
                    count += len(attributes)
        return count

    return read


REPEAT: Final = 25
"""Requests of one sample: two ticks of the detector's clock, since calls are judged in bursts, one a tick. Samples
without a burst would be the usual ones and hide what judging costs."""
WARM: Final = 130
"""Requests before the first sample: more than the lateness, so that calls are judged as fast as they come."""


class Sides:
    """Both sides of one comparison, made when it begins; every request of ours is new, as it is on the wire."""

    def __init__(self, rounds: int, state: Path | None, **traffic: bool) -> None:
        self._pool = WARM + REPEAT * (rounds + 1)
        self._state = state
        self._traffic = traffic
        self._ours: Ours | None = None
        self._base: Callable[[], object] | None = None

    def _prepare(self) -> None:
        runs = RUNS * 4 if self._traffic.get("tools_only") else RUNS
        bodies = requests(self._pool, runs, **self._traffic)
        self._ours, self._base = Ours(bodies, self._state), bare(bodies)
        for _ in range(WARM):
            self._ours()
        gc.collect()
        gc.freeze()

    def ours(self) -> None:
        """The detector's part."""
        if self._ours is None:  # in the sample that the harness throws away
            self._prepare()
        assert self._ours is not None  # noqa: S101 - for the type checker
        self._ours()

    def base(self) -> None:
        """The bare loop's."""
        assert self._base is not None  # noqa: S101 - for the type checker
        self._base()


def case(name: str, limit: float | None, rounds: int, folder: Path | None = None, **traffic: bool) -> Case:
    """One comparison."""
    sides = Sides(rounds, None if folder is None else folder / f"{name}.state".replace(" ", "-"), **traffic)
    return Case(name, sides.ours, sides.base, limit, REPEAT)


def live_runs(runs: int) -> float:
    """CPU microseconds a span with so many live runs, tool spans alone, every run heard in turn.

    What is measured is each run's third call, however many runs there are: only their number differs. That is always
    as much of the runs' time, since calls are judged in bursts.
    """
    size = min(SPANS, runs)
    between = PAUSE * SECOND * size // runs  # every run is heard as often
    warm, measured = 2 * runs // size, runs // size
    taken = count = 0
    while count < MEASURED:
        ours = Ours(requests(warm + measured, runs, tools_only=True, between=between, size=size), between=between)
        for _ in range(warm):
            ours()
        gc.collect()
        gc.freeze()
        begun = time.process_time_ns()
        for _ in range(measured):
            ours()
        taken += time.process_time_ns() - begun
        count += measured * size
        gc.unfreeze()
    return taken / count / 1000


def idle_bytes() -> dict[str, float]:
    """Bytes of the state of a run of 32 calls that waits for its next one: as saved, and in this process's memory."""
    runs = 512
    ours = Ours(requests(32 * runs // SPANS, runs, tools_only=True), limits=Limits(lateness=SECOND // 10))
    for _ in range(32 * runs // SPANS):
        ours()
    ours.now += LATENESS
    ours.detector._step([])
    runtime = ours.runtime
    keys = list(runtime.roster)
    gc.collect()
    tracemalloc.start()
    saved = [packed for _, packed in runtime.save(keys) if packed is not None]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return {
        IDLE_STATE: round(sum(len(packed.state) for packed in saved) / len(saved)),
        "idle run, bytes of memory": round(held / len(saved)),
    }


def latency() -> dict[str, object]:
    """Milliseconds from a request's receipt to its finding in the sink's hands, beyond the lateness, under load.

    A server with its threads and its file; senders that hand over a request every few milliseconds.
    """
    bodies = requests(300, RUNS)
    with tempfile.TemporaryDirectory() as folder:
        lateness = SECOND // 5
        keys, policy, outbox = Keyring(SecretKey(b"k" * 32, KEY_ID)), Policy(), Outbox(["sink"], 1_000_000)
        detector = Detector(
            LocalRuntime(Engine(policy), Limits(lateness=lateness)),
            Reading(lambda: policy, lambda: keys),
            outbox,
            Numbers(),
            Clock(time.time_ns, lateness // 8),
            time.time_ns,
            store=Store(str(Path(folder) / "state")),
        )
        detector.start()
        received: dict[str, int] = {}
        waits: list[float] = []
        probes = 0
        begun = time.monotonic()
        for number, body in enumerate(bodies):
            if number % 4 == 0:
                run = f"probe-{number}"
                probe = loop_of(run)
                probes += 1
                received[run] = time.time_ns()
                detector.submit(Request("", "traces", is_json=False, body=probe), lambda _: None)
            detector.submit(Request("", "traces", is_json=False, body=body), lambda _: None)
            while (left := begun + (number + 1) * PACE - time.monotonic()) > 0:
                waits += taken(outbox, received, lateness, left)
        until = time.monotonic() + 30
        while received and time.monotonic() < until:
            waits += taken(outbox, received, lateness, 0.1)
        detector.stop()
    waits.sort()
    return {
        "probes, probes found": [probes, len(waits)],
        "load, spans a second": round(SPANS / PACE),
        "ms to the finding beyond the lateness, p50": round(waits[len(waits) // 2], 1),
        "ms to the finding beyond the lateness, p99": round(waits[len(waits) * 99 // 100], 1),
    }


def loop_of(run: str) -> bytes:
    """A request with three equal calls of a run."""
    spans = []
    for step in range(3):
        attributes = tool(0, step, content=False) | {"loopguard.run.id": run}
        identity = digest(8, run, step)
        at = time.time_ns() + step
        spans.append(
            Span(
                trace_id=identity * 2, span_id=identity, name="execute_tool", start_time_unix_nano=at,
                end_time_unix_nano=at + 1, attributes=pairs(attributes),
            )
        )  # fmt: skip
    holder = ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])
    return ExportTraceServiceRequest(resource_spans=[holder]).SerializeToString()


def taken(outbox: Outbox, received: dict[str, int], lateness: int, wait: float) -> Iterator[float]:
    """Milliseconds of the probes whose nudge has come."""
    found = outbox.wait("sink", 1000, wait)
    now = time.time_ns()
    for _, message in found:
        run = str(message.attributes.get("loopguard.run.id"))
        if run in received and message.attributes.get("loopguard.finding.action") == "nudge":
            yield (now - received.pop(run) - lateness) / 1e6
    if found:
        outbox.done("sink", found[-1][0])


def figures() -> Mapping[str, object]:
    """What has no obvious way to be compared with."""
    shown: dict[str, object] = {}
    for runs in (100, 1_000, 10_000, 100_000):
        print(f"stream: {runs:,} live runs", file=sys.stderr)
        shown[f"us a tool span, {runs} live runs"] = round(live_runs(runs), 2)
    print("stream: idle runs", file=sys.stderr)
    shown |= idle_bytes()
    print("stream: from receipt to finding", file=sys.stderr)
    shown |= latency()
    shown |= speed_up(list(requests(SHARED, RUNS)), SPANS)
    return shown


def rounds_wanted() -> int:
    """Rounds as the command line has them: so many requests are made."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--rounds", type=int, default=9)
    rounds: int = parser.parse_known_args()[0].rounds
    return max(rounds, LEAST_ROUNDS)


if __name__ == "__main__":
    gc.set_threshold(50_000, 20, 100)
    rounds = rounds_wanted()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        sys.exit(
            main(
                "stream",
                [
                    case("agents' traffic, in memory", 2.0, rounds),
                    case("agents' traffic, SQLite", 2.9, rounds, path),
                    case("tool spans alone, in memory", 4.0, rounds, tools_only=True),
                    case("tool spans alone, SQLite", None, rounds, path, tools_only=True),
                    case("agents' traffic with content, in memory", None, rounds, content=True),
                    case("tool spans alone with content, in memory", None, rounds, content=True, tools_only=True),
                ],
                rounds=rounds,
                figures=figures,
                most={IDLE_STATE: 2560},
            )
        )
