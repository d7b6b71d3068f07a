"""Coroutine functions among the tools of a loop that awaits nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from otel_loopguard import names
from otel_loopguard.errors import SettingError
from otel_loopguard.guards import Allow
from otel_loopguard.guards.anthropic_loop import ToolUses
from otel_loopguard.guards.openai_loop import ToolCalls
from tests.guards.script import guard_for, process_for


class Called:
    """An object that is called like a coroutine function."""

    async def __call__(self, order: str) -> str:
        """Never awaited."""
        return order


async def refund(order: str) -> str:
    """Never awaited."""
    return order


KINDS = ["function", "partial", "object", "method"]


@pytest.mark.parametrize("tool", [refund, partial(refund), Called(), Called().__call__], ids=KINDS)
@pytest.mark.parametrize("mode", ["observe", "nudge", "enforce"])
def test_a_coroutine_function_in_a_synchronous_loop_is_an_error(mode: str, tool: Callable[..., Any]) -> None:
    """It names the tool and the way out, before anything of the step is dispatched; asynchronously the same works."""
    process, ran = process_for(), list[str]()
    uses = ToolUses(guard_for(process, mode=mode), {"note": ran.append, "refund": tool})
    calls = ToolCalls(guard_for(process, mode=mode), {"refund": tool})
    content = [{"type": "tool_use", "id": name, "name": name, "input": {"order": "A1"}} for name in ("note", "refund")]
    with pytest.raises(SettingError, match=r"`refund`.*answer_async"):
        uses.answer(content)
    with pytest.raises(SettingError, match=r"`refund`.*answer_async"):
        calls.answer([{"id": "c1", "function": {"name": "refund", "arguments": '{"order": "A1"}'}}])
    assert (ran, process.live.counters.total(names.TOOL_CALLS)) == ([], 0)
    assert asyncio.run(uses.answer_async(content[1:])).content[0]["content"] == "A1"


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_a_function_that_makes_a_coroutine_is_no_call_where_nobody_awaits(mode: str) -> None:
    """Only its result tells: the coroutine never began, so nothing is counted, and each call has its answer."""
    process = process_for()
    uses = ToolUses(guard_for(process, mode=mode), {"refund": lambda order: refund(order=order)}, on_error=str)
    content = [{"type": "tool_use", "id": f"t{place}", "name": "refund", "input": {"order": place}} for place in "12"]
    with pytest.raises(SettingError, match=r"`refund`.*answer_async"):
        uses.answer(content)
    assert uses.interrupted is not None
    assert [block["tool_use_id"] for block in uses.interrupted.content] == ["t1", "t2"]
    assert process.live.counters.total(names.TOOL_CALLS) == 0
    assert isinstance(uses._session.guard.before("refund", {"order": "1"}, run=uses.run), Allow)
