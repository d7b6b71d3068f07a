"""An MCP client session in a hand-written loop, with a real server at the other end of a stream in memory."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from typing import Any

from otel_loopguard.errors import LoopDetected
from otel_loopguard.guards import Guard
from otel_loopguard.guards.mcp import GuardedSession, step
from tests.guards.script import ANSWER, TOOLS, Model, Script, Tools, Transcript

__all__ = ["Session"]


def connected(tools: Tools) -> AbstractAsyncContextManager[Any]:
    """A client session with a server that has the tools."""
    try:
        from mcp.client.client import Client
        from mcp.server.mcpserver import MCPServer

        server: Any = MCPServer("tools")
        opened: Any = Client(server)
    except ImportError:
        from mcp.server.fastmcp import FastMCP
        from mcp.shared.memory import create_connected_server_and_client_session

        server = FastMCP("tools")
        opened = create_connected_server_and_client_session(server)
    for name in TOOLS:
        server.tool(name=name)(getattr(tools, name))
    return opened


class Session:
    """`call_tool`."""

    name = "mcp"
    raises = False
    tells_rejections = False
    batches = False
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:
        """Loop until the model has no more calls."""
        model, seen = Model(script), Transcript(tools.ran)

        async def loop() -> None:
            async with connected(tools) as opened:
                session = opened if guard is None else GuardedSession(opened, guard, agent=agent, report_blocked=True)
                while calls := model.next():
                    with step():
                        for _, tool, arguments in calls:
                            try:
                                result = await session.call_tool(tool, dict(arguments))
                            except LoopDetected as stop:
                                seen.stop = stop
                                return
                            model.hear("\n".join(block.text for block in result.content))
            seen.answer = ANSWER

        asyncio.run(loop())
        seen.heard, seen.conversation = model.heard, json.dumps(model.heard)
        return seen
