"""`loopguard run`: start a command with every tracer provider of its Python processes watched.

Not an instrumentation: it does what the start-up hook does where that is not installed or not wanted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from otel_loopguard import names
from otel_loopguard.errors import SettingError

__all__ = ["environment", "run", "start"]

_HELP: Final = """Run a command with otel-loopguard switched on, in it and in the processes that it starts.

    Every OpenTelemetry tracer provider that its Python processes make is watched, whoever
    makes it: your code, logfire, langfuse, phoenix, traceloop, openlit, mlflow. Nothing is
    written to the installation: the way in is a folder on PYTHONPATH whose `sitecustomize`
    runs the one that it hides. LOOPGUARD_ENABLED=true is set where the variable is not.

    \b
    Examples:
      loopguard run -- python agent.py
      loopguard run -- opentelemetry-instrument gunicorn app:agent
      LOOPGUARD_CONTENT=keep loopguard run -- pytest tests/agents

    Not reached are Pythons that ignore PYTHONPATH (`python -I`, `python -E`) and those that
    have no otel-loopguard installed.
    """

STARTUP: Final = Path(__file__).resolve().parent / "startup"
"""Holds `sitecustomize` and nothing else: what lies beside it could be imported by accident."""


@click.command(help=_HELP, context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def run(command: Sequence[str]) -> None:
    """Become the command, so that signals, exit code and process id are its own."""
    start(command, environment(os.environ))


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Python processes are watched; a switch that is set to off stays off."""
    held = environ.get("PYTHONPATH", "")
    path = [part for part in held.split(os.pathsep) if part != str(STARTUP)] if held else []
    changed = {**environ, "PYTHONPATH": os.pathsep.join([str(STARTUP), *path])}
    if not environ.get(names.ENABLED, "").strip():
        changed[names.ENABLED] = "true"
    return changed


def start(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Replace this process by a command; where the system cannot, run it and end with its exit code.

    Raises `SettingError` where it cannot be started.
    """
    try:
        if os.name == "posix":
            os.execvpe(command[0], list(command), environ)  # noqa: S606 - the command is the user's, no shell is wanted
        import subprocess
        import sys

        sys.exit(subprocess.run(command, env=environ, check=False).returncode)  # noqa: S603
    except OSError as error:
        raise SettingError(f"cannot start `{command[0]}`: {error.strerror}", name=command[0]) from None
