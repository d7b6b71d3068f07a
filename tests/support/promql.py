"""What a PromQL expression reads and which series there are to be read, as Prometheus spells them.

Not an evaluation: expressions are taken apart by the parser of Prometheus's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import promql_parser as parser
import yaml

from otel_loopguard import names
from otel_loopguard.emit import COUNTERS

__all__ = ["COLLECTOR", "Reading", "grouped", "known", "on_a_dashboard", "readings", "rules"]

CONFIG: Final = Path(__file__).resolve().parent.parent.parent / "collector_config"
RULES: Final = CONFIG / "prometheus" / "rules.yaml"

COLLECTOR: Final[Mapping[str, frozenset[str]]] = {
    "otelcol_exporter_queue_size": frozenset({"exporter", "data_type"}),
    "otelcol_exporter_queue_capacity": frozenset({"exporter", "data_type"}),
    **{
        f"otelcol_exporter_{what}_failed_{items}{ending}": frozenset({"exporter"})
        for what in ("enqueue", "send")
        for items in ("spans", "log_records")
        for ending in ("", "_total")
    },
    **{
        f"otelcol_receiver_refused_{items}{ending}": frozenset({"receiver", "transport"})
        for items in ("spans", "log_records")
        for ending in ("", "_total")
    },
}
"""The Collector's own metrics that we read, with their labels; its counters end in `_total` in some versions only."""
_UNITS: Final = {"s": "_seconds", "By": "_bytes"}
_ENDINGS: Final = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
_TARGET: Final = frozenset({"job", "instance"})
_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    **COUNTERS,
    names.SERVER_REQUESTS: (names.SERVER_ANSWER,),
    names.QUEUE_SIZE: (names.QUEUE_NAME,),
}


class Reading(NamedTuple):
    """One selector of an expression."""

    names: frozenset[str]
    """What it is written to select: one name, or all known ones that its pattern fits."""
    labels: frozenset[str]
    """Labels that it asks for."""


def rules() -> list[dict[str, Any]]:
    """All rules of `rules.yaml`, in order."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def readings(expression: str) -> list[Reading]:
    """Every selector of an expression; raises `ValueError` where it is no PromQL."""
    found: list[Reading] = []

    def see(node: parser.Expr) -> None:
        if isinstance(node, parser.VectorSelector):
            found.append(_reading(node))

    parser.walk(parser.parse(expression), see)
    return found


def on_a_dashboard(expression: str) -> str:
    """An expression with what Grafana puts in for its variables: six hours, a resolution of minutes, everything."""
    for variable, value in (("$__range", "6h"), ("$__rate_interval", "5m")):
        expression = expression.replace(variable, value)
    return re.sub(r"\$(job|tool|agent)", ".*", expression)


def grouped(expression: str) -> set[str]:
    """Labels that it groups or matches by."""
    found: set[str] = set()

    def see(node: parser.Expr) -> None:
        if isinstance(node, parser.AggregateExpr) and node.modifier is not None:
            found.update(node.modifier.labels)
        if isinstance(node, parser.BinaryExpr) and node.modifier is not None and node.modifier.matching is not None:
            found.update(node.modifier.matching.labels)

    parser.walk(parser.parse(expression), see)
    return found


def _reading(selector: parser.VectorSelector) -> Reading:
    matchers = selector.matchers.matchers
    labels = frozenset(one.name for one in matchers if one.name != "__name__")
    if selector.name is not None:
        return Reading(frozenset({selector.name}), labels)
    (pattern,) = (one.value for one in matchers if one.name == "__name__")
    return Reading(frozenset(name for name in known() if re.fullmatch(pattern, name)), labels)


def _result(expression: str) -> frozenset[str]:
    """Labels of what an expression of ours gives: those of its outermost sum."""
    found: list[frozenset[str]] = []

    def see(node: parser.Expr) -> None:
        if isinstance(node, parser.AggregateExpr) and node.modifier is not None:
            found.append(frozenset(node.modifier.labels))

    parser.walk(parser.parse(expression), see)
    return found[0]


@cache
def known() -> dict[str, frozenset[str]]:
    """Every series that there is, with its labels: ours, those of `metrics.yaml`, the Collector's, those of rules."""
    found: dict[str, frozenset[str]] = {"up": _TARGET, "ALERTS": frozenset({"alertname", "alertstate", "severity"})}
    for metric in names.METRICS:
        found |= _series(metric.name, metric.kind, metric.type, _ATTRIBUTES.get(metric.name, ()))
    recipe = yaml.safe_load((CONFIG / "metrics.yaml").read_text(encoding="utf-8"))
    for kinds in recipe["connectors"]["signal_to_metrics/rates"].values():
        for one in kinds if isinstance(kinds, list) else ():
            attributes = tuple(attribute["key"] for attribute in one["attributes"])
            found |= _series(one["name"], "counter" if "sum" in one else "histogram", one["unit"], attributes)
    found |= {name: labels | _TARGET for name, labels in COLLECTOR.items()}
    records: dict[str, frozenset[str]] = {}
    for rule in rules():
        if "record" in rule:
            labels = _result(rule["expr"]) | frozenset(rule.get("labels", ()))
            records[rule["record"]] = records.get(rule["record"], frozenset()) | labels
    return found | records


def _series(name: str, kind: str, unit: str, attributes: tuple[str, ...]) -> dict[str, frozenset[str]]:
    base = name.replace(".", "_") + _UNITS.get(unit, "")
    labels = frozenset(attribute.replace(".", "_") for attribute in attributes) | _TARGET
    return {base + ending: labels | ({"le"} if ending == "_bucket" else set()) for ending in _ENDINGS[kind]}
