"""Every argument of every public constructor: a wrong one is an error that names it and says what to write."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import pytest

from otel_loopguard.config import Settings
from otel_loopguard.errors import SettingError
from otel_loopguard.guards import Guard, ResultLimits, Words
from otel_loopguard.guards.anthropic_loop import ToolUses
from otel_loopguard.guards.functions import guarded
from otel_loopguard.guards.openai_loop import ToolCalls
from tests.guards.script import guard_for, process_for


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


def mcp() -> Callable[..., object]:
    """The session."""
    need("mcp")
    from otel_loopguard.guards.mcp import GuardedSession

    return GuardedSession


def langchain() -> Callable[..., object]:
    """The middleware."""
    need("langchain")
    from otel_loopguard.guards.langchain import LoopguardMiddleware

    return LoopguardMiddleware


def openai_agents() -> Callable[..., object]:
    """The copy of an agent."""
    need("agents")
    from otel_loopguard.guards.openai_agents import guard_agent

    return guard_agent


def openai_failure() -> Callable[..., object]:
    """What shows an exception."""
    need("agents")
    from otel_loopguard.guards.openai_agents import failure_seen

    return failure_seen


def openai_report() -> Callable[..., object]:
    """The tool of a blocked agent."""
    need("agents")
    from otel_loopguard.guards.openai_agents import report_blocked_tool

    return report_blocked_tool


def pydantic_ai() -> Callable[..., object]:
    """The block, entered."""
    need("pydantic_ai")
    from otel_loopguard.guards.pydantic_ai import guarding

    def enter(*args: Any, **more: Any) -> object:  # noqa: ANN401
        return guarding(*args, **more).__enter__()

    enter.__signature__ = inspect.signature(guarding)  # type: ignore[attr-defined]
    return enter


def pydantic_report() -> Callable[..., object]:
    """The tool of a blocked agent."""
    need("pydantic_ai")
    from otel_loopguard.guards.pydantic_ai import report_blocked_tool

    return report_blocked_tool


class Session:
    """What has the one method that is called."""

    async def call_tool(self) -> None:
        """No answer."""


def agent_of(package: str) -> Any:  # noqa: ANN401
    """An agent of a framework."""
    if package == "agents":
        from agents import Agent

        return Agent(name="triage")
    from pydantic_ai import Agent as OtherAgent
    from pydantic_ai.models.test import TestModel

    return OtherAgent(TestModel())


LOOP: dict[str, list[Any]] = {
    "guard": [None, "x"], "tools": [None, [len], "search", {"search": 5}, {5: len}], "run": [5, b"x"],
    "agent": [5, b"x"], "on_error": ["it failed", True], "report_blocked": [None, "yes", 1],
}  # fmt: skip
WRONG: dict[str, tuple[Callable[[], Callable[..., object]], dict[str, Any], dict[str, list[Any]]]] = {
    "Guard": (
        lambda: Guard, {"settings": Settings()},
        {
            "mode": ["stop", "", 1, ["enforce"]], "tools": ["search", 5, None, [5], b"search"],
            "refusals": ["1", None, -1, 1.5, True], "words": ["x", {}], "limits": [5, {}], "attributes": [[], "a", 5],
            "settings": [{}, "enforce"], "live": [{}, "x"],
        },
    ),
    "Words": (
        lambda: Words, {},
        {
            **{name: [None, 5, "{x}", "{", "{tool!r}", "x" * 5000] for name in
               ("nudge", "refuse", "stop", "covered", "duplicate")},
            **{name: [None, "x", [], {"loop": "x"}, {"drift": None}, {"drift": "{y}"}] for name in ("what", "options")},
            "max_length": ["9", None, 3, 2.5, True], "max_earlier": ["9", None, -1, 2.5],
            "max_tools": ["9", None, -1, 2.5],
        },
    ),
    "ResultLimits": (
        lambda: ResultLimits, {},
        {
            **{name: ["9", None, -1, 2.5, True] for name in ("count", "total_bytes", "entry_bytes")},
            "age_seconds": ["9", None, -1, float("nan"), True],
        },
    ),
    "guarded": (lambda: guarded, {}, {"guard": [None, "x", Guard], "name": [5, b"x"], "attach": [None, 5, True]}),
    "ToolUses": (lambda: ToolUses, {"tools": {}}, LOOP),
    "ToolCalls": (lambda: ToolCalls, {"tools": {}}, LOOP),
    "GuardedSession": (
        mcp, {"session": Session()},
        {
            "session": [None, "http://localhost"], "guard": [None, "x"], "server": [None, 5], "agent": [5],
            "run": [5], "report_blocked": [None, 1],
        },
    ),
    "LoopguardMiddleware": (langchain, {}, {"guard": [None, "x"], "agent": [5], "report_blocked": [None, 1]}),
    "guard_agent": (
        openai_agents, {"agent": "agents"},
        {"agent": [None, "triage"], "guard": [None, "x"], "failed": [None, "An", True]},
    ),
    "failure_seen": (openai_failure, {}, {"describe": [None, "it failed"]}),
    "report_blocked_tool of the OpenAI Agents SDK": (openai_report, {}, {"guard": [None, "x"]}),
    "guarding": (
        pydantic_ai, {"agent": "pydantic_ai"}, {"agent": [None, "triage"], "guard": [None, "x"], "model": [5, []]},
    ),
    "report_blocked_tool of Pydantic AI": (pydantic_report, {}, {"guard": [None, "x"]}),
}  # fmt: skip
"""What is made, with which other arguments, and what is wrong for each of its arguments."""


def arguments_of(make: Callable[..., object], given: dict[str, Any]) -> dict[str, Any]:
    """The other arguments, right ones."""
    known = inspect.signature(make).parameters
    made = {"guard": guard_for(process_for())} if "guard" in known else {}
    agents = {name: agent_of(value) if name == "agent" else value for name, value in given.items()}
    return {**made, **agents}


@pytest.mark.parametrize("kind", WRONG)
def test_every_argument_is_checked(kind: str) -> None:
    """The error is a `SettingError`, has the argument's name, quotes it, and never prints the value."""
    load, given, wrong = WRONG[kind]
    make = load()
    right = arguments_of(make, given)
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(SettingError, match=rf"`{name}[\[`]") as raised:
                make(**{**right, name: value})
            assert raised.value.name.startswith(name), (name, value)
            assert len(str(raised.value)) < 400
    make(**right)


@pytest.mark.parametrize("kind", WRONG)
def test_no_argument_is_left_out(kind: str) -> None:
    """A new argument comes with its wrong values."""
    load, _, wrong = WRONG[kind]
    assert set(inspect.signature(load()).parameters) == set(wrong)


def test_the_value_is_not_printed() -> None:
    """It may be a secret that somebody put in the wrong place."""
    with pytest.raises(SettingError) as raised:
        Guard(refusals="secret")  # type: ignore[arg-type]
    assert str(raised.value) == "`refusals` is a whole number, at least 0, not `str`"
