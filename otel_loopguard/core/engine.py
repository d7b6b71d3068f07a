"""The engine: every detector over one history, and one decision of what they say.

Not a host: it is told what happened, keeps nothing itself and changes only the history it is handed. The same calls
give the same findings in the guard, the span processor, the stream and replay, because all of them ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .call import Outcome, ToolCall
from .decision import (
    Allow,
    Decision,
    Finding,
    Kind,
    Nudge,
    NudgeOutcome,
    Observation,
    Progress,
    Refuse,
    Verdict,
    verdict_of,
)  # fmt: skip
from .detectors import DETECTORS, After, Before, Detector, Judged, Moment, TurnOver
from .entry import Entry, TurnMark, key_of
from .history import History
from .policy import Policy, ToolPolicy

__all__ = ["Engine"]

_STRENGTH: Final = {"info": 0, "nudge": 1, "stop": 2}


class Engine:
    """Judges calls under one policy; immutable, so one serves every run and thread."""

    def __init__(self, policy: Policy, detectors: Sequence[Detector] = DETECTORS) -> None:
        self.policy = policy
        self._detectors = tuple(detectors)
        self._turn_memory = max(policy.window, policy.default.cycle.max_period * (policy.default.cycle.stop + 1))

    def decide(self, history: History, call: ToolCall) -> Decision:
        """What to do with a call before it is dispatched. Changes nothing, however often it is asked."""
        if call.user_message:
            return Allow()
        return self._decision(history, self._before(history, call, self.policy.for_tool(call.tool)))

    def record(
        self, history: History, call: ToolCall, outcome: Outcome, decided: Decision | None = None
    ) -> Observation:
        """Take in a call that has ended.

        ``decided`` is the decision that a host acted on; a host that cannot act leaves it out, and what would have been
        decided is found here. The findings are those of this call and, before them, of the turn that it ends.
        """
        settings = self.policy.for_tool(call.tool)
        findings: list[Finding] = []
        nudges: list[NudgeOutcome] = []
        if not history.continues(call):
            findings += self._end_turn(history)
        if call.user_message:
            nudges += self._close_nudges(history)
            history.reset()
            history.memory.user_message()
        before = self._before(history, call, settings)
        decision = self._decision(history, before) if decided is None else decided
        repeats = 0 if call.fingerprint is None else self._repeats(history, call)
        entry = history.add(call, outcome, settings, self.policy)
        nudges += self._follow_nudges(history, entry)
        new = self._said_before(history, entry, before, decided) + self._after(history, entry, call, outcome, settings)
        new.sort(key=lambda finding: -_STRENGTH[finding.action])
        findings += new
        return Observation(
            entry.place, repeats, 0 if entry.key is None else history.row(entry.key, entry.turn),
            self._progress(entry, repeats), outcome.kind, self._verdict(entry, decision, new), tuple(findings),
            tuple(nudges),
        )  # fmt: skip

    def close(self, history: History, reason: str | None = None) -> list[Finding]:  # noqa: ARG002 - recorded by the host
        """Judge the last turn: the run ended, for whatever ``reason`` the host recorded. The history can go on."""
        return self._end_turn(history)

    # What was asked before dispatch -------------------------------------------------------------------------------

    def _before(self, history: History, call: ToolCall, settings: ToolPolicy) -> list[tuple[Detector, Judged]]:
        moment = Before(call, key_of(call.fingerprint, call.key_id), history.turn_of(call), settings)
        return self._inspect(history, moment)

    def _inspect(self, history: History, moment: Moment) -> list[tuple[Detector, Judged]]:
        found = []
        for detector in self._detectors:
            judged = detector.inspect(history, moment, self.policy)
            if judged is not None:
                found.append((detector, judged))
        return found

    @staticmethod
    def _decision(history: History, found: list[tuple[Detector, Judged]]) -> Decision:
        """The strongest speaks; at equal strength the earlier detector."""
        nudge: Nudge | None = None
        for _, judged in found:
            level = history.level(judged.finding.kind, judged.subject)
            if judged.finding.action == "stop":
                return Refuse(judged.finding, judged.subject, repeated=level >= _STRENGTH["stop"])
            if judged.finding.action == "nudge" and level == 0 and nudge is None:
                nudge = Nudge(judged.finding, judged.subject)
        return Allow() if nudge is None else nudge

    def _said_before(
        self, history: History, entry: Entry, before: list[tuple[Detector, Judged]], decided: Decision | None
    ) -> list[Finding]:
        """The findings made before dispatch: the one that a host acted on, and all that are no forecasts."""
        said = []
        acted = decided.finding if isinstance(decided, (Nudge, Refuse)) else None
        if isinstance(decided, (Nudge, Refuse)) and self._say(
            history, decided.finding.kind, decided.subject, decided.finding
        ):
            said.append(decided.finding)
        for detector, judged in before:
            finding = judged.finding
            if detector.early or (acted is not None and acted.kind == finding.kind):
                continue
            if finding.kind == "identical" and finding.action == "nudge" and judged.subject == entry.key:
                changed = entry.counts and entry.outcome != "ours" and not entry.linked
                finding = replace(finding, premature=changed)
            if self._say(history, finding.kind, judged.subject, finding):
                said.append(finding)
        return said

    @staticmethod
    def _say(history: History, kind: Kind, subject: object, finding: Finding) -> bool:
        """Whether a finding is new in its episode; it is remembered."""
        strength = _STRENGTH[finding.action]
        if strength == 0:
            return True
        if history.level(kind, subject) >= strength:
            return False
        history.tell(kind, subject, strength)
        if finding.action == "nudge":
            history.nudged[kind, subject] = (finding.tool, finding.sequence)
        return True

    # What came back -----------------------------------------------------------------------------------------------

    def _after(
        self, history: History, entry: Entry, call: ToolCall, outcome: Outcome, settings: ToolPolicy
    ) -> list[Finding]:
        return [
            judged.finding
            for _, judged in self._inspect(history, After(call, entry, outcome, settings))
            if self._say(history, judged.finding.kind, judged.subject, judged.finding)
        ]

    def _end_turn(self, history: History) -> list[Finding]:
        if not history.open:
            return []
        mark = TurnMark(history.turn, history.open)
        history.end_turn(mark, self.policy.window, self._turn_memory)
        return [
            judged.finding
            for _, judged in self._inspect(history, TurnOver(mark))
            if self._say(history, judged.finding.kind, judged.subject, judged.finding)
        ]

    def _repeats(self, history: History, call: ToolCall) -> int:
        key = key_of(call.fingerprint, call.key_id)
        return 0 if key is None else 1 + history.repeats(key, history.turn_of(call), self.policy.window)

    @staticmethod
    def _progress(entry: Entry, repeats: int) -> Progress:
        if repeats <= 1:
            return ""
        if not entry.counts or entry.outcome == "ours" or entry.answer is None:
            return "unknown"
        return "unchanged" if entry.linked else "advanced"

    @staticmethod
    def _verdict(entry: Entry, decision: Decision, new: list[Finding]) -> Verdict:
        verdict = verdict_of(decision)
        if verdict == "stop" or any(finding.action == "stop" for finding in new):
            return "stop"
        if verdict == "nudge" or any(finding.action == "nudge" for finding in new):
            return "nudge"
        return "unknown" if entry.key is None else "allow"

    # How nudges went on -------------------------------------------------------------------------------------------

    @staticmethod
    def _follow_nudges(history: History, entry: Entry) -> list[NudgeOutcome]:
        """Something new closes every open nudge; the same again escalates its own."""
        if not history.nudged:
            return []
        outcomes = []
        for (kind, subject), (tool, place) in list(history.nudged.items()):
            new = entry.resets or entry.news
            again = subject in (entry.key, ("row", entry.key)) or (
                kind not in ("identical", "cycle") and entry.tool == tool and not entry.fresh
            )
            if new or again:
                del history.nudged[kind, subject]
                result = "recovered" if new else "escalated"
                outcomes.append(NudgeOutcome(kind, result, tool, entry.place))  # type: ignore[arg-type]
            del place
        return outcomes

    @staticmethod
    def _close_nudges(history: History) -> list[NudgeOutcome]:
        outcomes = [
            NudgeOutcome(kind, "open", tool, place)  # type: ignore[arg-type]
            for (kind, _), (tool, place) in history.nudged.items()
        ]
        history.nudged.clear()
        return outcomes
