"""How the processor sits in the SDK: every exporter, any order, any way in which a span ends."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.live import Edge
from otel_loopguard.live.context import Spoken, spoken
from otel_loopguard.otel import LoopGuardSpanProcessor
from tests.support.process import Process

CANARY = '{"q": "canary-5f1e"}'


@pytest.mark.parametrize("exporter_first", [True, False])
def test_any_order_of_registration(exporter_first: bool) -> None:  # noqa: FBT001
    """An exporter before ours and one behind it see the same annotated, redacted span."""
    process = Process(exporter_first=exporter_first)
    process.call(arguments=CANARY)
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"]
    assert process.written(names.SEQUENCE) == [1]


def test_batches_and_several_exporters() -> None:
    """Every exporter of a provider sees the same."""
    process = Process()
    others = [InMemorySpanExporter(), InMemorySpanExporter()]
    process.provider.add_span_processor(BatchSpanProcessor(others[0]))
    process.provider.add_span_processor(SimpleSpanProcessor(others[1]))
    process.call(arguments=CANARY)
    assert process.provider.force_flush()
    for exporter in others:
        (span,) = exporter.get_finished_spans()
        assert span.attributes == process.tools[0].attributes
    process.provider.shutdown()


def test_several_providers_share_one_count() -> None:
    """One processor on two providers counts the calls of one run as one sequence."""
    process = Process()
    other = TracerProvider(shutdown_on_exit=False)
    other.add_span_processor(process.processor)
    exporter = InMemorySpanExporter()
    other.add_span_processor(SimpleSpanProcessor(exporter))
    with process.agent():
        process.call(arguments=CANARY)
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
                      "gen_ai.tool.call.arguments": CANARY}  # fmt: skip
        with other.get_tracer("tests").start_as_current_span("execute_tool search", attributes=attributes):
            pass
    (second,) = exporter.get_finished_spans()
    assert second.attributes is not None
    assert (second.attributes[names.SEQUENCE], second.attributes[names.REPEAT_COUNT]) == (2, 2)


def test_two_processors_on_one_provider_count_once() -> None:
    """A second processor of ours leaves a span to the first."""
    process = Process()
    process.provider.add_span_processor(LoopGuardSpanProcessor(Settings(), live=process.live))
    process.call()
    process.call()
    assert process.live.counters.total(names.TOOL_CALLS) == 2


def test_the_concurrent_multi_processor() -> None:
    """Processors that the SDK calls from other threads work the same."""
    process = Process()
    multi = ConcurrentMultiSpanProcessor(2)
    provider = TracerProvider(active_span_processor=multi, shutdown_on_exit=False)
    exporter = InMemorySpanExporter()
    for processor in (SimpleSpanProcessor(exporter), process.processor):
        provider.add_span_processor(processor)
    process.tracer = provider.get_tracer("tests")
    with process.agent("researcher"):
        process.call(arguments=CANARY)
        process.call(arguments=CANARY)
    provider.shutdown()
    first, second = (dict(span.attributes or {}) for span in exporter.get_finished_spans()[:2])
    assert first["gen_ai.tool.call.arguments"] == "[REDACTED]"
    assert second[names.REPEAT_COUNT] == 2
    assert second[names.AGENT_NAME] == "researcher"


def test_other_spans_are_left_alone() -> None:
    """A span that is no tool call gets no attribute and loses nothing."""
    process = Process()
    with process.tracer.start_as_current_span("GET", attributes={"url.full": "http://x", "input.value": "said"}):
        pass
    with process.agent(**{"gen_ai.input.messages": "said"}):
        process.model(**{"gen_ai.output.messages": "said"})
    for span in process.spans:
        assert not [key for key in span.attributes or {} if key.startswith("loopguard.")]
        assert "[REDACTED]" not in (span.attributes or {}).values()


# Ends -------------------------------------------------------------------------------------------------------------


def test_the_duration_is_the_hosts() -> None:
    """An explicit end time is kept, and our work is no part of a span's duration."""
    process = Process()
    with process.tool() as span:
        pass
    assert span.end_time is not None
    explicit = process.tracer.start_span("execute_tool x", start_time=1_000, attributes=dict(span.attributes or {}))
    explicit.end(end_time=2_000)
    assert process.tools[-1].end_time == 2_000


def test_a_second_end_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Ending a span twice is answered by the SDK as ever, and counts once."""
    process = Process()
    with process.tool() as span:
        pass
    span.end()
    assert "ended span" in caplog.text
    assert process.live.counters.total(names.TOOL_CALLS) == 1
    assert len(process.tools) == 1


@pytest.mark.parametrize("arguments", [(), (2_000,)])
def test_an_end_that_somebody_kept_may_be_called_again(
    arguments: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """What stood in the place of `end` raises nothing once the span has ended; the SDK answers as ever."""
    process = Process()
    with process.tool(arguments=CANARY) as span:
        kept = span.end
    kept(*arguments)
    assert "ended span" in caplog.text
    assert process.live.counters.total(names.TOOL_CALLS) == 1
    assert len(process.tools) == 1


@pytest.mark.parametrize("end_time", [2_000.5, "2000"])
def test_an_end_time_that_is_none_changes_no_redaction(end_time: int) -> None:
    """Some hosts hand over seconds or texts: the span leaves as they say, without content and with its names."""
    process = Process(edge=Edge)
    span = process.tracer.start_span(
        "execute_tool search",
        attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.arguments": CANARY, "mine": "kept"},
    )  # fmt: skip
    span.end(end_time)
    (exported,) = process.tools
    assert exported.end_time == end_time
    assert exported.attributes is not None
    assert exported.attributes["gen_ai.tool.call.arguments"] == "[REDACTED]"
    assert exported.attributes["mine"] == "kept"


def test_an_end_put_on_the_instance_before_ours_is_called() -> None:
    """Another library that took the place of `end` before us still gets its turn."""
    calls: list[int | None] = []

    class Other(SpanProcessor):
        def on_start(self, span: Span, parent_context: otel_context.Context | None = None) -> None:  # noqa: ARG002
            original = span.end

            def end(end_time: int | None = None) -> None:
                calls.append(end_time)
                original(end_time)

            span.end = end  # type: ignore[method-assign]

    process = Process()
    provider = TracerProvider(shutdown_on_exit=False)
    for processor in (Other(), process.processor, SimpleSpanProcessor(process.exporter)):
        provider.add_span_processor(processor)
    process.tracer = provider.get_tracer("tests")
    process.call(arguments=CANARY)
    assert len(calls) == 1
    assert process.written(names.SEQUENCE) == [1]


def test_an_end_put_on_the_instance_after_ours_is_called() -> None:
    """A library that wraps our `end` gets its turn, and its own calls are seen by us."""
    process = Process()
    with process.tool(arguments=CANARY) as span:
        inner = span.end
        seen: list[bool] = []

        def end(end_time: int | None = None) -> None:
            seen.append(span.is_recording())
            inner(end_time)

        span.end = end  # type: ignore[method-assign]
    assert seen == [True]
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"]


def end_by_class(span: Span) -> None:
    """End a span as nobody should: around the instance's own method."""
    type(span).end(span)


def test_a_span_that_ends_around_us_is_redacted_for_those_behind_us() -> None:
    """Where `end` on the instance is not called, the span is still rewritten before processors behind us read it."""
    process = Process()
    span = process.tracer.start_span(
        "execute_tool search",
        attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.arguments": CANARY},
    )  # fmt: skip
    span.record_exception(ValueError("canary-5f1e"))
    span.set_status(trace.Status(trace.StatusCode.ERROR, "canary-5f1e"))
    end_by_class(span)  # type: ignore[arg-type]
    (exported,) = process.tools
    assert exported.attributes is not None
    assert exported.attributes["gen_ai.tool.call.arguments"] == "[REDACTED]"
    assert exported.attributes[names.SEQUENCE] == 1
    assert "canary-5f1e" not in exported.to_json()
    assert exported.status.description == "[REDACTED]"
    assert exported.events[0].attributes is not None
    assert exported.events[0].attributes["exception.type"] == "ValueError"


def test_spans_do_not_outlive_their_end() -> None:
    """An ended span is freed at once, without the garbage collector."""
    process = Process()
    gc.disable()
    try:
        with process.agent() as span:
            process.call()
        held = weakref.ref(span)
        process.exporter.clear()
        del span
        assert held() is None
    finally:
        gc.enable()


def test_spans_that_never_end_are_not_kept() -> None:
    """An abandoned span goes when its owner drops it."""
    process = Process()
    span = process.tracer.start_span("never")
    held = weakref.ref(span)
    del span
    gc.collect()
    assert held() is None


def test_open_spans_are_bounded() -> None:
    """Beyond the bound the oldest spans are forgotten, which is counted; they are redacted at their end as ever."""
    process = Process()
    spans = process.processor._watch.spans
    spans.limit = 16
    held = [process.tool(arguments=CANARY) for _ in range(40)]
    for one in held:
        one.__enter__()
    assert len(spans.spans) <= 16
    assert process.live.counters.total(names.DROPPED) >= 24
    for one in reversed(held):
        one.__exit__(None, None, None)
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"] * 40


# Errors -----------------------------------------------------------------------------------------------------------


def failing(*_: object, **__: object) -> object:
    """Stands for any bug of ours."""
    raise RuntimeError("canary-5f1e")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("watch", "read"),
        ("opentelemetry.sdk.trace.ReadableSpan", "instrumentation_scope"),
        ("otel_loopguard.otel.witness", "place"),
        ("otel_loopguard.otel.editor", "_redaction"),
        ("otel_loopguard.otel.editor", "_annotation"),
        ("otel_loopguard.otel.editor", "_rebuild_events"),
        ("otel_loopguard.otel.editor", "_drop_status"),
        ("otel_loopguard.otel.editor", "_fit"),
    ],
)
def test_our_errors_stay_ours(
    place: str, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fails in us: the host's exception passes, the span leaves without what it held, and we count it."""
    process = Process(edge=Edge)
    if place == "watch":  # which takes it as an argument
        monkeypatch.setattr(process.processor._watch, name, failing)
    else:
        monkeypatch.setattr(f"{place}.{name}", property(failing) if name == "instrumentation_scope" else failing)
    for _ in range(2):
        with pytest.raises(KeyError, match="canary-5f1e"), process.tool(arguments=CANARY, result="canary-5f1e"):
            raise KeyError("canary-5f1e")
    assert len(process.tools) == 2
    for span in process.tools:
        assert "canary-5f1e" not in span.to_json()
    assert process.live.counters.read(names.ERRORS)[0] == (2, {"error.type": "RuntimeError"})
    assert caplog.text.count("swallowed RuntimeError") == 1
    assert "canary-5f1e" not in caplog.text


def test_a_span_that_cannot_even_be_emptied_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Content fails closed: with every way of removing it broken, the span is never exported."""
    process = Process(edge=Edge)
    monkeypatch.setattr("otel_loopguard.otel.editor._redaction", failing)
    monkeypatch.setattr("otel_loopguard.otel.editor._strip", failing)
    process.call(arguments=CANARY)
    assert process.tools == []
    assert process.live.counters.read(names.DROPPED) == [
        (1, {"loopguard.drop.reason": "content"}),
        (1, {"loopguard.drop.reason": "spans"}),
    ]


def test_starting_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A span starts even where we cannot take its `end`."""
    process = Process(edge=Edge)
    monkeypatch.setattr("otel_loopguard.otel.watch.get_current", failing)
    with process.agent():
        process.call()
    assert len(process.spans) == 2
    assert process.live.counters.total(names.ERRORS) == 2


# Hosts ------------------------------------------------------------------------------------------------------------


def test_the_hosts_exception_passes_unmodified() -> None:
    """An exception of a tool reaches its caller as it is, while its message leaves the process redacted."""
    process = Process()
    error = ValueError("canary-5f1e")
    with pytest.raises(ValueError, match="canary-5f1e") as caught, process.tool():
        raise error
    assert caught.value is error
    (span,) = process.tools
    assert span.status.description == "[REDACTED]"
    assert dict(span.events[0].attributes or {}) == {
        "exception.type": "ValueError",
        "exception.message": "[REDACTED]",
        "exception.stacktrace": "[REDACTED]",
        "exception.escaped": "True",
    } or dict(span.events[0].attributes or {}) == {
        "exception.type": "ValueError",
        "exception.message": "[REDACTED]",
        "exception.stacktrace": "[REDACTED]",
        "exception.escaped": "False",
    }


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run some work in many threads at once."""
    barrier = threading.Barrier(count)

    def run(index: int) -> None:
        barrier.wait()
        work(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads() -> None:
    """Calls from many threads in one run are all counted, each number once."""
    process = Process()
    with process.agent():
        context = otel_context.get_current()

        def work(index: int) -> None:
            token = otel_context.attach(context)
            for step in range(25):
                process.call(arguments={"index": index, "step": step})
            otel_context.detach(token)

        in_threads(8, work)
    assert sorted(process.written(names.SEQUENCE)) == list(range(1, 201))
    assert process.live.counters.read(names.TOOL_CALLS) == [
        (200, {"gen_ai.tool.name": "search", "gen_ai.agent.name": "researcher"})
    ]


def test_asyncio() -> None:
    """Concurrent tasks keep their own runs, and overlapping calls of one run are one turn."""
    process = Process()

    async def call(gate: asyncio.Event) -> None:
        with process.tool(arguments={"q": "x"}):
            await gate.wait()

    async def agent() -> None:
        gate = asyncio.Event()
        with process.agent():
            tasks = [asyncio.create_task(call(gate)) for _ in range(6)]
            await asyncio.sleep(0)
            gate.set()
            await asyncio.gather(*tasks)

    async def main() -> None:
        await asyncio.gather(agent(), agent())

    asyncio.run(main())
    assert len(set(process.written(names.RUN_ID))) == 2
    assert sorted(process.written(names.SEQUENCE)) == sorted(2 * list(range(1, 7)))
    assert set(process.written(names.VERDICT)) == {"allow"}


def test_generators() -> None:
    """A span that a generator holds open is judged when the generator is closed, or freed."""
    process = Process()

    def stream() -> object:
        with process.tool(arguments=CANARY):
            yield 1
            yield 2

    with suppress(StopIteration):
        one, other = stream(), stream()
        next(one)
        one.close()
        next(other)
        del other
    gc.collect()
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"] * 2


def test_a_span_that_ends_inside_our_own_bookkeeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finaliser that ends a tool span while we hold our lock neither hangs nor corrupts: its call is dropped."""
    process = Process()
    abandoned = ["inside"]

    def collecting() -> Spoken:
        while abandoned:
            process.call(abandoned.pop(), CANARY)
        return spoken()

    monkeypatch.setattr("otel_loopguard.live.recorder.spoken", collecting)
    process.call("outside", CANARY)
    assert [span.name for span in process.tools] == ["execute_tool inside", "execute_tool outside"]
    assert process.written(names.SEQUENCE) == [None, 1]
    assert process.written("gen_ai.tool.call.arguments") == ["[REDACTED]"] * 2
    assert process.live.counters.read(names.DROPPED) == [(1, {"loopguard.drop.reason": "reentered"})]


# Shutdown ---------------------------------------------------------------------------------------------------------


def test_flush_and_shutdown() -> None:
    """A flush has nothing to wait for; after shutdown open spans and new ones are still redacted."""
    process = Process()
    assert process.processor.force_flush(1) is True
    with process.tool(arguments=CANARY):
        process.processor.shutdown()
        process.call("after", CANARY)
    after, before = process.attributes
    assert before["gen_ai.tool.call.arguments"] == "[REDACTED]"
    assert after["gen_ai.tool.call.arguments"] == "[REDACTED]"


def test_an_exporter_that_goes_on_after_shutdown() -> None:
    """Spans of a provider that was shut down reach an exporter that still listens without their content."""
    process = Process()
    sent: list[ReadableSpan] = []

    class Listener(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            sent.append(span)

    process.provider.add_span_processor(Listener())
    with process.tool(arguments="canary"):
        process.provider.shutdown()
    process.call(arguments="canary")
    assert [(span.attributes or {})["gen_ai.tool.call.arguments"] for span in sent] == ["[REDACTED]", "[REDACTED]"]


def test_dropped_spans_never_reach_us() -> None:
    """A span that the sampler drops is not seen: nothing happens."""
    process = Process()
    context = trace.set_span_in_context(trace.NonRecordingSpan(trace.INVALID_SPAN_CONTEXT))
    token = otel_context.attach(context)
    try:
        assert process.live.counters.total(names.TOOL_CALLS) == 0
    finally:
        otel_context.detach(token)


def test_what_exporters_get_is_plain() -> None:
    """An exported span holds values that OTLP can carry: no object of ours is among them."""
    process = Process()
    for _ in range(5):
        process.call(arguments=CANARY)
    span: ReadableSpan
    for span in process.tools:
        for value in (span.attributes or {}).values():
            assert isinstance(value, str | bool | int | float | tuple)
