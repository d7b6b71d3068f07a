"""Panels about agents: loop events, what they cost, what guards do about them."""

from __future__ import annotations

from typing import Final

from collector_config.grafana.panel import Panel, Target

__all__ = ["AGENT", "COSTS", "GUARDS", "JOB", "LOOPS", "OWN", "TOOL"]

JOB: Final = 'job=~"$job"'
OWN: Final = 'counted_by=""'
"""Not what the Collector counts, which is the same once more."""
TOOL: Final = "{{gen_ai_tool_name}}"
AGENT: Final = "{{gen_ai_agent_name}}"
CALL: Final = f'{JOB},gen_ai_tool_name=~"$tool",gen_ai_agent_name=~"$agent"'
EVENTS: Final = f'loopguard:findings:new10m{{{CALL},{OWN},loopguard_finding_action!="info"}}'
IN_ALL: Final = f"sum_over_time({EVENTS}[$__range:10m]) or {EVENTS}"
"""Of the time range: its whole tens of minutes, and what has no such yet."""

LOOPS: Final = (
    Panel(
        "stat",
        "Loop events",
        "Nudges and stops within the time range. A stop is a call that should be refused.",
        "short",
        [
            Target(
                f"sum by (loopguard_finding_action) ({IN_ALL})",
                "{{loopguard_finding_action}}",
                at_once=True,
            )
        ],
        width=6,
        height=5,
    ),
    Panel(
        "stat",
        "Runs that loop",
        "Share of the runs that ended within the hour and had a nudge or a stop.",
        "percentunit",
        [Target(f"loopguard:looping_runs:ratio1h{{{JOB},{OWN}}}", "{{job}}")],
        width=6,
        height=5,
        steps=(0.05, 0.1),
    ),
    Panel(
        "stat",
        "Nudges ignored",
        "Share of the hour's decided nudges after which the agent went on as before.",
        "percentunit",
        [Target(f"loopguard:ignored_nudges:ratio1h{{{JOB},{OWN}}}", "{{job}}")],
        width=6,
        height=5,
        steps=(0.25, 0.5),
    ),
    Panel(
        "stat",
        "Calls wasted",
        "Calls after the first finding of their run, for each call of the hour.",
        "percentunit",
        [Target(f"loopguard:wasted_calls:ratio1h{{{JOB},{OWN}}}", "{{job}}")],
        width=6,
        height=5,
        steps=(0.05, 0.1),
    ),
    Panel(
        "bars",
        "Loop events by kind",
        "New nudges and stops in ten minutes. The README explains the kinds.",
        "short",
        [Target(f"sum by (loopguard_finding_kind) ({EVENTS})", "{{loopguard_finding_kind}}")],
    ),
    Panel(
        "bars",
        "Findings by action",
        "New findings in ten minutes: nudge, stop, and info, which is no loop.",
        "short",
        [
            Target(
                f"sum by (loopguard_finding_action) (loopguard:findings:new10m{{{CALL},{OWN}}})",
                "{{loopguard_finding_action}}",
            )
        ],
    ),
    Panel(
        "timeseries",
        "Loop events by tool",
        "The ten tools with most new nudges and stops in ten minutes.",
        "short",
        [Target(f"topk(10, sum by (gen_ai_tool_name) ({EVENTS}))", TOOL)],
    ),
    Panel(
        "timeseries",
        "Loop events by agent",
        "The ten agents with most new nudges and stops in ten minutes.",
        "short",
        [Target(f"topk(10, sum by (gen_ai_agent_name) ({EVENTS}))", AGENT)],
    ),
    Panel(
        "table",
        "Where agents are stuck",
        "All loop events of the time range by who counted, tool, agent, kind and action.",
        "short",
        [
            Target(
                "sum by (job, gen_ai_tool_name, gen_ai_agent_name, loopguard_finding_kind, loopguard_finding_action) "
                f"({IN_ALL}) > 0",
                f"{TOOL} {AGENT}",
                at_once=True,
                format="table",
            )
        ],
        hidden={"Time": True},
    ),
    Panel(
        "timeseries",
        "Tool calls by tool",
        "Calls a second, looping or not: what loop events are to be compared with.",
        "cps",
        [
            Target(
                f"topk(10, sum by (gen_ai_tool_name) (rate(loopguard_tool_calls_total{{{CALL}}}[$__rate_interval])))",
                TOOL,
            )
        ],
    ),
)
COSTS: Final = (
    Panel(
        "bars",
        "Runs that ended, by verdict",
        "Within the last hour: allow, or the strongest finding of the run.",
        "short",
        [Target(f"sum by (loopguard_verdict) (loopguard:runs:new1h{{{JOB}}})", "{{loopguard_verdict}}")],
    ),
    Panel(
        "timeseries",
        "Calls, and calls wasted",
        "Within the last hour. Wasted are those after the first finding of their run, told when it ends.",
        "short",
        [
            Target(f"sum(loopguard:tool_calls:new1h{{{JOB},{OWN}}})", "calls"),
            Target(f"sum(loopguard:wasted_calls:new1h{{{JOB},{OWN}}})", "wasted"),
        ],
    ),
    Panel(
        "bargauge",
        "Calls until a finding",
        "Findings of the time range by how many calls the run had made up to them.",
        "short",
        [
            Target(
                f"sum by (le) (increase(loopguard_detection_calls_bucket{{{JOB}}}[$__range]))",
                "{{le}}",
                at_once=True,
                format="heatmap",
            )
        ],
    ),
    Panel(
        "bargauge",
        "Calls after the first finding",
        "Looping runs that ended within the time range, by calls wasted.",
        "short",
        [
            Target(
                f"sum by (le) (increase(loopguard_wasted_calls_bucket{{{JOB}}}[$__range]))",
                "{{le}}",
                at_once=True,
                format="heatmap",
            )
        ],
    ),
)
GUARDS: Final = (
    Panel(
        "bars",
        "Nudges by outcome",
        "Within the last hour. recovered: something new came; escalated: the same again; open: neither until the end.",
        "short",
        [
            Target(
                f"sum by (loopguard_nudge_outcome) (loopguard:nudges:new1h{{{JOB},{OWN}}})",
                "{{loopguard_nudge_outcome}}",
            )
        ],
        width=8,
    ),
    Panel(
        "bars",
        "Calls not dispatched",
        "What guards refused or answered from an earlier result, new in ten minutes, by tool.",
        "short",
        [Target(f"sum by (gen_ai_tool_name) (loopguard:denials:new10m{{{CALL}}})", TOOL)],
        width=8,
    ),
    Panel(
        "bars",
        "Agents that say they are blocked",
        "Reports through the tool report_blocked within the last hour, by what is needed.",
        "short",
        [
            Target(
                f"sum by (loopguard_blocked_kind) (loopguard:blocked_reports:new1h{{{JOB}}})",
                "{{loopguard_blocked_kind}}",
            )
        ],
        width=8,
    ),
)
