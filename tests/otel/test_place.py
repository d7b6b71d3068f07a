"""Which run, agent and user message a live call belongs to."""

from __future__ import annotations

import sys
import types
import uuid
from typing import Any

import pytest
from opentelemetry import baggage
from opentelemetry import context as otel_context

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.core.identifier import bounded
from tests.support.process import Process


def in_context(**values: str) -> otel_context.Context:
    """A context with baggage."""
    context = otel_context.Context()
    for key, value in values.items():
        context = baggage.set_baggage(key.replace("_", "."), value, context)
    return context


def test_the_run_that_code_names() -> None:
    """`run` names run and agent, over everything that spans say, for nested and later traces alike."""
    process = Process()
    with otel_loopguard.run("r1", agent="triage"):
        with process.agent("researcher", **{"gen_ai.conversation.id": "c"}):
            process.call()
        process.call()
    process.call()
    assert process.written(names.RUN_ID)[:2] == ["r1", "r1"]
    assert process.written(names.AGENT_NAME) == ["triage", "triage", None]
    assert process.written(names.SEQUENCE) == [1, 2, 1]


def test_runs_inside_runs() -> None:
    """The innermost `run` counts; None keeps the run around it and names another agent."""
    process = Process()
    with otel_loopguard.run("outer", agent="lead"):
        with otel_loopguard.run("inner"):
            process.call()
        with otel_loopguard.run(None, agent="sub"):
            process.call()
        process.call()
    assert process.written(names.RUN_ID) == ["inner", "outer", "outer"]
    assert process.written(names.AGENT_NAME) == [None, "sub", "lead"]


def test_a_run_id_may_be_any_value_with_a_text() -> None:
    """A UUID is a run id."""
    process = Process()
    identity = uuid.uuid4()
    with otel_loopguard.run(identity):
        process.call()
    assert process.written(names.RUN_ID) == [str(identity)]


def test_run_decorates() -> None:
    """`run` is a decorator as well."""
    process = Process()

    @otel_loopguard.run("decorated")
    def work() -> None:
        process.call()

    work()
    work()
    assert process.written(names.SEQUENCE) == [1, 2]


@pytest.mark.parametrize(
    ("on_span", "in_baggage", "on_agent", "expected"),
    [
        ({"loopguard.run.id": "s"}, {"loopguard.run.id": "b"}, {"loopguard.run.id": "a"}, "s"),
        ({}, {"loopguard.run.id": "b"}, {"loopguard.run.id": "a"}, "b"),
        ({}, {}, {"loopguard.run.id": "a", "gen_ai.agent.call.id": "x"}, "a"),
        ({"gen_ai.agent.call.id": "s"}, {"gen_ai.conversation.id": "b"}, {}, "s"),
        ({"gen_ai.conversation.id": "s"}, {"gen_ai.agent.call.id": "b"}, {}, "b"),
        ({}, {"gen_ai.conversation.id": "b"}, {"gen_ai.conversation.id": "a"}, "b"),
        ({}, {}, {"gen_ai.conversation.id": "a"}, "a"),
        ({"session.id": "s"}, {}, {"gen_ai.conversation.id": "a"}, "s"),
        ({}, {"loopguard.run.id": "b" * 257}, {}, bounded("b" * 257)),
    ],
)
def test_where_the_run_is_named(
    on_span: dict[str, str], in_baggage: dict[str, str], on_agent: dict[str, str], expected: str | None
) -> None:
    """Run id before agent call id before conversation, each on the span, in the context, around it; else the trace."""
    process = Process()
    context = otel_context.Context()
    for key, value in in_baggage.items():
        context = baggage.set_baggage(key, value, context)
    token = otel_context.attach(context)
    try:
        with process.agent(**on_agent):
            process.call(**on_span)
    finally:
        otel_context.detach(token)
    assert process.written(names.RUN_ID) == [expected or f"{process.tools[0].get_span_context().trace_id:032x}"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"session.id": "openinference"}, "openinference"),
        ({"association_properties": {"session_id": "traceloop"}}, "traceloop"),
        ({"association_properties": {"thread_id": "thread"}}, "thread"),
        ({"conversation_id": "newer traceloop"}, "newer traceloop"),
        ({"association_properties": "no mapping", "conversation_id": 7}, None),
    ],
)
def test_context_keys_of_other_instrumentations(values: dict[str, Any], expected: str | None) -> None:
    """What others keep in the context names the conversation, where it is a text."""
    process = Process()
    token = otel_context.attach(otel_context.Context(values))
    try:
        process.call()
    finally:
        otel_context.detach(token)
    assert process.written(names.RUN_ID) == [expected or f"{process.tools[0].get_span_context().trace_id:032x}"]


def test_the_conversation_of_the_official_instrumentations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ambient conversation is read where their module is loaded."""
    name = "opentelemetry.util.genai._conversation_context"
    module = types.ModuleType(name)
    module.get_ambient_conversation_id = lambda context: context.get("ambient")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, module)
    process = Process()
    token = otel_context.attach(otel_context.Context({"ambient": "thread-1"}))
    try:
        process.call()
    finally:
        otel_context.detach(token)
    assert process.written(names.RUN_ID) == ["thread-1"]


def test_an_explicit_parent_context() -> None:
    """A span started with a context of its own is read in that, whatever is current when it ends."""
    process = Process()
    context = in_context(loopguard_run_id="explicit")
    span = process.tracer.start_span(
        "execute_tool x", context, attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}
    )
    span.end()
    assert process.written(names.RUN_ID) == ["explicit"]


def test_agents_have_their_own_histories() -> None:
    """Calls of two agents of one run do not count together."""
    process = Process()
    with process.agent("lead"):
        process.call(arguments={"q": "x"})
        with process.agent("sub"):
            process.call(arguments={"q": "x"})
        process.call(arguments={"q": "x"})
    assert process.written(names.AGENT_NAME) == ["lead", "sub", "lead"]
    assert process.written(names.REPEAT_COUNT) == [1, 1, 2]
    assert process.written(names.SEQUENCE) == [1, 1, 2]


# User messages ----------------------------------------------------------------------------------------------------


def ask(process: Process, times: int = 2, **attributes: str) -> None:
    """An agent's answer to one message: the same call some times."""
    with process.agent(**attributes):
        for _ in range(times):
            process.call(arguments={"q": "x"})


def test_a_message_that_code_tells_of() -> None:
    """After `user_message` the same call is the first again; the first call says so."""
    process = Process()
    with otel_loopguard.run("told"):
        ask(process)
        otel_loopguard.user_message()
        ask(process)
    assert process.written(names.REPEAT_COUNT) == [1, 2, 1, 2]
    assert process.written(names.USER_MESSAGE) == [None, None, True, None]
    assert process.written(names.SEQUENCE) == [1, 2, 3, 4]


def test_a_message_inside_a_trace() -> None:
    """Without a named run it is for the run of the current span's trace."""
    process = Process()
    with process.agent():
        process.call(arguments={"q": "x"})
        otel_loopguard.user_message()
        process.call(arguments={"q": "x"})
    with process.agent(**{"gen_ai.agent.call.id": "named"}):
        process.call(arguments={"q": "x"})
        otel_loopguard.user_message()
        process.call(arguments={"q": "x"})
    assert process.written(names.USER_MESSAGE) == [None, True, None, True]


def test_a_message_before_any_span() -> None:
    """Outside any span and run it is for the runs to which this context's next calls belong."""
    process = Process()
    for _ in range(2):
        process.call(arguments={"q": "x"}, **{"gen_ai.agent.call.id": "a"})
    otel_loopguard.user_message()
    for _ in range(2):
        process.call(arguments={"q": "x"}, **{"gen_ai.agent.call.id": "a"})
    process.call(arguments={"q": "x"}, **{"gen_ai.agent.call.id": "new"})
    assert process.written(names.USER_MESSAGE) == [None, None, True, None, None]


def test_a_message_to_one_agent() -> None:
    """A message to one agent leaves the others' histories alone; one to nobody in particular resets all."""
    process = Process()
    for agent in (None, "sub"):
        with otel_loopguard.run(f"for {agent}"):
            for _ in range(2):
                with process.agent("lead"):
                    process.call(arguments={"q": "x"})
                with process.agent("sub"):
                    process.call(arguments={"q": "x"})
                otel_loopguard.user_message(agent)
    assert process.written(names.REPEAT_COUNT) == [1, 1, 1, 1, 1, 1, 2, 1]
    assert process.written(names.USER_MESSAGE) == [None, None, True, None, None, None, None, True]


def test_a_new_agent_span_of_a_conversation_is_a_message() -> None:
    """A run known by its conversation alone is reset by every new root agent span, one given by name goes on."""
    process = Process()
    ask(process, **{"gen_ai.conversation.id": "chat"})
    ask(process, **{"gen_ai.conversation.id": "chat"})
    assert process.written(names.REPEAT_COUNT) == [1, 2, 1, 2]
    assert process.written(names.USER_MESSAGE) == [True, None, True, None]
    with otel_loopguard.run("job"):
        ask(process)
        ask(process)
    assert process.written(names.REPEAT_COUNT)[4:] == [1, 2, 3, 4]
    assert process.written(names.USER_MESSAGE)[4:] == [None] * 4
