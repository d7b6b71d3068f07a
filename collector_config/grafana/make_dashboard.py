"""Makes `dashboard.json` for Grafana: `make dashboard`.

Findings, runs, nudges and the like come from the rules of `../prometheus/rules.yaml`, which see a first event; sizes
and rates come from the counters themselves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from collector_config.grafana.health import COLLECTOR, DETECTOR, DOUBTS
from collector_config.grafana.loops import COSTS, GUARDS, LOOPS
from collector_config.grafana.panel import alerts, datasource_variable, label_variable, layout

__all__ = ["FILE", "dashboard", "text"]

FILE: Final = Path(__file__).resolve().parent / "dashboard.json"
_ROWS: Final = {
    "Loops": LOOPS,
    "What they cost": COSTS,
    "Guards": GUARDS,
    "In doubt, dropped, failed": DOUBTS,
    "Detector": DETECTOR,
    "Collector": COLLECTOR,
}
_JOBS: Final = "The detector counts what agents count too: choose it or them, not both."
_CALLS: Final = '{__name__=~"loopguard_tool_calls_total|loopguard_collector_tool_calls_total",job=~"$job"}'


def dashboard() -> dict[str, Any]:
    """The dashboard."""
    return {
        "uid": "otel-loopguard",
        "title": "Agents in loops (otel-loopguard)",
        "description": f"Needs the rules of collector_config/prometheus/rules.yaml. {_JOBS}",
        "tags": ["agents", "otel-loopguard"],
        "schemaVersion": 41,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "annotations": {"list": [alerts('ALERTS{alertname=~"Loopguard.+",alertstate="firing"}')]},
        "templating": {
            "list": [
                datasource_variable(),
                label_variable("job", "Counted by", _JOBS, 'label_values({__name__=~"loopguard_.+"}, job)'),
                label_variable("tool", "Tool", "Tools of these calls.", f"label_values({_CALLS}, gen_ai_tool_name)"),
                label_variable(
                    "agent", "Agent", "Agents of these calls.", f"label_values({_CALLS}, gen_ai_agent_name)"
                ),
            ]
        },
        "links": [],
        "panels": layout(_ROWS),
    }


def text() -> str:
    """The dashboard as it stands in its file."""
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"dashboard: wrote {FILE}")
