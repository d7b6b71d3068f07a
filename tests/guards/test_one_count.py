"""A guarded call that a real instrumentation makes a span of is one call, in one run, and is told once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.live import LOGS_SUPPORTED
from tests.guards.script import Script, Tools, guard_for, process_for
from tests.support.process import Process

SAME = {"query": "why"}


@contextmanager
def instrumented(path: str, process: Process) -> Iterator[None]:
    """With an instrumentor that is named by module and class."""
    module, name = path.split(":")
    instrumentor = getattr(import_module(module), name)()
    instrumentor.instrument(tracer_provider=process.provider, skip_dep_check=True)
    try:
        yield
    finally:
        instrumentor.uninstrument()


@contextmanager
def pydantic_ai_itself(process: Process) -> Iterator[None]:
    """With the spans that the framework makes itself."""
    from pydantic_ai import Agent, InstrumentationSettings

    Agent.instrument_all(InstrumentationSettings(tracer_provider=process.provider))
    try:
        yield
    finally:
        Agent.instrument_all(instrument=False)


def langchain(process: Process) -> Any:  # noqa: ANN401 - a context
    """OpenInference's."""
    return instrumented("openinference.instrumentation.langchain:LangChainInstrumentor", process)


def openai_agents(process: Process) -> Any:  # noqa: ANN401
    """OpenInference's, which takes the place of the SDK's own exporter."""
    return instrumented("openinference.instrumentation.openai_agents:OpenAIAgentsInstrumentor", process)


def openai_agents_official(process: Process) -> Any:  # noqa: ANN401
    """OpenTelemetry's own."""
    return instrumented("opentelemetry.instrumentation.openai_agents:OpenAIAgentsInstrumentor", process)


Way = tuple[str, str, Callable[[Process], Any]]
WAYS: tuple[Way, ...] = (
    ("langchain", "Sync", langchain),
    ("langchain", "Async", langchain),
    ("openai_agents", "Traced", openai_agents),
    ("openai_agents", "Traced", openai_agents_official),
    ("pydantic_ai", "Async", pydantic_ai_itself),
    ("pydantic_ai", "Streamed", pydantic_ai_itself),
)
"""Drivers, each with an instrumentation."""


def need(module: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        package = {"openai_agents": "agents"}.get(module, module)
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize(("tool", "calls", "ran"), [("search", 4, 1), ("ask", 6, 4)])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]}-{way[1]}-{way[2].__name__}")
def test_spans_are_the_guards_calls(way: Way, tool: str, calls: int, ran: int, *, is_named: bool) -> None:
    """So many decisions, so many calls: the spans add none, and the thresholds are met where they would be without."""
    module, name, instrumentation = way
    need(module)
    driver = getattr(import_module(f"tests.guards.drivers.{module}"), name)()
    process, tools = process_for(), Tools()
    with instrumentation(process), otel_loopguard.run("r1") if is_named else nullcontext():
        seen = driver.run(Script.stubborn((tool, SAME)), tools, guard_for(process))
    assert seen.stop is not None
    assert (tools.ran, seen.stop.count) == ({tool: ran}, calls)
    assert process.live.counters.total(names.TOOL_CALLS) == calls
    assert process.live.counters.total(names.DENIALS) == 2
    spans = [span for span in process.spans if names.SEQUENCE in (span.attributes or {})]
    assert len(spans) >= ran
    assert {span.attributes[names.RUN_ID] for span in spans} == {seen.stop.run_id}  # type: ignore[index]
    assert len({span.attributes[names.SEQUENCE] for span in spans}) == len(spans)  # type: ignore[index]
    if LOGS_SUPPORTED:
        kinds = [(event[names.FINDING_KIND], event[names.FINDING_ACTION]) for event in process.events(names.FINDING)]
        assert kinds == [("identical", "nudge"), ("identical", "stop")]
