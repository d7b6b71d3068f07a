"""Panels about what watches the agents: telemetry in doubt, the detector, the Collector."""

from __future__ import annotations

from typing import Final

from collector_config.grafana.loops import AGENT, JOB, OWN, TOOL
from collector_config.grafana.panel import Panel, Target

__all__ = ["COLLECTOR", "DETECTOR", "DOUBTS"]

DOUBTS: Final = (
    Panel(
        "timeseries",
        "Telemetry in doubt",
        "Integrity findings of the hour, by kind. In such runs guards refuse nothing, unless it is call_id.",
        "short",
        [
            Target(
                f"sum by (loopguard_integrity_kind) (loopguard:integrity_findings:new1h{{{JOB},{OWN}}})",
                "{{loopguard_integrity_kind}}",
            )
        ],
    ),
    Panel(
        "timeseries",
        "Dropped at limits",
        "Items given up in ten minutes, by reason. The runbook says what each of them costs.",
        "short",
        [
            Target(
                f"sum by (loopguard_drop_reason) (loopguard:dropped:new10m{{{JOB}}})",
                "{{loopguard_drop_reason}}",
            )
        ],
    ),
    Panel(
        "timeseries",
        "Errors of otel-loopguard",
        "Swallowed in ten minutes, by type. store_ is the detector's disk, sink_ is what it sends to.",
        "short",
        [Target(f"sum by (error_type) (loopguard:errors:new10m{{{JOB}}})", "{{error_type}}")],
    ),
    Panel(
        "timeseries",
        "Overhead in the agents",
        "Time that the span processor takes for a tool span, sampled.",
        "s",
        [
            Target(
                f"histogram_quantile({share}, sum by (le) "
                f"(rate(loopguard_overhead_duration_seconds_bucket{{{JOB}}}[$__rate_interval])))",
                words,
            )
            for share, words in (("0.5", "half are faster"), ("0.99", "99 of 100 are faster"))
        ],
    ),
)
DETECTOR: Final = (
    Panel(
        "stat",
        "Silent for",
        "Time since the detector took in a span or log record.",
        "s",
        [Target(f"time() - max by (job) (loopguard_last_record_time_seconds{{{JOB}}} > 0)", "{{job}}")],
        width=6,
        height=5,
        steps=(300, 600),
    ),
    Panel(
        "stat",
        "Runs held",
        "Runs that the detector remembers.",
        "short",
        [Target(f"sum by (instance) (loopguard_server_runs{{{JOB}}})", "{{instance}}")],
        width=6,
        height=5,
    ),
    Panel(
        "stat",
        "State",
        "Size of the state of all runs that the detector remembers.",
        "bytes",
        [Target(f"sum by (instance) (loopguard_server_state_size_bytes{{{JOB}}})", "{{instance}}")],
        width=6,
        height=5,
    ),
    Panel(
        "stat",
        "Connections",
        "Open HTTP connections of senders.",
        "short",
        [Target(f"sum by (instance) (loopguard_server_connections{{{JOB}}})", "{{instance}}")],
        width=6,
        height=5,
    ),
    Panel(
        "timeseries",
        "Requests by answer",
        "Requests a second. Other than accepted and partial, the sender was refused.",
        "reqps",
        [
            Target(
                f"sum by (loopguard_server_answer) (rate(loopguard_server_requests_total{{{JOB}}}[$__rate_interval]))",
                "{{loopguard_server_answer}}",
            )
        ],
    ),
    Panel(
        "timeseries",
        "Spans and log records taken in",
        "A second, by detector.",
        "cps",
        [Target(f"sum by (instance) (rate(loopguard_server_items_total{{{JOB}}}[$__rate_interval]))", "{{instance}}")],
    ),
    Panel(
        "timeseries",
        "Latency",
        "From a request's receipt until its calls are with their runs; the write to the disk is in it.",
        "s",
        [
            Target(
                f"histogram_quantile({share}, sum by (le) "
                f"(rate(loopguard_server_latency_seconds_bucket{{{JOB}}}[$__rate_interval])))",
                words,
            )
            for share, words in (("0.5", "half are faster"), ("0.95", "19 of 20 are faster"))
        ],
    ),
    Panel(
        "timeseries",
        "Queues",
        "What waits in the detector: requests to be judged, and messages for each sink.",
        "short",
        [
            Target(
                f"sum by (instance, loopguard_queue_name) (loopguard_queue_size{{{JOB}}})",
                "{{loopguard_queue_name}} {{instance}}",
            )
        ],
    ),
)
COLLECTOR: Final = (
    Panel(
        "timeseries",
        "Sending queues in use",
        "Share of each exporter's queue. When it is full, senders wait or are refused.",
        "percentunit",
        [Target("otelcol_exporter_queue_size / otelcol_exporter_queue_capacity", "{{exporter}} {{data_type}}")],
        width=8,
        steps=(0.5, 0.9),
    ),
    Panel(
        "bars",
        "Loop events by tool, as metrics.yaml counts them",
        "New nudges and stops in ten minutes, made of events in the Collector: no detector is needed.",
        "short",
        [
            Target(
                f'sum by (gen_ai_tool_name) (loopguard:findings:new10m{{{JOB},gen_ai_tool_name=~"$tool",'
                'counted_by="collector",loopguard_finding_action!="info"})',
                TOOL,
            )
        ],
        width=8,
    ),
    Panel(
        "bars",
        "Tokens wasted, as metrics.yaml counts them",
        "Tokens after the first finding of runs that ended within the last hour, where models tell them.",
        "short",
        [Target(f"sum by (gen_ai_agent_name) (loopguard:wasted_tokens:new1h{{{JOB}}})", AGENT)],
        width=8,
    ),
)
