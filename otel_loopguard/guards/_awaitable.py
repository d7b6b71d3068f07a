"""What may be awaited, asked so that nothing of the host's raises.

Not the awaiting.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeGuard

__all__ = ["is_awaitable", "is_coroutine_function"]


def is_awaitable(result: object) -> TypeGuard[Awaitable[Any]]:
    """Whether a result is awaited for its value; one that cannot be asked is not."""
    try:
        return inspect.isawaitable(result)
    except Exception:  # noqa: BLE001 - it goes to the caller as it is
        return False


def is_coroutine_function(function: Callable[..., object]) -> bool:
    """Whether calling it makes a coroutine, of an object with an `async def __call__` too."""
    while isinstance(function, partial):
        function = function.func
    called = vars(type(function)).get("__call__")
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
