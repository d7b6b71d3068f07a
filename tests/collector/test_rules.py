"""The rules of `collector_config/prometheus`: they are rules, say what they should, and read what there is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

pytest.importorskip("promql_parser", reason="needs the extra `test`: make install")

from otel_loopguard import names
from tests.support.programs import program
from tests.support.promql import CONFIG, RULES, grouped, known, readings, rules

FOLDER: Final = CONFIG / "prometheus"
ALERTS: Final = {rule["alert"]: rule for rule in rules() if "alert" in rule}
TESTS: Final[list[dict[str, Any]]] = yaml.safe_load((FOLDER / "rules_test.yaml").read_text(encoding="utf-8"))["tests"]

LOOSER: Final = {
    "LoopguardAgentStuck": ("> 0", ">= 0"),
    "LoopguardLoopRateHigh": (">= 10", ">= 8"),
    "LoopguardLoopingRunsHigh": ("> 0.1", "> 0.05"),
    "LoopguardNudgesIgnored": ("> 0.5", ">= 0.5"),
    "LoopguardWastedCallsHigh": ("> 0.1", "> 0.04"),
    "LoopguardDetectorDown": ("and on (job, instance) last_over_time(loopguard_server_items_total[1d])", ""),
    "LoopguardDetectorGone": ("unless on (job) loopguard_server_items_total", ""),
    "LoopguardDetectorSilent": (" unless on (job, instance) loopguard_server_items_total) > 0", ") >= 0"),
    "LoopguardDetectorRefuses": ("|not_found", ""),
    "LoopguardDetectorSlow": ("> 1", "> 0.9"),
    "LoopguardQueueFilling": ("[15m]) >= 0", "[15m]) >= -9"),
    "LoopguardSinkFailing": ("> 0", ">= 0"),
    "LoopguardStateNotWritten": ("store_.*", ".*"),
    "LoopguardErrors": ("> 0", ">= 0"),
    "LoopguardDropped": ("run_age|", ""),
    "LoopguardIntegrity": ('{loopguard_integrity_kind!="call_id"}', ""),
    "LoopguardCollectorQueueFilling": ("> 0.5", "> 0.2"),
    "LoopguardCollectorLoses": (") > 0", ") >= 0"),
    "LoopguardCollectorRefuses": (") > 0", ") >= 0"),
}
"""What would make each alert cry wolf."""


def run(*command: str, folder: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    """What a program says."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def by_promtool(folder: Path, alert: str, expression: str) -> subprocess.CompletedProcess[str]:
    """The tests of one alert, with another expression in its place; how long it lasts and the records stay."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    for group in groups:
        group["rules"] = [
            rule
            for rule in group["rules"]
            if rule.get("alert") == alert or ("record" in rule and "loopguard:" in expression)
        ]
        for rule in group["rules"]:
            if "alert" in rule:
                rule["expr"] = expression
    tests = [one | {"promql_expr_test": [], "alert_rule_test": _of(one, alert)} for one in TESTS if _of(one, alert)]
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    (folder / "test.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": tests})
    )
    return run(program("promtool"), "test", "rules", "test.yaml", folder=folder)


def _of(test: dict[str, Any], alert: str) -> list[dict[str, Any]]:
    return [one for one in test.get("alert_rule_test", ()) if one["alertname"] == alert]


# Prometheus's own word --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"),
        ("check", "config", "--lint=all", "--lint-fatal", "prometheus.yaml"),
        ("test", "rules", "rules_test.yaml"),
    ],
    ids=" ".join,
)
def test_promtool_accepts(command: tuple[str, ...]) -> None:
    """Rules and configuration are without an error or a lint, and each alert does what its tests say."""
    done = run(program("promtool"), *command)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", sorted(ALERTS))
def test_an_alert_that_cries_wolf_is_noticed(alert: str, tmp_path: Path) -> None:
    """Its tests, which pass as it stands, fail when its condition is a little looser."""
    tight, loose = LOOSER[alert]
    assert tight in ALERTS[alert]["expr"]
    done = by_promtool(tmp_path, alert, ALERTS[alert]["expr"].replace(tight, loose))
    assert (done.returncode, f"alertname: {alert}" in done.stdout + done.stderr) == (1, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    "receiver",
    [("channel", "severity=warning"), ("pager", "severity=critical"), ("channel", "severity=unheard_of")],
)
def test_alertmanager_routes_by_severity(receiver: tuple[str, str]) -> None:
    """Its configuration is one, critical alerts go to the pager, everything else to the channel."""
    checked = run(program("amtool"), "check-config", "alertmanager.yaml")
    assert checked.returncode == 0, checked.stderr
    name, label = receiver
    routed = run(program("amtool"), "config", "routes", "test", "--config.file=alertmanager.yaml", label)
    assert routed.stdout.strip() == name


# What needs no program --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.get("record") or rule["alert"]) for rule in rules()])
def test_rules_read_what_there_is(rule: dict[str, Any]) -> None:
    """Every series of every rule exists, and every label that is asked for or grouped by."""
    labels = frozenset[str]().union(*known().values())
    for reading in readings(rule["expr"]):
        assert reading.names
        assert reading.names <= known().keys()
        for name in reading.names:
            assert reading.labels <= known()[name], name
    assert grouped(rule["expr"]) <= labels


def test_names_are_those_of_the_page() -> None:
    """The names by which rules are checked are those that a detector shows."""
    pytest.importorskip("h11", reason="needs the extra `serve`: make install")
    from otel_loopguard.service.exposition import exposition
    from otel_loopguard.service.numbers import Numbers

    gauges: list[tuple[str, dict[str, str], float]] = [
        (metric.name, {}, 0.0) for metric in names.METRICS if metric.kind == "gauge"
    ]
    shown = dict(re.findall(r"^# TYPE (\S+) (\S+)$", exposition(Numbers(), gauges), re.MULTILINE))
    endings = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    assert {name + ending for name, kind in shown.items() for ending in endings[kind]} == {
        name
        for name in known()
        if re.match("loopguard_(?!collector_|overhead_)", name)  # the one of processes, the others of metrics.yaml
    }


def test_what_is_new_is_counted_one_way() -> None:
    """All records of one source that count what is new differ in what they count, over how long and by what."""
    shapes: dict[bool, set[str]] = {True: set(), False: set()}
    for rule in rules():
        if ":new" in rule.get("record", ""):
            (window,) = re.findall(":new(.*)", rule["record"])
            read = {name for one in readings(rule["expr"]) for name in one.names}
            (counter,) = read - {"loopguard_server_items_total"}
            shape = " ".join(rule["expr"].split()).replace("[1h] offset", "[HOUR] offset")
            for found, put in ((counter, "COUNTER"), (f"[{window}]", "[W]"), (f"offset {window}", "offset W")):
                shape = shape.replace(found, put)
            shape = re.sub(r"sum by \([^)]*\)", "sum by (L)", shape)
            shape = re.sub(r'label_replace\( (sum.*?), "gen_ai_agent_name".*', r"\1", shape)
            shapes["labels" in rule].add(shape)
    assert [len(found) for found in shapes.values()] == [1, 1], shapes


def test_every_alert_fires_in_its_tests() -> None:
    """`promtool test rules` passes only where each alert was heard once at least."""
    cases = [case for test in TESTS for case in test.get("alert_rule_test", ())]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == ALERTS.keys()


def test_every_alert_says_what_to_do() -> None:
    """Severity, summary, description, and a section of the runbook with something to do; no section is left over."""
    runbook = (FOLDER / "RUNBOOK.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", runbook, re.MULTILINE | re.DOTALL))
    assert sections.keys() == ALERTS.keys() == LOOSER.keys()
    for name, rule in ALERTS.items():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"] == f"RUNBOOK.md#{name.lower()}"
        assert re.search(r"^(- |\| `)", sections[name], re.MULTILINE), name


def test_what_the_runbook_lists_exists() -> None:
    """Reasons, answers and error types in its tables are written somewhere in the package."""
    source = "".join(
        path.read_text(encoding="utf-8") for path in sorted((CONFIG.parent / "otel_loopguard").rglob("*.py"))
    )
    runbook = (FOLDER / "RUNBOOK.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]*`[^|]*) \|", runbook, re.MULTILINE)
    words = {word for cell in cells for word in re.findall(r"`(?:store_|run_)?([a-z_]+)`", cell)}
    assert len(words) > 25
    for word in words - {"refused_by_otlp"}:
        assert f'"{word}"' in source, word
