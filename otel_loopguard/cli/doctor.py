"""`loopguard doctor`: what would keep loops from being found in this environment, and what to set.

Not the looking (`diagnosis`): here are options, a list and a JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from .diagnosis import Check, Installed

__all__ = ["doctor"]

_HELP: Final = """Say what would keep loops from being found in this environment, and what to set.

    Run it where the agent runs, with the agent's variables. It looks at the switch, key,
    redaction and policy, at the instrumentations that are installed and whether each shows
    arguments and results, at samplers and attribute limits, starts a Python process and sees
    which tracer providers are watched there, and asks the OTLP endpoint with an empty request.
    With a command it runs that as `loopguard run` does, and tells which providers it makes.

    \b
    Examples:
      loopguard doctor
      loopguard doctor --json | jq '.checks[] | select(.level == "error")'
      loopguard doctor -- python agent.py

    Exit code 1 where something prevents detection. Secrets and header values are never shown.
    """

_MARKS: Final = {"ok": ("ok", "green"), "info": ("-", ""), "warning": ("!", "yellow"), "error": ("x", "bold red")}
PREVENTED: Final = 1


@click.command(help=_HELP, context_settings={"ignore_unknown_options": True})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--offline", is_flag=True, help="Do not ask the OTLP endpoint.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.pass_context
def doctor(ctx: click.Context, *, as_json: bool, offline: bool, command: Sequence[str]) -> None:
    """Reserved: the help text stands above."""
    from otel_loopguard_autoload import is_enabled

    from .diagnosis import (
        check_endpoint,
        check_guards,
        check_package,
        check_providers,
        check_sampling,
        check_settings,
        installed,
    )

    environ = dict(os.environ)
    found = installed(environ)
    checks = [*check_settings(environ), *_visibility(found), *check_sampling(environ), *check_guards(environ)]
    checks.append(check_package())
    if is_enabled(environ):
        checks += check_providers(environ, command)
    if not offline:
        checks.append(check_endpoint(environ))
    if as_json:
        click.echo(json.dumps(_as_object(found, checks), indent=2))
    else:
        _print(found, checks)
    ctx.exit(PREVENTED if any(check.level == "error" for check in checks) else 0)


def _visibility(found: Sequence[Installed]) -> list[Check]:
    """Whether any call can be told from another."""
    from .diagnosis import Check

    if not found:
        text = "no instrumentation that is known is installed: only spans of your own making are seen"
        return [Check("instrumentations", "warning", text, "install one of those in the README")]
    if any(one.visible for one in found):
        return []
    if any(one.instrumentation.heard for one in found):
        text = (
            "arguments are heard from the model alone and results are not seen: only calls in a row are told as loops"
        )
        way_out = next(one.way_out for one in found if one.instrumentation.heard)
        return [Check("instrumentations", "warning", text, way_out)]
    ways = sorted({one.way_out for one in found if one.way_out})
    text = "none of the installed instrumentations shows what tools are called with: every call is unknown"
    return [Check("instrumentations", "error", text, "; ".join(ways) or "install one that does, see the README")]


def _as_object(found: Sequence[Installed], checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "prevented": any(check.level == "error" for check in checks),
        "checks": [
            {"subject": one.subject, "level": one.level, "text": one.text, "way_out": one.way_out or None}
            for one in checks
        ],
        "instrumentations": [
            {
                "name": one.instrumentation.name,
                "distribution": one.instrumentation.distribution,
                "version": one.version,
                "tried": one.instrumentation.tried,
                "calls": one.instrumentation.calls,
                "arguments_visible": one.visible,
                "arguments_heard": one.instrumentation.heard,
                "way_out": one.way_out or None,
            }
            for one in found
        ],
    }


def _print(found: Sequence[Installed], checks: Sequence[Check]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table(box=None, pad_edge=False, show_header=False)
    for subject in dict.fromkeys(check.subject for check in checks):
        for check in (one for one in checks if one.subject == subject):
            mark, style = _MARKS[check.level]
            text = Text(check.text)
            if check.way_out:
                text.append(f"\n-> {check.way_out}", style="dim")
            table.add_row(Text(mark, style=style), Text(subject), text)
    console.print(table)
    if found:
        console.print()
        console.print(_instrumentations(found))
    errors = sum(check.level == "error" for check in checks)
    console.print()
    words = (
        f"{errors} of these prevent{'s' if errors == 1 else ''} detection" if errors else "nothing prevents detection"
    )
    console.print(Text(words, style="bold red" if errors else "green"))


def _instrumentations(found: Sequence[Installed]) -> Any:  # noqa: ANN401 - rich is imported where it is used
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("instrumentation", "version", "tried with", "arguments and results", "to see them"):
        table.add_column(column, header_style="dim", overflow="fold")
    for one in found:
        known = one.instrumentation
        seen = "visible" if one.visible else "arguments heard" if known.heard else "not visible"
        seen = {"none": "writes no tool spans", "logs": f"{seen}, in logs alone"}.get(known.calls, seen)
        way_out = one.way_out or ("" if one.visible or known.calls == "none" else "nothing shows them")
        table.add_row(*map(Text, (known.name, one.version, known.tried, seen, way_out)))
    return table
