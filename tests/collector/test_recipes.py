"""Every recipe is valid as it stands, and its head says what is in it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_loopguard import names
from otel_loopguard.conventions import CONTENT
from tests.support.collector import RECIPES, binary
from tests.support.pki import Authority

NAMES = ["agent", "gateway", "loadbalancing", "tail_sampling", "metrics", "files_backend"]
REDACTING = ["agent", "gateway", "tail_sampling"]
TOGETHER = [
    ["metrics", "gateway"],
    ["metrics", "tail_sampling"],
    ["gateway", "security"],
    ["metrics", "gateway", "security"],
    ["agent", "security"],
    ["tail_sampling", "security"],
]
VARIABLE = re.compile(r"\$\{env:([A-Z0-9_]+)(?::-((?:[^{}]|\$\{[^{}]*\})*))?\}")


def text_of(name: str) -> str:
    """A recipe as it stands."""
    return (RECIPES / f"{name}.yaml").read_text(encoding="utf-8")


def head_of(name: str) -> str:
    """The comment that a recipe begins with, in one line."""
    lines = text_of(name).split("\n")
    end = next(index for index, line in enumerate(lines) if not line.startswith("#"))
    return " ".join(line.lstrip("#").strip() for line in lines[:end])


def read(name: str) -> dict[str, Any]:
    """A recipe's content."""
    found: dict[str, Any] = yaml.safe_load(text_of(name))
    return found


def components(recipe: dict[str, Any]) -> set[str]:
    """The types of the components that a recipe names; one that both receives and exports counts once."""
    sections = ("extensions", "receivers", "processors", "connectors", "exporters")
    return {name.split("/")[0] for section in sections for name in recipe.get(section) or {}}


def validate(tmp_path: Path, *recipes: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the Collector's own check says."""
    command = [str(binary()), "validate"]
    for recipe in recipes:
        command += ["--config", str(RECIPES / f"{recipe}.yaml")]
    environ = {"HOME": str(tmp_path), **variables}
    return subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_valid_as_it_stands(tmp_path: Path, name: str) -> None:
    """The Collector takes it without a single variable set."""
    told = validate(tmp_path, name)
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize("recipes", TOGETHER, ids="+".join)
def test_recipes_that_go_together_are_valid(tmp_path: Path, recipes: list[str]) -> None:
    """Those that a head says to give to one Collector, it takes together."""
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    held = {"TLS_CERT_FILE": str(certificate), "TLS_KEY_FILE": str(key), "TLS_CLIENT_CA_FILE": str(authority.path)}
    token = tmp_path / "token"
    token.write_text("t" * 32)
    told = validate(tmp_path, *recipes, OTLP_TOKEN_FILE=str(token), **held)
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_the_head_lists_the_components(name: str) -> None:
    """Who runs the contrib distribution reads there what it must have: all of it and nothing else."""
    listed = re.search(r"Components \(all in the contrib distribution\): ([a-z_, ]+)\.", head_of(name))
    assert listed is not None
    assert set(listed[1].split(", ")) == components(read(name))


@pytest.mark.parametrize("name", [*NAMES, "security"])
def test_every_component_is_built_in(name: str) -> None:
    """The manifest has all that a recipe needs."""
    told = subprocess.run([str(binary()), "components"], capture_output=True, text=True, check=True).stdout
    built = {
        one["name"].split(" ")[0]
        for section, held in yaml.safe_load(told).items()
        if section in {"receivers", "processors", "exporters", "connectors", "extensions"}
        for one in held
    }
    assert components(read(name)) - built == set()


@pytest.mark.parametrize("name", NAMES)
def test_the_head_lists_the_variables(name: str) -> None:
    """Every variable of a recipe stands in its head with the default that it has there, and no other does."""
    body = "\n".join(line for line in text_of(name).split("\n") if not line.startswith("#"))
    used: dict[str, str] = {}
    for variable, default in VARIABLE.findall(body):
        inner = VARIABLE.fullmatch(default)
        used[variable] = inner[1] if inner else default
        if inner:
            used[inner[1]] = inner[2]
    told: dict[str, str] = {}
    for line in text_of(name).split("\n"):
        found = re.fullmatch(r"#   ([A-Z0-9_, ]+) \((.*)\)", line)
        if found:
            variables, defaults = found[1].split(", "), found[2].split(", ")
            told |= dict(zip(variables, defaults * len(variables) if len(defaults) == 1 else defaults, strict=False))
    assert told == used


def test_the_allow_list_is_the_same_everywhere() -> None:
    """One second net, wherever it hangs: list, what goes before and what comes after."""
    nets = [
        {key: value for key, value in read(name)["processors"].items() if key.startswith(("redaction", "transform"))}
        for name in REDACTING
    ]
    assert nets == nets[:1] * len(nets)


def allowed() -> list[str]:
    """The names that pass."""
    found: list[str] = read("gateway")["processors"]["redaction"]["allowed_keys"]
    return found


def test_everything_that_we_write_passes() -> None:
    """Each attribute of spans, events and metrics is on the list, but what a blocked agent says in its own words."""
    assert {item.name for item in names.ATTRIBUTES} - set(allowed()) == {names.BLOCKED_NEEDED}


def test_nothing_that_holds_content_passes() -> None:
    """No key that any instrumentation keeps arguments, results or messages under is on the list, nor twice on it."""
    keys = CONTENT.tool | CONTENT.messages | CONTENT.events
    prefixes = CONTENT.tool_prefixes + CONTENT.message_prefixes
    assert keys.intersection(allowed()) == set()
    assert [key for key in allowed() if key.startswith(prefixes)] == []
    assert len(allowed()) == len(set(allowed()))


def test_every_pipeline_of_agents_is_redacted() -> None:
    """Whatever comes from agents or from the detector passes the net before it goes on, in the one right order."""
    net = ["transform/before_redaction", "redaction", "transform/after_redaction"]
    for name in REDACTING:
        recipe = read(name)
        outside = set(recipe["receivers"])
        for pipeline in recipe["service"]["pipelines"].values():
            if outside.intersection(pipeline["receivers"]):
                assert [step for step in pipeline["processors"] if step in net] == net


def test_findings_do_not_come_back_to_the_detector() -> None:
    """No way leads from the port of the findings to the detector."""
    pipelines = read("gateway")["service"]["pipelines"]
    reached = {name for name, one in pipelines.items() if "otlp/findings" in one["receivers"]}
    exporters = {exporter for name in reached for exporter in pipelines[name]["exporters"]}
    assert exporters == {"otlp_grpc/logs", "otlp_grpc/metrics"}


def test_no_metric_of_the_recipes_is_one_of_ours() -> None:
    """What a Collector counts has names of its own, so that nothing is counted twice on one dashboard."""
    connector = read("metrics")["connectors"]["signal_to_metrics/rates"]
    counted = [metric["name"] for signal in ("spans", "logs") for metric in connector[signal]]
    assert {name for name in counted if not name.startswith("loopguard.collector.")} == set()
    assert {item.name for item in names.METRICS}.intersection(counted) == set()
    labels = [label["key"] for signal in ("spans", "logs") for one in connector[signal] for label in one["attributes"]]
    assert {names.RUN_ID, names.FINGERPRINT, names.FINDING_ID}.intersection(labels) == set()
