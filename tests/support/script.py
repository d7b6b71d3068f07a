"""A run written as a script: calls in order go through reader and engine, and what was said comes back.

No stand-in for anything: it only saves the tests from building calls and outcomes by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from otel_loopguard.core.call import ABSENT, Outcome, ToolCall, Turn
from otel_loopguard.core.decision import Allow, Closing, Decision, Finding, NudgeOutcome
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Fingerprinter, Keyring, SecretKey, fingerprinter
from otel_loopguard.core.history import History
from otel_loopguard.core.observation import Observation
from otel_loopguard.core.past.run_memory import RunMemory
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.core.reader import CallReader

__all__ = ["KEYS", "Failure", "Run", "Step", "run", "step"]

KEYS: Fingerprinter = fingerprinter(Keyring(SecretKey(b"k" * 32)), "environment")


@dataclass(frozen=True)
class Failure:
    """A result that is an error."""

    text: object = "it failed"
    type: str | None = None


@dataclass(frozen=True)
class Step:
    """One call with its result; without a turn it is a turn of its own."""

    tool: str
    arguments: object = field(default_factory=dict)
    result: object = "done"
    turn: Turn = None
    agent: str = ""
    user_message: bool = False
    handoff_to: str | None = None
    start_ns: int | None = None
    state: object = ABSENT
    ours: bool = False
    attributes: dict[str, object] | None = None
    call_id: str | None = None


def step(tool: str, arguments: object = None, result: object = "done", **more: Any) -> Step:  # noqa: ANN401 - a Step's
    """A step with what a plain row of three cannot say; no arguments are an empty object."""
    return Step(tool, {} if arguments is None else arguments, result, **more)


Row = Step | tuple[str, object, object]


@dataclass
class Run:
    """What was said about a script."""

    decisions: list[Decision] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    closings: list[Closing] = field(default_factory=list)
    history: History = field(default_factory=History)
    """Of the agent of the last step."""

    @property
    def findings(self) -> list[Finding]:
        """All findings, in the order in which they were made."""
        made = [finding for one in self.observations for finding in one.findings]
        return made + [finding for one in self.closings for finding in one.findings]

    @property
    def said(self) -> list[tuple[int, str, str]]:
        """Nudges and stops: the place of the judged call in its history, the action, the kind."""
        return [(one.sequence, one.action, one.kind) for one in self.findings if one.action != "info"]

    @property
    def nudges(self) -> list[NudgeOutcome]:
        """How nudges went on."""
        made = [nudge for one in self.observations for nudge in one.nudges]
        return made + [nudge for one in self.closings for nudge in one.nudges]

    @property
    def verdicts(self) -> list[str]:
        """The verdict of each call."""
        return [one.verdict for one in self.observations]


def read(reader: CallReader, one: Step) -> tuple[ToolCall, Outcome]:
    """The call and the outcome of a step."""
    failure = one.result if isinstance(one.result, Failure) else None
    call = reader.call(
        one.tool, one.arguments, call_id=one.call_id, turn=one.turn, attributes=one.attributes,
        user_message=one.user_message, handoff_to=one.handoff_to, start_ns=one.start_ns,
    )  # fmt: skip
    outcome = reader.outcome(
        call, one.arguments, one.result if failure is None else failure.text, is_error=failure is not None,
        error_type=None if failure is None else failure.type, ours=one.ours, state=one.state,
    )  # fmt: skip
    return call, outcome


def run(rows: Iterable[Row], policy: str | Policy = "{}") -> Run:
    """Ask about every call, record it, and close the run; ``policy`` is a policy file's text or a policy."""
    engine = Engine(policy if isinstance(policy, Policy) else parse_policy(policy))
    reader = CallReader(engine.policy, KEYS)
    memory = RunMemory()
    histories: dict[tuple[str, str], History] = {}
    told = Run()
    for row in rows:
        one = row if isinstance(row, Step) else Step(*row)
        call, outcome = read(reader, one)
        told.history = histories.setdefault((one.agent, call.scope), History(memory))
        told.decisions.append(engine.decide(told.history, call))
        told.observations.append(engine.record(told.history, call, outcome))
    told.closings += [engine.close(history) for history in histories.values()]
    decided = [one.finding for one in told.decisions if not isinstance(one, Allow)]
    for one in [*told.findings, *decided]:  # evidence has one spelling, whichever detector found it
        assert all(re.fullmatch("[0-9a-f]{16}", each) for each in one.fingerprints), one
        assert len(set(one.fingerprints)) == len(one.fingerprints), one
    return told
