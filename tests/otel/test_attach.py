"""The public way in: `instrument`, `LoopGuardSpanProcessor` and what importing the package costs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_loopguard
from otel_loopguard import names

KEY = {"LOOPGUARD_KEY": "0123456789abcdef" * 4}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("LOOPGUARD_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOOPGUARD_KEY", KEY["LOOPGUARD_KEY"])


def provider() -> tuple[TracerProvider, InMemorySpanExporter]:
    """A provider with an exporter."""
    made, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made, exporter


def call(made: TracerProvider, run: str | None = None) -> None:
    """One tool call."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": "{}"}
    with otel_loopguard.run(run), made.get_tracer("t").start_as_current_span("execute_tool t", attributes=attributes):
        pass


def test_instrument_twice_attaches_once() -> None:
    """The second call for a provider changes nothing and gives the same processor."""
    made, exporter = provider()
    processor = otel_loopguard.instrument(made)
    assert isinstance(processor, otel_loopguard.LoopGuardSpanProcessor)
    assert otel_loopguard.instrument(made) is processor
    call(made)
    (span,) = exporter.get_finished_spans()
    assert (span.attributes or {})[names.SEQUENCE] == 1


def test_instrument_from_many_threads_attaches_once() -> None:
    """A race makes no second processor."""
    made, _ = provider()
    found = []
    threads = [threading.Thread(target=lambda: found.append(otel_loopguard.instrument(made))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1


def test_an_added_processor_is_found() -> None:
    """`instrument` sees a processor that was added by hand."""
    made, _ = provider()
    own = otel_loopguard.LoopGuardSpanProcessor()
    made.add_span_processor(own)
    assert otel_loopguard.instrument(made) is own


def test_providers_share_the_runs_of_the_process() -> None:
    """Two instrumented providers count one run together; other settings count apart."""
    (one, first), (other, second), (apart, third) = provider(), provider(), provider()
    otel_loopguard.instrument(one)
    otel_loopguard.instrument(other)
    otel_loopguard.instrument(apart, settings=otel_loopguard.Settings(content="keep", key=KEY["LOOPGUARD_KEY"]))
    for made in (one, other, apart):
        call(made, "shared run of two providers")
    spans = [*first.get_finished_spans(), *second.get_finished_spans(), *third.get_finished_spans()]
    assert [(span.attributes or {})[names.SEQUENCE] for span in spans] == [1, 2, 1]
    assert len({(span.attributes or {})[names.FINGERPRINT] for span in spans}) == 1


def test_uninstrument_takes_it_away() -> None:
    """After `uninstrument` spans are as if we had never been there, and `instrument` starts anew."""
    made, exporter = provider()
    otel_loopguard.instrument(made)
    otel_loopguard.uninstrument(made)
    call(made)
    assert names.SEQUENCE not in (exporter.get_finished_spans()[0].attributes or {})
    otel_loopguard.instrument(made)
    call(made)
    assert names.SEQUENCE in (exporter.get_finished_spans()[1].attributes or {})


def test_a_provider_around_the_sdks() -> None:
    """A wrapper such as logfire's is looked through."""

    class Wrapper:
        def __init__(self, inner: TracerProvider) -> None:
            self.provider = inner

    made, exporter = provider()
    assert otel_loopguard.instrument(Wrapper(made)) is otel_loopguard.instrument(made)
    call(made)
    assert names.SEQUENCE in (exporter.get_finished_spans()[0].attributes or {})


def test_a_vendor_whose_adding_does_more() -> None:
    """Where adding a processor would cost the vendor's exporter, ours goes to the list behind it."""

    class Vendor(TracerProvider):
        def add_span_processor(self, span_processor: object) -> None:  # noqa: ARG002
            raise AssertionError("the default exporter is dropped here")

    made = Vendor(shutdown_on_exit=False)
    assert otel_loopguard.instrument(made) is not None


@pytest.mark.parametrize("nothing", [trace.NoOpTracerProvider(), trace.ProxyTracerProvider(), object()])
def test_without_a_provider_of_the_sdk(nothing: object, caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing to watch: a warning, no provider of our own, no error."""
    assert otel_loopguard.instrument(nothing) is None
    assert "set one up first" in caplog.text
    otel_loopguard.uninstrument(nothing)


def test_importing_the_package_imports_nothing_else() -> None:
    """`import otel_loopguard` costs a dict; each name is loaded on first use, and every public name exists."""
    source = (
        "import sys, otel_loopguard; "
        "assert not [n for n in sys.modules if n.startswith(('opentelemetry', 'otel_loopguard.'))]; "
        "assert set(otel_loopguard.__all__) <= set(dir(otel_loopguard)); "
        "assert otel_loopguard.__all__ == sorted(otel_loopguard.__all__); "
        "[getattr(otel_loopguard, name) for name in otel_loopguard.__all__]"
    )
    subprocess.run([sys.executable, "-c", source], check=True, cwd=Path(otel_loopguard.__file__).parent.parent)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The lazy names are no cover for typing errors."""
    with pytest.raises(AttributeError, match="instrumnet"):
        _ = otel_loopguard.instrumnet
