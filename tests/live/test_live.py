"""The runs of a process: bounded, re-read rules, key scopes, numbers."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import IdenticalRule, Policy, ToolPolicy
from otel_loopguard.live import Live
from otel_loopguard.live.ledger import Ledger
from otel_loopguard.live.run_state import MAX_LANES
from tests.support.process import Fixed, Process


class Clock:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        """The time."""
        return self.now


def ticking(process: Process) -> Clock:
    """Give a process a clock of the test's."""
    clock = Clock()
    process.live._clock = clock
    process.live._rules._ask_at = 1_000_000_000
    return clock


# Bounds -----------------------------------------------------------------------------------------------------------


def test_runs_are_bounded() -> None:
    """The least recently active run is dropped, counted, and starts anew under another process id when it returns."""
    process = Process(max_runs=2)
    for run in ("a", "b", "a", "c", "a", "b"):
        with otel_loopguard.run(run):
            process.call(arguments={"q": "x"})
    assert process.written(names.SEQUENCE) == [1, 1, 2, 1, 3, 1]
    ids = process.written(names.PROCESS_ID)
    assert ids[0] == ids[1] == ids[2] == ids[4]
    assert ids[3] == ids[0]
    assert ids[5] != ids[1]
    assert process.live.counters.read(names.DROPPED) == [(2, {"loopguard.drop.reason": "runs"})]


def test_agents_of_a_run_are_bounded() -> None:
    """The least recently active agent of a run is dropped, counted, and numbered anew under another process id."""
    process = Process()
    with otel_loopguard.run("r"):
        for index in range(MAX_LANES + 1):
            with process.agent(f"agent {index}"):
                process.call(arguments={"q": "x"})
        with process.agent("agent 0"):
            process.call(arguments={"q": "x"})
        with process.agent(f"agent {MAX_LANES}"):
            process.call(arguments={"q": "x"})
    assert process.written(names.SEQUENCE)[-2:] == [1, 2]
    ids = process.written(names.PROCESS_ID)
    assert ids[-2] != ids[0]
    assert ids[-1] == ids[-3]
    assert process.live.counters.read(names.DROPPED)[0] == (2, {"loopguard.drop.reason": "agents"})


def test_what_is_dropped_is_closed() -> None:
    """A dropped run's last turn is judged: an open nudge is told of before it is forgotten."""
    process = Process(max_runs=1)
    with otel_loopguard.run("a"):
        for _ in range(3):
            process.call(arguments={"q": "x"})
    with otel_loopguard.run("b"):
        process.call()
    assert process.live.counters.read(names.NUDGES) == [(1, {"loopguard.nudge.outcome": "open"})]


def test_traces_are_bounded() -> None:
    """Which run a trace belongs to is remembered for some traces a run."""
    ledger = Ledger(max_runs=2)
    ledger.run("r", 0)
    for index in range(100):
        ledger.saw(f"trace {index}", "r")
    assert ledger.find("", "trace 99") is ledger.find("r", "")
    assert ledger.find("", "trace 1") is None
    assert len(ledger._traces) == 8


def test_a_live_is_freed_with_its_processors() -> None:
    """Nothing of the process holds on to runs that nobody watches."""
    process = Process()
    process.call()
    lives = [one for one in gc.get_objects() if isinstance(one, Live)]
    held = len(lives)
    del lives, process
    gc.collect()
    assert len([one for one in gc.get_objects() if isinstance(one, Live)]) < held


# Rules ------------------------------------------------------------------------------------------------------------


def test_a_changed_policy_is_taken_up_within_a_second() -> None:
    """Sources are asked once a second; a new policy judges the calls that follow, with the history so far."""
    process = Process()
    clock = ticking(process)
    with otel_loopguard.run("r"):
        process.call(arguments={"q": "x"})
        process.sources.now = Policy(revision="2", default=ToolPolicy(identical=IdenticalRule(nudge=2, stop=3)))
        clock.now = 999_999_999
        process.call("other", 1)
        clock.now = 1_000_000_000
        process.call(arguments={"q": "x"})
    assert process.written(names.POLICY_VERSION) == [None, None, "2"]


def test_a_rotated_key_makes_other_fingerprints() -> None:
    """After a rotation calls carry the new key's id and are not compared with the old ones."""
    process = Process()
    clock = ticking(process)
    with otel_loopguard.run("r"):
        for _ in range(2):
            process.call(arguments={"q": "x"})
        process.sources.keys = Keyring(SecretKey(b"n" * 32, "k2"), [SecretKey(b"k" * 32, "k1")])
        clock.now = 1_000_000_000
        process.call(arguments={"q": "x"})
    assert process.written(names.KEY_ID) == ["k1", "k1", "k2"]
    assert process.written(names.REPEAT_COUNT) == [1, 2, 1]
    first, _, last = process.written(names.FINGERPRINT)
    assert first != last


@pytest.mark.parametrize(
    ("scope", "same_across_runs", "same_across_services"),
    [("environment", True, True), ("service", True, False), ("run", False, False)],
)
def test_key_scopes(scope: str, same_across_runs: bool, same_across_services: bool) -> None:  # noqa: FBT001
    """How far equal calls have equal fingerprints: everywhere, in one service, in one run."""
    fingerprints = {}
    for service in ("one", "two"):
        process = Process(key_scope=scope, resource={"service.name": service})  # type: ignore[arg-type]
        for run in ("a", "b", "a"):
            with otel_loopguard.run(run):
                process.call(arguments={"q": "x"})
        first, second, third = process.written(names.FINGERPRINT)
        assert first == third
        assert (first == second) is same_across_runs
        fingerprints[service] = first
    assert (fingerprints["one"] == fingerprints["two"]) is (same_across_services or scope == "run")


def test_scope_values_separate_histories() -> None:
    """What the policy's scope names, on the span or its resource, separates histories and enters the identity."""
    process = Process(sources=Fixed(Policy(scope=("tenant.id", "region"))), resource={"region": "eu"})
    with otel_loopguard.run("r"):
        for tenant in ("a", "b", "a"):
            process.call(arguments={"q": "x"}, **{"tenant.id": tenant})
    assert process.written(names.REPEAT_COUNT) == [1, 1, 2]
    assert process.written(names.SEQUENCE) == [1, 1, 2]
    first, second, third = process.written(names.FINGERPRINT)
    assert first == third != second


def test_a_broken_policy_file_is_counted_and_replaced_by_the_built_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A policy that cannot be read never stops the agent: a warning and a number."""
    from opentelemetry.sdk.trace import TracerProvider

    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nwindwo: 3\n")
    settings = otel_loopguard.Settings(key="0123456789abcdef" * 4, policy_file=str(path))
    processor = otel_loopguard.instrument(TracerProvider(shutdown_on_exit=False), settings=settings)
    assert processor is not None
    assert "windwo" in caplog.text
    assert processor._live.counters.total(names.ERRORS) >= 1
    assert f"`LOOPGUARD_POLICY`: `{path}`: " in caplog.text


def test_to_set_no_key_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """It is told about, and not counted; a key that cannot be used is both."""
    from opentelemetry.sdk._logs import LoggerProvider

    for key, errors in ((None, 0), ("00" * 32, 1)):
        caplog.clear()
        own = LoggerProvider(shutdown_on_exit=False)
        processor = otel_loopguard.LoopGuardSpanProcessor(otel_loopguard.Settings(key=key), logger_provider=own)
        assert processor._live.counters.total(names.ERRORS) == errors
        assert "key" in caplog.text


# Totals -----------------------------------------------------------------------------------------------------------


def test_tokens_after_the_first_finding_are_wasted() -> None:
    """A run's wasted tokens are those that were spent in its traces once a finding was made."""
    process = Process()
    with otel_loopguard.run("r"), process.agent():
        for _ in range(3):
            process.model(**{"gen_ai.usage.input_tokens": 100})
            process.call(arguments={"q": "x"})
        process.model(**{"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 3})
        process.model()
        with process.agent("sub"):
            process.model(**{"gen_ai.usage.output_tokens": 1})
    run = process.live._ledger.find("r", "")
    assert run is not None
    assert run.totals().wasted_tokens == 24
