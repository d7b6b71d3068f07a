"""No content gets out: a canary in every argument, result and error text of every recorded span.

It must be in nothing that leaves but where a setting keeps it on purpose, and in nothing that stays.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

import otel_loopguard
from otel_loopguard import names, redact
from otel_loopguard.config import Settings
from otel_loopguard.live.lane import Lane
from tests.support.canary import Flight, as_otlp_json, fly, held_texts, holds_content
from tests.support.process import Process
from tests.support.recorded import records

EXCEPTIONS: Final = {"exception.message", "exception.stacktrace", "error.message", "otel.status_description"}
"""What `EXCEPTIONS=keep` keeps, beside the status description."""


@pytest.fixture(scope="module")
def recordings(shared: Path) -> list[Path]:
    """All recordings."""
    found = sorted((shared / "spans").glob("*.json"))
    assert len(found) >= 40
    return found


def is_exception(place: str) -> bool:
    """Whether a place in a span belongs to `EXCEPTIONS`."""
    return place == "status" or place.rsplit("/", 1)[-1] in EXCEPTIONS


def flown(recording: Path, content: object = "redact", exceptions: object = "drop") -> Flight:
    """A recording through a process with some settings."""
    return fly(recording, Process(Settings(content=content, exceptions=exceptions)))


# Spans ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exceptions", ["drop", "keep"])
@pytest.mark.parametrize("content", ["redact", "redact_all", "keep"])
def test_spans(recordings: Iterable[Path], content: str, exceptions: str) -> None:
    """A tool span shows the canary only where the settings keep it; `redact_all` reaches all spans."""
    wrong = {}
    for recording in recordings:
        flight = flown(recording, content, exceptions)
        for span in flight.tools:
            for place in flight.leaks(span):
                allowed = exceptions == "keep" if is_exception(place) else content == "keep"
                if not allowed or content == "redact_all":
                    wrong[recording.stem, span.name] = place
        if content == "redact_all":
            wrong |= {(recording.stem, span.name): place for span in flight.others for place in flight.leaks(span)}
    assert wrong == {}


def test_the_canary_is_planted(recordings: Iterable[Path]) -> None:
    """With everything kept it is seen in every recording that holds any content: the other tests look at something."""
    unseen = []
    for recording in recordings:
        flight = flown(recording, "keep", "keep")
        places = [place for span in [*flight.tools, *flight.others] for place in flight.leaks(span)]
        if not places and any(holds_content(record) for record in records(recording)):
            unseen.append(recording.stem)
    assert unseen == []


# Everything else that leaves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["redact", "keep"])
def test_what_leaves_beside_spans(
    recordings: Iterable[Path], content: object, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Log events, metrics, our own log lines and standard output hold none of it, whatever spans may keep."""
    for recording in recordings:
        process = Process(Settings(content=content, exceptions="keep"))
        with otel_loopguard.run("one run"):
            flight = fly(recording, process)
            for _ in range(5):  # the same calls again make findings, and those events
                fly(recording, process, flight.canary)
            otel_loopguard.finish("loop_detected")
        known = [span for span in flight.tools if names.FINGERPRINT in (span.attributes or {})]
        assert not known or process.live.counters.total(names.FINDINGS), recording.stem
        assert flight.canary not in flight.said + caplog.text, recording.stem
        out, err = capfd.readouterr()
        assert flight.canary not in out + err, recording.stem


def test_replay(recordings: Iterable[Path], tmp_path: Path) -> None:
    """`loopguard replay` of spans that hold everything prints none of it."""
    flights = [flown(recording, "keep", "keep") for recording in recordings]
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(as_otlp_json(flight) + "\n" for flight in flights))
    command = [sys.executable, "-m", "otel_loopguard", "replay"]
    for options in (["--json", "--calls"], []):
        done = subprocess.run([*command, *options, path], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        assert [flight.canary for flight in flights if flight.canary in done.stdout + done.stderr] == []


# What stays -------------------------------------------------------------------------------------------------------


def test_what_stays(recordings: Iterable[Path]) -> None:
    """Nothing that the process goes on holding has it: no history, no cache, no call that waits."""
    for recording in recordings:
        flight = flown(recording)
        flight.process.exporter.clear()
        process = flight.process
        for text in held_texts(process.live, process.processor._watch):
            assert flight.canary not in text, recording.stem


def lanes(process: Process) -> Iterator[Lane]:
    """All lanes of a process."""
    for run in process.live._ledger._runs.values():
        yield from run.lanes()


def test_representations_and_pickles(recordings: Iterable[Path]) -> None:
    """What is printed or pickled of our values shows none of it: records keep content out of their repr."""
    for recording in recordings:
        for record in records(recording):
            for shown in (repr(record), *(repr(event) for event in record.events)):
                assert not [
                    value for value in record.attributes.values() if len(str(value)) > 40 and str(value) in shown
                ]
        flight = flown(recording)
        for lane in lanes(flight.process):
            for *_, call in lane._seats:
                assert flight.canary not in repr(call)
                assert flight.canary.encode() not in pickle.dumps(call)


# Mutation ---------------------------------------------------------------------------------------------------------


def forget(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make redaction forget a key."""
    monkeypatch.setattr(redact, "_KEYS", redact._KEYS - {key})
    monkeypatch.setattr(redact, "_EXCEPTION_KEYS", redact._EXCEPTION_KEYS - {key})


def remember() -> None:
    """Throw away what redaction remembers of keys."""
    redact._holds_content.cache_clear()
    redact._holds_any.cache_clear()
    redact._of_attributes.cache_clear()


def test_without_one_key_the_canary_is_seen(recordings: Iterable[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Redaction that forgets any single key lets the canary out, and these tests see it."""
    where: dict[str, list[Path]] = {}
    for recording in recordings:
        flight = flown(recording, "keep", "keep")
        for key in {place.rsplit("/", 1)[-1] for span in flight.tools for place in flight.leaks(span)} - {"status"}:
            if not key.startswith(redact._PREFIXES):
                where.setdefault(key, []).append(recording)
    assert len(where) >= 10
    seen = {}
    try:
        for key, holding in where.items():
            with monkeypatch.context() as patch:
                forget(key, patch)
                remember()
                flights = [flown(recording) for recording in holding]
            places = {place for flight in flights for span in flight.tools for place in flight.leaks(span)}
            seen[key] = {place.rsplit("/", 1)[-1] for place in places}
    finally:
        remember()
    assert seen == {key: {key} for key in where}
