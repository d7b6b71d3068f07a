"""Agents → gateway → detector → gateway → backend: every part a process, on free ports, in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.support.collector import Collector, Exported
from tests.support.detector import Detector

__all__ = ["Pipeline"]

FINDING: Final = "loopguard.finding"


class Pipeline:
    """From entering to leaving. ``beside`` is a recipe that runs in the gateway's process too, ``flags`` are the
    detector's, ``environ`` its variables.
    """

    def __init__(self, folder: Path, *flags: str, beside: tuple[str, ...] = (), **environ: str) -> None:
        self.backend = Collector(folder / "backend", "files_backend.yaml")
        self.gateway = Collector(folder / "gateway", *beside, "gateway.yaml", BACKEND_ENDPOINT=self.backend.grpc)
        self.detector = Detector(
            folder / "detector", "--otlp-endpoint", f"http://{self.gateway.findings}", *flags, **environ
        )
        self.gateway.variables["DETECTOR_ENDPOINT"] = self.detector.grpc
        self._running = ExitStack()

    def __enter__(self) -> Pipeline:
        with ExitStack() as running:
            for part in (self.backend, self.gateway, self.detector):
                running.enter_context(part)
            self._running = running.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.__exit__(kind, error, at)

    def events(self, name: str) -> list[Exported]:
        """The events of one name that the backend has, copies and all."""
        return [record for record in self.backend.logs() if record.name == name]

    def findings(self) -> dict[str, Mapping[str, Any]]:
        """Attributes of the findings at the backend by `loopguard.finding.id`, so each once."""
        return {record.attributes["loopguard.finding.id"]: record.attributes for record in self.events(FINDING)}

    def calls(self) -> list[Exported]:
        """The tool spans at the backend."""
        return [span for span in self.backend.spans() if span.name.startswith("execute_tool")]
