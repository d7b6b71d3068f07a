"""Panels, rows and variables as Grafana's JSON has them (schema 41, Grafana 11.6; older and newer ones convert it).

Not what the dashboard shows: `loops.py` and `health.py` say that. A plain builder instead of Grafana's SDK, whose
checks find less than our tests do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = ["DATASOURCE", "WIDTH", "Panel", "Target", "alerts", "datasource_variable", "label_variable", "layout"]

Json = dict[str, Any]

DATASOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
"""Whichever Prometheus is chosen above the dashboard."""
WIDTH: Final = 24
"""Columns of a dashboard."""

_DRAWN: Final[Mapping[str, Json]] = {
    "timeseries": {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "never"},
    "table": {"align": "auto", "inspect": False},
    "bars": {"drawStyle": "bars", "lineWidth": 0, "fillOpacity": 70, "stacking": {"mode": "normal", "group": "A"}},
}


def _legend(*, shown: bool) -> Json:
    return {"displayMode": "list", "placement": "bottom", "showLegend": shown, "calcs": []}


_SHOWN: Final[Mapping[str, Json]] = {
    "stat": {
        "colorMode": "value", "graphMode": "area", "textMode": "auto", "justifyMode": "auto", "orientation": "auto",
        "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard",
    },
    "bargauge": {
        "displayMode": "gradient", "orientation": "horizontal", "showUnfilled": True, "valueMode": "color",
        "namePlacement": "auto", "sizing": "auto", "minVizWidth": 8, "minVizHeight": 16, "maxVizHeight": 300,
        "legend": _legend(shown=False),
    },
}  # fmt: skip
"""Everything that Grafana's schema asks for; beyond the first entries, its own defaults."""


@dataclass(frozen=True, slots=True)
class Target:
    """One query; ``at_once``: only its last value, not its course."""

    expr: str
    legend: str
    at_once: bool = False
    format: Literal["time_series", "heatmap", "table"] = "time_series"


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; ``unit`` is Grafana's name of it, ``steps`` are values from which it is yellow, then red."""

    kind: Literal["timeseries", "bars", "stat", "bargauge", "table"]
    title: str
    description: str
    unit: str
    targets: Sequence[Target]
    width: int = 12
    steps: tuple[float, ...] = ()
    height: int = 8
    hidden: Mapping[str, bool] = field(default_factory=dict)
    """Columns of a table that say nothing."""

    def json(self, number: int, at: tuple[int, int]) -> Json:
        """The panel at a place: column and line."""
        defaults: Json = {"unit": self.unit, "min": 0, "custom": dict(_DRAWN.get(self.kind, {}))}
        colours = zip((None, *self.steps), ("green", "yellow", "red"), strict=False)
        defaults["thresholds"] = {
            "mode": "absolute",
            "steps": [{"value": value, "color": colour} for value, colour in colours],
        }
        defaults["color"] = {"mode": "thresholds" if self.steps else "palette-classic"}
        panel: Json = {
            "id": number,
            "type": "timeseries" if self.kind == "bars" else self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"x": at[0], "y": at[1], "w": self.width, "h": self.height},
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": self._options(),
            "targets": [self._target(one, chr(ord("A") + place)) for place, one in enumerate(self.targets)],
        }
        if self.kind == "table":
            panel["transformations"] = [{"id": "organize", "options": {"excludeByName": dict(self.hidden)}}]
        return panel

    def _options(self) -> Json:
        if self.kind in {"timeseries", "bars"}:
            return {"legend": _legend(shown=True), "tooltip": {"mode": "multi", "sort": "desc"}}
        if self.kind == "table":
            return {"showHeader": True, "frameIndex": 0, "sortBy": [{"displayName": "Value", "desc": True}]}
        return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}} | _SHOWN[self.kind]

    @staticmethod
    def _target(target: Target, ref: str) -> Json:
        return {
            "refId": ref,
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": target.expr,
            "legendFormat": target.legend,
            "format": target.format,
            "instant": target.at_once,
            "range": not target.at_once,
        }


def layout(rows: Mapping[str, Sequence[Panel]]) -> list[Json]:
    """Rows of panels from left to right and top to bottom, numbered."""
    found: list[Json] = []
    line = 0
    for title, panels in rows.items():
        here = {"x": 0, "y": line, "w": WIDTH, "h": 1}
        found.append(
            {"id": len(found) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": here, "panels": []}
        )
        line += 1
        column = tallest = 0
        for panel in panels:
            if column + panel.width > WIDTH:
                column, line, tallest = 0, line + tallest, 0
            found.append(panel.json(len(found) + 1, (column, line)))
            column, tallest = column + panel.width, max(tallest, panel.height)
        line += tallest
    return found


def datasource_variable() -> Json:
    """Which Prometheus."""
    return {
        "type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "refresh": 1,
        "hide": 0, "includeAll": False, "multi": False,
        "current": {"selected": False, "text": "default", "value": "default"}, "options": [], "regex": "",
    }  # fmt: skip


def label_variable(name: str, label: str, description: str, query: str) -> Json:
    """Which values of a label; all of them, and what lacks it, unless some are chosen."""
    return {
        "type": "query", "name": name, "label": label, "description": description, "datasource": DATASOURCE,
        "definition": query, "query": {"query": query, "refId": "StandardVariableQuery"}, "refresh": 2, "sort": 1,
        "hide": 0, "includeAll": True, "allValue": ".*", "multi": True, "regex": "", "options": [],
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }  # fmt: skip


def alerts(expr: str) -> Json:
    """Firing alerts as marks on every panel."""
    return {
        "name": "Alerts", "enable": True, "hide": False, "iconColor": "red", "datasource": DATASOURCE, "expr": expr,
        "titleFormat": "{{alertname}}", "textFormat": "{{gen_ai_tool_name}} {{gen_ai_agent_name}}", "step": "60s",
    }  # fmt: skip
