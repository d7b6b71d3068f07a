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


FRAMEWORKS: Final = (
    Framework(
        "langchain-core", needs_code=False,
        how="LOOPGUARD_GUARD refuses by an exception; answers and words need `guards.langchain.LoopguardMiddleware`",
    ),
    Framework("openai-agents", needs_code=True, how="run `guards.openai_agents.guard_agent(agent, Guard())`"),
    Framework("pydantic-ai-slim", needs_code=True, how="run inside `guards.pydantic_ai.guarding(agent, Guard())`"),
    Framework("mcp", needs_code=True, how="call tools through `guards.mcp.GuardedSession(session, Guard())`"),
    Framework("anthropic", needs_code=True, how="answer tool uses by `guards.anthropic_loop.ToolUses(Guard(), tools)`"),
    Framework("openai", needs_code=True, how="answer tool calls by `guards.openai_loop.ToolCalls(Guard(), tools)`"),
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
