"""JSON text of an object or a list, as instrumentations write arguments and results.

A file of its own, because a compiled module cannot hold a class that extends `str`.
"""

from __future__ import annotations

__all__ = ["Json"]


class Json(str):
    """JSON text of an object or a list, to tell it from a text that only looks like it."""

    __slots__ = ()
