"""Agents without our processor, by the gateway and to the detector itself: what is judged, and that nothing they say
gets anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("h11", reason="needs the extra `serve`: make install")

from tests.support.agent import environment, run
from tests.support.collector import Protocol, until
from tests.support.loud_agent import CALLS
from tests.support.pipeline import Pipeline

CANARY: Final = "canary7c1e55d0b9"
BY_GATEWAY: Final = ("by-grpc", "by-http")
DIRECT: Final = ("direct-grpc", "direct-http")
FOUND: Final = (("identical", "nudge"), ("identical", "stop"), ("same_error", "nudge"))
"""In each direct run."""
RECORDS: Final = 4 * CALLS
"""Log records of one agent."""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """A pipeline after four such agents: two by the gateway, two to the detector, in either protocol."""
    with Pipeline(tmp_path_factory.mktemp("loud"), "--lateness", "500ms", "--idle", "4s") as running:
        for name in BY_GATEWAY:
            speak(name, running.gateway.grpc if name.endswith("grpc") else running.gateway.http)
        for name in DIRECT:
            speak(name, running.detector.grpc if name.endswith("grpc") else running.detector.http)
        names = {*BY_GATEWAY, *DIRECT}
        until(
            lambda: names <= {record.attributes["loopguard.run.id"] for record in running.events("loopguard.run.end")},
            "the detector tells the ends of all four runs",
        )
        until(lambda: len(running.calls()) >= 2 * CALLS, "the calls by the gateway at the backend")
        until(lambda: len(from_agents(running)) >= 2 * RECORDS, "their log records at the backend")
        until(lambda: len(running.findings()) >= 2 * len(FOUND), "the findings at the backend")
        yield running


def speak(name: str, address: str) -> None:
    """An agent without our processor, from its start to its end."""
    protocol: Protocol = "grpc" if name.endswith("grpc") else "http"
    spoken = {"grpc": "grpc", "http": "http/protobuf"}[protocol]
    run("tests.support.loud_agent", name, CANARY, environ=environment(name, address, spoken, LOOPGUARD_ENABLED="false"))


def from_agents(running: Pipeline) -> list[str]:
    """Services of the log records at the backend that agents sent."""
    services = [record.resource.get("service.name") for record in running.backend.logs()]
    return [service for service in services if service in BY_GATEWAY]


def totals(running: Pipeline) -> dict[str, tuple[int, int]]:
    """What the detector says of each run: its calls, and how often one was equal to another."""
    return {
        record.attributes["loopguard.run.id"]: (
            record.attributes["loopguard.run.calls"], record.attributes["loopguard.run.repeat.max"],
        )
        for record in running.events("loopguard.run.end")
    }  # fmt: skip


def test_by_the_gateway_calls_are_unknown(parts: Pipeline) -> None:
    """The detector counts them, and takes none for equal to another; sent to it, the same calls are equal."""
    assert totals(parts) == {
        **dict.fromkeys(BY_GATEWAY, (CALLS, 0)),
        **dict.fromkeys(DIRECT, (CALLS, CALLS)),
    }  # fmt: skip
    counted = {key: value for key, value in parts.detector.numbers().items() if key.startswith("loopguard_tool_calls")}
    assert sum(counted.values()) == 4 * CALLS, counted


def test_only_what_was_sent_to_the_detector_is_judged(parts: Pipeline) -> None:
    """Their equal calls and equal errors are told, at the backend as well; of the others nothing is."""
    told = Counter(
        (found["loopguard.run.id"], found["loopguard.finding.kind"], found["loopguard.finding.action"])
        for found in parts.findings().values()
    )
    assert told == {(name, *finding): 1 for name in DIRECT for finding in FOUND}
    assert {found["loopguard.finding.id"] for found in parts.detector.told("loopguard.finding")} == set(
        parts.findings()
    )


def test_nothing_that_an_agent_says_reaches_the_backend(parts: Pipeline) -> None:
    """Spans and log records of the agents arrive, without the text that was in every place of them."""
    assert len(parts.calls()) == 2 * CALLS
    assert len(from_agents(parts)) == 2 * RECORDS
    for span in parts.calls():
        assert not span.fields.get("links")
        assert span.fields["status"] == {"code": 2}
        assert not {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "my.own"} & set(span.attributes)
    assert CANARY.encode() not in parts.backend.written()


def test_nor_the_gateways_disk(parts: Pipeline) -> None:
    """What the gateway keeps for sending has it neither, and its log says nothing."""
    assert CANARY.encode() not in parts.gateway.written() + parts.gateway.log.read_bytes()


def test_nor_anything_of_the_detector(parts: Pipeline) -> None:
    """State file, JSON lines, log and page: not from the gateway, and not where arguments came to it readable."""
    assert CANARY.encode() not in parts.detector.written()


def test_the_agent_does_say_it(tmp_path: Path) -> None:
    """The same agent with nothing between it and a file: the text is in every place that the others look at."""
    from tests.support.collector import Collector

    with Collector(tmp_path, "files_backend.yaml") as backend:
        speak("by-grpc", backend.grpc)
        until(lambda: len(backend.logs()) >= RECORDS, "all log records")
        until(lambda: len(backend.spans()) >= 2 * CALLS + 1, "all spans")
        call = next(span.fields for span in backend.spans() if span.name == "execute_tool search")
        for place in (call["attributes"], call["events"], call["links"], call["status"]):
            assert CANARY in str(place)
        said = [str(record.fields["body"]) for record in backend.logs()]
        assert all(CANARY in body for body in said)
        assert {next(iter(record.fields["body"])) for record in backend.logs()} == {
            "stringValue", "kvlistValue", "arrayValue",
        }  # fmt: skip
