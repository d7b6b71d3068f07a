"""`loopguard policy`: check a policy file, show what holds for a tool, print the JSON Schema or a built-in policy.

Not the rules themselves (`core.policy_rules`): here they are read from files and written to a terminal.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from otel_loopguard.core.policy_file.text import PolicyReading
    from otel_loopguard.core.policy_file.view import Setting, ToolView

__all__ = ["policy"]

_HELP: Final = """Check policy files and show what they mean.

    \b
    Examples:
      loopguard policy check policy.yaml
      loopguard policy show policy.yaml --tool get_logs
      loopguard policy schema > policy.schema.json
      loopguard policy builtin mcp_filesystem > policy.yaml
    """

_SCHEMA_HELP: Final = """Print the JSON Schema of policy files, for editors.

    An editor with the YAML language server takes it from the first line of a policy:

    \b
      # yaml-language-server: $schema=policy.schema.json
    """

_FILE = click.Path(allow_dash=True)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


@click.group(help=_HELP)
def policy() -> None:
    """Reserved for options of all policy commands."""


@policy.command()
@click.argument("file", type=_FILE)
@click.option(
    "--shortest-gap",
    type=click.IntRange(min=1),
    metavar="TURNS",
    help="The fewest turns between two equal calls that are both useful in your agent; the window must be smaller.",
)
@_json_option
@click.pass_context
def check(ctx: click.Context, file: str, shortest_gap: int | None, *, as_json: bool) -> None:
    """Say what is wrong in a policy FILE (`-`: standard input), and where.

    Exit code 0 where nothing is wrong, 2 otherwise. Warnings are about what works but is
    probably not meant.

    \b
    Example:
      loopguard policy check --shortest-gap 12 policy.yaml
    """  # noqa: D301 - click reads the mark
    from otel_loopguard.core.policy_file.advice import advice

    reading = _read(file)
    warnings = advice(reading, shortest_gap)
    if as_json:
        problems = [
            {"message": problem.reason, "path": problem.path, "line": problem.line, "column": problem.column}
            for problem in reading.problems
        ]
        listed = [{"message": item.message, "path": item.path, **_placed(item.place)} for item in warnings]
        _print_json({"file": file, "valid": not problems, "problems": problems, "warnings": listed})
    else:
        for problem in reading.problems:
            where = f":{problem.line}:{problem.column}" if problem.line is not None else ""
            click.echo(f"{file}{where}: error: {problem.reason} - at `{problem.path}`", err=True)
        for item in warnings:
            where = f":{item.place.line}:{item.place.column}" if item.place is not None else ""
            click.echo(f"{file}{where}: warning: {item.message} - at `{item.path}`", err=True)
        if reading.folded is not None:
            click.echo(f"{file}: {_summary(reading)}")
    ctx.exit(2 if reading.problems else 0)


@policy.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--tool", metavar="NAME", help="The tool whose settings to show; without it those of unnamed tools.")
@_json_option
def show(file: str | None, tool: str | None, *, as_json: bool) -> None:
    """Show the effective settings and where each value comes from.

    Without a FILE (`-`: standard input) the policy of this environment is shown: that of
    LOOPGUARD_POLICY, else the built-in one, under LOOPGUARD_MODE.

    \b
    Example:
      loopguard policy show policy.yaml --tool get_logs
    """  # noqa: D301 - click reads the mark
    from otel_loopguard.core.policy_file.view import policy_settings, view
    from otel_loopguard.errors import PolicyError

    name, reading, override = _of_environment() if file is None else (file, _read(file), None)
    try:
        shown = view(reading, tool)
    except PolicyError as error:
        raise PolicyError(f"{name}: {error.reason}", path=error.path, line=error.line, column=error.column) from None
    general = [_overridden(item, override) for item in policy_settings(reading)]
    settings = [_overridden(item, override) for item in shown.settings]
    if as_json:
        _print_json(
            {
                "tool": tool,
                "pattern": shown.pattern,
                "settings_of": shown.target,
                "policy": {item.name: _entry(item) for item in general},
                "settings": {item.name: _entry(item) for item in settings},
            }
        )
        return
    _print_tables(_title(shown), general, settings, shown.pattern)


@policy.command(help=_SCHEMA_HELP)
def schema() -> None:
    """Print the JSON Schema of policy files."""
    from otel_loopguard.core.policy_file.schema import policy_schema

    _print_json(policy_schema())


@policy.command()
@click.argument("name", required=False)
def builtin(name: str | None) -> None:
    """Print a ready-made policy for a family of tools; without a NAME list them.

    None of them is in force by itself: copy what fits into your policy.

    \b
    Example:
      loopguard policy builtin mcp_filesystem > policy.yaml
    """  # noqa: D301 - click reads the mark
    from importlib.resources import files

    found = {
        entry.name.removesuffix(".yaml"): entry.read_text("utf-8")
        for entry in files("otel_loopguard").joinpath("policies").iterdir()
        if entry.name.endswith(".yaml")
    }
    if name is None:
        for each in sorted(found):
            about = found[each].partition("\n")[0].removeprefix("# ")
            click.echo(f"{each:<18} {about}")
        return
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(f'`{each}`' for each in sorted(found))}"
        raise click.BadParameter(f"there is no built-in policy `{name}`, {hint}", param_hint="NAME")
    click.echo(found[name], nl=False)


def _read(file: str) -> PolicyReading:
    """A policy file, read; what is not text is a problem like any other."""
    from otel_loopguard.core.policy_file.document import MAX_CHARACTERS
    from otel_loopguard.core.policy_file.text import PolicyReading, read_policy
    from otel_loopguard.errors import PolicyError

    with click.open_file(file, "rb") as stream:
        content = stream.read(4 * MAX_CHARACTERS + 4)  # bytes of the longest text and one character more
    is_cut = len(content) > 4 * MAX_CHARACTERS  # perhaps within a character
    try:
        return read_policy(content.decode("utf-8-sig", "ignore" if is_cut else "strict"))
    except UnicodeDecodeError as error:
        line, before = content.count(b"\n", 0, error.start) + 1, content.rfind(b"\n", 0, error.start)
        problem = PolicyError("not UTF-8 text, save the file as UTF-8", line=line, column=error.start - before)
        return PolicyReading({}, None, (problem,), {})


def _of_environment() -> tuple[str, PolicyReading, tuple[str, str] | None]:
    """The file of this environment's policy, what it says, and the mode that it sets with the variable that does."""
    import os

    from otel_loopguard import names
    from otel_loopguard.config import Settings
    from otel_loopguard.core.policy_file.text import read_policy

    settings = Settings.read_strict(os.environ)
    reading = read_policy("{}") if settings.policy_file is None else _read(settings.policy_file)
    name = settings.policy_file or "built-in"
    if settings.mode is None:
        return name, reading, None
    return name, reading, (settings.mode, names.MODE if os.environ.get(names.MODE, "").strip() else names.GUARD)


def _overridden(setting: Setting, override: tuple[str, str] | None) -> Setting:
    from otel_loopguard.core.policy_file.view import Setting

    if override is None or setting.name != "mode":
        return setting
    mode, variable = override
    return Setting("mode", mode, variable)


def _placed(place: object) -> dict[str, int | None]:
    return {"line": getattr(place, "line", None), "column": getattr(place, "column", None)}


def _entry(setting: Setting) -> dict[str, object]:
    said = {"value": setting.value, "source": setting.source, "clamped": setting.clamped, "path": setting.path}
    return {**said, **_placed(setting.place)}


def _print_json(value: Mapping[str, object]) -> None:
    # ASCII: a value may hold characters that a terminal cannot show
    click.echo(json.dumps(value, indent=2, default=str))


def _summary(reading: PolicyReading) -> str:
    tools, patterns = len(reading.written.get("tools", {})), len(reading.written.get("match", {}))
    parts = [f"{tools} tool{'' if tools == 1 else 's'}", f"{patterns} pattern{'' if patterns == 1 else 's'}"]
    revision = reading.written.get("revision")
    return ", ".join(["good", *parts, *([f"revision {revision}"] if revision else [])])


def _title(shown: ToolView) -> str:
    if shown.tool is None:
        return "tools that are not named"
    if shown.pattern is not None:
        return f"{shown.tool}: fits `{shown.pattern}`, takes the settings of {shown.target}"
    return shown.tool if shown.target is not None else f"{shown.tool}: not named, no pattern fits"


def _source(setting: Setting, pattern: str | None, kind: object) -> str:
    words = {"kind": f"`kind: {kind}`", "match": f"match `{pattern}`"}.get(setting.source, setting.source)
    line = f", line {setting.place.line}" if setting.place is not None else ""
    return f"{words}{line}{', lowered to the window' if setting.clamped else ''}"


def _print_tables(title: str, general: list[Setting], settings: list[Setting], pattern: str | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    kind = next(item.value for item in settings if item.name == "kind")
    console = Console(width=None if sys.stdout.isatty() else 160)
    for heading, rows in (("policy", general), (title, settings)):
        table = Table(title=Text(heading, style="bold"), title_justify="left", box=None, pad_edge=False)
        for column in ("setting", "value", "from"):
            table.add_column(column, header_style="dim", overflow="fold")
        for item in rows:
            table.add_row(Text(item.name), Text(_shown(item.value)), Text(_source(item, pattern, kind), style="dim"))
        console.print(table)
        console.print()


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "-"
    return json.dumps(value, default=str) if value != {} else "-"
