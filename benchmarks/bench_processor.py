"""What our processor costs an instrumented agent: the same span with it and without it, in one run.

Not the cost of exporting: the exporter behind the batch processor throws spans away. A tool span is as an agent under
the gen-AI conventions writes it, every call with other arguments and another result in a run that goes on, metrics and
events on; a plain span is an HTTP client's, and a model span is shown beside them. "The least" is a tool span with
`Least`, the floor of any such processor: what is left of the ratio once nothing is judged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import _compiled  # noqa: F401 - first: the package is to come from where it says
import orjson
from _harness import Case, main
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from opentelemetry.context import Context
from opentelemetry.metrics import Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

from otel_loopguard import LoopGuardSpanProcessor, Settings

SPANS = 100
"""Spans a round, with one agent's span around them: a run of a hundred steps."""
ROUNDS = 200


class Nowhere(SpanExporter):
    """Takes spans and does nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002
        """Succeed."""
        return SpanExportResult.SUCCESS


KEY = "0123456789abcdef" * 4
CONTENT = (
    ("gen_ai.tool.call.arguments", "loopguard.fingerprint"),
    ("gen_ai.tool.call.result", "loopguard.result.fingerprint"),
)
BESIDE = {
    f"loopguard.{name}": "allow" for name in ("run.id", "key.id", "sequence", "repeat.count", "outcome", "verdict")
}
COUNTED = {"gen_ai.tool.name": "search_orders", "loopguard.outcome": "ok"}


class Least(SpanProcessor):
    """The floor: what a processor in Python cannot leave out that does this job through the public API.

    It takes the place of `end`, tells tool spans of one convention by their name, reads arguments and result and writes
    them with their members in order, puts their keyed digests in the place of what they say, sets as many attributes as
    ours in one call and counts in a plain number that is observed at collection. JSON and HMAC are native code. It
    judges nothing, knows no run, and a result that is no JSON, a limit or an error of its own would break it.
    """

    def __init__(self) -> None:
        self._code = HMAC(KEY.encode(), SHA256())
        self._calls = 0
        meter = MeterProvider([InMemoryMetricReader()]).get_meter("least")
        meter.create_observable_counter("calls", [lambda _: [Observation(self._calls, COUNTED)]])

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002
        """Take the place of `end`: what has ended cannot be written to."""
        span.end = partial(self._end, span)  # type: ignore[method-assign]

    def _end(self, span: Span, end_time: int | None = None) -> None:
        held = span.attributes or {}
        if "gen_ai.tool.name" in held:
            written = dict(BESIDE)
            for name, digest_name in CONTENT:
                code = self._code.copy()
                code.update(orjson.dumps(orjson.loads(str(held[name])), option=orjson.OPT_SORT_KEYS))
                written[digest_name] = code.finalize().hex()
                written[name] = "[REDACTED]"
            span.set_attributes(written)
            self._calls += 1
        del span.end
        span.end(end_time)


def ours() -> SpanProcessor:
    """The processor as it is used, with metrics and events."""
    return LoopGuardSpanProcessor(
        Settings(key=KEY),
        logger_provider=LoggerProvider(),
        meter_provider=MeterProvider([InMemoryMetricReader()]),
    )


def tracer(watcher: SpanProcessor | None) -> Tracer:
    """A tracer with a batch processor, and another one before it or not."""
    provider = TracerProvider()
    if watcher is not None:
        provider.add_span_processor(watcher)
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    return provider.get_tracer("bench")


def tool_span(using: Tracer, number: int) -> None:
    """A tool call as the gen-AI conventions write it, arguments and result on."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_orders",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Finds orders by customer and state",
        "gen_ai.tool.call.id": f"call_{number:08}",
        "gen_ai.tool.call.arguments": f'{{"customer": "C-{number}", "state": "open", "limit": 20}}',
    }
    with using.start_as_current_span("execute_tool search_orders", attributes=attributes) as span:
        order = f'{{"id": "O-{number}", "state": "open", "total": 12.5, "lines": 3}}'
        span.set_attribute("gen_ai.tool.call.result", f'{{"orders": [{order}], "next": null}}')


def plain_span(using: Tracer, number: int) -> None:
    """An HTTP client's span."""
    attributes = {
        "http.request.method": "GET",
        "url.full": f"https://example.org/orders/{number}",
        "server.address": "example.org",
        "server.port": 443,
    }
    with using.start_as_current_span("GET", attributes=attributes) as span:
        span.set_attribute("http.response.status_code", 200)


def model_span(using: Tracer, number: int) -> None:
    """A model's span."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.id": f"resp_{number}",
    }
    with using.start_as_current_span("chat gpt-5", attributes=attributes) as span:
        span.set_attributes({"gen_ai.usage.input_tokens": 2_000, "gen_ai.usage.output_tokens": 60})


def case(
    name: str,
    make: Callable[[Tracer, int], None],
    limit: float | None = None,
    watcher: Callable[[], SpanProcessor] = ours,
) -> Case:
    """One kind of span, with a processor and without it, under an agent's span that stays open."""

    def side(held: SpanProcessor | None) -> Callable[[], object]:
        using = tracer(held)
        numbers = count()
        agent: Any = None

        def one() -> None:
            nonlocal agent
            number = next(numbers)
            if number % SPANS == 0:
                agent = using.start_as_current_span(
                    "invoke_agent triage",
                    attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "triage"},
                )
                agent.__enter__()
            make(using, number)
            if number % SPANS == SPANS - 1:
                agent.__exit__(None, None, None)

        return one

    return Case(name, side(watcher()), side(None), limit, SPANS)


if __name__ == "__main__":
    sys.exit(
        main(
            "processor",
            [
                case("tool", tool_span, 1.8),
                case("plain", plain_span, 1.15),
                case("model", model_span),
                case("tool, the least", tool_span, watcher=Least),
            ],
            rounds=ROUNDS,
        )
    )
