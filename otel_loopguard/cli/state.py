"""`loopguard state`: look at the state file of a detector that is not running.

Not the file's format (`service.store`): here are the commands and what they print.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from otel_loopguard.errors import StoreError

if TYPE_CHECKING:
    from otel_loopguard.service.store import Store

__all__ = ["state"]


@click.group()
def state() -> None:
    """Check, shrink or print the state file of `loopguard serve`.

    FILE is `--state-file`. With several workers it is the first of a set (FILE, FILE.1, ...),
    and all of them are looked at. The detector must not be running: only one process at a
    time has a file.
    """


@state.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, file: str, *, as_json: bool) -> None:
    """Say whether FILE is whole, and what is in it. Exit 1 where it is damaged."""
    files = _files(file)
    found: dict[str, Any] = {"file": file, "workers": len(files), "problems": []}
    counted: Counter[str] = Counter()
    undelivered: Counter[str] = Counter()
    for one in files:
        problems = _check(one, counted, undelivered)
        found["problems"] += problems if len(files) == 1 else [f"{one}: {problem}" for problem in problems]
    if not found["problems"]:
        found |= {"version": _version(), **counted, "undelivered": dict(undelivered)}
    if as_json:
        click.echo(json.dumps(found))
    else:
        for problem in found["problems"]:
            click.echo(f"damaged: {problem}")
        if not found["problems"]:
            waits = ", ".join(f"{count} messages for {name}" for name, count in undelivered.items())
            what = file if len(files) == 1 else f"{file} and its {len(files) - 1} siblings"
            click.echo(
                f"{what} {'is' if len(files) == 1 else 'are'} whole: {counted['runs']} runs, "
                f"{counted['journal_rows']} journal rows ({counted['journal_bytes']:,} bytes), "
                f"undelivered: {waits or 'none'}"
            )
    ctx.exit(1 if found["problems"] else 0)


def _check(file: str, counted: Counter[str], undelivered: Counter[str]) -> list[str]:
    """What is wrong with one file; where nothing is, what is in it is counted."""
    with closing(_store(file)) as store:
        problems = _problems(store)
        if not problems:
            rows, cursors = store.outbox()
            counted["bytes"] += Path(file).stat().st_size
            counted["runs"] += sum(1 for _ in store.runs())
            counted["journal_rows"] += sum(1 for _ in store.journal())
            counted["journal_bytes"] += store.journal_bytes()
            for name, at in cursors.items():
                undelivered[name] += sum(row.position > at for row in rows)
        return problems


@state.command()
@click.argument("file")
def compact(file: str) -> None:
    """Give the disk back what FILE does not use any more."""
    for one in _files(file):
        before = Path(one).stat().st_size
        with closing(_store(one)) as store:
            store.compact()
        click.echo(f"{one}: {before:,} bytes before, {Path(one).stat().st_size:,} now")


@state.command()
@click.argument("file")
def export(file: str) -> None:
    """Print the runs of FILE and what is to be delivered, a JSON object a line. It holds no content."""
    for one in _files(file):
        with closing(_store(one)) as store:
            _export(store)


def _export(store: Store) -> None:
    import msgspec

    from otel_loopguard.service.message import Message
    from otel_loopguard.service.sinks.json_lines import as_object

    decoder = msgspec.msgpack.Decoder(Message)
    for (tenant, run_id), packed, mark in store.runs():
        if packed is None:
            continue
        line = {
            "run_id": run_id,
            "tenant": tenant,
            "last_unix_nano": packed.last,
            "ended": packed.ended,
            "verdict": ("allow", "nudge", "stop")[packed.strongest],
            "bytes": len(packed.state),
            "saved_unix_nano": mark.time,
        }
        click.echo(json.dumps(line))
    for row in store.outbox()[0]:
        click.echo(json.dumps({"position": row.position, **as_object(decoder.decode(row.data))}))


def _files(file: str) -> list[str]:
    """The files of the set; FILE must be there: looking at one must not make it."""
    from otel_loopguard.service.division import parts_of

    if not Path(file).exists():
        raise FileNotFoundError(2, os.strerror(2), file)
    return parts_of(file)


def _store(file: str) -> Store:
    from otel_loopguard.service.store import Store

    return Store(file)


def _problems(store: Store) -> list[str]:
    try:
        return store.check()
    except StoreError as error:
        return [str(error)]


def _version() -> int:
    from otel_loopguard.service.store import VERSION

    return VERSION
