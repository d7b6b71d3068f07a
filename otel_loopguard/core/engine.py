"""The engine: every detector over one history, and one decision of what they say.

Not a host: it is told what happened, keeps nothing itself and changes only the history it is handed. The same calls
give the same findings in the guard, the span processor, the stream and replay, because all of them ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from .call import Outcome, ToolCall
from .decision import Allow, Closing, Decision, Finding, Nudge, NudgeOutcome, Progress, Refuse, Verdict, verdict_of
from .detectors import DETECTORS, After, Before, Detector, Judged, TurnOver
from .history import History
from .observation import Observation
from .past.entry import Entry
from .past.episode import LASTING
from .policy import CYCLE_TURNS, Policy, ToolPolicy
from .tag import key_of, name_tag

__all__ = ["Engine"]

_STRENGTH: Final = {"info": 0, "nudge": 1, "stop": 2}
_ALLOW: Final = Allow()


_Found = list[tuple[Detector, Judged]]


class _Plan(NamedTuple):
    """The detectors that a tool's calls can ever concern, by moment."""

    before: tuple[Detector, ...]
    after: tuple[Detector, ...]


class _Said:
    """What one call has brought up so far."""

    __slots__ = ("findings", "nudges")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.nudges: list[NudgeOutcome] = []


class Engine:
    """Judges calls under one policy; one serves every run and thread."""

    def __init__(self, policy: Policy, detectors: Sequence[Detector] = DETECTORS) -> None:
        self.policy = policy
        self._detectors = tuple(detectors)
        self._at_turn_over = tuple(one for one in detectors if TurnOver in one.moments)
        rules = [settings.cycle for settings in (policy.default, *policy.tools.values())]
        longest = max(rule.max_period * (rule.stop + 1) for rule in rules)
        self._marks = min(CYCLE_TURNS, max(policy.window, longest))
        self._plans: dict[int, _Plan] = {}
        """By identity of the tool's settings, which the policy holds as long as the engine."""

    def decide(self, history: History, call: ToolCall) -> Decision:
        """What to do with a call before it is dispatched. Changes nothing, however often it is asked."""
        if call.user_message:
            return _ALLOW
        settings = self.policy.for_tool(call.tool)
        moment = _moment(history, call, history.turn_of(call), settings)
        return self._decision(history, self._before(history, moment, self._plan(settings)))

    def record(
        self, history: History, call: ToolCall, outcome: Outcome, decided: Decision | None = None
    ) -> Observation:
        """Take in a call that has ended.

        ``decided`` is the decision that a host acted on; a host that cannot act leaves it out, and what would have been
        decided is found here. The findings are those of this call and, before them, of the turn that it ends.
        """
        settings = self.policy.for_tool(call.tool)
        plan = self._plan(settings)
        said = _Said()
        turns = history.turns
        if turns.open and not turns.continues(call.turn):
            self._end_turn(history, said)
        if call.user_message:
            said.nudges.extend(history.episodes.leave())
            history.reset()
            history.memory.user_message(call.scope)
            turns = history.turns
        turn = turns.number if turns.open else turns.number + 1
        moment = _moment(history, call, turn, settings)
        before = self._before(history, moment, plan)
        decision = decided
        if decision is None:
            decision = self._decision(history, before) if before else _ALLOW
        repeat = 0 if moment.key is None else 1 + history.repeats(moment.key, turn, self.policy.window)

        entry = history.add(call, outcome, settings, self.policy.window, moment.key, moment.tool)
        earlier, said.findings = said.findings, []
        if before or decided is not None:
            self._say_before(history, entry, before, decided, said)
        self._say_after(history, After(call, entry, outcome, settings), plan, said)
        if history.episodes.held:  # after the rules have spoken: what held before the result may be over with it
            said.nudges.extend(history.episodes.age(entry))
            if history.brings_new(entry):
                said.nudges.extend(history.episodes.recover(entry))
        if len(said.findings) > 1:
            said.findings.sort(key=lambda finding: -_STRENGTH[finding.action])
        return Observation(
            entry.place, repeat, 0 if entry.key is None else turns.row_of(entry.key, entry.turn),
            _progress(entry, repeat), outcome.kind, _verdict(entry, decision, said.findings),
            (*earlier, *said.findings), tuple(said.nudges),
        )  # fmt: skip

    def close(self, history: History, reason: str | None = None) -> Closing:  # noqa: ARG002 - recorded by the host
        """Judge the last turn: the run ended, for whatever ``reason`` the host recorded. The history can go on."""
        said = _Said()
        if history.turns.open:
            self._end_turn(history, said)
        said.nudges.extend(history.episodes.leave())
        return Closing(tuple(said.findings), tuple(said.nudges))

    # What was asked before dispatch -------------------------------------------------------------------------------

    def _plan(self, settings: ToolPolicy) -> _Plan:
        plan = self._plans.get(id(settings))
        if plan is None:
            fitting = [one for one in self._detectors if one.applies(settings)]
            plan = self._plans[id(settings)] = _Plan(
                tuple(one for one in fitting if Before in one.moments),
                tuple(one for one in fitting if After in one.moments),
            )
        return plan

    def _before(self, history: History, moment: Before, plan: _Plan) -> _Found:
        found: _Found = []
        for detector in plan.before:
            judged = detector.before(history, moment, self.policy)
            if judged is not None:
                found.append((detector, judged))
        return found

    def _until(self, history: History, judged: Judged) -> int:
        reach = self.policy.window if judged.reach is None else judged.reach
        return LASTING if reach == LASTING else history.turns.number + reach

    def _decision(self, history: History, found: _Found) -> Decision:
        """The strongest speaks; at equal strength the earlier detector."""
        nudge: Nudge | None = None
        for _, judged in found:
            level = history.episodes.level(judged.subject, history.turns.number)
            until = self._until(history, judged)
            if judged.finding.action == "stop":
                return Refuse(judged.finding, judged.subject, until, repeated=level >= _STRENGTH["stop"])
            if judged.finding.action == "nudge" and level == 0 and nudge is None:
                nudge = Nudge(judged.finding, judged.subject, until)
        return _ALLOW if nudge is None else nudge

    def _say_before(
        self, history: History, entry: Entry, before: _Found, decided: Decision | None, said: _Said
    ) -> None:
        """The findings made before dispatch: the one that a host acted on, and all that are no forecasts."""
        acted = None
        if isinstance(decided, (Nudge, Refuse)):
            acted = msgspec.structs.replace(decided.finding, sequence=entry.place)
            _say(history, decided.subject, acted, decided.until, said)
        for detector, judged in before:
            finding = judged.finding
            if detector.early or (acted is not None and acted.kind == finding.kind):
                continue
            if judged.subject[0] == "identical" and finding.action == "nudge":
                changed = entry.counts and entry.outcome != "ours" and not entry.linked
                finding = msgspec.structs.replace(finding, premature=True) if changed else finding
            _say(history, judged.subject, finding, self._until(history, judged), said)

    # What came back -----------------------------------------------------------------------------------------------

    def _say_after(self, history: History, moment: After, plan: _Plan, said: _Said) -> None:
        for detector in plan.after:
            judged = detector.after(history, moment, self.policy)
            if judged is not None:
                _say(history, judged.subject, judged.finding, self._until(history, judged), said)

    def _end_turn(self, history: History, said: _Said) -> None:
        last = history.turns.open[-1]
        mark = history.end_turn(self._marks)
        said.nudges.extend(history.episodes.turn_over(mark, last.place))
        moment = TurnOver(mark, last, history.last_tool)
        for detector in self._at_turn_over:
            judged = detector.turn_over(history, moment, self.policy)
            if judged is not None:
                _say(history, judged.subject, judged.finding, self._until(history, judged), said)


def _moment(history: History, call: ToolCall, turn: int, settings: ToolPolicy) -> Before:
    tool = name_tag(call.tool)
    return Before(call, key_of(call.fingerprint, call.key_id), tool, turn, settings, history.last_word(tool))


def _say(history: History, subject: tuple[str, int], finding: Finding, until: int, said: _Said) -> None:
    """Add a finding that is new in its episode, and remember it; information has no episodes."""
    if finding.action == "info":
        said.findings.append(finding)
        return
    is_new, outcomes = history.episodes.tell(subject, finding, history.turns.number, until)
    said.nudges.extend(outcomes)
    if is_new:
        said.findings.append(finding)


def _progress(entry: Entry, repeat: int) -> Progress:
    if repeat <= 1:
        return ""
    if not entry.counts or entry.outcome == "ours" or entry.answer is None:
        return "unknown"
    return "unchanged" if entry.linked else "advanced"


def _verdict(entry: Entry, decision: Decision, new: list[Finding]) -> Verdict:
    if decision is _ALLOW and not new:
        return "unknown" if entry.key is None else "allow"
    verdict = verdict_of(decision)
    for finding in new:
        if finding.action == "stop" or (finding.action == "nudge" and verdict == "allow"):
            verdict = finding.action
    return "unknown" if verdict == "allow" and entry.key is None else verdict
