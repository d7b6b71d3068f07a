"""`loopguard state`: look at the state file of a detector that is not running.

Not the file's format (`service.store`): here are the commands and what they print.
"""

from __future__ import annotations

import json
import os
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

    The detector must not be running on it: only one process at a time has the file.
    """


@state.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, file: str, *, as_json: bool) -> None:
    """Say whether FILE is whole, and what is in it. Exit 1 where it is damaged."""
    found: dict[str, Any] = {"file": file, "problems": []}
    with closing(_store(file)) as store:
        found["problems"] = list(_problems(store))
        if not found["problems"]:
            rows, cursors = store.outbox()
            found |= {
                "version": _version(),
                "bytes": Path(file).stat().st_size,
                "runs": sum(1 for _ in store.runs()),
                "journal_rows": sum(1 for _ in store.journal()),
                "journal_bytes": store.journal_bytes(),
                "undelivered": {name: sum(row.position > at for row in rows) for name, at in cursors.items()},
            }
    if as_json:
        click.echo(json.dumps(found))
    else:
        for problem in found["problems"]:
            click.echo(f"damaged: {problem}")
        if not found["problems"]:
            waits = ", ".join(f"{count} messages for {name}" for name, count in found["undelivered"].items())
            click.echo(
                f"{file} is whole: {found['runs']} runs, {found['journal_rows']} journal rows "
                f"({found['journal_bytes']:,} bytes), undelivered: {waits or 'none'}"
            )
    ctx.exit(1 if found["problems"] else 0)


@state.command()
@click.argument("file")
def compact(file: str) -> None:
    """Give the disk back what FILE does not use any more."""
    before = Path(file).stat().st_size
    with closing(_store(file)) as store:
        store.compact()
    click.echo(f"{file}: {before:,} bytes before, {Path(file).stat().st_size:,} now")


@state.command()
@click.argument("file")
def export(file: str) -> None:
    """Print the runs of FILE and what is to be delivered, a JSON object a line. It holds no content."""
    import msgspec

    from otel_loopguard.service.message import Message
    from otel_loopguard.service.sinks.json_lines import as_object

    decoder = msgspec.msgpack.Decoder(Message)
    with closing(_store(file)) as store:
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


def _store(file: str) -> Store:
    """The file, which must be there: looking at one must not make it."""
    from otel_loopguard.service.store import Store

    if not Path(file).exists():
        raise FileNotFoundError(2, os.strerror(2), file)
    return Store(file)


def _problems(store: Store) -> list[str]:
    try:
        return store.check()
    except StoreError as error:
        return [str(error)]


def _version() -> int:
    from otel_loopguard.service.store import VERSION

    return VERSION
