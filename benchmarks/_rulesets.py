"""Sets of rules to compare: ours, ours with one part off, and plain ones that take a few lines each.

Not the product's rules, and no switches in them: a part is put out of action by handing the engine other detectors, or
by changing calls and outcomes before they enter it. A set of rules takes a run and gives the first call at which it
speaks, and at which it would stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, NamedTuple

from _corpora import RawCall, Run

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.decision import Finding
from otel_loopguard.core.detectors import DETECTORS, After
from otel_loopguard.core.detectors.drift import Drift
from otel_loopguard.core.detectors.same_error import SameError
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Fingerprinter, Keyring, SecretKey, fingerprinter
from otel_loopguard.core.history import History
from otel_loopguard.core.past.entry import Entry
from otel_loopguard.core.policy import Policy, ToolPolicy
from otel_loopguard.core.reader import CallReader

__all__ = ["ABLATIONS", "KEYS", "PLAIN", "Heard", "Ours", "Step"]

KEYS: Final = tuple(
    fingerprinter(Keyring(SecretKey(sha256(f"accuracy {number}".encode()).digest())), "environment")
    for number in range(3)
)
"""Of the first everything is told; by the others it shows how much the sketches of words leave to chance."""

Step = tuple[ToolCall, Outcome]


class Heard(NamedTuple):
    """What a set of rules says about one run. Calls are counted from 1."""

    first: int | None = None
    """Call at which it first speaks."""
    stop: int | None = None
    """Call that it would first stop."""
    kinds: frozenset[str] = frozenset()


# Ours -------------------------------------------------------------------------------------------------------------


@dataclass
class Ours:
    """Our engine under a policy, with ``change`` made to every step and these detectors and histories."""

    policy: Policy = field(default_factory=Policy)
    detectors: Sequence[object] = DETECTORS
    change: Callable[[Step], Step] | None = None
    history: Callable[[], History] = History
    keys: Fingerprinter = KEYS[0]

    def __post_init__(self) -> None:
        self._engine = Engine(self.policy, self.detectors)  # type: ignore[arg-type]
        self._reader = CallReader(self.policy, self.keys)

    def read(self, run: Run) -> list[Step]:
        """The run's calls without their content."""
        return [self._step(call) for call in run.calls]

    def _step(self, raw: RawCall) -> Step:
        call = self._reader.call(raw.tool, raw.arguments, call_id=raw.call_id, turn=raw.turn)
        outcome = self._reader.outcome(call, raw.arguments, raw.result, is_error=raw.failed, error_type=raw.error_type)
        return call, outcome

    def judge(self, steps: Sequence[Step]) -> Heard:
        """What the engine says about them."""
        history = self.history()
        findings: list[Finding] = []
        for step in steps:
            call, outcome = step if self.change is None else self.change(step)
            findings += self._engine.record(history, call, outcome).findings
        findings += self._engine.close(history).findings
        spoken = [one for one in findings if one.action != "info"]
        return Heard(
            min((one.sequence for one in spoken), default=None),
            min((one.sequence for one in spoken if one.action == "stop"), default=None),
            frozenset(one.kind for one in spoken),
        )


# Ours with a part off ---------------------------------------------------------------------------------------------


class _NothingChanges(History):
    """Takes no call for one that may have changed the world, or taught something."""

    __slots__ = ()

    def _judge_novelty(self, entry: Entry, outcome: Outcome, settings: ToolPolicy) -> None:
        super()._judge_novelty(entry, outcome, settings)
        entry.resets = entry.news = False


class _FailedIsMade(History):
    """Takes a call that failed for one that was made: its first success is no first time."""

    __slots__ = ()

    def _judge_novelty(self, entry: Entry, outcome: Outcome, settings: ToolPolicy) -> None:
        known = any(one.key == entry.key for one in self.entries)
        super()._judge_novelty(entry, outcome, settings)
        if known:
            entry.resets = entry.news = False


class _NoAttempts(Drift):
    """Drift without near-equal attempts that come to few ends."""

    def _attempts(self, history: History, moment: After, policy: Policy) -> None:  # noqa: ARG002
        return None


class _RefusalsApart(SameError):  # noqa: N818 - a detector, no exception
    """The same error without refusals that add up across other work."""

    def _refused(self, history: History, moment: After) -> None:  # noqa: ARG002
        return None


def _instead(old: type, new: object | None) -> tuple[object, ...]:
    """All detectors with another in the place of one, or none."""
    changed = (new if isinstance(one, old) else one for one in DETECTORS)
    return tuple(one for one in changed if one is not None)


def _blind(step: Step) -> Step:
    """Every success with one result."""
    call, outcome = step
    return (call, outcome.changed(fingerprint="0" * 32)) if outcome.kind == "ok" else step


def _of_call(**changes: object) -> Callable[[Step], Step]:
    return lambda step: (step[0].changed(**changes), step[1])


def _of_outcome(**changes: object) -> Callable[[Step], Step]:
    return lambda step: (step[0], step[1].changed(**changes))


def _unmasked() -> Policy:
    policy = Policy()
    return replace(policy, default=replace(policy.default, result=replace(policy.default.result, volatile="none")))


ABLATIONS: Final[dict[str, Callable[[], Ours]]] = {
    "result-awareness": lambda: Ours(change=_blind),
    "volatile masking": lambda: Ours(_unmasked()),
    "mutation reset": lambda: Ours(history=_NothingChanges),
    "turns": lambda: Ours(change=_of_call(turn=None)),
    "same_error": lambda: Ours(detectors=_instead(SameError, None)),
    "drift": lambda: Ours(detectors=_instead(Drift, None)),
    "near-equality": lambda: Ours(change=_of_call(words=(), word_count=0)),
    "message shape": lambda: Ours(change=_of_outcome(shape=None)),
    "refusals that add up": lambda: Ours(detectors=_instead(SameError, _RefusalsApart())),
    "attempts with few ends": lambda: Ours(detectors=_instead(Drift, _NoAttempts())),
    "approvals": lambda: Ours(change=_of_outcome(approval=False)),
    "first success": lambda: Ours(history=_FailedIsMade),
    "answers told again": lambda: Ours(change=_of_outcome(said=0)),
    "times that moved": lambda: Ours(change=_of_outcome(moving=False)),
}
"""Our rules, each time without one part."""


# Plain rules ------------------------------------------------------------------------------------------------------


def _often(same: Callable[[RawCall], object], times: int, window: int) -> Callable[[Run], Heard]:
    """The same so many times within so many calls."""

    def rule(run: Run) -> Heard:
        marks = [same(call) for call in run.calls]
        for place in range(len(marks)):
            if marks[max(0, place + 1 - window) : place + 1].count(marks[place]) >= times:
                return Heard(place + 1, place + 1)
        return Heard()

    return rule


def _cycle(longest: int, laps: int) -> Callable[[Run], Heard]:
    """A sequence of so many calls at most, so many times in a row."""

    def rule(run: Run) -> Heard:
        marks = [call.same_call for call in run.calls]
        for end in range(1, len(marks) + 1):
            for period in range(1, longest + 1):
                tail = marks[end - period * laps : end] if end >= period * laps else []
                if tail and tail == tail[:period] * laps:
                    return Heard(end, end)
        return Heard()

    return rule


PLAIN: Final[dict[str, Callable[[Run], Heard]]] = {
    "3 in 12": _often(lambda call: call.same_call, 3, 12),
    "3 in row": _often(lambda call: call.same_call, 3, 3),
    "5 in row": _often(lambda call: call.same_call, 5, 5),
    "cycle x5": _cycle(5, 5),
    "call+res.": _often(lambda call: (call.same_call, call.same_result), 3, 12),
}
"""Rules as they are published, one idea each."""
