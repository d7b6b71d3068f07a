"""The dashboard: it is what its code makes, asks for what there is, and says what it shows."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any, Final

import pytest

pytest.importorskip("promql_parser", reason="needs the extra `test`: make install")

from collector_config.grafana.make_dashboard import FILE, text
from otel_loopguard import names
from tests.support.promql import CONFIG, grouped, known, on_a_dashboard, readings, rules

DASHBOARD: Final[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
PANELS: Final = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES: Final = DASHBOARD["templating"]["list"]
DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
UNITS: Final = {"short", "percentunit", "s", "bytes", "cps", "reqps"}
"""Grafana's names, for what we count, share, time and measure."""

panels = pytest.mark.parametrize("panel", [pytest.param(panel, id=panel["title"]) for panel in PANELS])


def read(expression: str) -> set[str]:
    """The series that an expression asks for; every one exists, with the labels by which it is asked for."""
    found: set[str] = set()
    for reading in readings(expression):
        assert reading.names
        for name in reading.names:
            assert name in known()
            assert reading.labels <= known()[name], name
        found |= reading.names
    return found


def test_the_file_is_what_the_code_makes() -> None:
    """`make dashboard` changes nothing."""
    assert FILE.read_text(encoding="utf-8") == text()


@panels
def test_panels_ask_for_what_there_is(panel: dict[str, Any]) -> None:
    """Every query is PromQL, every series and label in it exists, every name in its legend is a label of its answer."""
    for target in panel["targets"]:
        expression = on_a_dashboard(target["expr"])
        series = read(expression)
        by = grouped(expression) or frozenset[str]().union(*(known()[name] for name in series))
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= by


@panels
def test_panels_say_what_they_show(panel: dict[str, Any]) -> None:
    """Description, unit, source, and queries that have a name and a legend each."""
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["datasource"] == DATASOURCE
    assert panel["targets"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    for target in panel["targets"]:
        assert target["refId"]
        assert target["legendFormat"]
        assert target["datasource"] == DATASOURCE
        assert target["instant"] is not target["range"]


def test_variables_ask_for_what_there_is() -> None:
    """Each offers the values of a label that exists; each that a query names is there, and none is left over."""
    offered = {variable["name"] for variable in VARIABLES}
    for variable in VARIABLES[1:]:
        assert variable["datasource"] == DATASOURCE
        asked = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
        assert asked is not None
        series = read(on_a_dashboard(asked[1]))
        assert any(asked[2] in known()[name] for name in series)
    whole = json.dumps(DASHBOARD)
    used = {name for pair in re.findall(r"\$(\w+)|\${(\w+)}", whole) for name in pair if name}
    assert used == offered | {"__range", "__rate_interval", "__all"}


def test_alerts_are_marked() -> None:
    """The annotation reads firing alerts of ours."""
    (marks,) = DASHBOARD["annotations"]["list"]
    assert read(marks["expr"]) == {"ALERTS"}
    assert marks["datasource"] == DATASOURCE


def test_everything_that_we_emit_is_shown() -> None:
    """Each metric of `names.py` is in a panel, by itself or by a rule that reads it."""
    asked = {name for panel in PANELS for target in panel["targets"] for name in read(on_a_dashboard(target["expr"]))}
    by_rules = {name for rule in rules() if rule.get("record") in asked for name in read(rule["expr"])}
    shown = {re.sub("_(total|bucket|sum|count|seconds|bytes)(?=_|$)", "", name) for name in asked | by_rules}
    assert {metric.name.replace(".", "_") for metric in names.METRICS} <= shown


def test_panels_stand_beside_each_other() -> None:
    """None lies over another or past the edge, each has a number and a title of its own."""
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    for place in places:
        assert place["x"] >= 0
        assert place["x"] + place["w"] <= 24
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below
    for key in ("id", "title"):
        assert len({panel[key] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_dashboard_can_be_imported_anywhere() -> None:
    """It holds no data source of ours, no version, and the schema that it is written for."""
    assert DASHBOARD["schemaVersion"] == 41
    assert "version" not in DASHBOARD
    assert "id" not in DASHBOARD
    assert VARIABLES[0]["type"] == "datasource"
    assert FILE.parent.parent == CONFIG
