"""Whether the installed package is the compiled one, which does the same in less time."""

from __future__ import annotations

from .check import Check

__all__ = ["check_package"]


def check_package() -> Check:
    """What was installed; either is complete."""
    from otel_loopguard.core import engine

    is_interpreted = str(engine.__file__).endswith(".py")
    text = "interpreted: every module is Python" if is_interpreted else "compiled: reading and judging are native code"
    return Check("package", "info", text)
