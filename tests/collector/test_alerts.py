"""Alerts for real: `loopguard serve`, Prometheus and Alertmanager with our files, agents that send spans over OTLP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

import pytest

pytest.importorskip("h11", reason="needs the extra `serve`: make install")

pytest.importorskip("promql_parser", reason="needs the extra `test`: make install")

from collector_config.grafana.make_dashboard import dashboard
from demo.__main__ import HERE, environment, start
from tests.support.collector import Collector, free_port, until
from tests.support.monitoring import Heard, Monitoring
from tests.support.promql import COLLECTOR, on_a_dashboard
from tests.support.serving import KEY
from tests.support.spans import logs, pairs

EMPTY: Final = {
    "Agents that say they are blocked",
    "Calls not dispatched",
    "Dropped at limits",
    "Errors of otel-loopguard",
    "Loop events by tool, as metrics.yaml counts them",
    "Overhead in the agents",
    "Runs that ended, by verdict",
    "Runs that loop",
    "Sending queues in use",
    "Telemetry in doubt",
    "Tokens wasted, as metrics.yaml counts them",
}
"""Panels that may stay empty here: no guard, no Collector, no numbers of agents, no error, no run that ended."""


class Detector:
    """`loopguard serve` as a process."""

    def __init__(self, folder: Path) -> None:
        self.grpc, self.page = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self._command = [
            sys.executable, "-m", "otel_loopguard", "serve", "--grpc-address", self.grpc, "--http-address", "off",
            "--page-address", self.page, "--state-file", str(folder / "state"), "--lateness", "200ms",
        ]  # fmt: skip
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Detector:
        environ = {**os.environ, "LOOPGUARD_KEY": KEY, "LOOPGUARD_POLICY": str(HERE / "policy.yaml")}  # as the agents
        self.process = subprocess.Popen(self._command, env=environ, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        assert "ready" in self.process.stderr.readline()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(signal.SIGTERM)

    def end(self, how: signal.Signals) -> None:
        """Its end."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.communicate(timeout=30)
            self.process = None


@pytest.fixture
def detector(tmp_path: Path) -> Iterator[Detector]:
    """A detector."""
    with Detector(tmp_path) as running:
        yield running


@pytest.fixture
def monitoring(tmp_path: Path, detector: Detector) -> Iterator[Monitoring]:
    """Prometheus that reads the detector's page, and Alertmanager."""
    with watching(tmp_path, detector) as running:
        yield running


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitoring]:
    """Both, after forty calls of a healthy agent and then as many of a stuck one."""
    folder = tmp_path_factory.mktemp("incident")
    with Detector(folder) as detector, watching(folder, detector) as running:
        run_agent("healthy", detector)
        running.until('sum(loopguard_tool_calls_total{gen_ai_agent_name="healthy"}) == 40')
        run_agent("stuck", detector)
        running.until('sum(loopguard_tool_calls_total{gen_ai_agent_name="stuck"}) == 40')
        yield running


@contextmanager
def watching(folder: Path, detector: Detector) -> Iterator[Monitoring]:
    """Prometheus and Alertmanager, from when the detector was seen."""
    with Monitoring(folder, {"otel-loopguard": detector.page}) as running:
        running.until('up{job="otel-loopguard"} == 1')
        yield running


def run_agent(name: str, detector: Detector) -> None:
    """An agent of the demo, as a user starts it, from its first call to its end."""
    variables = environment(name, f"http://{detector.grpc}", KEY) | {"OTEL_METRICS_EXPORTER": "none"}
    agent = start(name, "customer", variables)
    _, errors = agent.communicate(timeout=60)
    assert agent.returncode == 0, errors


def test_a_looping_agent_is_told_and_a_healthy_one_is_not(incident: Monitoring) -> None:
    """The first stop reaches the channel for warnings with tool and agent; of forty healthy calls nothing is said."""
    heard = incident.until_heard(lambda one: one.name == "LoopguardAgentStuck", "the stuck agent is told")
    assert (heard.receiver, heard.status) == ("channel", "firing")
    assert heard.labels == {
        "alertname": "LoopguardAgentStuck", "severity": "warning", "job": "otel-loopguard",
        "gen_ai_tool_name": "search_logs", "gen_ai_agent_name": "stuck",
        "loopguard_finding_kind": "identical", "loopguard_finding_action": "stop",
    }  # fmt: skip
    assert heard.annotations["summary"] == "agent stuck: search_logs of stuck (identical)"
    fired = {(one["alertname"], one.get("gen_ai_agent_name")) for one in incident.query("ALERTS")}
    assert fired == {("LoopguardAgentStuck", "stuck")}


def test_the_dashboard_shows_it(incident: Monitoring) -> None:
    """Prometheus answers every query of every panel, and those about loops and the detector with something."""
    incident.until('loopguard:findings:new10m{loopguard_finding_action="stop"} > 0')
    answers = {
        panel["title"]: [incident.query(on_a_dashboard(target["expr"])) for target in panel["targets"]]
        for panel in dashboard()["panels"]
        if panel["type"] != "row"
    }
    assert {title for title, found in answers.items() if not all(found)} <= EMPTY


def test_what_the_collector_counts_is_told_without_a_detector(tmp_path: Path) -> None:
    """`metrics.yaml` alone: its first loop event is an alert, under the agent's service and marked with who counted."""
    finding = {
        "loopguard.finding.kind": "cycle", "loopguard.finding.action": "stop", "gen_ai.tool.name": "search_logs",
        "gen_ai.agent.name": "triage",
    }  # fmt: skip
    request = logs([("loopguard.finding", finding)])
    request.resource_logs[0].resource.attributes.extend(pairs({"service.name": "support"}))
    with Collector(tmp_path / "collector", "metrics.yaml") as collector:
        pages = {
            "loopguard-metrics": collector.variables["PROMETHEUS_ADDRESS"],
            "otel-collector": f"127.0.0.1:{collector.variables['TELEMETRY_PORT']}",
        }
        with Monitoring(tmp_path, pages) as monitoring:
            monitoring.until("count(up == 1) == 2")
            collector.send(request)
            heard = monitoring.until_heard(lambda one: one.name == "LoopguardAgentStuck", "the stuck agent is told")
    assert (heard.labels["job"], heard.labels["counted_by"]) == ("support", "collector")
    assert heard.annotations["summary"] == "agent stuck: search_logs of triage (cycle)"


def test_the_collectors_own_metrics_are_spelt_so(tmp_path: Path) -> None:
    """Its queues, one of them to the detector, are on its page with the labels that rules and dashboard read."""
    with Collector(tmp_path, "gateway.yaml") as gateway:
        for name in ("otelcol_exporter_queue_size", "otelcol_exporter_queue_capacity"):
            assert COLLECTOR[name] == {"exporter", "data_type"}
            assert f'{name}{{data_type="traces",exporter="otlp_grpc/detector"}}' in gateway.telemetry()


def test_a_detector_that_is_killed_wakes_somebody_until_it_is_back(detector: Detector, monitoring: Monitoring) -> None:
    """The pager hears that it is down, and that it is over."""

    def is_told(status: str, one: Heard) -> bool:
        return (one.name, one.receiver, one.status) == ("LoopguardDetectorDown", "pager", status)

    monitoring.until("loopguard_server_items_total == 0")
    detector.end(signal.SIGKILL)
    heard = monitoring.until_heard(lambda one: is_told("firing", one), "the pager hears of it")
    assert heard.labels["instance"] == detector.page
    with detector:
        monitoring.until_heard(lambda one: is_told("resolved", one), "the pager hears that it is over")


def test_one_loop_is_told_once(monitoring: Monitoring) -> None:
    """The detector speaks before the agents, they before the Collector; another tool is another loop."""
    stuck = {"alertname": "LoopguardAgentStuck", "severity": "warning", "gen_ai_tool_name": "search_logs"}
    raised = {
        "detector": stuck | {"job": "otel-loopguard"},
        "agents": stuck | {"job": "agents"},
        "collector": stuck | {"job": "agents", "counted_by": "collector"},
        "other": stuck | {"job": "agents", "gen_ai_tool_name": "read_file"},
        "other by the collector": stuck | {"job": "agents", "gen_ai_tool_name": "read_file", "counted_by": "collector"},
        "only the collector": stuck | {"job": "more", "gen_ai_tool_name": "grep", "counted_by": "collector"},
        "gone": {"alertname": "LoopguardDetectorGone", "job": "mine", "severity": "critical"},
        "silent": {"alertname": "LoopguardDetectorSilent", "job": "mine", "severity": "critical"},
        "silent elsewhere": {"alertname": "LoopguardDetectorSilent", "job": "theirs", "severity": "critical"},
    }
    monitoring.raise_alerts(list(raised.values()))
    until(lambda: len(monitoring.alerts()) == len(raised), "Alertmanager has them")

    def told() -> set[str]:
        held = [one["labels"] for one in monitoring.alerts() if one["status"]["state"] == "active"]
        return {name for name, labels in raised.items() if labels in held}

    expected = {"detector", "other", "only the collector", "gone", "silent elsewhere"}
    until(lambda: told() == expected, f"{sorted(expected)} are told")
