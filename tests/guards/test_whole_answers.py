"""A read that is answered from memory is answered with all that it brought, or not at all."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from tests.guards.script import Model, Script, guard_for, process_for

SAME = {"query": "why"}


def need(package: str) -> None:
    """Skip where a framework is not there, unless all must be."""
    if "LOOPGUARD_TEST_FRAMEWORKS" not in os.environ:
        pytest.importorskip(package, reason=f"needs `{package}`: make test-guards")


def test_structured_content_of_mcp() -> None:
    """Both the content and the structured content come back, with one more text, and the server was asked once."""
    need("mcp")
    from mcp.types import CallToolResult

    from otel_loopguard.guards.mcp import GuardedSession

    asked = []
    whole = {
        "content": [
            {"type": "text", "text": '{"hits": 2}'},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
        ],
        "structuredContent": {"hits": 2, "names": ["a", "b"]},
    }

    class Session:
        """A session that counts."""

        async def call_tool(self, name: str, arguments: Any) -> CallToolResult:  # noqa: ANN401, ARG002
            """The same again."""
            asked.append(name)
            return CallToolResult.model_validate(whole)

    session = GuardedSession(Session(), guard_for(process_for()))

    async def both() -> list[dict[str, Any]]:
        results = [await session.call_tool("search", SAME) for _ in range(3)]
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in results]

    first, second, third = asyncio.run(both())
    assert asked == ["search"]
    assert second["structuredContent"] == first["structuredContent"] == whole["structuredContent"]
    assert second["content"][:2] == first["content"]
    assert "[loopguard]" in second["content"][2]["text"]
    assert second.get("isError", False) is False
    assert third["isError"] is True
    assert "The earlier result: " in third["content"][0]["text"]


def langchain(content: Any, artifact: Any) -> tuple[list[Any], int]:  # noqa: ANN401
    """What a model hears of a read that brings this twice, and how often it ran."""
    need("langchain")
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import StructuredTool

    from otel_loopguard.guards.langchain import LoopguardMiddleware
    from tests.guards.drivers.langchain import Scripted

    ran = []

    def search(query: str) -> Any:  # noqa: ANN401
        ran.append(query)
        return content, artifact

    tool = StructuredTool.from_function(search, description="Look.", response_format="content_and_artifact")
    graph = create_agent(
        Scripted(script=Model(Script.stubborn(("search", SAME), times=2))), [tool],
        middleware=[LoopguardMiddleware(guard_for(process_for()))],
    )  # fmt: skip
    state = graph.invoke({"messages": [HumanMessage("go")]})
    return [one for one in state["messages"] if isinstance(one, ToolMessage)], len(ran)


def test_blocks_of_langchain() -> None:
    """A list of content blocks is a list of blocks again, with one more."""
    blocks = [{"type": "text", "text": "2 hits"}, {"type": "image", "url": "https://example.org/a.png"}]
    (first, second), ran = langchain(blocks, None)
    assert ran == 1
    assert first.content == blocks
    assert second.content[:2] == blocks
    assert "[loopguard]" in second.content[2]["text"]


def test_artifacts_of_langchain() -> None:
    """What hangs on a message for the application cannot be kept, so the tool runs again."""
    (first, second), ran = langchain("2 hits", {"rows": object()})
    assert ran == 2
    assert first.artifact is not None
    assert second.artifact is not None
    assert "[loopguard]" in second.content


def test_tool_returns_of_pydantic_ai() -> None:
    """What a tool says beside its return value cannot be kept, so the tool runs again; without it, it runs once."""
    need("pydantic_ai")
    from pydantic_ai import Agent, ToolReturn
    from pydantic_ai.models.function import FunctionModel

    from otel_loopguard.guards.pydantic_ai import guarding
    from tests.guards.drivers.pydantic_ai import Scripted

    for more, times in (({}, 1), ({"content": ["a picture"]}, 2), ({"metadata": {"rows": 2}}, 2)):
        ran: list[str] = []

        def search(query: str) -> Any:  # noqa: ANN401
            ran.append(query)  # noqa: B023 - run before the next one is made
            return ToolReturn("2 hits", **more)  # type: ignore[arg-type] # noqa: B023

        model = Model(Script.stubborn(("search", SAME), times=2))
        agent: Any = Agent(FunctionModel(Scripted(model).answer), tools=[search])
        with guarding(agent, guard_for(process_for())):
            asyncio.run(agent.run("go"))
        assert len(ran) == times
        assert "[loopguard]" in model.heard[1]
