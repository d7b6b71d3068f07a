"""`collector_config/build.py`: finds what was built, says what is missing and how to get it, builds once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.collector import RECIPES, until

fcntl = pytest.importorskip("fcntl", reason="locks are told by another module on Windows, where nothing waits")

BUILD: Final = RECIPES / "build.py"


class Machine:
    """A machine with a cache of its own, and a Go that says what it is and builds nothing."""

    def __init__(self, folder: Path, go: str | None = "go1.26.0") -> None:
        self.cache = folder / "cache"
        self.programs = folder / "bin"
        self.programs.mkdir()
        if go is not None:
            program = self.programs / "go"
            program.write_text(f"#!/bin/sh\n[ $1 = version ] && echo go version {go} linux/amd64 && exit\nexit 1\n")
            program.chmod(0o755)

    def environ(self) -> dict[str, str]:
        """What the script sees."""
        return {"PATH": str(self.programs), "XDG_CACHE_HOME": str(self.cache), "HOME": str(self.cache)}

    def run(self, *arguments: str, script: Path = BUILD) -> subprocess.CompletedProcess[str]:
        """Run the script to its end."""
        command = [sys.executable, str(script), *arguments]
        return subprocess.run(command, env=self.environ(), capture_output=True, text=True, check=False)

    def folder(self, script: Path = BUILD) -> Path:
        """The folder in which the script looks for the Collector, learnt by its failing to build there."""
        assert self.run(script=script).returncode == 1
        (found,) = [path.parent for path in self.cache.rglob("build.log")]
        return found

    def put(self, folder: Path) -> Path:
        """A program where the Collector should be."""
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "otelcol-loopguard"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        return program


def copy_of(folder: Path) -> Path:
    """The script with what it shares, its manifest and stand-in, elsewhere."""
    folder.mkdir()
    shutil.copy(BUILD, folder)
    shutil.copy(RECIPES / "building.py", folder)
    shutil.copy(RECIPES / "builder.yaml", folder)
    shutil.copy(RECIPES / "contrib.yaml", folder)
    shutil.copytree(RECIPES / "servicediscovery", folder / "servicediscovery")
    return folder / "build.py"


def test_help_needs_nothing(tmp_path: Path) -> None:
    """It says what it does where neither Go nor a build is there."""
    told = Machine(tmp_path, go=None).run("--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert "--find" in told.stdout


@pytest.mark.parametrize(
    ("go", "arguments", "words"),
    [
        (None, ["--find"], ["it is not built", "make collector"]),
        ("go1.26.0", ["--find"], ["it is not built", "make collector"]),
        (None, [], ["Go is not installed", "https://go.dev/dl/"]),
        ("go1.22.9", [], ["is go1.22", "1.26 or newer", "https://go.dev/dl/"]),
        ("devel", [], ["does not say which Go it is"]),
        ("go1.26.0", [], ["fetching the builder failed", "build.log"]),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, go: str | None, arguments: list[str], words: list[str]) -> None:
    """Exit code 1, nothing on standard output, and words that name the way out."""
    told = Machine(tmp_path, go).run(*arguments)
    assert (told.returncode, told.stdout) == (1, "")
    assert [word for word in words if word not in told.stderr] == []
    assert "Traceback" not in told.stderr


def test_a_cache_that_cannot_be_is_said(tmp_path: Path) -> None:
    """Where a file stands in the cache's place the message names it, and the variable."""
    machine = Machine(tmp_path)
    machine.cache.write_text("")
    told = machine.run()
    assert (told.returncode, told.stdout) == (1, "")
    assert str(machine.cache) in told.stderr
    assert "XDG_CACHE_HOME" in told.stderr
    assert "Traceback" not in told.stderr


def test_what_was_built_is_found(tmp_path: Path) -> None:
    """With the same Go at once; without Go whatever version of it has built it; with another Go not."""
    machine = Machine(tmp_path)
    program = machine.put(machine.folder())
    for arguments in ([], ["--find"]):
        told = machine.run(*arguments)
        assert (told.returncode, told.stdout) == (0, f"{program}\n")
    (machine.programs / "go").unlink()
    assert machine.run("--find").stdout == f"{program}\n"
    other = tmp_path / "other"
    other.mkdir()
    newer = Machine(other, "go1.27.1")
    newer.cache = machine.cache
    assert newer.run("--find").returncode == 1


@pytest.mark.parametrize("changed", ["builder.yaml", "servicediscovery/client.go"])
def test_another_manifest_is_another_build(tmp_path: Path, changed: str) -> None:
    """A change of the manifest or of the stand-in is not served by what was built before."""
    script = copy_of(tmp_path / "config")
    machine = Machine(tmp_path)
    machine.put(machine.folder(script))
    assert machine.run("--find", script=script).returncode == 0
    with (script.parent / changed).open("a") as file:
        file.write("\n")
    assert machine.run("--find", script=script).returncode == 1


def test_a_failed_build_leaves_no_binary_and_nothing_in_the_checkout(tmp_path: Path) -> None:
    """What is half made is removed; the log stays for the reader."""
    script = copy_of(tmp_path / "config")
    before = sorted(script.parent.rglob("*"))
    machine = Machine(tmp_path)
    folder = machine.folder(script)
    assert sorted(path.name for path in folder.iterdir()) == ["build.log", "lock"]
    assert [path for path in sorted(script.parent.rglob("*")) if "__pycache__" not in path.parts] == before


def test_a_second_build_waits_for_the_first(tmp_path: Path) -> None:
    """While one builds, another says that it waits, and takes what the first has built."""
    machine = Machine(tmp_path)
    folder = machine.folder()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = tmp_path / "stderr"
        with said.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, str(BUILD)], env=machine.environ(), stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        until(lambda: "another build of it is running" in said.read_text(), "it waits")
        program = machine.put(folder)
        fcntl.flock(lock, fcntl.LOCK_UN)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, f"{program}\n")


@pytest.mark.parametrize(("target", "manifest"), [("collector", []), ("contrib", ["contrib.yaml"])])
def test_make_prints_the_path_last(root: Path, target: str, manifest: list[str]) -> None:
    """`make collector` and `make contrib` are the script, for those who look in `make help`."""
    make = ["make", "--no-print-directory"]  # which a make around the tests would have printed last
    told = subprocess.run([*make, "-n", target], cwd=root, capture_output=True, text=True, check=True)
    assert told.stdout.split()[-1 - len(manifest) :] == ["collector_config/build.py", *manifest]
    helped = subprocess.run([*make, "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert f"make {target} " in helped


def test_each_manifest_is_a_build_of_its_own(tmp_path: Path) -> None:
    """What was built by one manifest is not given for the other, and the words name the target that builds it."""
    machine = Machine(tmp_path)
    machine.put(machine.folder())
    assert machine.run("--find", "builder.yaml").returncode == 0
    told = machine.run("--find", "contrib.yaml")
    assert (told.returncode, told.stdout) == (1, "")
    assert "make contrib" in told.stderr


def test_a_manifest_that_is_not_there_is_said(tmp_path: Path) -> None:
    """Those that are there are named."""
    told = Machine(tmp_path).run("--find", "other.yaml")
    assert (told.returncode, told.stdout) == (2, "")
    assert "builder.yaml" in told.stderr
    assert "contrib.yaml" in told.stderr


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("builder.yaml", "dist:\n".encode("utf-16"), ["builder.yaml", "no UTF-8", "git checkout"]),
        ("builder.yaml", None, ["builder.yaml", "No such file", "git checkout"]),
        ("builder.yaml", b"dist:\n  name: ../../evil\n", ["names no name of a program"]),
        ("builder.yaml", b"dist:\n  name: 'x' # y\n", ["names no otlpreceiver"]),
        ("servicediscovery", None, ["servicediscovery", "is not there", "git checkout"]),
    ],
)
def test_what_is_wrong_with_the_folder_is_said(
    tmp_path: Path, name: str, content: bytes | None, words: list[str]
) -> None:
    """A manifest that cannot be read or names nothing, and a stand-in that is missing: by their paths."""
    script = copy_of(tmp_path / "config")
    changed = script.parent / name
    if content is not None:
        changed.write_bytes(content)
    elif changed.is_dir():
        shutil.rmtree(changed)
    else:
        changed.unlink()
    told = Machine(tmp_path).run(script=script)
    assert (told.returncode, told.stdout) == (1, "")
    assert [word for word in words if word not in told.stderr] == []
    assert "Traceback" not in told.stderr


def test_both_manifests_are_of_one_release() -> None:
    """What runs on one Collector is not shown by another release's."""
    releases = {
        re.search(r"otlpreceiver (v[\d.]+)", (RECIPES / name).read_text(encoding="utf-8"))[1]  # type: ignore[index]
        for name in ("builder.yaml", "contrib.yaml")
    }
    assert len(releases) == 1


def test_own_components_are_all_in_the_stock_distribution() -> None:
    """The manifest of the recipes names nothing that the other, an extract of the stock one, does not."""
    own, stock = (
        set(re.findall(r"gomod: (\S+ v\S+)", (RECIPES / name).read_text(encoding="utf-8")))
        for name in ("builder.yaml", "contrib.yaml")
    )
    assert own - stock == set()


def test_the_right_to_build_is_checked_first() -> None:
    """The script runs as a program of its own."""
    assert os.access(BUILD, os.X_OK)
