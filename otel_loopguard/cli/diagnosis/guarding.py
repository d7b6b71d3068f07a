"""Which agent frameworks are here, and whether `LOOPGUARD_GUARD` guards them. Not their guarding."""

from __future__ import annotations

from collections.abc import Mapping

from otel_loopguard.config import Settings
from otel_loopguard.guards.frameworks import installed

from .check import Check

__all__ = ["check_guards"]


def check_guards(environ: Mapping[str, str]) -> list[Check]:
    """One line for each framework where the variable is set; none where no guard is asked for."""
    settings = Settings.read(environ)
    mode = settings.guard
    if mode is None:
        return []
    if not settings.enabled:
        text = "LOOPGUARD_GUARD is set and LOOPGUARD_ENABLED is not, so nothing is installed"
        return [Check("guards", "warning", text, "set LOOPGUARD_ENABLED=true")]
    checks = []
    for framework, version in installed():
        name = f"{framework.distribution} {version}"
        if framework.needs_code:
            text = f"LOOPGUARD_GUARD does not reach {name}: {framework.why}"
            checks.append(Check("guards", "warning", text, framework.how))
        else:
            checks.append(Check("guards", "ok", f"{name} is guarded, mode {mode}", framework.how))
    return checks or [Check("guards", "warning", "LOOPGUARD_GUARD is set and no framework with a guard is installed")]
