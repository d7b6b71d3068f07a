"""A real Prometheus and Alertmanager behind the whole pipeline: what they count and who is told.

Two processes share a run that loops, one process loops by itself, one is healthy; all by the gateway, which counts
beside (`metrics.yaml`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

pytest.importorskip("h11", reason="needs the extra `serve`: make install")

from demo.__main__ import HERE
from tests.support.agent import Stepwise, environment, run
from tests.support.collector import until
from tests.support.monitoring import Heard, Monitoring
from tests.support.pipeline import Pipeline

POLICY: Final = str(HERE / "policy.yaml")
"""The demo's: `search_logs` is a read, so the second equal call is a nudge and the third a stop."""
TRIAGE, RESEARCH = "triage", "research"
CALL: Final = {"run": "shared", "tool": "search_logs", "arguments": {"service": "checkout"}, "result": []}
OWN: Final = [("identical", "nudge"), ("identical", "stop"), ("no_progress", "nudge"), ("no_progress", "nudge")]
"""What the stuck process finds itself."""
STEPS: Final = 40
"""Calls of an agent of the demo."""


class Watched(NamedTuple):
    """The pipeline, and who watches it."""

    parts: Pipeline
    monitoring: Monitoring


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Everything, after all four processes."""
    folder = tmp_path_factory.mktemp("rates")
    flags = ("--lateness", "500ms")
    with Pipeline(folder, *flags, beside=("metrics.yaml",), LOOPGUARD_POLICY=POLICY) as parts:
        targets = {
            "otel-loopguard": parts.detector.page,
            "loopguard-metrics": parts.gateway.variables["PROMETHEUS_ADDRESS"],
            "otel-collector": f"127.0.0.1:{parts.gateway.variables['TELEMETRY_PORT']}",
        }
        with Monitoring(folder, targets) as monitoring:
            monitoring.until("count(up == 1) == 3")
            one, other = (
                Stepwise(name, environment(name, parts.gateway.grpc, LOOPGUARD_POLICY=POLICY))
                for name in (TRIAGE, RESEARCH)
            )
            with one, other:
                for agent in (one, other):
                    agent.make([CALL])
            for name in ("healthy", "stuck"):
                environ = environment(name, parts.gateway.grpc, LOOPGUARD_POLICY=POLICY)
                run("demo.agent", name, "customer", environ=environ)
            until(lambda: len(parts.calls()) >= 2 * STEPS + 2, "every call at the backend")
            monitoring.until(f"sum(loopguard_tool_calls_total) == {2 * STEPS + 2}")
            monitoring.until(f"sum(loopguard_collector_tool_calls_total) == {2 * STEPS + 2}")
            until(lambda: len(parts.findings()) >= 1 + len(OWN), "the findings at the backend")
            yield Watched(parts, monitoring)


def test_a_healthy_agent_is_left_alone(watched: Watched) -> None:
    """Forty calls that page, poll, edit and test: no finding, by nobody."""
    found = {(held.get("gen_ai.agent.name"), held["loopguard.run.id"]) for held in watched.parts.findings().values()}
    assert found == {(None, "shared"), ("stuck", "demo-stuck")}
    assert watched.monitoring.query('loopguard_findings_total{gen_ai_agent_name="healthy"}') == []
    assert watched.monitoring.query('loopguard_collector_findings_total{job="healthy"}') == []
    healthy = [span for span in watched.parts.calls() if span.resource["service.name"] == "healthy"]
    assert {span.attributes["loopguard.verdict"] for span in healthy} == {"allow"}
    assert len(healthy) == STEPS


def test_a_finding_of_a_process_is_not_told_again(watched: Watched) -> None:
    """What the stuck process found itself is at the backend once, from it; the detector counts it and says nothing."""
    own = [record for record in watched.parts.events("loopguard.finding") if record.resource["service.name"] == "stuck"]
    assert [
        (record.attributes["loopguard.finding.kind"], record.attributes["loopguard.finding.action"]) for record in own
    ] == OWN
    assert {found["loopguard.run.id"] for found in watched.parts.detector.told("loopguard.finding")} == {"shared"}
    counted = 'sum(loopguard_findings_total{gen_ai_agent_name="stuck", loopguard_finding_action!="info"}) == 4'
    assert watched.monitoring.until(counted)


def test_a_loop_over_two_processes_is_counted_by_the_detector_alone(watched: Watched) -> None:
    """Prometheus has it from the detector's page; to the Collector's count either process made one harmless call."""
    assert watched.monitoring.until(
        'loopguard_findings_total{gen_ai_agent_name="", loopguard_finding_action="nudge"} == 1'
    )
    assert watched.monitoring.query('loopguard_collector_findings_total{job=~"triage|research"}') == []
    for name in (TRIAGE, RESEARCH):
        assert watched.monitoring.until(f'sum(loopguard_collector_tool_calls_total{{job="{name}"}}) == 1')


def test_the_collector_counts_what_agents_found(watched: Watched) -> None:
    """The stuck agent's findings are on the Collector's page under its service."""
    assert watched.monitoring.until('sum(loopguard_collector_findings_total{job="stuck"}) == 4')


def test_somebody_is_told_of_the_stuck_agent_alone(watched: Watched) -> None:
    """The alert names tool and agent, and nothing else fires: no queue fills, nothing is refused or silent."""

    def is_told(one: Heard) -> bool:
        return one.name == "LoopguardAgentStuck" and one.labels["job"] == "otel-loopguard"

    heard = watched.monitoring.until_heard(is_told, "the stuck agent is told, by the detector's count")
    assert (heard.labels["gen_ai_agent_name"], heard.labels["gen_ai_tool_name"]) == ("stuck", "search_logs")
    fired = {(one["alertname"], one.get("gen_ai_agent_name")) for one in watched.monitoring.query("ALERTS")}
    assert fired == {("LoopguardAgentStuck", "stuck")}


def test_the_queues_are_watched(watched: Watched) -> None:
    """Size and capacity of all five queues of the gateway, one for an exporter and signal, under names of the rules."""
    queues = watched.monitoring.until("otelcol_exporter_queue_size / otelcol_exporter_queue_capacity < 0.5")
    assert {(one["exporter"], one["data_type"]) for one in queues} == {
        ("otlp_grpc/detector", "traces"), ("otlp_grpc/detector", "logs"), ("otlp_grpc/traces", "traces"),
        ("otlp_grpc/logs", "logs"), ("otlp_grpc/metrics", "metrics"),
    }  # fmt: skip
