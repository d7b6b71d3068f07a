"""Prometheus with the files of `collector_config/prometheus`, for people who do not wait: what is copied and changed.

Addresses are those of this demo, everything is looked at every second, and no alert waits for how long it lasts.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from demo.full.programs import RECIPES

__all__ = ["JOBS", "query", "write"]

JOBS: Final = ("otel-loopguard", "loopguard-metrics", "otel-collector")
"""Of `prometheus.yaml`: the detector's page, the rates in the Collector, the Collector's own numbers."""
EVERY: Final = "1s"


def write(folder: Path, targets: Mapping[str, str]) -> list[str]:
    """Write its files; the arguments that name them. ``targets``: job to host and port."""
    folder.mkdir(parents=True, exist_ok=True)
    config = _read("prometheus.yaml")
    config["global"] = {"scrape_interval": EVERY, "evaluation_interval": EVERY}
    del config["alerting"]
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    config["scrape_configs"] = [
        jobs[name] | {"static_configs": [{"targets": [address]}]} for name, address in targets.items()
    ]
    rules = _read("rules.yaml")
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule.pop("for", None)
    for name, content in (("prometheus.yaml", config), ("rules.yaml", rules)):
        (folder / name).write_text(yaml.safe_dump(content), encoding="utf-8")
    return ["--config.file=prometheus.yaml", "--storage.tsdb.path=data"]


def query(address: str, expression: str) -> list[dict[str, str]]:
    """The labels of what Prometheus answers now."""
    url = f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return [one["metric"] for one in json.load(answer)["data"]["result"]]


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((RECIPES / "prometheus" / name).read_text(encoding="utf-8"))
    return found
