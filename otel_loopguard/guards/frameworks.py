"""Which frameworks are installed that a guard adapts to, and what it takes to guard each.

Nothing is imported to find out.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final, NamedTuple

__all__ = ["FRAMEWORKS", "Framework", "installed"]


class Framework(NamedTuple):
    """One framework."""

    distribution: str
    needs_code: bool
    """`LOOPGUARD_GUARD` alone does not guard it: it has no public hook for that."""
    how: str
    """The line to write."""
    why: str = ""
    """What its hooks lack."""


FRAMEWORKS: Final = (
    Framework(
        "langchain-core", needs_code=False,
        how="LOOPGUARD_GUARD refuses by an exception; answers and words need `guards.langchain.LoopguardMiddleware`",
    ),
    Framework(
        "openai-agents", needs_code=True,
        how="run `otel_loopguard.guards.openai_agents.guard_agent(agent, Guard())` in place of `agent`",
        why="its hooks and guardrails belong to an agent or a run, and its default runner is not public",
    ),
    Framework(
        "pydantic-ai-slim", needs_code=True,
        how="run it inside `with otel_loopguard.guards.pydantic_ai.guarding(agent, Guard()):`",
        why="its hooks belong to an agent; `instrument_all` only watches",
    ),
    Framework(
        "mcp", needs_code=True,
        how="call tools of `otel_loopguard.guards.mcp.GuardedSession(session, Guard())` in place of `session`",
        why="a client session has no hook around `call_tool`",
    ),
    Framework(
        "anthropic", needs_code=True,
        how="answer by `otel_loopguard.guards.anthropic_loop.ToolUses(Guard(), tools).answer(response.content)`",
        why="the loop that calls the tools is yours",
    ),
    Framework(
        "openai", needs_code=True,
        how="answer by `otel_loopguard.guards.openai_loop.ToolCalls(Guard(), tools).answer(message.tool_calls)`",
        why="the loop that calls the tools is yours",
    ),
)  # fmt: skip
"""Every framework with an adapter."""


def installed() -> list[tuple[Framework, str]]:
    """Those that are installed, with their versions."""
    found = []
    for framework in FRAMEWORKS:
        try:
            found.append((framework, version(framework.distribution)))
        except PackageNotFoundError:  # noqa: PERF203 - six of them
            continue
    return found
