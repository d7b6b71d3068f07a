"""A hand-written loop over decorated functions and coroutines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from otel_loopguard.errors import LoopDetected
from otel_loopguard.guards import Guard
from otel_loopguard.guards.functions import guarded, step
from tests.guards.script import ANSWER, TOOLS, Boom, Model, Script, Tools, Transcript

__all__ = ["Coroutines", "Functions"]


class Functions:
    """Plain functions."""

    name = "functions"
    raises = True
    tells_rejections = True
    batches = False
    nests = True

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:  # noqa: ARG002
        """Call the functions in a loop."""
        model, seen = Model(script), Transcript(tools.ran)
        functions = {name: self.wrap(getattr(tools, name), guard) for name in TOOLS}
        if guard is not None:
            functions["report_blocked"] = self.wrap(guard.report_blocked, guard)
        try:
            while calls := model.next():
                with step():
                    self.dispatch(calls, functions, model)
            seen.answer = ANSWER
        except LoopDetected as stop:
            seen.stop = stop
        except Boom as error:
            seen.raised = error
        seen.heard, seen.conversation = model.heard, json.dumps(model.heard)
        return seen

    def wrap(self, function: Callable[..., str], guard: Guard | None) -> Callable[..., Any]:
        """The function as the application calls it."""
        return function if guard is None else guarded(guard)(function)

    def dispatch(self, calls: list[Any], functions: dict[str, Callable[..., Any]], model: Model) -> None:
        """One decision's calls, one after the other."""
        for _, tool, arguments in calls:
            model.hear(functions[tool](**arguments))


class Coroutines(Functions):
    """Coroutine functions, those of one decision side by side."""

    name = "coroutines"

    def wrap(self, function: Callable[..., str], guard: Guard | None) -> Callable[..., Any]:
        """The coroutine function as the application awaits it."""

        async def call(**arguments: str) -> str:
            await asyncio.sleep(0)
            return function(**arguments)

        call.__name__ = function.__name__
        return call if guard is None else guarded(guard)(call)

    def dispatch(self, calls: list[Any], functions: dict[str, Callable[..., Any]], model: Model) -> None:
        """One decision's calls at once."""

        async def all_of_them() -> list[Any]:
            return await asyncio.gather(*(functions[tool](**arguments) for _, tool, arguments in calls))

        for result in asyncio.run(all_of_them()):
            model.hear(result)
