"""Which agent frameworks are here, and whether `LOOPGUARD_GUARD` guards them. Not their guarding."""

from __future__ import annotations

from collections.abc import Mapping

from otel_loopguard.config import Settings
from otel_loopguard.guards.frameworks import installed

from .check import Check

__all__ = ["check_guards"]


def check_guards(environ: Mapping[str, str]) -> list[Check]:
    """One line for each framework where the variable is set; none where no guard is asked for."""
    mode = Settings.read(environ).guard
    if mode is None:
        return []
    checks = []
    for framework, version in installed():
        name = f"{framework.distribution} {version}"
        if framework.needs_code:
            text = f"{name} has no public hook for a guard without code: LOOPGUARD_GUARD does not reach it"
            checks.append(Check("guards", "warning", text, framework.how))
        else:
            checks.append(Check("guards", "ok", f"{name} is guarded, mode {mode}", framework.how))
    return checks or [Check("guards", "warning", "LOOPGUARD_GUARD is set and no framework with a guard is installed")]
