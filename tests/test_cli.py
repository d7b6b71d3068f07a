"""The command group: help, version, errors in two lines, exit codes, pipes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from otel_loopguard.cli import main
from otel_loopguard.cli.main import COMMANDS
from otel_loopguard.errors import KeySettingError, LoopguardError, PolicyError, RecordError

Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs `loopguard` in this process: exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        written = capsys.readouterr()
        return int(left.value.code or 0), written.out, written.err

    return run


def end_in(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let every command's work end in `error`."""

    @click.command()
    def work() -> None:
        raise error

    monkeypatch.setattr(type(main), "get_command", lambda *_: work)


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (LoopguardError("no"), 2, ["error: no"]),
        (PolicyError("unknown key `tool`", path="$.tool"), 2, ["error: unknown key `tool` - at `$.tool`"]),
        (KeySettingError("too short"), 2, ["error: too short", "hint: `loopguard key new` makes a good key"]),
        (
            RecordError("not JSON", source="calls.jsonl", line=3),
            2,
            ["error: calls.jsonl:3: not JSON", "hint: `--skip-bad` counts what cannot be read and goes on"],
        ),
        (FileNotFoundError(2, "No such file", "calls.jsonl"), 2, ["error: calls.jsonl: No such file"]),
        (KeyboardInterrupt(), 130, ["interrupted"]),
    ],
)  # fmt: skip
def test_error_is_two_lines(
    monkeypatch: pytest.MonkeyPatch, ran: Ran, error: BaseException, code: int, lines: list[str]
) -> None:
    """What the user can put right ends in `error:` and `hint:` on standard error and an exit code, nothing else."""
    end_in(monkeypatch, error)
    assert ran("work") == (code, "", "".join(f"{line}\n" for line in lines))


def test_our_own_mistake_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of ours keeps its traceback: it is no input of the user's."""
    end_in(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["work"])


@pytest.mark.parametrize("argument", ["nothing", "--nothing"])
def test_unknown_command_or_option(ran: Ran, argument: str) -> None:
    """A command or option that does not exist is bad input and is named."""
    code, out, err = ran(argument)
    assert (code, out) == (2, "")
    assert f"'{argument}'" in err or f": {argument}" in err


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_help_lists_every_command_and_teaches(ran: Ran, argument: str) -> None:
    """The group's help has examples of commands that exist, and each command once with its first sentence."""
    code, out, _ = ran(argument)
    examples, commands = out.split("Commands:")
    assert code == 0
    assert [line.split()[0] for line in commands.splitlines() if line.startswith("  ") and line[2] != " "] == [
        *COMMANDS
    ]
    shown = set(re.findall(r"^    loopguard ([a-z]+)", examples, re.MULTILINE))
    assert {"key", "policy", "replay"} <= shown <= set(COMMANDS)


def paths(command: click.Command, *above: str) -> list[tuple[str, ...]]:
    """The words of every command, groups included."""
    below = command.commands if isinstance(command, click.Group) else {}
    return [above, *(path for name, sub in below.items() for path in paths(sub, *above, name))]


PATHS = [path for name in COMMANDS for path in paths(main.get_command(click.Context(main), name) or main, name)]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_has_help(ran: Ran, path: tuple[str, ...]) -> None:
    """Every command explains itself, in lines that fit a terminal and without a mark-up that shows."""
    code, out, _ = ran(*path, "--help")
    assert code == 0
    assert re.match(rf"Usage: .* {' '.join(path)} \[OPTIONS\]", out)
    assert [line for line in out.splitlines() if len(line) > 100 or "\\b" in line] == []


def test_module_is_the_command() -> None:
    """`python -m otel_loopguard` is the command where scripts are not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_loopguard", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "loopguard, version 0.1.0\n"


def test_closed_pipe_is_quiet() -> None:
    """A reader that has enough ends the command without a word and with the code of a broken pipe."""
    code = (
        "import click, sys\n"
        "from otel_loopguard.cli import main\n"
        "@click.command()\n"
        "def work():\n"
        "    for number in range(100_000):\n"
        "        click.echo(number)\n"
        "type(main).get_command = lambda *_: work\n"
        "main(['work'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
