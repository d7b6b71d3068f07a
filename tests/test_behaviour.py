"""The behaviour cases: small recorded runs with the verdict that a careful engineer gives, through replay.

All cases are judged in one process, and the engine is asked twice before every call and must not have changed.
`vectors/pending.json` names the cases that do not pass yet, each with its reason; one that passes is an error.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from otel_loopguard.core import engine as engine_module
from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.decision import Decision
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.history import History
from otel_loopguard.core.observation import Observation
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import PolicyError
from otel_loopguard.replay.report import as_object
from otel_loopguard.replay.run import VERDICTS, judge
from otel_loopguard.replay.traces import Traces

VECTORS = Path(__file__).parent / "vectors"
PENDING: dict[str, str] = json.loads((VECTORS / "pending.json").read_text())
CASES = {
    case["id"]: (file.stem, case)
    for file in sorted((VECTORS / "behaviour").glob("*.json"))
    for case in json.loads(file.read_text())
}
KEYS = Keyring(SecretKey(bytes(range(32))))
NOT_PENDING = frozenset(["identity", "identical", "cycle", "telemetry"])


class AskedTwice(Engine):
    """An engine that is asked twice before every call, and compared with itself."""

    def record(
        self, history: History, call: ToolCall, outcome: Outcome, decided: Decision | None = None
    ) -> Observation:
        """Record a call; asking about it first changes nothing and gives one answer."""
        before = pickle.dumps(history)
        assert self.decide(history, call) == self.decide(history, call)
        assert pickle.dumps(history) == before
        return super().record(history, call, outcome, decided)


def test_the_cases_are_the_original_ones(shared: Path) -> None:
    """Every original case is here as it is there, and none is missing."""
    here = {file.name: file.read_bytes() for file in (VECTORS / "behaviour").iterdir()}
    assert here == {file.name: file.read_bytes() for file in (shared / "vectors").glob("*.json")}


def test_what_is_pending_may_be() -> None:
    """Only cases that exist can be pending, with a reason, and none of the themes that must pass."""
    assert all(PENDING.values())
    assert not [case for case in PENDING if case not in CASES or CASES[case][0] in NOT_PENDING]


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{theme}-{name}") for name, (theme, _) in CASES.items()])
def test_case(name: str) -> None:
    """The case's verdict, kind, call, observations, keys and doubts are as it says, whatever of them it says."""
    case = CASES[name][1]
    problems = list(differences(case))
    if name in PENDING:
        assert problems, f"{name} is no longer pending, take it out of `vectors/pending.json`"
        pytest.xfail(PENDING[name])
    assert not problems, case["about"]


def differences(case: dict[str, Any]) -> Iterable[str]:
    """What a case expects and does not get."""
    expected = case["expect"]
    try:
        policy = parse_policy(json.dumps(case["policy"])) if "policy" in case else Policy()
    except PolicyError as error:
        if "error" not in expected or expected["error"] not in str(error):
            yield f"the policy was refused: {error}"
        return
    if "error" in expected:
        yield "the policy was not refused"
        return
    yield from compared(expected, replayed(case["calls"], policy))


def replayed(calls: list[dict[str, Any]], policy: Policy) -> list[dict[str, Any]]:
    """What replay prints of some call records."""
    traces = Traces(policy, KEYS, "environment", 1 << 20)
    for call in calls:
        traces.add(json.dumps(call).encode())
    # A compiled engine cannot be extended, and its histories cannot be pickled.
    engine = AskedTwice(policy) if str(engine_module.__file__).endswith(".py") else Engine(policy)
    return [as_object(report, calls=True) for run in traces.runs() for report in judge(run, engine, calls=True)]


def compared(expected: dict[str, Any], reports: list[dict[str, Any]]) -> Iterable[str]:
    """The differences between what a case expects and the reports of its runs and agents."""
    verdict = max((report["verdict"] for report in reports), key=VERDICTS.index, default="clean")
    findings = [finding for report in reports for finding in report["findings"]]
    if "verdict" in expected and verdict != expected["verdict"]:
        yield f"verdict {verdict}"
    if "kind" in expected:
        kinds = {finding["kind"] for finding in findings if finding["action"] == verdict}
        if kinds.isdisjoint(listed(expected["kind"])):
            yield f"kinds {kinds}"
    for where in ("nudge_at", "stop_at"):
        if where in expected:
            first = min((report[where] for report in reports if report[where] is not None), default=None)
            span = listed(expected[where])
            if first is None or not span[0] <= first <= span[-1]:
                yield f"{where} {first}"
    if "observations" in expected and sum(report["observations"] for report in reports) != expected["observations"]:
        yield "the number of observations"
    if any(report["integrity"] for report in reports) != expected.get("integrity", False):
        yield "integrity"
    yield from compared_keys(expected, reports)


def compared_keys(expected: dict[str, Any], reports: list[dict[str, Any]]) -> Iterable[str]:
    """The differences between the fingerprints that a case wants equal or different and those of the calls."""
    keys = {call["sequence"]: call["fingerprint"] for report in reports for call in report["call_records"]}
    for group in expected.get("same_key", []):
        if len({keys[sequence] for sequence in group} - {None}) != 1 or any(keys[one] is None for one in group):
            yield f"keys of {group} differ"
    for group in expected.get("different_key", []):
        if len({keys[sequence] for sequence in group}) != len(group):
            yield f"keys of {group} agree"


def listed(value: object) -> list[Any]:
    """A value, or the list that it is."""
    return value if isinstance(value, list) else [value]
