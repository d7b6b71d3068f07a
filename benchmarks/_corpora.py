"""Recorded runs from files, and what is known about which of them loop.

Not a detector, and no data of its own but digests of run ids: the runs are wherever the user keeps them. A corpus is a
file `NAME.jsonl` or `NAME.jsonl.gz` with one call a line (`run_id`, `tool`, `arguments`, `observation`, and where known
`sequence`, `turn`, `call_id`, `is_error`, `error_type`); `NAME.labels.json` and `NAME.runs.jsonl` beside it tell more.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

__all__ = ["SOURCES", "Corpus", "RawCall", "Run", "corpora", "digest"]

READINGS: Final = Path(__file__).with_name("accuracy_readings.json")

SOURCES: Final = {
    "read": "strong: every call of the run read without the findings in view; by those who wrote the rules",
    "seen": "fair: read with the findings in view, to see whether they are right",
    "given": "as strong as whoever wrote the label file: a loop or none, by run",
    "solved": "strong against stops, fair against nudges: the run solved its task, detours and all",
    "equal": "mechanical: three equal calls with equal results in twelve; honest work where edits stand in between",
    "noted": "one-sided: an expert's notes on the trace word a repetition; no note proves nothing",
    "opinion": "weak: a model's opinion after single steps; reported only",
}
"""What each source of labels is worth."""

_WINDOW: Final = 12


@dataclass(frozen=True)
class RawCall:
    """One recorded call."""

    tool: str
    arguments: object
    result: object
    failed: bool
    error_type: str | None
    call_id: str | None
    turn: str | int | None

    @cached_property
    def same_call(self) -> tuple[str, str]:
        """Equal for calls of one tool with equal arguments, as they are written."""
        return self.tool, json.dumps(self.arguments, sort_keys=True)

    @cached_property
    def same_result(self) -> str:
        """Equal for equal results, as they are written."""
        return json.dumps(self.result, sort_keys=True)


@dataclass
class Run:
    """One run in its order."""

    id: str
    calls: list[RawCall] = field(default_factory=list)
    labels: dict[str, bool] = field(default_factory=dict)
    """By source: whether it loops. A source that tells one side only gives no label for the other."""
    group: str = ""
    """Of which trace this is one agent's part; expert notes are about the whole."""

    @property
    def repeats_itself(self) -> bool:
        """Whether a call came three times with one result within so many calls."""
        kept: list[tuple[object, object]] = []
        for call in self.calls:
            kept = [*kept[1 - _WINDOW :], (call.same_call, call.same_result)]
            if kept.count(kept[-1]) >= 3:
                return True
        return False


@dataclass(frozen=True)
class Corpus:
    """The runs of one file."""

    name: str
    runs: list[Run]

    @property
    def calls(self) -> int:
        """How many there are."""
        return sum(len(run.calls) for run in self.runs)


def digest(run_id: str) -> str:
    """What stands for a run in the file of readings."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:12]


def corpora(folders: Iterable[Path]) -> Iterator[Corpus]:
    """The corpora of some folders, by name; files of other forms are left alone."""
    readings = json.loads(READINGS.read_text())
    for folder in folders:
        files = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
        for file in files:
            name = file.name.removesuffix(".gz").removesuffix(".jsonl")
            if "." in name:
                continue
            runs = _runs(file)
            _label(runs, folder, name, readings.get(name, {}))
            yield Corpus(name, list(runs.values()))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        for line in lines:
            yield json.loads(line)


def _runs(file: Path) -> dict[str, Run]:
    held: dict[str, list[tuple[int, RawCall]]] = {}
    for line in _lines(file):
        calls = held.setdefault(line["run_id"], [])
        call = RawCall(
            line["tool"], line.get("arguments"), line.get("observation"), bool(line.get("is_error")),
            line.get("error_type"), line.get("call_id"), line.get("turn"),
        )  # fmt: skip
        calls.append((line.get("sequence", len(calls)), call))
    return {
        name: Run(name, [call for _, call in sorted(calls, key=lambda one: one[0])]) for name, calls in held.items()
    }


def _label(runs: Mapping[str, Run], folder: Path, name: str, readings: Mapping[str, list[str]]) -> None:
    for run in runs.values():
        for source, loops, clean in (("read", "loop", "clean"), ("seen", "seen_loop", "seen_clean")):
            if digest(run.id) in {*readings.get(loops, ()), *readings.get(clean, ())}:
                run.labels[source] = digest(run.id) in readings.get(loops, ())
        if run.repeats_itself:
            run.labels["equal"] = True
    told = folder / f"{name}.runs.jsonl"
    for line in _lines(told) if told.exists() else ():
        if line["run_id"] in runs and (line.get("resolved") is True or line.get("outcome") == "solved"):
            runs[line["run_id"]].labels["solved"] = False
    written = folder / f"{name}.labels.json"
    if written.exists():
        _written(runs, json.loads(written.read_text()))


def _written(runs: Mapping[str, Run], labels: Mapping[str, object]) -> None:
    """Labels in any of three forms: a loop or none, an expert's notes on a trace, a model's opinion after each step."""
    for run in runs.values():
        run.group = run.id.split("/")[0]
        label = labels.get(run.id, labels.get(run.group))
        if isinstance(label, bool):
            run.labels["given"] = label
        elif isinstance(label, dict) and isinstance(label.get("loop"), bool):
            run.labels["given"] = label["loop"]
        elif isinstance(label, dict) and "repetition" in label:
            run.labels["noted"] = bool(label["repetition"])
        elif isinstance(label, list):
            run.labels["opinion"] = any(step.get("is_in_loop") for step in label)
