"""`loopguard run`: the same reach as the start-up hook, without it, in the command and in what it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from otel_loopguard.cli.run import STARTUP, environment

COMMAND: Final = Path(sys.executable).parent / "loopguard"
APPLICATION: Final = """
import os
from opentelemetry.sdk.trace import TracerProvider
print([type(one).__name__ for one in TracerProvider()._active_span_processor._span_processors], flush=True)
"""
OURS: Final = "['LoopGuardSpanProcessor']"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Python environment without our start-up hook: what it has is ours and the SDK, by a path file."""
    import venv

    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    paths = subprocess.run(
        [sys.executable, "-c", "import sys; print('\\n'.join(p for p in sys.path if p.endswith('-packages')))"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (site,) = folder.glob("lib/python*/site-packages")
    root = Path(__file__).resolve().parents[2]
    # a path file inside a path file is not read: so the hook of this environment is not run there
    (site / "paths.pth").write_text(f"{paths}{root}\n")
    return folder


def run(
    bare: Path, tmp_path: Path, *command: str | Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `loopguard run -- command` beside the application `app.py`."""
    (tmp_path / "app.py").write_text(APPLICATION)
    drop = ("LOOPGUARD_", "OTEL_", "PYTHONPATH", "COV")
    own = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
    return subprocess.run(
        [bare / "bin" / "python", "-m", "otel_loopguard", "run", "--", *command], cwd=tmp_path,
        env={**own, "LOOPGUARD_KEY": "0123456789abcdef" * 4, **(environ or {})},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_without_it_nothing_happens(bare: Path, tmp_path: Path) -> None:
    """The environment of these tests has no hook: what follows is the command's doing."""
    (tmp_path / "app.py").write_text(APPLICATION)
    done = subprocess.run(
        [bare / "bin" / "python", "app.py"], cwd=tmp_path, env={**os.environ, "LOOPGUARD_ENABLED": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "command",
    [
        ["python", "app.py"],
        ["sh", "-c", "python app.py"],
        ["python", "-c", "import subprocess, sys; sys.exit(subprocess.call([sys.executable, 'app.py']))"],
    ],
    ids=["the command", "below a shell", "a child"],
)
def test_every_python_below_is_watched(bare: Path, tmp_path: Path, command: list[str]) -> None:
    """The command's own process and those that it starts have our processor on their providers, once."""
    done = run(bare, tmp_path, *command, environ={"PATH": f"{bare / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, OURS, "")


@pytest.mark.parametrize(("word", "expected"), [("", OURS), ("true", OURS), ("false", "[]"), ("0", "[]")])
def test_a_switch_that_is_off_stays_off(bare: Path, tmp_path: Path, word: str, expected: str) -> None:
    """The variable is set where it is not; who says no means it."""
    done = run(bare, tmp_path, bare / "bin" / "python", "app.py", environ={"LOOPGUARD_ENABLED": word})
    assert (done.stdout.strip(), done.stderr) == (expected, "")


def test_a_sitecustomize_of_the_user_runs(bare: Path, tmp_path: Path) -> None:
    """What ours hides is run, with the name and the path that it would have had; ours is not to be seen."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nprint('theirs', __name__)\n")
    source = "import sitecustomize, sys; print(sitecustomize.__file__); print([p for p in sys.path if 'startup' in p])"
    done = run(bare, tmp_path, bare / "bin" / "python", "-c", source, environ={"PYTHONPATH": str(folder)})
    first, *rest = done.stdout.splitlines()
    assert first == "theirs sitecustomize"  # that of the process of `loopguard run` itself
    assert rest == ["theirs sitecustomize", str(folder / "sitecustomize.py"), "[]"]


def test_a_broken_sitecustomize_is_told_as_ever(bare: Path, tmp_path: Path) -> None:
    """An error in the user's own start-up file is shown by the interpreter as without us, and the program goes on."""
    (tmp_path / "sitecustomize.py").write_text("import nothing_of_that_name\n")
    done = run(bare, tmp_path, bare / "bin" / "python", "app.py", environ={"PYTHONPATH": str(tmp_path)})
    assert done.stdout.strip() == OURS
    assert "nothing_of_that_name" in done.stderr


@pytest.mark.parametrize("is_outside", [True, False], ids=["around it", "inside it"])
def test_with_opentelemetry_instrument(bare: Path, tmp_path: Path, is_outside: bool) -> None:  # noqa: FBT001
    """Around `opentelemetry-instrument` and inside it, the provider that is made for the program is watched, once."""
    package = pytest.importorskip("opentelemetry.instrumentation.auto_instrumentation")
    start_up = Path(package.__file__).with_name("sitecustomize.py").read_text(encoding="utf-8")
    if not is_outside and "_python_path_without_directory" in start_up:
        pytest.skip("this `opentelemetry-instrument` does not reach what its program starts")
    python = str(bare / "bin" / "python")
    instrument = [python, "-c", "from opentelemetry.instrumentation.auto_instrumentation import run; run()"]
    source = """
from opentelemetry import trace
print([type(one).__name__ for one in trace.get_tracer_provider()._active_span_processor._span_processors])
"""
    inner = [] if is_outside else [python, "-m", "otel_loopguard", "run", "--"]
    quiet = dict.fromkeys(("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"), "none")
    done = run(bare, tmp_path, *instrument, *inner, python, "-c", source, environ=quiet)
    assert done.stdout.strip() == OURS, done.stderr


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_is_the_commands(bare: Path, tmp_path: Path, code: int) -> None:
    """What the command ends with is what `loopguard run` ends with."""
    assert run(bare, tmp_path, bare / "bin" / "python", "-c", f"raise SystemExit({code})").returncode == code


@pytest.mark.skipif(os.name != "posix", reason="processes are replaced on POSIX alone")
def test_a_signal_reaches_the_command(bare: Path, tmp_path: Path) -> None:
    """The command has the process id that was started, so a signal to that reaches it."""
    source = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    with subprocess.Popen(
        [bare / "bin" / "python", "-m", "otel_loopguard", "run", "--", bare / "bin" / "python", "-c", source],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("command", "reason"), [("nothing-of-that-name", "No such file or directory"), ("./app.py", "Permission denied")]
)
def test_what_cannot_be_started_is_told(bare: Path, tmp_path: Path, command: str, reason: str) -> None:
    """A command that is not there or no program is bad input."""
    done = run(bare, tmp_path, command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: cannot start `{command}`: {reason}\n"


def test_a_python_without_the_package_goes_on(bare: Path, tmp_path: Path) -> None:
    """A program of another Python runs as it would, and is told why it is not watched."""
    import venv

    other = tmp_path / "other"
    venv.create(other, with_pip=False, symlinks=True)
    done = run(bare, tmp_path, other / "bin" / "python", "-c", "print(1)")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "-m pip install otel-loopguard" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, f"{STARTUP}"),
        ({"PYTHONPATH": ""}, f"{STARTUP}"),
        ({"PYTHONPATH": "/a:/b"}, f"{STARTUP}:/a:/b"),
        ({"PYTHONPATH": f"/a:{STARTUP}"}, f"{STARTUP}:/a"),
        ({"PYTHONPATH": ":/a"}, f"{STARTUP}::/a"),
    ],
)
def test_the_path_of_the_command(before: dict[str, str], after: str) -> None:
    """Our folder stands first, once; what was there stays in its order, an empty part (the current folder) too."""
    assert environment(before) == {"PYTHONPATH": after.replace(":", os.pathsep), "LOOPGUARD_ENABLED": "true"}
