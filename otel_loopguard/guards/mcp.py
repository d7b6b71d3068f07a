"""MCP client sessions (`mcp` 1.23 and newer, its 2.x `Client` too): a session whose `call_tool` is guarded.

Not the server's side. A client session does not know which calls one model decision made: say it with `step`.

A server makes an error result of whatever its tool raised, and the kind of it is lost: of a write nobody knows whether
it took effect, as when the session itself raises because the server is gone. Neither is sent again.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Any, Final

from opentelemetry import trace

from otel_loopguard.core.explain import REPORT_BLOCKED
from otel_loopguard.errors import MissingExtraError

from ._answer import Nudge, Refuse, is_a, text_of
from ._checkpoint import REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._guard import Guard
from ._option import require, require_callable, require_flag, require_guard, require_name
from ._step import current_step, step

try:
    from mcp.types import CallToolResult, TextContent, Tool
except ImportError as error:
    raise MissingExtraError("mcp") from error

__all__ = ["GuardedSession", "step"]

_REPORT: Final = {
    "name": REPORT_BLOCKED, "description": REPORT_BLOCKED_WORDS, "inputSchema": dict(REPORT_BLOCKED_SCHEMA)
}  # fmt: skip


class GuardedSession:
    """Everything of a session but `call_tool` is the session's own.

    A refused call is answered with an error result in its place; when the agent is to be stopped, `call_tool` raises
    `LoopDetected`.
    """

    def __init__(  # noqa: PLR0913 - what an application may say of its agent
        self,
        session: Any,  # noqa: ANN401 - a session or a client, of either major version
        guard: Guard,
        *,
        server: str = "",
        agent: str | None = None,
        run: str | None = None,
        report_blocked: bool = False,
    ) -> None:
        """Guard the calls of a session.

        Args:
            session: The session; it is not changed.
            guard: Whom to ask.
            server: Goes before the tools' names, where servers have tools of one name: `mcp__SERVER__TOOL`.
            agent: The agent's name.
            run: The run, where `otel_loopguard.run()` names none; by default one of this object's own.
            report_blocked: `list_tools` shows a tool of that name beside the server's, which is answered here.

        """
        require_callable("session", getattr(session, "call_tool", session), "a session or client that has `call_tool`")
        require_guard(guard)
        require("server", server, str, "a text; leave it out where servers have no tool names in common")
        require_name("agent", agent)
        require_name("run", run)
        require_flag("report_blocked", report_blocked)
        self._session = session
        self._guard = guard
        self._prefix = f"mcp__{server}__" if server else ""
        self._agent = agent
        self._given_run = run
        self._own_run = f"session-{token_hex(8)}"
        self._reports = report_blocked

    @property
    def run(self) -> str:
        """The run of the calls, where `otel_loopguard.run()` names none: for `Guard.finish(..., run=...)`."""
        return self._given_run or self._own_run

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "_session" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)  # asked of a copy or pickle before it holds a session
        return getattr(self._session, name)

    async def list_tools(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401
        """As the session; the guard learns the names."""
        found = await self._session.list_tools(*args, **more)
        self._guard.knows(*(self._prefix + tool.name for tool in found.tools))
        if not self._reports or getattr(found, "nextCursor", None) or getattr(found, "next_cursor", None):
            return found
        self._guard.knows(REPORT_BLOCKED)
        return found.model_copy(update={"tools": [*found.tools, Tool.model_validate(_REPORT)]})

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **more: Any) -> Any:  # noqa: ANN401
        """Call a tool, or answer in its place."""
        guard = self._guard
        is_report = self._reports and name == REPORT_BLOCKED
        decision = guard.before(
            name if is_report else self._prefix + name, arguments or {}, turn=current_step(), run=self._given_run,
            agent=self._agent, default_run=None if _is_traced() else self._own_run,
            conversation=guard.call_around() or self._own_run,
        )  # fmt: skip
        if isinstance(decision, Nudge):
            kept = decision.answer or _dumped(_result([], failed=False))
            return _with_words(CallToolResult.model_validate(kept), decision.text)
        if isinstance(decision, Refuse):
            if decision.stop is not None:
                raise guard.ended(decision.stop)
            return _result([decision.text], failed=True)
        try:
            with guard.inside(decision.call):
                if is_report:
                    result = _result([guard.report(**(arguments or {}))], failed=False)
                else:
                    result = await self._session.call_tool(name, arguments, *args, **more)
        except BaseException as error:
            guard.failed(decision.call, error)
            raise
        if not is_a(result, CallToolResult):
            guard.after(decision.call)
            return result
        value, failed = _value(result), _failed(result)
        message = text_of(value) if failed else None
        after = guard.after(decision.call, value, is_error=failed, error_message=message, keep=_dumped(result))
        return _with_words(result, after.text) if isinstance(after, Nudge) else result


def _is_traced() -> bool:
    """Whether a trace tells conversations apart: one session often serves many."""
    return trace.get_current_span().get_span_context().is_valid


def _failed(result: CallToolResult) -> bool:
    return bool(getattr(result, "is_error", None) or getattr(result, "isError", None))


def _value(result: CallToolResult) -> object:
    """What came back: one text, texts, or the whole content as plain data."""
    texts = [block.text if isinstance(block, TextContent) else None for block in result.content]
    if any(text is None for text in texts):
        return {"content": [block.model_dump(mode="json") for block in result.content]}
    return texts[0] if len(texts) == 1 else texts


def _with_words(result: CallToolResult, text: str) -> CallToolResult:
    """The same result, structured content and all, with one more text."""
    return result.model_copy(update={"content": [*result.content, TextContent(type="text", text=text)]})


def _dumped(result: CallToolResult) -> dict[str, Any]:
    """All of a result as plain data, to be given again; what is about the one request is left out."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})


def _result(texts: list[str], *, failed: bool) -> CallToolResult:
    content = [{"type": "text", "text": text} for text in texts]
    return CallToolResult.model_validate({"content": content, "isError": failed})
