"""What may be awaited, asked so that nothing of the host's raises.

Not the awaiting.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any, TypeGuard

__all__ = ["is_awaitable"]


def is_awaitable(result: object) -> TypeGuard[Awaitable[Any]]:
    """Whether a result is awaited for its value; one that cannot be asked is not."""
    try:
        return inspect.isawaitable(result)
    except Exception:  # noqa: BLE001 - it goes to the caller as it is
        return False
