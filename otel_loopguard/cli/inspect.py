"""`loopguard inspect`: how each span of some files is read, for people who miss one or write a convention.

Not the reading (`replay.inspection`): here are options, a table and lines of JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from otel_loopguard.errors import RecordError

if TYPE_CHECKING:
    from rich.console import Console

    from otel_loopguard.conventions import Record
    from otel_loopguard.core.fingerprint import Fingerprinter
    from otel_loopguard.replay.inspection import Inspected
    from otel_loopguard.replay.source import Source

__all__ = ["inspect"]

_HELP: Final = """Show how recorded spans are read: by which convention, and as which tool call.

    Reads OTLP/JSON as the Collector's file exporter writes it, and what the SDK's console
    exporters print; plain or gzipped; files, folders (*.jsonl, *.json, and the same with .gz)
    and `-` for standard input. No value of an argument or a result is shown: only what kind
    it is, and a fingerprint, by which equal calls can be told (of the key of this
    environment, else of one that is thrown away).

    \b
    Examples:
      loopguard inspect traces.jsonl
      OTEL_TRACES_EXPORTER=console python agent.py | loopguard inspect --skip-bad -
      loopguard inspect --json spans/ | jq 'select(.read_as == "unread call")'

    Spans that look like tool calls and were not read are listed with the attributes that make
    them look so. With --json, one object a span:

    \b
      {"file", "line", "name", "signal", "scope", "read_as", "conventions", "looks",
       "call": {"tool", "fingerprint", "unknown", "arguments", "result", "call_id", "is_error",
                "error_type", "agent", "run_id", "run_named", "inside"} or null}
    """

_COLUMNS: Final = ("span", "read as", "by", "tool", "fingerprint", "arguments", "result", "error", "agent", "run")
_STYLES: Final = {"call": "green", "unread call": "bold yellow", "no call": "dim", "other": "dim"}
_DIGITS: Final = 8
"""Of a fingerprint in the table: enough to tell the calls of a file apart by eye."""


@click.command(help=_HELP)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a span instead of tables.")
@click.option("--calls", is_flag=True, help="Leave out spans that are no calls and do not look like one.")
@click.option("--skip-bad", is_flag=True, help="Count and report what cannot be read instead of stopping there.")
def inspect(paths: Sequence[str], *, as_json: bool, calls: bool, skip_bad: bool) -> None:
    """Reserved: the help text stands above."""
    from otel_loopguard.core.policy import Policy
    from otel_loopguard.core.reader import CallReader
    from otel_loopguard.replay.inspection import inspect_records
    from otel_loopguard.replay.source import find_sources

    reader = CallReader(Policy(), _fingerprinter())
    skipped: list[RecordError] = []
    counts: Counter[str] = Counter()
    for source in find_sources(paths):
        lines, records = _records(source, skipped if skip_bad else None)
        found = [
            (line, one)
            for line, one in zip(lines, inspect_records(records, reader), strict=True)
            if not calls or one.read_as in {"call", "unread call"}
        ]
        counts.update(one.read_as for _, one in found)
        if as_json:
            for line, one in found:
                click.echo(json.dumps({"file": source.name, "line": line, **asdict(one)}))
        elif found:
            _print(source.name, [one for _, one in found])
    if skipped:
        click.echo(f"warning: skipped {len(skipped)} that cannot be read, the first: {skipped[0]}", err=True)
    if not as_json:
        words = ", ".join(f"{counts[kind]} {kind}" for kind in counts)
        click.echo(f"{counts.total()} spans and log records: {words}" if counts else "no spans found")


def _fingerprinter() -> Fingerprinter:
    import os

    from otel_loopguard.config import Settings
    from otel_loopguard.core.fingerprint import fingerprinter
    from otel_loopguard.keys import load_keyring

    return fingerprinter(load_keyring(Settings.read_strict(os.environ)), "environment", "")


def _records(source: Source, skipped: list[RecordError] | None) -> tuple[list[int], list[Record]]:
    """The records of a file, each with the line where its document begins."""
    from otel_loopguard.replay.documents import documents

    lines: list[int] = []
    records: list[Record] = []

    def bad(error: RecordError) -> None:
        named = RecordError(error.reason, source=source.name, line=error.line)
        if skipped is None:
            raise named from None
        skipped.append(named)

    def take(line: int, document: object) -> None:
        try:
            for record in _of(document):
                lines.append(line)
                records.append(record)
        except RecordError as error:
            bad(RecordError(error.reason, line=line))

    for line, document in documents(source.text(sys.stdin.buffer), bad):
        take(line, document)
    return lines, records


def _of(document: object) -> Iterator[Record]:
    from otel_loopguard.stream.console_json import console_records
    from otel_loopguard.stream.otlp_json import REQUESTS, records

    is_request = isinstance(document, dict) and not REQUESTS.isdisjoint(document)
    return records(document) if is_request else console_records(document)


def _print(name: str, found: Sequence[Inspected]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(box=None, pad_edge=False, title=Text(_shown(name), style="bold"), title_justify="left")
    rows = [_row(one) for one in found]
    shown = [index for index in range(len(_COLUMNS)) if any(row[index] for row in rows)]
    for index in shown:
        table.add_column(_COLUMNS[index], header_style="dim", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(row[index]), style=_STYLES.get(row[index], "")) for index in shown))
    console.print(table)
    _print_looks(console, found)
    console.print()


def _print_looks(console: Console, found: Sequence[Inspected]) -> None:
    from rich.text import Text

    for one in found:
        if one.looks:
            words = f"{_shown(one.name)} looks like a tool call and is not read, by {', '.join(map(_shown, one.looks))}"
            console.print(Text(words, style="yellow"))


def _row(one: Inspected) -> tuple[str, ...]:
    head = (one.name, one.read_as, one.conventions[0] if one.conventions else "")
    call = one.call
    if call is None:
        return (*head, "", "", "", "", "", "", "")
    mark = call.fingerprint[:_DIGITS] if call.fingerprint is not None else f"unknown ({call.unknown})"
    error = (call.error_type or "yes") if call.is_error else ""
    run = call.run_id if call.run_named else "of its trace"
    same = f" (same call as {call.inside})" if call.inside is not None else ""
    return (*head, call.tool + same, mark, call.arguments, call.result, error, call.agent, run)


def _shown(text: str) -> str:
    """A name as one line of text: what would move the cursor, or has no encoding, is spelled out."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
