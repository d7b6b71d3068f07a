"""Which HTTP library a client speaks through: its server is replaced by a scripted model there."""

from __future__ import annotations

from types import ModuleType
from typing import Any

__all__ = ["httpx_of"]


def httpx_of(library: ModuleType) -> Any:  # noqa: ANN401 - httpx, in whichever edition
    """The module of the client's default HTTP client."""
    import sys

    default: type = library.DefaultHttpxClient
    return sys.modules[
        next(base.__module__ for base in default.__mro__ if base.__module__.startswith("httpx")).split(".")[0]
    ]
