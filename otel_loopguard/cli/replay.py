"""`loopguard replay`: judge recorded runs with the engine that judges live ones, for people or for programs.

Not the reading or judging (`replay`): here are options, a table, lines of JSON and an exit code.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

import click

from otel_loopguard.errors import PolicyError, RecordError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from otel_loopguard.config import Settings
    from otel_loopguard.core.policy import Policy
    from otel_loopguard.replay.run import Report, RunVerdict
    from otel_loopguard.replay.source import Line, Source
    from otel_loopguard.replay.traces import RecordedRun, Traces

__all__ = ["replay"]

_HELP: Final = """Judge recorded runs: which agents were stuck, since which call, and why.

    Reads call records (an object a line with `run_id`, `tool`, `arguments`, `observation` and
    what else is known of a call) and OTLP/JSON lines as the Collector's file exporter writes
    them, plain or gzipped; files, folders (*.jsonl, *.json, *.jsonl.gz, *.json.gz) and `-` for
    standard input. No content is kept: calls are fingerprinted as they are read, with the key
    of this environment (LOOPGUARD_KEY_FILE, LOOPGUARD_KEY), else with one that is thrown away.

    \b
    Examples:
      loopguard replay traces.jsonl.gz
      loopguard replay --policy policy.yaml --fail-on stop runs/
      loopguard replay --json --calls - < calls.jsonl

    With --json, one object a run and agent, in the order in which runs first appear:

    \b
      {"run_id", "agent", "calls", "observations", "verdict", "nudge_at", "stop_at",
       "findings": [{"id", "kind", "action", "sequence", "first_sequence", "count", "period",
                     "tool", "fingerprints", "premature"}],
       "integrity": [{"kind", "sequence", "tool", "call_id", "reason"}], "termination_reason"}

    `calls` counts records, `observations` distinct calls. `sequence` is the record's own number
    where all come from one process or none, else the place in the run's order from 1.
    `fingerprints` are the first 16 digits of those that --calls shows whole.
    """

_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_LEAST_MEMORY: Final = 1 << 20
_MISSPELT: Final = 8
"""Ignored fields that are told one by one."""

_STYLES: Final = {"stop": "bold red", "nudge": "yellow", "unknown": "magenta", "incomplete": "cyan", "clean": "green"}


def _size(value: str) -> int:
    """A number of bytes such as ``256M``."""
    found = _SIZE.fullmatch(value.strip())
    size = int(found[1]) << _UNITS[found[2].lower()] if found else 0
    if size < _LEAST_MEMORY:
        raise click.BadParameter(f"expected a size of at least 1M such as `256M` or `2G`, found `{value}`")
    return size


@click.command(help=_HELP)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a run and agent instead of a table.")
@click.option("--calls", is_flag=True, help="Show every call with its fingerprint and repeat count too.")
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    help="Judge under this policy file.  [default: that of LOOPGUARD_POLICY, else the built-in one]",
)
@click.option(
    "--fail-on",
    type=click.Choice(["nudge", "stop"]),
    help="Exit with 1 where any run is told so; `nudge` includes `stop`.",
)
@click.option("--skip-bad", is_flag=True, help="Count and report what cannot be read instead of stopping there.")
@click.option(
    "--max-memory",
    type=_size,
    metavar="SIZE",
    default="256M",
    show_default=True,
    help="Memory for calls that wait to be judged; more goes to a temporary file.",
)
@click.pass_context
def replay(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    paths: Sequence[str],
    *,
    as_json: bool,
    calls: bool,
    policy_file: str | None,
    fail_on: str | None,
    skip_bad: bool,
    max_memory: int,
) -> None:
    """Reserved: the help text stands above."""
    import os

    from otel_loopguard.config import Settings
    from otel_loopguard.core.engine import Engine
    from otel_loopguard.keys import load_keyring
    from otel_loopguard.replay.run import VERDICTS, judge
    from otel_loopguard.replay.source import find_sources
    from otel_loopguard.replay.traces import Traces

    settings = Settings.read_strict(os.environ)
    policy = _policy(policy_file, settings)
    warn = _warn if settings.key_file is not None else None  # without any key one is made quietly
    traces = Traces(policy, load_keyring(settings, warn), settings.key_scope, max_memory)
    engine = Engine(policy)
    with closing(traces):
        bad = _Bad(skip=skip_bad)
        _read(find_sources(paths), traces, bad)
        bad.report()
        _tell_misspelt(traces)
        reports = (report for run in _judged(traces) for report in judge(run, engine, calls=calls))
        verdicts = _print_json(reports, calls=calls) if as_json else _print_table(reports, calls=calls)
    limit = VERDICTS.index(fail_on) if fail_on == "nudge" or fail_on == "stop" else len(VERDICTS)  # noqa: PLR1714
    ctx.exit(1 if any(VERDICTS.index(verdict) >= limit for verdict in verdicts) else 0)


# Reading ----------------------------------------------------------------------------------------------------------


class _Bad:
    """What could not be read."""

    def __init__(self, *, skip: bool) -> None:
        self._skip = skip
        self._count = 0
        self._first = ""

    def take(self, error: RecordError) -> None:
        """Raise it, or count it where the user asked for that."""
        if not self._skip:
            raise error
        self._count += 1
        self._first = self._first or str(error)

    def report(self) -> None:
        """Say how much was left out."""
        if self._count:
            lines = "1 bad line" if self._count == 1 else f"{self._count} bad lines, the first"
            _warn(f"skipped {lines}: {self._first}")


def _tell_misspelt(traces: Traces) -> None:
    """Fields that were ignored although something was probably meant by them."""
    found = traces.misspelt.found()
    for name, field, lines in found[:_MISSPELT]:
        counted = "1 call record" if lines == 1 else f"{lines} call records"
        _warn(f"`{_shown(name[:80])}` is no field of a call record and was ignored in {counted}, is it `{field}`?")
    if len(found) > _MISSPELT:
        _warn(f"{len(found) - _MISSPELT} more fields look like others and were ignored")


def _warn(message: str) -> None:
    click.echo(f"warning: {message}", err=True)


def _policy(file: str | None, settings: Settings) -> Policy:
    """The policy of the option, else of the environment, else the built-in one; an error names the file."""
    from otel_loopguard.core.policy import Policy
    from otel_loopguard.core.policy_file.text import parse_policy

    name = file if file is not None else settings.policy_file
    if name is None:
        return Policy()
    with click.open_file(name, "rb") as stream:
        content = stream.read()
    try:
        return parse_policy(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise PolicyError(f"{name}: not UTF-8 text, save the file as UTF-8", line=line, column=column) from None
    except PolicyError as error:
        raise PolicyError(f"{name}: {error.reason}", path=error.path, line=error.line, column=error.column) from None


def _read(sources: Sequence[Source], traces: Traces, bad: _Bad) -> None:
    """Hand every line to ``traces``."""
    sizes = [source.size for source in sources]
    total = sum(size for size in sizes if size is not None) if None not in sizes else None
    with _progress("reading", total) as advance:
        for source in sources:
            _read_one(source, traces, bad, advance)


def _read_one(source: Source, traces: Traces, bad: _Bad, advance: Callable[[int], None]) -> None:
    try:
        for line in source.lines(sys.stdin.buffer, advance):
            _add(source, line, traces, bad)
    except RecordError as error:
        bad.take(error)


def _add(source: Source, line: Line, traces: Traces, bad: _Bad) -> None:
    try:
        traces.add(line.text)
    except RecordError as error:
        bad.take(RecordError(error.reason, source=source.name, line=line.number))


def _judged(traces: Traces) -> Iterator[RecordedRun]:
    with _progress("judging", None) as advance:
        for run in traces.runs():
            yield run
            advance(1)


@contextmanager
def _progress(doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda amount: progress.advance(task, amount)


# Output -----------------------------------------------------------------------------------------------------------


def _print_json(reports: Iterable[Report], *, calls: bool) -> list[RunVerdict]:
    from otel_loopguard.replay.report import as_object

    verdicts = []
    for report in reports:
        # ASCII: a tool's name may hold characters that no encoding has
        click.echo(json.dumps(as_object(report, calls=calls)))
        verdicts.append(report.verdict)
    return verdicts


def _print_table(reports: Iterable[Report], *, calls: bool) -> list[RunVerdict]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 160)
    judged = list(reports)
    columns = ("run", "agent", "calls", "verdict", "kind", "tool", "at call", "count", "doubt")
    rows = [_row(report) for report in judged]
    shown = [column for index, column in enumerate(columns) if index not in (1, 8) or any(row[index] for row in rows)]
    table = Table(box=None, pad_edge=False)
    for column in shown:
        right = column in ("calls", "at call", "count")
        table.add_column(column, header_style="dim", overflow="fold", justify="right" if right else "left")
    for row in rows:
        cells = dict(zip(columns, map(_shown, row), strict=True))
        table.add_row(*(Text(cells[column], style=_STYLES.get(cells[column], "")) for column in shown))
    if rows:
        console.print(table)
    if calls:
        for report in judged:
            _print_calls(console, Table(box=None, pad_edge=False, title_justify="left"), report)
    console.print(Text(_summary(judged)))
    return [report.verdict for report in judged]


def _row(report: Report) -> tuple[str, ...]:
    found = report.primary
    doubt = ", ".join(dict.fromkeys(one.kind for one in report.integrity))
    shown = (report.run_id, report.agent, str(report.calls), report.verdict)
    if found is None:
        return (*shown, "", "", "", "", doubt)
    finding = found.finding
    kind = f"{finding.kind} (premature)" if finding.premature else finding.kind
    return (*shown, kind, finding.tool, str(found.number), str(finding.count), doubt)


def _print_calls(console: Console, table: Table, report: Report) -> None:
    from rich.text import Text

    table.title = Text(_shown(f"{report.run_id} {report.agent}".rstrip()), style="bold")
    for column in ("call", "id", "tool", "fingerprint", "repeat"):
        right = column in ("call", "repeat")
        table.add_column(column, header_style="dim", overflow="fold", justify="right" if right else "left")
    for call in report.observed:
        cells = (str(call.number), call.call_id or "", call.tool, call.fingerprint or "unknown", str(call.repeat))
        table.add_row(*(Text(_shown(cell)) for cell in cells))
    console.print()
    console.print(table)


def _shown(text: str) -> str:
    """A name as one line of text: what would move the cursor, or has no encoding, is spelled out."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _summary(reports: Sequence[Report]) -> str:
    from otel_loopguard.replay.run import VERDICTS

    if not reports:
        return "no tool calls found"
    runs, calls = len({report.run_id for report in reports}), sum(report.calls for report in reports)
    counted = f"{runs} run{'' if runs == 1 else 's'}"
    if len(reports) != runs:  # a verdict is an agent's
        counted = f"{len(reports)} agents in {counted}"
    counts = Counter(report.verdict for report in reports)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts[verdict])
    return f"{counted}, {calls} call{'' if calls == 1 else 's'}: {words}"
