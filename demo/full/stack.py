"""Everything that stands behind the agents: which program with which recipe, at which address, in which order.

agents → gateway (with rates) → detector → gateway → files, and Jaeger where it is there; Prometheus reads the pages.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import yaml

from demo.__main__ import HERE
from demo.full import prometheus
from demo.full.address import Addresses
from demo.full.process import START, Process, answers, until
from demo.full.programs import RECIPES, Programs

__all__ = ["Stack"]


class Stack:
    """From entering to leaving; ``tell`` hears of every start."""

    def __init__(self, programs: Programs, folder: Path, key: str, tell: Callable[[str], None], *, usual: bool) -> None:
        self.folder = folder
        self.processes: list[Process] = []
        self._programs = programs
        self._key = key
        self._tell = tell
        self._running = ExitStack()
        take = Addresses(usual=usual).take
        self.grpc, self.http, self._findings = take(4317), take(4318), take(4319)
        self._detector_grpc, self._detector_http, self.page = take(14317), take(14318), take(9464)
        self.rates, self.telemetry, self._health = take(8889), take(8888), take(13133)
        self._backend_grpc, self._backend_http = take(24317), take(24318)
        self._backend_health, self._backend_telemetry = take(23133), take(28888)
        self.prometheus = take(9090) if programs.prometheus else None
        self.jaeger = take(16686) if programs.jaeger else None
        self._jaeger_grpc, self._jaeger_http, self._jaeger_query = take(34317), take(34318), take(16685)

    @property
    def output(self) -> Path:
        """Where the file exporter writes."""
        return self.folder / "backend" / "output"

    def __enter__(self) -> Stack:
        with ExitStack() as running:
            running.callback(self._stop)
            self._start_backends()
            self._start_gateway()
            self._start_detector()
            self._start_prometheus()
            self._running = running.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.close()

    def check(self) -> None:
        """Raises `ProcessError` where a program has ended."""
        for process in self.processes:
            process.check()

    def _stop(self) -> None:
        """The last one first: nobody sends to what is gone, and what is sent at the end arrives. Ctrl-C does not hurry
        it, so that no program is left behind.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for process in reversed(self.processes):
            process.stop()

    def _start(self, name: str, where: str, command: list[str], environ: Mapping[str, str], ready: str) -> None:
        self._tell(f"starting {name} ({where})")
        folder = self.folder / name.rsplit(maxsplit=1)[-1].lower()
        self.processes.append(Process(name, command, folder, environ, lambda: answers(ready)))

    # Parts --------------------------------------------------------------------------------------------------------

    def _start_backends(self) -> None:
        recipes = [str(RECIPES / "files_backend.yaml")]
        if self._programs.jaeger is not None and self.jaeger is not None:
            variables = {
                "OTLP_GRPC_ADDRESS": self._jaeger_grpc,
                "OTLP_HTTP_ADDRESS": self._jaeger_http,
                "QUERY_ADDRESS": self.jaeger,
                "QUERY_GRPC_ADDRESS": self._jaeger_query,
                "OTEL_TRACES_SAMPLER": "always_off",
            }
            command = [self._programs.jaeger, "--config", str(RECIPES / "jaeger.yaml")]
            self._start("Jaeger", self.jaeger, command, variables, f"http://{self.jaeger}/api/services")
            recipes.append(str(self._jaeger_too()))
        variables = {
            "OTLP_GRPC_ADDRESS": self._backend_grpc,
            "OTLP_HTTP_ADDRESS": self._backend_http,
            "HEALTH_ADDRESS": self._backend_health,
            "TELEMETRY_PORT": self._backend_telemetry.rpartition(":")[2],
            "OUTPUT_DIR": str(self.output),
        }
        self._start_collector("the backend", self._backend_grpc, recipes, variables)

    def _jaeger_too(self) -> Path:
        """What makes the backend of files hand traces on to Jaeger."""
        exporter = {"endpoint": self._jaeger_grpc, "tls": {"insecure": True}}
        traces = {"exporters": ["file/traces", "otlp_grpc/jaeger"]}
        path = self.folder / "jaeger_too.yaml"
        overlay = {"exporters": {"otlp_grpc/jaeger": exporter}, "service": {"pipelines": {"traces": traces}}}
        path.write_text(yaml.safe_dump(overlay), encoding="utf-8")
        return path

    def _start_gateway(self) -> None:
        variables = {
            "OTLP_GRPC_ADDRESS": self.grpc,
            "OTLP_HTTP_ADDRESS": self.http,
            "FINDINGS_GRPC_ADDRESS": self._findings,
            "DETECTOR_ENDPOINT": self._detector_grpc,
            "BACKEND_ENDPOINT": self._backend_grpc,
            "PROMETHEUS_ADDRESS": self.rates,
            "HEALTH_ADDRESS": self._health,
            "TELEMETRY_PORT": self.telemetry.rpartition(":")[2],
            "QUEUE_DIR": str(self.folder / "gateway" / "queue"),
        }
        recipes = [str(RECIPES / "metrics.yaml"), str(RECIPES / "gateway.yaml")]
        self._start_collector("the gateway", self.grpc, recipes, variables)

    def _start_collector(self, name: str, where: str, recipes: list[str], variables: Mapping[str, str]) -> None:
        command = [self._programs.collector, *(part for recipe in recipes for part in ("--config", recipe))]
        self._start(name, where, command, variables, f"http://{variables['HEALTH_ADDRESS']}/")

    def _start_detector(self) -> None:
        folder = self.folder / "detector"
        command = [
            sys.executable, "-m", "otel_loopguard", "serve", "--grpc-address", self._detector_grpc, "--http-address",
            self._detector_http, "--page-address", self.page, "--state-file", str(folder / "state"), "--otlp-endpoint",
            f"http://{self._findings}", "--otlp-metrics-every", "5s", "--lateness", "1s", "--idle", "30s",
        ]  # fmt: skip
        variables = {
            "LOOPGUARD_KEY": self._key,
            "LOOPGUARD_POLICY": str(HERE / "policy.yaml"),
            "PYTHONPATH": str(HERE.parent),
        }
        self._start("the detector", self._detector_grpc, command, variables, f"http://{self.page}/readyz")

    def _start_prometheus(self) -> None:
        if self._programs.prometheus is None or self.prometheus is None:
            return
        address = self.prometheus
        folder = self.folder / "prometheus"
        targets = dict(zip(prometheus.JOBS, (self.page, self.rates, self.telemetry), strict=True))
        command = [
            self._programs.prometheus, *prometheus.write(folder, targets), f"--web.listen-address={address}",
            "--log.level=warn",
        ]  # fmt: skip
        self._start("Prometheus", address, command, {}, f"http://{address}/-/ready")
        until(lambda: len(prometheus.query(address, "up == 1")) == len(targets), "Prometheus sees all pages", START)
