"""Where the calls of a trace belong: run, agent, turn, and the tool spans around them."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest

from otel_loopguard.conventions import Role
from otel_loopguard.core.call import MISSING, ToolCall
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Hints, Span, placed

TRACE = "0af7651916cd43dd8448eb211c80319c"


def tool(span: str, inside: str = "", start: int = 0, end: int = 1, hints: Hints | None = None) -> Span:
    """A tool span."""
    call = CallRecord("", ToolCall("look", None, "k"), MISSING, trace_id=TRACE, span_id=span, parent_span_id=inside)
    return Span(TRACE, span, inside, start, end, call=call, hints=hints or Hints())


def around(span: str, inside: str = "", start: int = 0, end: int = 99, role: Role | None = None) -> Span:
    """A span that is no tool call."""
    return Span(TRACE, span, inside, start, end, role)


def of(spans: list[Span], span: str) -> CallRecord:
    """The placed call of a span."""
    return next(call for call in placed(spans) if call.span_id == span)


AGENT = Role("agent", agent="scout", conversation_id="talk-1")


def test_run_agent_and_message_come_from_the_spans_around() -> None:
    """The nearest agent names the agent, any span around may name the run, and the outermost agent is the message."""
    spans = [
        around("root", role=Role("agent", agent="lead", conversation_id="talk-1")),
        around("sub", "root", role=Role("agent", agent="scout")),
        around("chain", "sub", role=Role("step")),
        tool("t1", "chain"),
    ]
    for order in permutations(spans):
        call = of(list(order), "t1")
        assert (call.run_id, call.run_named, call.agent, call.agent_named) == ("talk-1", True, "scout", False)
        assert call.message == "root"


def test_what_the_record_says_wins() -> None:
    """Run, agent and turn that the call's own record names are taken, and a named run needs no message."""
    hints = Hints(run_id="run-7", agent="own", turn=3)
    call = of([around("root", role=AGENT), tool("t1", "root", hints=hints)], "t1")
    assert (call.run_id, call.agent, call.agent_named, call.call.turn, call.message) == ("run-7", "own", True, 3, "")


def test_a_call_that_nobody_names_stands_in_the_run_of_its_trace() -> None:
    """Without any name the run is the trace."""
    call = of([around("root"), tool("t1", "root")], "t1")
    assert (call.run_id, call.run_named, call.agent) == (TRACE, False, "")


@pytest.mark.parametrize(
    ("case", "others", "run"),
    [
        ("one named run", [tool("t2", hints=Hints(run_id="run-7"))], "run-7"),
        ("one named run of several calls", [tool(s, hints=Hints(run_id="run-7")) for s in ("t2", "t3")], "run-7"),
        ("two named runs", [tool(s, hints=Hints(run_id=s)) for s in ("t2", "t3")], TRACE),
        ("a run that only a span without calls names", [around("root", role=Role("step", run_id="run-7"))], "run-7"),
        ("a conversation that an agent without calls names", [around("root", role=AGENT)], "talk-1"),
        ("nobody", [around("root")], TRACE),
    ],
)
def test_a_call_without_a_name_joins_the_named_run_of_its_trace(case: str, others: list[Span], run: str) -> None:
    """Where the trace holds exactly one named run; between two nobody guesses."""
    del case
    assert of([tool("t1", "elsewhere"), *others], "t1").run_id == run


def test_calls_without_a_trace_join_nothing() -> None:
    """Log records without trace ids share nothing but the lack of one."""
    logs = [tool("", hints=Hints(conversation_id="talk-1")), tool("")]
    assert [call.run_id for call in placed([msgspec.structs.replace(log, trace_id="") for log in logs])] == [
        "talk-1",
        "",
    ]


def test_the_model_before_it_under_the_same_parent_gives_the_turn() -> None:
    """Calls after one model span and before the next share a turn."""
    model = Role("model")
    spans = [
        around("root", role=AGENT),
        around("m1", "root", 1, 2, model), tool("t1", "root", 3, 4), tool("t2", "root", 5, 6),
        around("m2", "root", 7, 8, model), tool("t3", "root", 9, 10),
    ]  # fmt: skip
    assert [call.call.turn for call in placed(spans)] == ["m1", "m1", "m2"]
    assert {call.span_id: call.call.turn for call in placed(spans[::-1])} == {"t1": "m1", "t2": "m1", "t3": "m2"}


def test_calls_that_overlap_share_a_turn_where_no_model_is_seen() -> None:
    """Overlapping calls under one parent are one turn, others a turn each."""
    spans = [around("root"), tool("t1", "root", 1, 5), tool("t2", "root", 2, 4), tool("t3", "root", 6, 7)]
    turns = {call.span_id: call.call.turn for call in placed(spans)}
    assert turns["t1"] == turns["t2"]
    assert turns["t3"] not in (None, turns["t1"])


def test_copies_of_a_span_share_its_turn() -> None:
    """A span that was exported twice is no turn of two decisions."""
    spans = [around("root"), tool("t1", "root", 1, 5), tool("t1", "root", 1, 5)]
    assert len({call.call.turn for call in placed(spans)}) == 1


@pytest.mark.parametrize(
    ("case", "between", "enclosing", "delegated"),
    [
        ("directly inside", [], "outer", False),
        ("through a client's span", [around("http", "outer"), around("server", "http")], "outer", False),
        ("through a chain", [around("chain", "outer", role=Role("step"))], "outer", False),
        ("through an agent", [around("agent", "outer", role=AGENT)], "outer", True),
        ("through a model", [around("model", "outer", role=Role("model"))], "outer", True),
        ("through spans that were not seen", [around("gap", "lost")], "", False),
    ],
)
def test_the_tool_span_around_a_call(case: str, between: list[Span], enclosing: str, delegated: bool) -> None:  # noqa: FBT001
    """The nearest tool span around is found through any spans; an agent or a model between makes it another call."""
    del case
    inner = tool("inner", between[-1].span_id if between else "outer")
    call = of([tool("outer"), *between, inner], "inner")
    assert (call.enclosing_span_id, call.delegated) == (enclosing, delegated)


def test_spans_that_enclose_each_other_are_survived() -> None:
    """Parents in a circle end the walk."""
    spans = [around("a", "b"), around("b", "a"), tool("t1", "a"), tool("t2", "t2")]
    assert [call.run_id for call in placed(spans)] == [TRACE, TRACE]


def test_a_trace_without_calls_places_nothing() -> None:
    """Neither spans without calls nor no spans are trouble."""
    assert list(placed([around("root")])) == []
    assert list(placed([])) == []
    assert msgspec.structs.asdict(around("root"))["call"] is None


@pytest.mark.parametrize(("differ", "turns"), [(False, 17), (True, 1)])
def test_equal_calls_behind_one_model_span(differ: bool, turns: int) -> None:  # noqa: FBT001 (a table)
    """More than four equal calls one after the other are turns of their own; different ones are of their model."""
    spans = [around("root", role=AGENT), around("m", "root", 0, 1, Role("model"))]
    for number in range(20):
        span = tool(f"t{number}", "root", 10 * number + 2, 10 * number + 9)
        assert span.call is not None
        call = ToolCall("look", f"{number if differ else 0:032x}", "k")
        spans.append(msgspec.structs.replace(span, call=span.call.changed(call=call)))
    assert len({call.call.turn for call in placed(spans)}) == turns
