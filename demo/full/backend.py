"""What the backend of files has, as any backend shows it: spans, log records, findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from demo.receiver import Seen

__all__ = ["Backend", "Found"]

DETECTOR: Final = "otel-loopguard"
"""Its service name."""


class Found(NamedTuple):
    """One finding."""

    id: str
    run: str
    agent: str
    """The service whose run it is; the detector's findings carry the run alone."""
    by_detector: bool
    kind: str
    action: str
    tool: str
    call: int
    """Number of the judged call in its run."""


class Backend(NamedTuple):
    """Everything that it had when it was read."""

    spans: list[Seen]
    logs: list[Seen]

    @classmethod
    def read(cls, folder: Path) -> Backend:
        """Read the files of `files_backend.yaml`."""
        return cls(
            list(_records(folder / "traces.jsonl", "resourceSpans", "scopeSpans", "spans")),
            list(_records(folder / "logs.jsonl", "resourceLogs", "scopeLogs", "logRecords")),
        )

    def calls(self, service: str = "") -> list[Seen]:
        """Tool spans, of one service or of all."""
        tools = [span for span in self.spans if span.attributes.get("gen_ai.operation.name") == "execute_tool"]
        return [span for span in tools if service in {"", span.service}]

    def findings(self) -> list[Found]:
        """Each once, by its id: delivery is at least once."""
        services = {str(span.attributes.get("loopguard.run.id")): span.service for span in self.calls()}
        found: dict[str, Found] = {}
        for log in self.logs:
            if log.name == "loopguard.finding":
                one = _finding(log, services)
                found.setdefault(one.id, one)
        return list(found.values())

    def copies(self) -> int:
        """Records of findings that another one has the id of."""
        return sum(log.name == "loopguard.finding" for log in self.logs) - len(self.findings())


def _finding(log: Seen, services: Mapping[str, str]) -> Found:
    value = log.attributes
    run = str(value.get("loopguard.run.id", ""))
    return Found(
        str(value.get("loopguard.finding.id", "")),
        run,
        services.get(run, ""),
        log.service == DETECTOR,
        str(value.get("loopguard.finding.kind", "")),
        str(value.get("loopguard.finding.action", "")),
        str(value.get("gen_ai.tool.name", "")),
        int(str(value.get("loopguard.finding.sequence") or 0)),
    )


def _records(path: Path, holders: str, scopes: str, leaves: str) -> Iterator[Seen]:
    if not path.exists():
        return
    *lines, _ = path.read_text(encoding="utf-8").split("\n")  # the last one may be half written
    for line in lines:
        for holder in json.loads(line).get(holders, ()):
            service = str(_plain(holder.get("resource", {}).get("attributes", ())).get("service.name", ""))
            for scoped in holder.get(scopes, ()):
                for leaf in scoped.get(leaves, ()):
                    name = leaf.get("name") or leaf.get("eventName") or ""
                    at = int(leaf.get("startTimeUnixNano") or leaf.get("timeUnixNano") or 0)
                    events = tuple(event["name"] for event in leaf.get("events", ()))
                    yield Seen(service, name, at, _plain(leaf.get("attributes", ())), events)


def _plain(pairs: Iterable[Mapping[str, Any]]) -> dict[str, str | int | float | bool | None]:
    """Attributes in OTLP/JSON; a list or a map is shown as its text, nothing here looks into one."""
    return {pair["key"]: _scalar(pair.get("value", {})) for pair in pairs}


def _scalar(value: Mapping[str, Any]) -> str | int | float | bool | None:
    for kind, held in value.items():
        if kind == "intValue":
            return int(held)
        return held if isinstance(held, str | float | bool) else str(held)
    return None
