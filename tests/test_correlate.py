"""Correlation: which run, agent, turn and user message a call belongs to."""

from __future__ import annotations

import itertools

import pytest

from otel_loopguard.conventions import RawCall, Role
from otel_loopguard.correlate import Ancestor, Place, Surroundings, is_new_message, place
from otel_loopguard.siblings import Siblings

TRACE = "0" * 31 + "1"


def _call(**known: str) -> RawCall:
    return RawCall("gen_ai", "search", **known)


def _above(*roles: Role | None) -> list[Ancestor]:
    return [Ancestor(f"s{number}", role) for number, role in enumerate(roles, 1)]


@pytest.mark.parametrize(
    ("call", "surroundings", "ancestors", "run_id", "by_conversation"),
    [
        (_call(), {}, [], TRACE, False),
        (_call(conversation_id="c"), {}, [], "c", True),
        (_call(), {"conversation_id": "c"}, [Role("agent", conversation_id="d")], "c", True),
        (_call(), {}, [None, Role("step", conversation_id="d"), Role("agent", conversation_id="e")], "d", True),
        (_call(conversation_id="c"), {}, [Role("agent", agent_call_id="a")], "a", False),
        (_call(agent_call_id="b"), {}, [Role("agent", agent_call_id="a")], "b", False),
        (_call(agent_call_id="b"), {"agent_call_id": "c"}, [], "b", False),
        (_call(), {"agent_call_id": "c"}, [Role("agent", agent_call_id="a")], "c", False),
        (_call(agent_call_id="b"), {}, [Role("step", run_id="r")], "r", False),
        (_call(agent_call_id="b"), {"run_id": "q"}, [Role("step", run_id="r")], "q", False),
        (_call(run_id="p"), {"run_id": "q"}, [Role("step", run_id="r")], "p", False),
        (_call(run_id="p"), {"given_run": "g"}, [], "g", False),
        (_call(conversation_id=""), {}, [], TRACE, False),
    ],
)
def test_run(
    call: RawCall, surroundings: dict[str, str], ancestors: list[Role | None], run_id: str, *, by_conversation: bool
) -> None:  # fmt: skip
    """Code, then each kind of id in order, each from the record, the context, the nearest ancestor; else the trace."""
    found = place(call, trace_id=TRACE, ancestors=_above(*ancestors), surroundings=Surroundings(**surroundings))
    assert (found.run_id, found.by_conversation) == (run_id, by_conversation)
    assert found.run_named is (run_id != TRACE)


@pytest.mark.parametrize(
    ("parent", "known", "run_id"),
    [("", {}, "m"), ("s1", {}, TRACE), ("", {"conversation_id": "c"}, "c"), ("s1", {"conversation_id": "c"}, "c")],
)
def test_transport_session(parent: str, known: dict[str, str], run_id: str) -> None:
    """A transport's session groups calls that stand alone; a call with a parent elsewhere joins its trace's run."""
    assert place(_call(channel_id="m", **known), trace_id=TRACE, parent_span_id=parent).run_id == run_id


@pytest.mark.parametrize(
    ("call", "surroundings", "ancestors", "agent", "named"),
    [
        (_call(), {}, [], "", False),
        (_call(), {}, [Role("model", agent="m"), Role("agent"), Role("agent", agent="a")], "a", False),
        (_call(), {}, [Role("agent", agent="b"), Role("agent", agent="a")], "b", False),
        (_call(), {}, [Role("step", agent="s")], "", False),
        (_call(), {"agent": "c"}, [Role("agent", agent="a")], "c", False),
        (_call(agent="r"), {"agent": "c"}, [Role("agent", agent="a")], "r", True),
        (_call(agent="r"), {"given_agent": "g"}, [], "g", True),
    ],
)
def test_agent(
    call: RawCall, surroundings: dict[str, str], ancestors: list[Role | None], agent: str, *, named: bool
) -> None:  # fmt: skip
    """Given, else named by the record, else by the context, else by the nearest agent's span that has a name."""
    found = place(call, trace_id=TRACE, ancestors=_above(*ancestors), surroundings=Surroundings(**surroundings))
    assert (found.agent, found.agent_named) == (agent, named)


@pytest.mark.parametrize(
    ("recorded", "given", "turn"), [(None, None, None), (3, None, 3), (3, 4, 4), (0, None, 0), (3, 0, 0)]
)
def test_turn_as_told(recorded: int | None, given: int | None, turn: int | None) -> None:
    """A turn given by code wins over a recorded one; nought is a turn."""
    call = RawCall("gen_ai", "search", turn=recorded)
    assert place(call, trace_id=TRACE, surroundings=Surroundings(given_turn=given)).turn == turn


@pytest.mark.parametrize(
    ("call", "ancestors", "message"),
    [
        (_call(), [], ""),
        (_call(), [Role("step"), Role("model")], ""),
        (_call(), [None, Role("agent", agent="sub"), Role("step"), Role("agent", agent="main"), None], "s4"),
        (_call(prompt_id="p1"), [Role("agent")], "p1"),
    ],
)
def test_message(call: RawCall, ancestors: list[Role | None], message: str) -> None:
    """What the user said last is known by the outermost agent's span, or by the instrumentation's own id."""
    assert place(call, trace_id=TRACE, ancestors=_above(*ancestors)).message == message


@pytest.mark.parametrize(
    ("by_conversation", "message", "previous", "new"),
    [
        (True, "s2", "s1", True),
        (True, "s1", "s1", False),
        (True, "s1", None, True),
        (True, "", "s1", False),
        (False, "s2", "s1", False),
    ],
)
def test_user_message(message: str, previous: str | None, *, by_conversation: bool, new: bool) -> None:
    """A new root agent span is a user message only in a run that is known by its conversation."""
    where = Place(
        "c", run_named=True, by_conversation=by_conversation, agent="", agent_named=False, turn=None, message=message
    )
    assert is_new_message(where, previous) is new


def test_turn_of_a_model_span() -> None:
    """Calls follow the model span that began last before them, also where they run one after the other."""
    siblings = Siblings()
    siblings.model("m1", 10)
    assert [siblings.turn("c1", 20, 30), siblings.turn("c2", 31, 40)] == ["m1", "m1"]
    siblings.model("m2", 50)
    assert siblings.turn("c3", 60, 70) == "m2"


def test_late_call_of_an_earlier_model_span() -> None:
    """A call that ends after the next model span still belongs to the one it followed."""
    siblings = Siblings()
    siblings.model("m1", 10)
    siblings.model("m2", 50)
    assert siblings.turn("c1", 20, 90) == "m1"


def test_streamed_call() -> None:
    """A call that was dispatched while its model span still streamed belongs to it."""
    siblings = Siblings()
    siblings.model("m1", 10)
    assert siblings.turn("c1", 12, 14) == "m1"


@pytest.mark.parametrize(
    ("times", "turns"),
    [
        ([(0, 10), (20, 30)], ["c0", "c1"]),
        ([(0, 10), (5, 15)], ["c0", "c0"]),
        ([(0, 10), (1, 11), (2, 12)], ["c0", "c0", "c0"]),
        ([(0, 10), (10, 20)], ["c0", "c1"]),
        ([(0, 10), (5, 15), (12, 20)], ["c0", "c0", "c2"]),
        ([(0, 1), (2, 3), (4, 5), (0, 90)], ["c0", "c1", "c2", "c0"]),
        ([(1, 2), (3, 4), (0, 90), (1, 91)], ["c0", "c1", "c0", "c0"]),
        ([(None, None), (None, None)], ["c0", "c1"]),
        ([(5, None), (5, None)], ["c0", "c1"]),
    ],
)
def test_turn_by_time(times: list[tuple[int | None, int | None]], turns: list[str]) -> None:
    """Without model spans calls that all ran at one moment share a turn; a long one beside a row of short ones none."""
    siblings = Siblings()
    found = [siblings.turn(f"c{number}", start, end) for number, (start, end) in enumerate(times)]
    assert found == turns


@pytest.mark.parametrize("order", list(itertools.permutations([(0, 10), (1, 12), (2, 9), (20, 30)])))
def test_siblings_in_any_order_of_ends(order: tuple[tuple[int, int], ...]) -> None:
    """Three calls that ran together are one turn, the fourth another, in whichever order they are told."""
    siblings = Siblings()
    turns = {times: siblings.turn(str(times), *times) for times in order}
    assert len({turns[0, 10], turns[1, 12], turns[2, 9]}) == 1
    assert turns[20, 30] != turns[0, 10]


def test_bounds() -> None:
    """Only the last model spans and decisions are kept; what reaches back further is a turn of its own."""
    siblings = Siblings()
    for number in range(100):
        siblings.turn(f"c{number}", number * 10, number * 10 + 5)
    assert siblings.turn("late", 1, 2) == "late"
    for number in range(100):
        siblings.model(f"m{number}", 10_000 + number * 10)
    assert siblings.turn("early", 10_001, 10_002) == "early"
    assert siblings.turn("c", 10_995, 10_999) == "m99"
    assert (len(siblings._models), len(siblings._decisions)) == (Siblings.MODELS, Siblings.DECISIONS)


def test_a_call_without_an_id() -> None:
    """A call that has no span id and no siblings has no turn to share."""
    assert Siblings().turn("", 1, 2) is None


@pytest.mark.parametrize(
    ("prints", "own"),
    [
        (["x"] * 7, [4, 5, 6]),
        ([f"x{number}" for number in range(20)], []),
        (["x", "y"] * 6, [8, 9, 10, 11]),
        ([None] * 20, []),
    ],
    ids=["one call", "a fan-out", "two in turn", "unknown"],
)
def test_a_model_that_is_seen_once(prints: list[str | None], own: list[int]) -> None:
    """Of equal calls one after the other a model's decision made four; more are turns of their own, others are not."""
    siblings = Siblings()
    siblings.model("m", 0)
    turns = []
    for number, fingerprint in enumerate(prints):
        times = (10 * number + 1, 10 * number + 9)
        turns.append(siblings.own_turn(siblings.turn(f"c{number}", *times), fingerprint, f"c{number}", *times))
    assert turns == [f"c{number}" if number in own else "m" for number in range(len(prints))]


def test_equal_calls_at_once_are_of_their_model() -> None:
    """However many equal calls overlap, one decision made them."""
    siblings = Siblings()
    siblings.model("m", 0)
    assert {siblings.own_turn("m", "x", f"c{number}", 10 + number, 90 + number) for number in range(20)} == {"m"}


def test_equals_are_bounded() -> None:
    """Only the calls seen last are counted."""
    siblings = Siblings()
    siblings.model("m", 0)
    for number in range(1000):
        siblings.own_turn("m", str(number), "c", number, number)
    assert len(siblings._equal) == Siblings.PRINTS
