"""Calls with their real arguments and results, and what the engine says of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from otel_loopguard.core.call import Turn
from otel_loopguard.core.decision import Finding
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader

KEYS = fingerprinter(Keyring(SecretKey(b"k" * 32)), "environment")


class Call(NamedTuple):
    """A call that has ended."""

    tool: str
    arguments: object
    result: object
    failed: bool = False
    turn: Turn = None


def failed(tool: str, arguments: object, message: str) -> Call:
    """A call that ended in an error."""
    return Call(tool, arguments, message, failed=True)


def told(calls: Iterable[Call], policy: Policy | None = None) -> list[tuple[int, str, str]]:
    """Place, kind and action of every finding on the calls of one run, in order."""
    policy = policy or Policy()
    reader = CallReader(policy, KEYS)
    engine = Engine(policy)
    history = History()
    findings: list[Finding] = []
    for one in calls:
        call = reader.call(one.tool, one.arguments, turn=one.turn)
        outcome = reader.outcome(call, one.arguments, one.result, is_error=one.failed)
        findings += engine.record(history, call, outcome).findings
    findings += engine.close(history).findings
    return [(finding.sequence, finding.kind, finding.action) for finding in findings if finding.action != "info"]


def kinds(calls: Iterable[Call], policy: Policy | None = None) -> set[str]:
    """The kinds of the findings on the calls of one run."""
    return {kind for _, kind, _ in told(calls, policy)}
