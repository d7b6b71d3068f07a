"""A hold on an object that is to live as long as somebody has a hold on it, and that cannot be held weakly itself.

Compiled objects cannot; the hold can, so whoever only wants to reach the object refers to that. Not a registry.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

from otel_loopguard.core.referable import Referable

__all__ = ["Hold"]

T = TypeVar("T")


class Hold(Referable, Generic[T]):
    """One of the holds on an object."""

    def __init__(self, item: T) -> None:
        self.item = item

    def after_fork(self, act: Callable[[T], None]) -> None:
        """Do something with the object in every forked child, as long as this is held."""
        if not hasattr(os, "register_at_fork"):
            return
        held = ref(self)

        def in_child() -> None:
            hold = held()
            if hold is not None:
                act(hold.item)

        os.register_at_fork(after_in_child=in_child)
