"""What the engine promises of any run: purity, order, one event a step, how nudges end, and what never matters."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.call import ABSENT, MISSING, OURS, Outcome, ToolCall
from otel_loopguard.core.decision import Allow, Nudge, NudgeOutcome, Refuse
from otel_loopguard.core.detectors import DETECTORS
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import IdenticalRule, Policy, ToolPolicy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.stream.codec import pack_history, pack_memory
from tests.support.chance import POLICY, chance_call, chance_outcome, chances
from tests.support.script import KEYS, Failure, Run, Step, read, run, step

ASK = step("catalogue", {"title": "Emma"}, "three copies")


@st.composite
def scripts(draw: st.DrawFn, *, most: int = 30) -> list[Step]:
    """Runs of few tools, arguments and results, so that everything comes again."""
    failures = [Failure("broken", "validation"), Failure("busy", "timeout")]
    results: list[object] = ["red", "blue", [], "page not found", *failures]
    steps = []
    turn = 0
    for _ in range(draw(st.integers(1, most))):
        turn += draw(st.sampled_from([0, 1, 1, 1]))
        steps.append(
            Step(
                draw(st.sampled_from(["paint", "look", "ship"])),
                {"a": draw(st.integers(0, 2)), "b": {"c": draw(st.sampled_from(["x", "y"])), "d": [1, None]}},
                draw(st.sampled_from(results)),
                turn=turn,
            )
        )
    return steps


def judged(told: Run) -> list[tuple[object, ...]]:
    """What a run comes to, names apart."""
    calls = [(one.repeat, one.consecutive, one.progress, one.verdict) for one in told.observations]
    found = [(one.kind, one.action, one.sequence, one.count, one.premature) for one in told.findings]
    return [*calls, *found, *[(one.kind, one.result, one.sequence) for one in told.nudges]]


@given(seed=st.integers(0, 2**32), variety=st.sampled_from([0, 2, 3, 6]), calls=st.integers(1, 60))
def test_asking_changes_nothing(seed: int, variety: int, calls: int) -> None:
    """Asked any number of times the answer is one, and neither history nor memory has moved by a byte."""
    engine = Engine(parse_policy(POLICY))
    chance = chances(seed)
    history = History()
    for _ in range(calls):
        call = chance_call(chance, variety)
        before = pack_history(history), pack_memory(history.memory)
        assert engine.decide(history, call) == engine.decide(history, call)
        assert (pack_history(history), pack_memory(history.memory)) == before
        engine.record(history, call, chance_outcome(chance, variety, call.tool))


@given(seed=st.integers(0, 2**32), variety=st.sampled_from([2, 3, 6]))
def test_asking_foretells(seed: int, variety: int) -> None:
    """What is decided before dispatch is what the call's verdict says, unless its result says more."""
    engine = Engine(parse_policy(POLICY))
    chance = chances(seed)
    history = History()
    for _ in range(60):
        call = chance_call(chance, variety)
        decision = engine.decide(history, call)
        observation = engine.record(history, call, chance_outcome(chance, variety, call.tool))
        if isinstance(decision, Refuse):
            assert observation.verdict == "stop"
        if isinstance(decision, Nudge):
            assert observation.verdict in {"nudge", "stop"}


@given(script=scripts())
def test_the_same_calls_give_the_same_findings(script: list[Step]) -> None:
    """An engine has no memory of its own, and one serves many runs."""
    assert judged(run(script)) == judged(run(script))


@given(script=scripts())
def test_findings_come_in_the_order_of_their_calls(script: list[Step]) -> None:
    """Of the findings of one observation those of the turn that it ends stand first, and no call is judged late."""
    told = run(script)
    sequences = [finding.sequence for finding in told.findings]
    assert sequences == sorted(sequences)
    for place, one in enumerate(told.observations, 1):
        assert one.sequence == place
        assert {finding.sequence for finding in one.findings} <= {place, place - 1}
        assert all(finding.first_sequence <= finding.sequence for finding in one.findings)


@given(script=scripts(), rename=st.permutations(["paint", "look", "ship"]))
def test_names_of_undeclared_tools_do_not_matter(script: list[Step], rename: list[str]) -> None:
    """No rule looks at what a tool is called."""
    names = dict(zip(["paint", "look", "ship"], rename, strict=True))
    renamed = [Step(names[one.tool], one.arguments, one.result, turn=one.turn) for one in script]
    assert judged(run(renamed)) == judged(run(script))


@given(script=scripts())
def test_the_order_of_members_does_not_matter(script: list[Step]) -> None:
    """Arguments are compared as objects, at every depth, and as JSON text as well."""

    def turned(data: object) -> object:
        return {name: turned(value) for name, value in reversed(data.items())} if isinstance(data, dict) else data

    def rewritten(change: Callable[[object], object]) -> list[Step]:
        return [Step(one.tool, change(one.arguments), one.result, turn=one.turn) for one in script]

    mine = judged(run(script))
    assert judged(run(rewritten(turned))) == mine
    assert judged(run(rewritten(lambda data: msgspec.json.encode(data).decode()))) == mine


@given(script=scripts(), nudge=st.integers(2, 5), stop=st.integers(6, 9), more=st.integers(0, 3))
def test_higher_thresholds_speak_no_earlier(script: list[Step], nudge: int, stop: int, more: int) -> None:
    """Raising a threshold of `identical` never brings its nudge or stop forward."""

    def first(nudge: int, stop: int, action: str) -> int:
        policy = Policy(default=ToolPolicy(identical=IdenticalRule(nudge, stop, in_a_row=12)))
        found = [one for one in run(script, policy).said if one[1:] == (action, "identical")]
        return found[0][0] if found else len(script) + 1

    assert first(nudge + more, stop + 3, "nudge") >= first(nudge, stop + 3, "nudge")
    assert first(nudge, stop + more, "stop") >= first(nudge, stop, "stop")


@given(script=scripts(most=20), prefix=scripts(most=10))
def test_a_user_message_starts_anew(script: list[Step], prefix: list[Step]) -> None:
    """After a message to the agent nothing of before counts but the numbers."""
    fresh = [after_message(script[0]), *script[1:]]
    alone = run(fresh)
    after = run([*prefix, *fresh])
    offset = len(prefix)
    assert [one.verdict for one in after.observations[offset:]] == [one.verdict for one in alone.observations]
    found = [(one.kind, one.sequence - offset) for one in after.findings if one.sequence > offset]
    assert found == [(one.kind, one.sequence) for one in alone.findings]


def after_message(one: Step) -> Step:
    """The step, with a user message just before it."""
    return Step(one.tool, one.arguments, one.result, turn=one.turn, user_message=True)


def test_a_detector_alone_is_the_same_detector() -> None:
    """Detectors do not need each other: with one of them taken out, the others say what they said."""
    rows = [ASK] * 5 + [step("print", {"page": page}, Failure("no paper")) for page in range(6)]
    policy = Policy()
    reader = CallReader(policy, KEYS)

    def kinds(detectors: object) -> set[str]:
        engine = Engine(policy, detectors)  # type: ignore[arg-type]
        history = History()
        return {one.kind for row in rows for one in engine.record(history, *read(reader, row)).findings}

    everything = kinds(DETECTORS)
    assert {"identical", "same_error"} <= everything
    assert kinds([one for one in DETECTORS if one.kind != "identical"]) == everything - {"identical"}


# How nudges go on -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "outcomes"),
    [
        pytest.param([ASK] * 3, [("identical", "open", 3)], id="nothing came after it"),
        pytest.param([ASK] * 4, [("identical", "escalated", 4)], id="the same call again"),
        pytest.param([ASK] * 6, [("identical", "escalated", 4), ("no_progress", "open", 6)], id="escalated once"),
        pytest.param([*[ASK] * 3, step("lend", {"copy": 1}, "lent")], [("identical", "recovered", 4)], id="a change"),
        pytest.param(
            [*[ASK] * 3, step("lend", {"copy": 1}, Failure("out")), step("lend", {"copy": 1}, "lent")],
            [("identical", "recovered", 5)],
            id="a failure is nothing new",
        ),
        pytest.param(
            [step("lend", {"copy": 1}, "lent"), *[ASK] * 3, step("lend", {"copy": 1}, "lent")],
            [("identical", "open", 4)],
            id="neither is a return to an old call",
        ),
        pytest.param(
            [*[ASK] * 3, step("lend", {"copy": 1}, "lent"), *[ASK] * 3],
            [("identical", "recovered", 4), ("identical", "open", 7), ("no_progress", "open", 7)],
            id="another episode",
        ),
        pytest.param(
            [*[ASK] * 3, step("catalogue", {"title": "Emma"}, "three copies", user_message=True)],
            [("identical", "open", 3)],
            id="a user message leaves it open",
        ),
    ],
)
def test_nudges_of_repetition(rows: list[Step], outcomes: list[tuple[str, str, int]]) -> None:
    """Something new recovers, the same again escalates, and what is left at the end is open; each is said once."""
    assert [(one.kind, one.result, one.sequence) for one in run(rows).nudges] == outcomes


def test_siblings_have_not_heard_the_nudge() -> None:
    """A call of the nudged turn neither escalates nor recovers it."""
    rows = [ASK, ASK, step("catalogue", {"title": "Emma"}, "three copies", turn=9)]
    again = step("catalogue", {"title": "Emma"}, "three copies", turn=9)
    assert [one.result for one in run([*rows, again, step("lend", {"copy": 1}, "lent", turn=9)]).nudges] == ["open"]


def test_nudges_of_cycles_and_of_idle_turns() -> None:
    """A round goes on when its next lap is complete, an idle run with its next idle turn."""
    policy = "defaults: {identical: {nudge: 11, stop: 12, in_a_row: 12}}\nturns: {no_progress: 50}"
    lap = [step("check", {"valve": name}, f"{name} is shut") for name in "AB"]
    assert [(one.kind, one.result, one.sequence) for one in run(lap * 3, policy).nudges] == [("cycle", "escalated", 6)]
    left = [*lap * 2, step("check", {"valve": "C"}, "open")]
    assert [(one.result, one.sequence) for one in run(left, policy).nudges] == [("recovered", 5)]
    reads = "turns: {no_progress: 3}\ntools: {gauge: {kind: read}}"
    gauges = [step("gauge", {"id": number}, "low") for number in range(6)]
    assert [(one.result, one.sequence) for one in run(gauges[:5], reads).nudges] == [("escalated", 5)]
    assert [one.result for one in run([*gauges[:4], step("gauge", {"id": 9}, "high")], reads).nudges] == ["recovered"]


def test_a_reworded_question_with_the_old_answer_is_nothing_new() -> None:
    """The same answer to the same question in other words does not recover."""
    asked = step("desk", {"question": "when does the library open"}, "it opens at 9")
    other = step("desk", {"question": "when does the library open today"}, "it opens at 9")
    assert {one.result for one in run([asked, asked, asked, other]).nudges} == {"open"}


def test_the_end_can_be_told_twice() -> None:
    """Closing reports what is left, once; the history can go on."""
    engine = Engine(Policy())
    reader = CallReader(engine.policy, KEYS)
    history = History()
    for _ in range(3):
        engine.record(history, *read(reader, ASK))
    assert engine.close(history).nudges == (NudgeOutcome("identical", "open", "catalogue", 3),)
    assert engine.close(history).nudges == ()
    assert engine.record(history, *read(reader, ASK)).sequence == 4


# What hosts hand in -----------------------------------------------------------------------------------------------


def test_a_host_that_acted_hands_its_decision_back() -> None:
    """The finding that it acted on is made once, on the place where the call ended up."""
    engine = Engine(Policy())
    reader = CallReader(engine.policy, KEYS)
    history = History()
    call, outcome = read(reader, ASK)
    for _ in range(2):
        engine.record(history, call, outcome)
    decision = engine.decide(history, call)
    assert isinstance(decision, Nudge)
    engine.record(history, *read(reader, step("lend", {"copy": 1}, Failure("out"))))
    observation = engine.record(history, call, Outcome("ours"), decision)
    assert [(one.kind, one.sequence) for one in observation.findings] == [("identical", 4)]
    assert observation.verdict == "nudge"


def test_decisions_at_one_strength() -> None:
    """The narrower rule speaks: a write that repeats is a duplicate before it is a repetition."""
    policy = "tools: {pay: {kind: write}}"
    told = run([step("pay", {"bill": 9}, "paid")] * 5, policy)
    assert [one.finding.kind for one in told.decisions if isinstance(one, Refuse)] == ["write"] * 4


@pytest.mark.parametrize("result", [ABSENT, "[REDACTED]"])
def test_unknown_results(result: object) -> None:
    """A result that was not recorded is missing, and no verdict about the call."""
    observation = run([step("look", {"at": 1}, result)]).observations[0]
    assert (observation.outcome, observation.verdict) == ("missing", "allow")


def test_unknown_arguments() -> None:
    """A call whose arguments are not known has no repeat, and verdict `unknown`."""
    observation = run([step("look", "[REDACTED]", "seen")] * 9).observations[-1]
    assert (observation.repeat, observation.consecutive, observation.verdict) == (0, 0, "unknown")


def test_repeat_and_consecutive() -> None:
    """The first counts how often the key stands in window and history, the second how often in a row."""
    other = step("lend", {"copy": 1}, "lent")
    told = run([ASK, ASK, other, ASK])
    assert [(one.repeat, one.consecutive) for one in told.observations] == [(1, 1), (2, 2), (1, 1), (3, 1)]
    assert [one.progress for one in told.observations] == ["", "unchanged", "", "advanced"]


def test_keys_do_not_mix() -> None:
    """Fingerprints under different key ids are never equal, though their digits are."""
    engine = Engine(Policy())
    history = History()
    done = Outcome("ok", "ab" * 16)
    for key_id in ("old", "old", "new", "new"):
        observation = engine.record(history, ToolCall("look", "cd" * 16, key_id), done)
    assert observation.repeat == 2
    assert not observation.findings


# What may be thrown at it -----------------------------------------------------------------------------------------

NASTY = ["", "\ud800", "x" * 100_000, "\0", "[REDACTED]", "٣" * 32, "-1", "0x12", " 1", "ß" * 40]


@pytest.mark.parametrize("text", NASTY)
def test_any_text_may_stand_in_any_field(text: str) -> None:
    """Names, fingerprints, key ids, tokens and types that no sane program writes raise nothing and stay small."""
    engine = Engine(Policy())
    history = History()
    call = ToolCall(text, text, text, group=text, idempotency=text, turn=text, scope=text, handoff_to=text)
    failed = Outcome("error", text, text, "unknown", text, text, state=text)
    for _ in range(8):
        assert isinstance(engine.decide(history, call), Allow | Nudge | Refuse)
        engine.record(history, call, failed)
        engine.record(history, call, MISSING)
    engine.close(history)
    assert len(pack_history(history)) < 2560


@pytest.mark.parametrize(
    "number",
    [-1, 0, 1 << 63, 1 << 70, 10**5000, -(10**5000)],
    ids=["below", "nought", "64 bits", "70 bits", "5001 digits", "as many below"],
)
def test_any_number_may_stand_in_any_field(number: int) -> None:
    """Times and turn tokens beyond any width."""
    policy = "tools: {parcel: {kind: poll, poll: {deadline: 9s, min_interval: 1s}}}"
    engine = Engine(parse_policy(policy))
    history = History()
    for turn in (number, number, number + 1):
        call = ToolCall("parcel", "ab" * 16, "key", turn=turn, start_ns=number)
        engine.record(history, call, Outcome("ok", "cd" * 16, unseen=number, end_ns=number))
    assert history.turns.number == 2
    assert len(pack_history(history)) < 500


def test_a_hundred_thousand_calls_take_no_more_than_a_hundred() -> None:
    """Every collection of a history stays within its bound, whatever comes."""
    engine = Engine(parse_policy(POLICY))
    chance = chances(11)
    history = History()
    sizes = []
    for number in range(100_000):
        variety = (0, 3, 0, 40)[number // 1000 % 4]
        call = chance_call(chance, variety)
        engine.record(history, call, chance_outcome(chance, variety, call.tool))
        if number % 500 == 499:
            sizes.append(len(pack_history(history)) + len(pack_memory(history.memory)))
            assert len(history.entries) <= 64
            assert sum(map(len, history.by_tool.values())) == len(history.entries)
            assert sum(map(len, history.by_key.values())) == sum(one.key is not None for one in history.entries)
            assert max(len(history.resets), len(history.news), len(history.turns.open)) <= 64
            assert len(history.turns.marks) <= 32
            assert sum(history.turns.symbols.values()) <= 32
            assert len(history.outcomes.pairs) <= 256
            assert max(len(history.outcomes._calls), len(history.outcomes._answers)) <= 256
            assert len(history.seen.numbers) <= 256
            assert len(history.asked.numbers) <= 32
            assert max(len(history.standings.values), len(history.barren.values)) <= 16
            assert len(history.episodes.held) <= 24
            assert len(history.refusals.held) <= 8
            assert sum(one.words != () for one in history.entries) <= 12
            assert len(history.memory.writes.values) <= 64
            assert len(history.memory.handoffs) <= 32
    assert history.place == 100_000
    assert max(sizes) <= 8192


def test_one_turn_without_end() -> None:
    """A host that gives all calls one token gets turns of 32 calls."""
    rows = [step("look", {"at": number}, f"seen {number}", turn="always") for number in range(100)]
    assert run(rows).history.turns.number == 4


def test_our_own_answer_is_no_result_of_the_call() -> None:
    """A call that we answered has the answer that its key had before, and else none, whatever its record says."""
    history, engine = History(), Engine(Policy())
    ours = OURS.changed(fingerprint="1" * 32)
    for number, outcome in enumerate([ours, Outcome("ok", "2" * 32), ours]):
        engine.record(history, ToolCall("look", "0" * 32, "k", turn=number), outcome)
    first, second, third = history.entries
    assert first.answer is None
    assert third.answer == second.answer is not None
