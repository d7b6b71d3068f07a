"""`make demo-full`: two looping agents and a healthy one, through real Collectors into real backends, until Ctrl-C.

With `--once` it runs one round and the checks, and ends: 0 where all hold, 1 where one does not or a program is
missing.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Final

from rich.console import Console

from demo.full.agents import CALLS, Round
from demo.full.backend import Backend
from demo.full.board import addresses, findings, write_question
from demo.full.checks import check, is_complete
from demo.full.process import ProcessError, until
from demo.full.programs import MissingError, Programs
from demo.full.stack import Stack

EVERY: Final = 20.0
"""Seconds between two rounds, so that a rate over a minute is never nought."""
ARRIVE: Final = 60.0
"""Seconds for what takes some: exporters, lateness, queues."""


def main() -> int:
    """Run, show, check; the exit code."""
    parser = argparse.ArgumentParser(prog="make demo-full", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--once", action="store_true", help="one round, the checks, and end with 0 or 1")
    parser.add_argument("--folder", type=Path, help="for everything that is written (default: a temporary one)")
    parser.add_argument("--collector", help="a Collector that you have, such as the contrib distribution's")
    arguments = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    for number in (signal.SIGINT, signal.SIGTERM):  # the first is ignored where a script starts it with `&`
        signal.signal(number, _interrupt)
    try:
        programs = Programs.find(arguments.collector)
    except MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for line in programs.missing():
        console.print(f"[yellow]without:[/] {line}")
    try:
        folder = _folder(arguments.folder)
        code = _run(console, programs, folder, once=arguments.once)
    except ProcessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        console.print("stopped, every program has ended")
        return 1 if arguments.once else 0
    if code == 0 and arguments.folder is None:
        shutil.rmtree(folder)
    else:
        console.print(f"what was written is in {folder}", soft_wrap=True)
    return code


def _run(console: Console, programs: Programs, folder: Path, *, once: bool) -> int:
    key = secrets.token_hex(32)
    with Stack(programs, folder, key, console.print, usual=not once) as stack:
        console.print(f"running three agents: one stuck by itself, one over processes, one healthy; {CALLS} tool calls")
        played = Round.play(f"http://{stack.grpc}", key)
        console.print("waiting until calls and findings are at the backend")
        until(lambda: is_complete(Backend.read(stack.output), played), "every call and both loops arrive", ARRIVE)
        findings(console, Backend.read(stack.output))
        results = check(stack, played)
        for result in results:
            console.print(f"{'[green]ok  [/]' if result.holds else '[bold red]FAIL[/]'} {result.words}")
        held = sum(result.holds for result in results)
        console.print(f"demo-full: {held} of {len(results)} checks hold")
        if not once:
            write_question(stack.output)
            console.print("\nWhere to look, and where to send to:")
            addresses(console, stack)
            _stay(console, stack, key)
    return 0 if held == len(results) else 1


def _stay(console: Console, stack: Stack, key: str) -> None:
    """Rounds until Ctrl-C, so that rates stay and alerts go on. Raises `KeyboardInterrupt`, `ProcessError`."""
    console.print(f"A new round every {EVERY:.0f} s keeps the rates up. Ctrl-C ends it all.")
    number = 1
    try:
        while True:
            threading.Event().wait(EVERY)
            stack.check()
            number += 1
            played = Round.play(f"http://{stack.grpc}", key)
            told = len(Backend.read(stack.output).findings())
            console.print(f"round {number} ({played.fleet_run}): {told} findings by now")
    finally:
        console.print(f"stopping; what was written stays in {stack.folder}", soft_wrap=True)


def _folder(given: Path | None) -> Path:
    """The folder that was given, or a temporary one. Raises `ProcessError`."""
    if given is None:
        return Path(tempfile.mkdtemp(prefix="otel-loopguard-demo-"))
    given.mkdir(parents=True, exist_ok=True)
    if any(given.iterdir()):
        raise ProcessError(f"the folder `{given}` is not empty\nhint: name another one with --folder")
    return given.resolve()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM is as good as Ctrl-C, and both are heard."""
    del number, frame
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
