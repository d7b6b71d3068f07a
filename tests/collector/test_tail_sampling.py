"""`tail_sampling.yaml` keeps whole traces with findings; findings as log records pass it by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.collector import Collector, until
from tests.support.spans import START, annotated, logs, span, traces

KEPT = ["kind", "event", "failed"]
DROPPED = ["clean", "nudged elsewhere"]


def trace_of(run: str) -> list[Span]:
    """Three spans of one trace: two calls, and a model span without any mark."""
    spans = [annotated(run, 1), annotated(run, 2), span("chat", {"gen_ai.operation.name": "chat"}, trace=f"{run}/p1")]
    if run.startswith("kind"):
        spans[1] = annotated(run, 2, **{"loopguard.finding.kind": "identical", "loopguard.verdict": "nudge"})
    if run.startswith("event"):
        spans[1].events.append(Span.Event(name="loopguard.finding", time_unix_nano=START))
    if run.startswith("failed"):
        spans[2].status.code = 2
    return spans


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Collector]:
    """Where what is kept arrives."""
    with Collector(tmp_path / "backend", "files_backend.yaml") as collector:
        yield collector


def sampler(folder: Path, backend: Collector, **variables: str) -> Collector:
    """A Collector that keeps nothing by chance."""
    return Collector(folder, "tail_sampling.yaml", BACKEND_ENDPOINT=backend.grpc, KEEP_PERCENT="0", **variables)


def finding(run: str) -> tuple[str, dict[str, str]]:
    """A finding as a log record."""
    return "loopguard.finding", {"loopguard.run.id": run, "loopguard.finding.kind": "identical"}


def runs(backend: Collector) -> list[str]:
    """The run of every tool call that arrived."""
    return sorted(one.attributes["loopguard.run.id"] for one in backend.spans() if "loopguard.run.id" in one.attributes)


def test_traces_with_findings_are_kept_whole(tmp_path: Path, backend: Collector) -> None:
    """A mark, a span event or a failure on one span keeps all spans of its trace, whenever they came."""
    with sampler(tmp_path / "sampler", backend, DECISION_WAIT="2s") as collector:
        for index in range(3):  # span by span: the mark comes after the first spans
            for run in [*KEPT, *DROPPED]:
                collector.send(traces([trace_of(run)[index]]))
        until(lambda: len(backend.spans()) >= 3 * len(KEPT), "the traces that are kept")
    assert runs(backend) == sorted(2 * KEPT)
    assert sorted(one.name for one in backend.spans()) == ["chat"] * 3 + ["execute_tool search"] * 6


def test_findings_pass_it_by(tmp_path: Path, backend: Collector) -> None:
    """A finding of a trace that is dropped arrives, at once and not when its trace is decided."""
    with sampler(tmp_path / "sampler", backend, DECISION_WAIT="600s") as collector:
        collector.send(traces(trace_of("clean")))
        collector.send(logs([finding("clean")]))
        until(lambda: len(backend.logs()) == 1, "the finding")
        assert backend.spans() == []


@pytest.mark.parametrize(("how", "left"), [("kill", []), ("stop", ["kind", "kind"])])
def test_a_death_before_the_decision(tmp_path: Path, backend: Collector, how: str, left: list[str]) -> None:
    """Killed, it loses the traces that it held and no finding; told to stop, it decides and loses nothing."""
    collector = sampler(tmp_path / "sampler", backend, DECISION_WAIT="600s")
    with collector:
        collector.send(traces(trace_of("kind")))
        collector.send(logs([finding("kind")]))
        until(lambda: len(backend.logs()) == 1, "the finding")
        getattr(collector, how)()
        collector.start()
        collector.send(logs([finding("kind"), finding("later")]))
        until(lambda: len(backend.logs()) == 3, "findings of after")
        until(lambda: len(runs(backend)) == len(left), "the traces")
    assert runs(backend)[: len(left)] == left
