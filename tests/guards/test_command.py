"""LangGraph tools that answer with a `Command`: what the model reads of it is the result, the rest is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Annotated, Any

import pytest

if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
    pytest.importorskip("langchain", reason="needs `langchain`: make test-guards")

from langchain.agents import AgentState, create_agent
from langchain.tools import InjectedToolCallId
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command

import otel_loopguard
from otel_loopguard.core.call import ABSENT
from otel_loopguard.guards import Refuse
from otel_loopguard.guards._command import answer_in, effects_of, with_answer
from otel_loopguard.guards.langchain import LoopguardMiddleware, stop_of
from tests.guards.drivers.langchain import Scripted
from tests.guards.script import Model, Script, guard_for, process_for

ANSWER = ToolMessage("2 hits", tool_call_id="c1")
OTHER = ToolMessage("else", tool_call_id="c2")


class State(AgentState[Any]):
    """With something that a tool sets."""

    seen: int


def loop(name: str, times: int, *, says: str = "2 hits", **options: Any) -> tuple[Any, list[int]]:  # noqa: ANN401
    """An agent whose tool counts itself in the state beside its answer; its last state, and the counts."""
    ran: list[int] = []

    def search(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:  # noqa: ARG001
        """Look something up."""
        ran.append(len(ran))
        return Command(update={"seen": len(ran), "messages": [ToolMessage(says, tool_call_id=tool_call_id)]})

    graph = create_agent(
        Scripted(script=Model(Script.stubborn((name, {"query": "why"}), times=times))),
        [StructuredTool.from_function(search, name=name)],
        middleware=[LoopguardMiddleware(guard_for(process_for(), **options))],
        state_schema=State,
    )
    return graph.invoke({"messages": [HumanMessage("go")]}), ran


def test_the_message_of_a_command_is_the_result() -> None:
    """Equal ones repeat themselves: the third has the words, the fifth is refused, and the state is set as ever."""
    state, ran = loop("ask", 9)
    stop = stop_of(state)
    assert stop is not None
    assert (stop.kind, stop.count) == ("identical", 6)
    texts = [one.content for one in state["messages"] if isinstance(one, ToolMessage)]
    assert ["[loopguard]" in text for text in texts] == [False, False, True, False, True, True]
    assert texts[2].startswith("2 hits\n\n")
    assert "The earlier result: 2 hits" in texts[4]
    assert (state["seen"], len(ran)) == (4, 4)


def test_a_declared_read_that_sets_the_state_is_not_answered_from_memory() -> None:
    """Its message alone would be less than what it does, so it runs again until it is refused."""
    state, ran = loop("search", 3)
    texts = [one.content for one in state["messages"] if isinstance(one, ToolMessage)]
    assert texts[1].startswith("2 hits\n\n[loopguard]")
    assert (state["seen"], len(ran)) == (2, 2)
    assert "Not run" in texts[2]


def test_a_command_in_mode_observe_is_left_alone() -> None:
    """Not a byte of its message changes."""
    state, ran = loop("ask", 7, mode="observe")
    assert {one.content for one in state["messages"] if isinstance(one, ToolMessage)} == {"2 hits"}
    assert len(ran) == 7


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (ANSWER, ANSWER),
        (Command(update={"messages": [OTHER, ANSWER]}), ANSWER),
        (Command(update={"messages": ANSWER}), ANSWER),
        (Command(update=[ANSWER]), ANSWER),
        ([Command(update={"seen": 1}), ANSWER], ANSWER),
        ([Command(update={"messages": [ANSWER]}), OTHER], ANSWER),
        (Command(update={"messages": [OTHER, HumanMessage("x"), {"role": "user", "content": "x"}]}), None),
        (Command(update={"seen": 1}), None),
        (Command(goto="other"), None),
        (None, None),
        ("text", None),
        ([], None),
        ([1], None),
    ],
)
def test_an_answer_is_found_and_replaced(result: Any, answer: ToolMessage | None) -> None:  # noqa: ANN401
    """Wherever it stands; what is beside it stays, and the result is not changed."""
    before = repr(result)
    found = answer_in(result, "c1")
    assert found is answer
    other = ToolMessage("2 hits, again", tool_call_id="c1")
    changed = with_answer(result, found, other) if answer is not None else result
    assert repr(result) == before
    assert repr(changed) == before.replace("2 hits", "2 hits, again")


def test_what_a_command_does_is_compared_by_what_it_says() -> None:
    """Ids of messages are new each time; goto, state and texts tell commands apart."""

    def command(text: str, **parts: Any) -> Command[Any]:  # noqa: ANN401
        return Command(update={"messages": [AIMessage(text, id=text + str(len(parts)))]}, **parts)

    one, other = (Command(update={"messages": [AIMessage("x", id=name)]}, goto="a") for name in "12")
    assert effects_of(one) == effects_of(other)
    texts = [effects_of(two) for two in (one, command("y", goto="a"), command("x", goto="b"), command("x"))]
    assert len(set(texts)) == 4
    assert isinstance(effects_of([one, other]), str)
    assert effects_of("text") == "text"
    assert effects_of(ABSENT) is ABSENT


def test_a_command_that_cannot_be_printed_is_no_error() -> None:
    """A state may hold anything: then nothing is known of the result."""
    around: list[Any] = []
    around.append(around)
    assert effects_of(Command(update={"seen": around})) is ABSENT


@pytest.mark.parametrize("is_read", [False, True])
def test_what_no_model_has_read_is_not_quoted(*, is_read: bool) -> None:
    """What a command does to the state is compared, and stays between the tool and the graph."""
    guard = guard_for(process_for())
    with otel_loopguard.run("r1"):
        for turn in range(4):
            call = guard.before("ask", {"query": "why"}, turn=f"t{turn}").call
            guard.after(call, "the state is 4711", is_read=is_read)
        refused = guard.before("ask", {"query": "why"}, turn="t4")
    assert isinstance(refused, Refuse)
    assert ("4711" in refused.text) is is_read


CALLBACKS = """
import otel_loopguard_autoload
otel_loopguard_autoload.LoopGuardInstrumentor().instrument()
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.types import Command

ran = 0

@tool
def search(query: str) -> Command:
    "Looks something up"
    global ran
    ran += 1
    return Command(update={"messages": [ToolMessage("2 hits", tool_call_id=f"c{ran}", id=f"m{ran}")]})

def agent(question):
    try:
        for place in range(1, 9):
            search.invoke({"type": "tool_call", "id": f"c{place}", "name": "search", "args": {"query": question}})
    except Exception as stop:
        return type(stop).__name__

print(RunnableLambda(agent).invoke("why"), ran)
"""


def test_a_command_is_read_by_a_variable() -> None:
    """Equal answers in commands repeat themselves for the callbacks too."""
    environ = {
        **os.environ, "LOOPGUARD_ENABLED": "true", "LOOPGUARD_GUARD": "enforce", "LOOPGUARD_KEY": "0123456789abcdef" * 4
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", CALLBACKS], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["LoopDetected", "4"], done.stderr
