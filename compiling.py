"""Compiles the modules that every call passes through to native code, with mypyc, from the Python sources as they are.

Not needed to run or to develop: without it the same sources are interpreted. `make compiled` calls it, and
`hatch_build.py` where a wheel is to be compiled.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Any

ROOT = Path(__file__).resolve().parent
PACKAGE = "otel_loopguard"
CACHE = ROOT / ".cache" / "compiled"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX") or ".so"

_KEPT = 6
"""Builds that are kept, of several Pythons and of sources that come back."""

FOLDERS = (
    "core", "core/detectors", "core/form", "core/past", "core/reading", "conventions", "emit", "live", "otel",
    "runtimes", "stream",
)  # fmt: skip
"""Folders whose modules are compiled, in one group, so that they call one another without Python's calling
convention."""
FILES = ("names.py", "redact.py", "siblings.py", "service/numbers.py")
"""Single modules besides."""
INTERPRETED = frozenset(
    [
        "conventions/_json_text.py",  # a class that extends `str`
        "core/explain.py",  # speaks once a run
        "core/option.py",  # checks what anybody hands over, whatever it is
        "core/results.py",  # only guards have it, and faults are put into it by the tests
        "core/form/jcs.py",  # a class that extends `tuple`
        "core/form/unknown.py",  # exceptions that carry fields
        "live/context.py",  # applications call it with whatever they have, as the next ones
        "live/shared.py",
        "otel/attach.py",
        "otel/completion.py",
        "otel/reach.py",
        "otel/sending.py",
        "core/compiled.py",  # for what is not compiled
        "core/referable.py",  # what makes weak references possible
        "live/edge.py",  # logs
        "core/policy.py",  # frozen values that are copied and pickled
        "live/hold.py",  # held weakly, as the next one: a compiled class that can be crashes when it is freed
        "live/outlet.py",
        "otel/processor.py",  # a public class that others extend
    ]
)
"""Modules of those folders that stay Python, and why. Those that define msgspec structs do, too: mypyc would make
ordinary classes of them."""

_NO_COMPILER = "hint: make install, or pip install mypy setuptools"
_NO_C_COMPILER = (
    "hint: install one with Python's headers (Debian, Ubuntu: apt install gcc python3-dev; macOS: xcode-select "
    "--install), or do without: the interpreted package is the same code"
)


class CompilingError(Exception):
    """The modules could not be compiled; the message says why and the way out."""


def modules(root: Path = ROOT) -> list[str]:
    """Every compiled module, as a path below the folder of the package."""
    package = root / PACKAGE
    found = [path for folder in FOLDERS for path in sorted((package / folder).glob("*.py"))]
    found += [package / name for name in FILES]
    kept = [path for path in found if path.name != "__init__.py" and not _has_struct(path)]
    return [name for name in (path.relative_to(package).as_posix() for path in kept) if name not in INTERPRETED]


def _has_struct(path: Path) -> bool:
    return "(msgspec.Struct" in path.read_text(encoding="utf-8")


def digest(root: Path = ROOT) -> str:
    """What a build depends on: the sources, this file, the Python and the compiler's version."""
    found = hashlib.sha256(f"{sys.version} {platform.machine()} {SUFFIX} {_version('mypy')}".encode())
    for path in [root / Path(__file__).name, *sorted((root / PACKAGE).rglob("*.py"))]:
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise CompilingError(f"{package} is not installed\n{_NO_COMPILER}") from None


def compile_in(folder: Path, names: list[str], *, jobs: int | None = None) -> list[Path]:
    """Compile modules of the package that lies in ``folder``; the extension modules, beside their sources.

    Raises `CompilingError`.
    """
    try:
        from mypyc.build import mypycify  # noqa: PLC0415 - only who compiles has it
        from setuptools import Distribution  # noqa: PLC0415
        from setuptools.command.build_ext import build_ext  # noqa: PLC0415
    except ImportError as error:
        raise CompilingError(f"{error}\n{_NO_COMPILER}") from None
    with _inside(folder), tempfile.TemporaryDirectory() as objects:
        options = [
            "--config-file=",
            "--ignore-missing-imports",
            "--no-warn-unused-configs",
            "--exclude=.*",
            f"--cache-dir={os.devnull}",
        ]
        paths = [f"{PACKAGE}/{name}" for name in names]
        try:
            extensions = mypycify([*options, *paths], opt_level="2", debug_level="0", multi_file=True)
        except SystemExit as error:
            raise CompilingError(f"mypy does not accept the sources (exit code {error.code}), see above") from None
        at_once = jobs or os.cpu_count() or 1
        if sys.platform != "win32":
            for extension in extensions:  # what modules call of one another stays inside: no look-up, and inlining
                extension.extra_compile_args.append("-fvisibility=hidden")

        class Build(build_ext):  # type: ignore[misc]  # setuptools compiles the files of the group one by one
            def build_extensions(self) -> None:
                if self.compiler.compiler_type == "unix":
                    self.compiler.compile = partial(_compile_at_once, self.compiler, at_once)
                super().build_extensions()

        command = Build(Distribution({"name": PACKAGE, "ext_modules": extensions}))
        command.inplace, command.build_temp, command.parallel = True, objects, at_once
        try:
            command.ensure_finalized()
            command.run()
        except Exception as error:  # distutils raises what it likes
            raise CompilingError(f"the C compiler failed: {error}\n{_NO_C_COMPILER}") from error
        shutil.rmtree("build", ignore_errors=True)
    return sorted(folder.rglob(f"*{SUFFIX}"))


def _compile_at_once(compiler: Any, jobs: int, sources: list[str], *arguments: Any, **more: Any) -> list[str]:  # noqa: ANN401 - as the compiler's own
    def one(source: str) -> list[str]:
        found: list[str] = type(compiler).compile(compiler, [source], *arguments, **more)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        return [path for paths in pool.map(one, sources) for path in paths]


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def compiled(root: Path = ROOT, cache: Path = CACHE) -> Path:
    """A folder with the compiled package, built where there is none for these sources; it belongs on `PYTHONPATH`.

    Raises `CompilingError`. Says on stderr what takes time.
    """
    place = cache / f"{sys.implementation.cache_tag}-{digest(root)}"
    if place.exists():
        return place
    names = modules(root)
    begun = monotonic()
    print(f"compiling {len(names)} modules, once for these sources, a few minutes", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix="making-", dir=cache))
    try:
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
        shutil.copytree(root / PACKAGE, making / PACKAGE, ignore=ignored)
        with _words_on_stderr():
            compile_in(making, names)
        making.chmod(0o755)
        making.replace(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    for old in sorted(cache.glob("*-*"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    print(f"compiled in {monotonic() - begun:.0f} s: {place}", file=sys.stderr)
    return place


@contextmanager
def _words_on_stderr() -> Iterator[None]:
    """What compilers print goes to stderr: who asks for JSON on stdout gets nothing else there."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def main() -> int:
    """Print the folder of the compiled package, building it if need be."""
    parser = argparse.ArgumentParser(description="Compile the modules that every call passes through.")
    parser.add_argument("--list", action="store_true", help="print the modules that are compiled, and build nothing")
    if parser.parse_args().list:
        print("\n".join(modules()))
        return 0
    try:
        print(compiled())
    except CompilingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
