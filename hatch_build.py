"""Compiles the wheel's hot modules where `LOOPGUARD_COMPILED` asks for it; without it the wheel is pure Python.

What is compiled and how stands in `compiling.py`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "LOOPGUARD_COMPILED"
"""`true`, `1` or `yes`: compile."""
COMPILER = ["mypy==2.4.1", "setuptools>=75"]
"""The version of the compiler is part of the build: another one may make other code of the same sources."""


class CompilingHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension modules beside their sources, and the platform to the wheel's name."""

    PLUGIN_NAME = "custom"

    def _is_wanted(self) -> bool:
        is_wheel = self.target_name == "wheel"
        return is_wheel and os.environ.get(VARIABLE, "").strip().lower() in {"1", "true", "yes", "on"}

    def dependencies(self) -> list[str]:
        """The compiler, and what the sources import: it reads their types."""
        return [*COMPILER, *self.metadata.core.dependencies] if self._is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless the sources are installed in place: those would be shadowed by what was compiled once."""
        if not self._is_wanted() or version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            import compiling  # noqa: PLC0415 - beside this file, which hatch loads from anywhere
        finally:
            sys.path.remove(self.root)
        self._folder = Path(tempfile.mkdtemp(prefix="loopguard-compiled-"))
        source = Path(self.root) / compiling.PACKAGE
        shutil.copytree(source, self._folder / compiling.PACKAGE, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        try:
            found = compiling.compile_in(self._folder, compiling.modules(Path(self.root)))
        except compiling.CompilingError as error:
            sys.exit(f"error: {error}\n(`{VARIABLE}` is set; unset it for the interpreted package)")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update({str(path): str(path.relative_to(self._folder)) for path in found})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what is in the wheel now."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
