"""What `loopguard serve` makes of a command line that a file shows."""

from __future__ import annotations

import click

from otel_loopguard.cli.main import main
from otel_loopguard.cli.serve import serve
from otel_loopguard.service.settings import ServeSettings, settings_from

__all__ = ["read_settings"]


def read_settings(arguments: list[str]) -> ServeSettings:
    """Its settings, read and validated by its own code; ``arguments`` begin with the command."""
    command, *flags = arguments
    assert main.get_command(click.Context(main), command) is serve
    given = serve.make_context("serve", flags).params
    return settings_from({name: value for name, value in given.items() if name not in {"config", "sample"}}, {}, {})
