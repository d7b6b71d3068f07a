"""`metrics.yaml` counts exactly, from spans and events alone: many requests, both protocols, a gateway beside it."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from google.protobuf.message import Message

from tests.support.collector import Collector, until
from tests.support.spans import annotated, logs, pairs, raw, traces

FINDING = {
    "loopguard.run.id": "r",
    "loopguard.finding.id": "f",
    "loopguard.finding.kind": "identical",
    "loopguard.finding.action": "nudge",
    "gen_ai.tool.name": "search",
    "gen_ai.agent.name": "researcher",
}
WANTED = {"loopguard_collector_tool_calls_total", "loopguard_collector_runs_total"}
END = {"gen_ai.agent.name": "researcher", "loopguard.run.progressed": False, "loopguard.run.calls": 9}
AGENT = {"gen_ai.agent.name": "researcher"}
FOUND = (
    'loopguard_collector_findings_total{gen_ai_agent_name="researcher",gen_ai_tool_name="search",'
    'job="unknown_service",loopguard_finding_action="nudge",loopguard_finding_kind="identical"}'
)


def requests(number: int) -> list[Message]:
    """What an agent sends in a while: calls with and without a finding, its events, the end of its run."""
    stuck = {**AGENT, "loopguard.verdict": "nudge", "loopguard.finding.kind": "identical", "loopguard.repeat.count": 3}
    spans = [
        annotated(f"r{number}", 1, **AGENT),
        annotated(f"r{number}", 2, **stuck),
        raw(f"r{number}", 3, {}, {}, **AGENT),
    ]
    spans[2].name = "GET"
    del spans[2].attributes[:]  # no tool call
    return [
        traces(spans),
        traces([raw(f"u{number}", 1, {"q": "?"}, [])]),
        logs([("loopguard.finding", FINDING), ("loopguard.finding", FINDING), ("something.else", FINDING)]),
        logs([
            ("loopguard.nudge.outcome", {**FINDING, "loopguard.nudge.outcome": "recovered"}),
            ("loopguard.run.end", {**END, "loopguard.run.wasted.calls": 4, "loopguard.run.wasted.tokens": 100}),
            ("loopguard.run.end", {**END, "loopguard.run.wasted.calls": 0, "loopguard.termination.reason": "budget"}),
            ("loopguard.dispatch.denied", FINDING),
            ("loopguard.blocked", {**AGENT, "loopguard.blocked.kind": "credentials"}),
            ("loopguard.integrity", {"loopguard.integrity.kind": "gap", "loopguard.integrity.level": "error"}),
        ]),
    ]  # fmt: skip


def expected(count: int) -> dict[str, float]:
    """The page after that many rounds, but for times and buckets."""
    job = 'job="unknown_service"'
    who = 'gen_ai_agent_name="researcher"'
    what = 'gen_ai_tool_name="search"'
    kind = 'loopguard_finding_kind="identical"'
    of = "loopguard_collector_"
    rounds = {
        f'{of}tool_calls_total{{{who},{what},job="agent",loopguard_outcome="ok",loopguard_verdict="allow"}}': 1,
        f'{of}tool_calls_total{{{who},{what},job="agent",loopguard_outcome="ok",loopguard_verdict="nudge"}}': 1,
        f'{of}tool_calls_total{{gen_ai_agent_name="unknown",{what},job="agent",loopguard_outcome="unknown",'
        'loopguard_verdict="unannotated"}': 1,
        f'{of}looping_calls_total{{{who},{what},job="agent",{kind},loopguard_verdict="nudge"}}': 1,
        f'{of}tool_duration_seconds_count{{{what},job="agent"}}': 3,
        f'{of}tool_duration_seconds_sum{{{what},job="agent"}}': 1.5,
        f'{of}repeats_count{{{what},job="agent"}}': 1,
        f'{of}repeats_sum{{{what},job="agent"}}': 3,
        f'{of}findings_total{{{who},{what},{job},loopguard_finding_action="nudge",{kind}}}': 2,
        f'{of}nudges_total{{{who},{what},{job},{kind},loopguard_nudge_outcome="recovered"}}': 1,
        f"{of}denials_total{{{who},{what},{job},{kind}}}": 1,
        f'{of}blocked_reports_total{{{who},{job},loopguard_blocked_kind="credentials"}}': 1,
        f'{of}integrity_findings_total{{{job},loopguard_integrity_kind="gap",loopguard_integrity_level="error"}}': 1,
        f'{of}runs_total{{{who},{job},loopguard_run_progressed="false",loopguard_termination_reason="unknown"}}': 1,
        f'{of}runs_total{{{who},{job},loopguard_run_progressed="false",loopguard_termination_reason="budget"}}': 1,
        f"{of}run_calls_total{{{who},{job}}}": 18,
        f"{of}wasted_calls_total{{{who},{job}}}": 4,
        f"{of}wasted_tokens_total{{{who},{job}}}": 100,
    }
    return {name: value * count for name, value in rounds.items()}


def counted(collector: Collector) -> dict[str, float]:
    """What is on the page, but for times and buckets."""
    return {name: value for name, value in collector.rates().items() if "_bucket{" not in name and name[:4] != "targ"}


def wait_for(collector: Collector, name: str, value: float) -> None:
    """Wait until a sample has a value."""
    until(lambda: collector.rates().get(name) == value, f"{name} {value}")


@pytest.mark.parametrize("recipes", [["metrics.yaml"], ["metrics.yaml", "gateway.yaml"]], ids="+".join)
def test_everything_is_counted_once(tmp_path: Path, recipes: list[str]) -> None:
    """Many requests at once and one after the other: the page holds their sum, alone and beside the gateway."""
    with Collector(tmp_path, *recipes, BACKEND_ENDPOINT="127.0.0.1:1", DETECTOR_ENDPOINT="127.0.0.1:1") as collector:

        def send(number: int) -> None:
            for message in requests(number):
                collector.send(message, "grpc" if number % 2 else "http")

        senders = [threading.Thread(target=send, args=[number]) for number in range(20)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        until(lambda: counted(collector) == expected(20), "20 rounds")
        for number in range(20, 30):
            send(number)
            wait_for(collector, FOUND, 2 * (number + 1))
        until(lambda: counted(collector) == expected(30), "30 rounds")


def test_spans_of_the_past_count_too(tmp_path: Path) -> None:
    """Spans that come late, older than what was counted before, are counted all the same."""
    name = (
        'loopguard_collector_tool_calls_total{gen_ai_agent_name="unknown",gen_ai_tool_name="search",job="agent",'
        'loopguard_outcome="ok",loopguard_verdict="allow"}'
    )
    with Collector(tmp_path, "metrics.yaml") as collector:
        for count, at in enumerate([9000, 5000, 1, 7000], start=1):
            collector.send(traces([annotated("r", count, at=at)]))
            wait_for(collector, name, count)


def test_the_collector_counts_itself(tmp_path: Path) -> None:
    """Its own page tells what it took in."""
    with Collector(tmp_path, "metrics.yaml") as collector:
        collector.send(traces([annotated("r", 1), annotated("r", 2)]))
        accepted = [value for name, value in collector.telemetry().items() if "receiver_accepted_spans" in name]
    assert accepted == [2]


@pytest.mark.parametrize("recipes", [["metrics.yaml"], ["metrics.yaml", "gateway.yaml"]], ids="+".join)
def test_a_label_is_a_short_text(tmp_path: Path, recipes: list[str]) -> None:
    """Nothing nested and no long text comes to the page, and no text in the place of a number to any log."""
    call = annotated("r", 1, **{"loopguard.repeat.count": "canary-1"})
    for name, value in (("gen_ai.tool.name", {"x": "canary-2"}), ("gen_ai.agent.name", ["canary-3"])):
        kept = [pair for pair in call.attributes if pair.key != name]
        del call.attributes[:]
        call.attributes.extend([*kept, *pairs({name: value})])
    end = {"gen_ai.agent.name": "a" * 5000, "loopguard.run.calls": "canary-4", "loopguard.run.progressed": True}
    with Collector(tmp_path, *recipes) as collector:
        collector.send(traces([call]), "grpc")
        collector.send(logs([("loopguard.run.end", end)]), "http")
        until(lambda: {name.partition("{")[0] for name in collector.rates()} >= WANTED, "both are counted")
        page = "\n".join(collector.rates())
        assert "canary" not in page
        assert 'gen_ai_agent_name="' + "a" * 256 + '"' in page
    assert "canary" not in collector.log.read_text()


TEXTS = ("gen_ai.agent.name", "gen_ai.tool.name", "loopguard.finding.kind", "loopguard.outcome", "loopguard.verdict")
OF_EVENTS = {
    "loopguard.finding": ("gen_ai.agent.name", "gen_ai.tool.name", "loopguard.finding.action",
                          "loopguard.finding.kind"),
    "loopguard.nudge.outcome": ("loopguard.nudge.outcome",),
    "loopguard.blocked": ("loopguard.blocked.kind",),
    "loopguard.integrity": ("loopguard.integrity.kind", "loopguard.integrity.level"),
    "loopguard.run.end": ("loopguard.termination.reason", "loopguard.run.progressed"),
}  # fmt: skip
NO_TEXTS: dict[str, object] = {
    "bytes": b"canary" * 1000,
    "a map": {"canary": "canary"},
    "an empty map": {},
    "a list": ["canary"],
    "an empty list": [],
    "a whole number": 4711,
    "a number": 47.11,
}


def labels(collector: Collector) -> set[str]:
    """The values of all labels on the page but of buckets' and of the page's own."""
    names = " ".join(name for name in counted(collector) if name.startswith("loopguard_"))
    return set(re.findall(r'(\w+="[^"]*")', names))


@pytest.mark.parametrize("what", NO_TEXTS)
def test_what_is_no_text_is_no_label(tmp_path: Path, what: str) -> None:
    """Every label of every measurement says what an absent attribute says."""
    value = NO_TEXTS[what]
    call = annotated("r", 1, **{"loopguard.finding.kind": "x"})
    kept = [pair for pair in call.attributes if pair.key not in TEXTS]
    del call.attributes[:]
    call.attributes.extend([*kept, *pairs(dict.fromkeys(TEXTS, value))])
    message = traces([call])
    del message.resource_spans[0].resource.attributes[:]
    message.resource_spans[0].resource.attributes.extend(pairs({"service.name": value}))
    events = logs([(event, dict.fromkeys(names, value)) for event, names in OF_EVENTS.items()])
    wanted = WANTED | {"loopguard_collector_integrity_findings_total"}
    with Collector(tmp_path, "metrics.yaml") as collector:
        collector.send(message)
        collector.send(events)
        until(lambda: {name.partition("{")[0] for name in collector.rates()} >= wanted, "all are counted")
        said = {label.partition("=")[2].strip('"') for label in labels(collector)}
        assert said == {"unknown", "unannotated", "unknown_service"}
        assert "canary" not in "".join(collector.rates())
