"""Two instrumented processes with one run → gateway → `loopguard serve` → gateway → backend, whatever is killed.

What is unique is `loopguard.finding.id`. Delivery is at least once: after a kill the backend may hold a finding twice
under its id. So the rule is that the ids are those of a pipeline in which nothing was killed, no more and no fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("h11", reason="needs the extra `serve`: make install")

from tests.support.agent import Stepwise, environment
from tests.support.collector import until
from tests.support.pipeline import Pipeline

RUNS: Final = tuple(f"incident-{number}" for number in range(6))
AGENTS: Final = ("triage", "research")
POLICY: Final = "version: 1\ntools:\n  search_logs: {identical: {nudge: 3, stop: 4}}\n"
"""Two agents make four equal calls of a run, two each: one alone never reaches a limit, both do."""
CALLS: Final = 4 * len(RUNS)
LATENESS: Final = "2s"
"""What was on its way when a gateway was killed goes to the end of its queue: some milliseconds."""
IDLE: Final = "7s"
"""A run is told to have ended some seconds after it was judged."""

CALL: Final = {"tool": "search_logs", "arguments": {"service": "checkout", "level": "error"}, "result": []}
BOTH: Final = [{"run": run, **CALL} for run in RUNS]
"""One call of each run."""


@contextmanager
def pipeline(folder: Path) -> Iterator[tuple[Pipeline, Stepwise, Stepwise]]:
    """All parts, and the two agents."""
    folder.mkdir(exist_ok=True)
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    with Pipeline(folder, "--lateness", LATENESS, "--idle", IDLE, LOOPGUARD_POLICY=str(policy)) as parts:
        one, other = (
            Stepwise(name, environment(name, parts.gateway.grpc, LOOPGUARD_POLICY=str(policy))) for name in AGENTS
        )
        with one, other:
            yield parts, one, other


def until_judged(parts: Pipeline) -> None:
    """Wait until the backend has everything."""
    until(lambda: len(parts.findings()) >= 2 * len(RUNS), f"{2 * len(RUNS)} findings at the backend")
    until(lambda: len(ids_of_calls(parts)) >= CALLS, f"{CALLS} calls at the backend")


def ids_of_calls(parts: Pipeline) -> set[tuple[str, str]]:
    """Trace and span id of every call at the backend."""
    return {(span.fields["traceId"], span.fields["spanId"]) for span in parts.calls()}


def counted(parts: Pipeline) -> dict[str, int]:
    """How many calls the detector says that each run had when it fell silent; the most, where it fell silent twice."""
    found: dict[str, int] = {}
    for record in parts.events("loopguard.run.end"):
        run, calls = record.attributes["loopguard.run.id"], record.attributes["loopguard.run.calls"]
        found[run] = max(calls, found.get(run, 0))
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """A pipeline in which nothing is killed, after all four calls of every run."""
    with pipeline(tmp_path_factory.mktemp("undisturbed")) as (parts, one, other):
        for agent in (one, other, one, other):
            agent.make(BOTH)
        until_judged(parts)
        yield parts


def test_a_loop_over_two_processes_arrives_once(undisturbed: Pipeline) -> None:
    """The backend has every call, and for each run a nudge and a stop of the detector, each in one record."""
    told = undisturbed.events("loopguard.finding")
    assert sorted(
        (record.attributes["loopguard.run.id"], record.attributes["loopguard.finding.action"]) for record in told
    ) == sorted((run, action) for run in RUNS for action in ("nudge", "stop"))
    assert len(undisturbed.findings()) == len(told)
    assert {record.resource["service.name"] for record in told} == {"otel-loopguard"}
    assert {record.attributes["loopguard.finding.kind"] for record in told} == {"identical"}
    assert len(undisturbed.calls()) == len(ids_of_calls(undisturbed)) == CALLS


def test_neither_process_sees_it_alone(undisturbed: Pipeline) -> None:
    """Of either process every call is allowed, and its own telemetry names no finding."""
    verdicts = Counter(
        (span.resource["service.name"], span.attributes["loopguard.verdict"]) for span in undisturbed.calls()
    )
    assert verdicts == {(name, "allow"): CALLS // 2 for name in AGENTS}
    assert [span.events for span in undisturbed.calls() if span.events] == []


def test_a_finding_leads_to_the_call_that_it_judges(undisturbed: Pipeline) -> None:
    """Its record carries trace and span of a call that the backend has: the third and the fourth of the run."""
    order = {
        (span.fields["traceId"], span.fields["spanId"]): int(span.fields["startTimeUnixNano"])
        for span in undisturbed.calls()
    }
    run_of = {
        (span.fields["traceId"], span.fields["spanId"]): span.attributes["loopguard.run.id"]
        for span in undisturbed.calls()
    }
    for record in undisturbed.events("loopguard.finding"):
        at = (record.fields["traceId"], record.fields["spanId"])
        run = record.attributes["loopguard.run.id"]
        calls = sorted((call for call in order if run_of[call] == run), key=order.__getitem__)
        assert calls.index(at) + 1 == {"nudge": 3, "stop": 4}[record.attributes["loopguard.finding.action"]]


def test_findings_do_not_feed_themselves(undisturbed: Pipeline) -> None:
    """The detector took in the calls and nothing that it said itself."""
    assert undisturbed.detector.numbers()["loopguard_server_items_total"] == CALLS


@pytest.mark.parametrize(
    "victims", [("detector",), ("gateway",), ("backend",), ("backend", "detector", "gateway")], ids=" and ".join
)
def test_a_kill_loses_and_doubles_nothing(undisturbed: Pipeline, tmp_path: Path, victims: tuple[str, ...]) -> None:
    """Killed with calls to come and again with findings to come: the same calls and findings as without, by their ids,
    and the detector counts four calls of every run.
    """
    with pipeline(tmp_path) as (parts, one, other):
        named = {"detector": parts.detector, "gateway": parts.gateway, "backend": parts.backend}
        killed = [named[name] for name in victims]
        one.make(BOTH)
        other.make(BOTH)
        if parts.backend in killed:
            until_written(parts, CALLS // 2)
        else:
            one.begin(BOTH)  # while it is killed: acknowledged and kept, or sent again
        for part in killed:
            part.kill()
        if parts.backend in killed:
            one.begin(BOTH)
        for part in killed:
            part.start()
        one.finish()
        other.make(BOTH)
        if parts.backend in killed:
            until_written(parts, CALLS)
        for part in killed:
            part.kill()
        for part in killed:
            part.start()
        until_judged(parts)
        until(lambda: sum(counted(parts).values()) >= CALLS, "the detector tells of the ends of all runs")
        assert set(parts.findings()) == set(undisturbed.findings())
        assert ids_of_calls(parts) == ids_of_calls(undisturbed)
        assert counted(parts) == dict.fromkeys(RUNS, 4)
        if killed == [parts.backend]:  # nothing was on its way to it, so not even a copy comes
            assert len(parts.events("loopguard.finding")) == len(parts.findings())


def until_written(parts: Pipeline, calls: int) -> None:
    """Wait for what a backend of files does not promise: it writes after it has acknowledged."""
    until(lambda: len(ids_of_calls(parts)) >= calls, f"{calls} calls in the backend's file")
