"""The command group `loopguard`: finds the commands, and turns errors into two lines and an exit code.

Not a command itself: each has its own file and is imported when it is called or listed.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import IO, Any, Final

import click

from otel_loopguard.errors import KeySettingError, LoopguardError, RecordError

__all__ = ["main"]

COMMANDS: Final = ("doctor", "inspect", "key", "policy", "replay", "run", "serve", "state")
"""Each is the click command of that name in the file of that name beside this one."""

BAD_INPUT: Final = 2
"""Exit code of whatever the user can put right: arguments, settings, files. Click uses the same."""
INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it."""
BROKEN_PIPE: Final = 141
"""128 + SIGPIPE: whoever read our output (`| head`) has enough."""

_HINTS: Final[tuple[tuple[type[LoopguardError], str], ...]] = (
    (KeySettingError, "`loopguard key new` makes a good key"),
    (RecordError, "`--skip-bad` counts what cannot be read and goes on"),
)

_HELP: Final = """Find AI agents that are stuck repeating a tool call.

    An instrumented agent needs no command: it sets LOOPGUARD_ENABLED=true. The commands tell
    what is missing, make its key, check its policy, and judge recorded runs with the same
    engine.

    \b
    Examples:
      loopguard doctor                          what would keep loops from being found here
      loopguard run -- python agent.py          watch an agent without touching anything
      loopguard key new --file loopguard.key    a secret key for LOOPGUARD_KEY_FILE
      loopguard policy check policy.yaml        what is wrong in a policy, and where
      loopguard replay traces.jsonl.gz          which recorded runs would have been stopped
      loopguard replay --json - < calls.jsonl   the same for programs
      loopguard inspect traces.jsonl            which spans are read as tool calls, and how

    Data goes to standard output, everything else to standard error. Exit codes: 0 done,
    1 a limit that you set was reached (such as --fail-on), 2 bad input.
    """


class _Failure(click.ClickException):
    """An error of ours in the form that click shows: `error:` with what is wrong, `hint:` with the way out."""

    exit_code = BAD_INPUT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def show(self, file: IO[Any] | None = None) -> None:
        """Write both lines to standard error."""
        click.echo(f"error: {self.message}", file=file, err=True)
        if self.hint:
            click.echo(f"hint: {self.hint}", file=file, err=True)


class _Commands(click.Group):
    """A group that imports a command's file when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every command, in alphabetical order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name; None is click's word for no such command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"otel_loopguard.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what the user can put right ends in two lines, never in a traceback."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe can still be told apart
        except LoopguardError as error:
            hint = next((words for kind, words in _HINTS if isinstance(error, kind)), "")
            raise _Failure(str(error), hint) from error
        except BrokenPipeError:
            # the interpreter flushes standard output once more on its way out
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(BROKEN_PIPE)
        except OSError as error:
            if error.filename is None:
                raise
            raise _Failure(f"{os.fsdecode(error.filename)}: {error.strerror}") from error
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        return result


@click.group(cls=_Commands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("otel-loopguard"), prog_name="loopguard")
def main() -> None:
    """Reserved for options of all commands."""
