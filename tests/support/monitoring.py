"""A real Prometheus and a real Alertmanager with the files of `collector_config/prometheus`, and who hears alerts.

The files are copied: addresses are those of this machine, times are those of a test. Everything else stays.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

import yaml

from tests.support.collector import RECIPES, free_port, until
from tests.support.programs import program

__all__ = ["Heard", "Monitoring"]

FOLDER: Final = RECIPES / "prometheus"
INTERVAL: Final = "500ms"


class Heard(NamedTuple):
    """One alert as a receiver heard it."""

    receiver: str
    status: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def name(self) -> str:
        """The alert's name."""
        return self.labels["alertname"]


class Monitoring:
    """Both programs from entering to leaving. ``targets``: job of `prometheus.yaml` to the address to scrape."""

    def __init__(self, folder: Path, targets: Mapping[str, str]) -> None:
        self._folder = folder
        self._targets = targets
        self._addresses = {name: f"127.0.0.1:{free_port()}" for name in ("prometheus", "alertmanager")}
        self._processes: list[subprocess.Popen[bytes]] = []
        self.heard: list[Heard] = []
        self._receiver = ThreadingHTTPServer(("127.0.0.1", 0), _listening(self.heard))
        self._thread = threading.Thread(target=self._receiver.serve_forever)

    def __enter__(self) -> Monitoring:
        self._thread.start()
        try:
            self._write("alertmanager.yaml", self._alertmanager())
            self._write("prometheus.yaml", self._prometheus())
            self._write("rules.yaml", _hurried(_read("rules.yaml")))
            self._start(
                "alertmanager", "--config.file=alertmanager.yaml", "--storage.path=am", "--cluster.listen-address="
            )
            self._start("prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=tsdb")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(30)
        self._receiver.shutdown()
        self._thread.join()
        self._receiver.server_close()

    # Files --------------------------------------------------------------------------------------------------------

    def _write(self, name: str, content: object) -> None:
        (self._folder / name).write_text(yaml.safe_dump(content), encoding="utf-8")

    def _prometheus(self) -> dict[str, Any]:
        config = _read("prometheus.yaml")
        config["global"] = {"scrape_interval": INTERVAL, "evaluation_interval": INTERVAL}
        jobs = {job["job_name"]: job for job in config["scrape_configs"]}
        config["scrape_configs"] = [
            jobs[name] | {"static_configs": [{"targets": [address]}]} for name, address in self._targets.items()
        ]
        (manager,) = config["alerting"]["alertmanagers"]
        manager["static_configs"] = [{"targets": [self._addresses["alertmanager"]]}]
        return config

    def _alertmanager(self) -> dict[str, Any]:
        config = _read("alertmanager.yaml")
        config["global"].pop("slack_api_url_file")
        config["route"] |= {"group_wait": "100ms", "group_interval": "500ms"}
        port = self._receiver.server_address[1]
        for receiver in config["receivers"]:
            receiver.pop("slack_configs", None)
            receiver["webhook_configs"] = [
                {"url": f"http://127.0.0.1:{port}/{receiver['name']}", "send_resolved": True}
            ]
        return config

    # Programs -----------------------------------------------------------------------------------------------------

    def _start(self, name: str, *arguments: str) -> None:
        address = self._addresses[name]
        log = self._folder / f"{name}.log"
        with log.open("wb") as out:
            command = [program(name), *arguments, f"--web.listen-address={address}"]
            process = subprocess.Popen(command, cwd=self._folder, stdout=out, stderr=out)
        self._processes.append(process)
        until(lambda: process.poll() is not None or _is_ready(address), f"{name} is ready")
        assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]

    # What they say ------------------------------------------------------------------------------------------------

    def query(self, expression: str) -> list[dict[str, str]]:
        """The labels of what Prometheus answers now."""
        answer = _get(self._addresses["prometheus"], "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        return [one["metric"] for one in answer["data"]["result"]]

    def until(self, expression: str) -> list[dict[str, str]]:
        """Wait for an answer."""
        until(lambda: bool(self.query(expression)), f"Prometheus answers {expression}")
        return self.query(expression)

    def until_heard(self, holds: Callable[[Heard], bool], what: str) -> Heard:
        """Wait for an alert."""
        until(lambda: any(map(holds, tuple(self.heard))), what)
        return next(one for one in self.heard if holds(one))

    def raise_alerts(self, alerts: Sequence[Mapping[str, str]]) -> None:
        """Tell Alertmanager of alerts, as Prometheus does: their labels."""
        body = json.dumps([{"labels": dict(labels)} for labels in alerts]).encode()
        request = urllib.request.Request(
            f"http://{self._addresses['alertmanager']}/api/v2/alerts", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=20):  # noqa: S310 - our own address
            pass

    def alerts(self) -> list[dict[str, Any]]:
        """What Alertmanager holds."""
        held: list[dict[str, Any]] = _get(self._addresses["alertmanager"], "/api/v2/alerts")
        return held


def _read(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def _hurried(rules: dict[str, Any]) -> dict[str, Any]:
    """The same rules, looked at often, which do not wait for how long something lasts."""
    for group in rules["groups"]:
        group.pop("interval", None)
        for rule in group["rules"]:
            rule.pop("for", None)
    return rules


def _listening(heard: list[Heard]) -> type[BaseHTTPRequestHandler]:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            receiver = re.sub("^/", "", self.path)
            heard.extend(Heard(receiver, one["status"], one["labels"], one["annotations"]) for one in body["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Receiver


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _get(address: str, path: str) -> Any:  # noqa: ANN401 - parsed JSON
    with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as answer:
        return json.load(answer)
