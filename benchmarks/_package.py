"""Which package a benchmark measures: the compiled one or the interpreted one."""

from __future__ import annotations

import importlib
from typing import Final

__all__ = ["FLAG", "package"]

FLAG: Final = "--interpreted"
"""Asks for the Python sources."""


def package() -> str:
    """The one that is loaded in this process."""
    engine = importlib.import_module("otel_loopguard.core.engine")
    return "interpreted" if str(engine.__file__).endswith(".py") else "compiled"
