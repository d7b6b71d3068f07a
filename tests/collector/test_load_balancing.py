"""`loadbalancing.yaml`: a run has one detector, whatever its calls come by; what a dead detector and a change do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.collector import Collector, Protocol, free_port, samples, until
from tests.support.serving import Serving
from tests.support.spans import annotated, logs, raw, span, traces

RUNS = [f"run-{number}" for number in range(20)]


def serving(folder: Path, port: int = 0) -> Serving:
    """A detector on a port of its own."""
    folder.mkdir(exist_ok=True)
    return Serving(folder, grpc_address=f"127.0.0.1:{port}")


def balancer(folder: Path, first: Serving | str, second: Serving | str) -> Collector:
    """A Collector before two detectors."""
    targets = [one if isinstance(one, str) else one.grpc for one in (first, second)]
    return Collector(
        folder, "loadbalancing.yaml", DETECTOR_1_ENDPOINT=targets[0], DETECTOR_2_ENDPOINT=targets[1]
    )  # fmt: skip


def in_one_trace(spans: Iterable[Span]) -> list[Span]:
    """Spans of many runs under one root that has no run: routed by its first span, all would go one way."""
    root = span("batch", {"job": "nightly"}, trace="batch")
    found = [root]
    for one in spans:
        one.trace_id = root.trace_id
        one.parent_span_id = root.span_id
        found.append(one)
    return found


def calls(numbers: Iterable[int], process: str = "p1", runs: Iterable[str] = RUNS, begun: int = 0) -> list[Span]:
    """Equal calls of every run, run by run in turn, ``begun`` seconds after the first."""
    return [annotated(run, number, process=process, at=begun + number) for number in numbers for run in runs]


def told(*detectors: Serving) -> list[Counter[tuple[str, str]]]:
    """Of each detector: how often it told of a run and an action."""
    return [
        Counter(
            (line["attributes"]["loopguard.run.id"], line["attributes"]["loopguard.finding.action"])
            for line in detector.findings()
        )
        for detector in detectors
    ]


def doubted(*detectors: Serving) -> list[str]:
    """The runs whose telemetry a detector found in doubt."""
    return [
        line["attributes"]["loopguard.run.id"]
        for detector in detectors
        for line in detector.lines()
        if line["event"] == "loopguard.integrity"
    ]


def items(detector: Serving) -> float:
    """Spans and log records that a detector took in."""
    return samples(detector.page("/metrics"))["loopguard_server_items_total"]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_run_has_one_detector(tmp_path: Path, protocol: Protocol) -> None:
    """Twenty runs of two processes in one trace: each gets its nudge and its stop once, from one detector."""
    with (
        serving(tmp_path / "1") as first,
        serving(tmp_path / "2") as second,
        balancer(tmp_path / "balancer", first, second) as collector,
    ):
        for begun, numbers, process in ((0, [1, 2], "p1"), (10, [1, 2], "p2"), (20, [3], "p1")):
            spans = in_one_trace(calls(numbers, process, begun=begun))
            collector.send(traces(spans, {"service.name": process}), protocol)
        until(lambda: sum(sum(one.values()) for one in told(first, second)) >= 40, "all findings")
        found = told(first, second)
        came = items(first) + items(second)
    assert found[0] + found[1] == Counter({(run, action): 1 for run in RUNS for action in ("nudge", "stop")})
    assert {run for run, _ in found[0]}.isdisjoint({run for run, _ in found[1]})
    assert all(found)
    assert doubted(first, second) == []
    assert came == 5 * 20 + 3


def test_calls_without_a_run_stay_together(tmp_path: Path) -> None:
    """Agents without our processor name no run: all of their calls go to one detector, so no run is torn apart."""
    with (
        serving(tmp_path / "1") as first,
        serving(tmp_path / "2") as second,
        balancer(tmp_path / "balancer", first, second) as collector,
    ):
        for number in range(1, 6):
            collector.send(traces([raw(run, number, {"q": run}, []) for run in RUNS]))
        until(lambda: sum(sum(one.values()) for one in told(first, second)) >= 40, "all findings")
        assert sorted([items(first), items(second)]) == [0, 100]


def test_events_go_where_their_run_is(tmp_path: Path) -> None:
    """The end of a run, a log record, reaches the detector that has its calls: there it is a run with a nudge."""
    with (
        serving(tmp_path / "1") as first,
        serving(tmp_path / "2") as second,
        balancer(tmp_path / "balancer", first, second) as collector,
    ):
        collector.send(traces(calls([1, 2, 3])))
        until(lambda: sum(sum(one.values()) for one in told(first, second)) == 20, "a nudge for every run")
        collector.send(logs([("loopguard.run.end", {"loopguard.run.id": run}) for run in RUNS]))
        until(lambda: sum(ended(first).values()) + sum(ended(second).values()) == 20, "all ends")
        assert {*ended(first), *ended(second)} == {'loopguard_runs_total{loopguard_verdict="nudge"}'}


def ended(detector: Serving) -> dict[str, float]:
    """How many runs ended at a detector, by verdict."""
    page = samples(detector.page("/metrics"))
    return {name: value for name, value in page.items() if name.startswith("loopguard_runs_total")}


def test_a_dead_detector_gets_its_calls_when_it_is_back(tmp_path: Path) -> None:
    """Meanwhile the other one gets its own, each once; nothing is lost and nothing told twice."""
    port = free_port()
    with serving(tmp_path / "1") as first, balancer(tmp_path / "b", first, f"127.0.0.1:{port}") as collector:
        with serving(tmp_path / "2", port) as second:
            collector.send(traces(calls([1, 2])))
            until(lambda: items(first) + items(second) == 40, "all calls")
        own = items(first) / 2
        assert 0 < own < 20
        for number in (3, 4, 5):
            collector.send(traces(calls([number])))
        until(lambda: items(first) == own * 5, "what the first one has")
        with serving(tmp_path / "2", port) as back:
            until(lambda: items(back) == (20 - own) * 3, "what the second one missed")
            until(lambda: sum(sum(one.values()) for one in told(first, back)) >= 40, "all findings")
            assert items(first) == own * 5
            found = told(first, back)
            assert doubted(first, back) == []
    assert found[0] + found[1] == Counter({(run, action): 1 for run in RUNS for action in ("nudge", "stop")})


def test_a_change_of_the_ring_moves_runs_without_their_past(tmp_path: Path) -> None:
    """With a second detector some runs move: they begin anew there, the others go on, and none is told twice."""
    with serving(tmp_path / "1") as first, serving(tmp_path / "2") as second:
        with balancer(tmp_path / "before", first, first) as collector:
            collector.send(traces(calls([1, 2, 3])))
            until(lambda: len(first.findings()) == 20, "a nudge for every run")
        with balancer(tmp_path / "after", first, second) as collector:
            collector.send(traces(calls([4, 5])))
            until(lambda: items(first) + items(second) == 100, "all calls")
            until(lambda: len(first.findings()) > 20, "stops")
            stayed = {run for run, action in told(first)[0] if action == "stop"}
            moved = set(RUNS) - stayed
            assert stayed
            assert moved
            assert second.findings() == []
            collector.send(traces(calls([6, 7, 8], runs=sorted(moved))))
            until(lambda: len(second.findings()) == 2 * len(moved), "nudge and stop of those that moved")
        found = told(first, second)
    assert found[1] == Counter({(run, action): 1 for run in moved for action in ("nudge", "stop")})
