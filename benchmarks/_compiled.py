"""Puts the compiled package before the sources, unless the command line says `--interpreted`.

Imported for that, before anything of the package. Where it cannot be compiled (no C compiler, no mypy) the reason goes
to stderr and the interpreted package is measured.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from _package import FLAG


def _use() -> None:
    if FLAG in sys.argv or {"-h", "--help"} & set(sys.argv):
        return
    root = str(Path(__file__).resolve().parent.parent)
    sys.path.insert(0, root)
    try:
        import compiling  # noqa: PLC0415 - it lies beside this folder
    finally:
        sys.path.remove(root)
    try:
        place = str(compiling.compiled())
    except compiling.CompilingError as error:
        print(f"not compiled, so the interpreted package is measured: {error}", file=sys.stderr)
        return
    sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [place, os.environ.get("PYTHONPATH")]))  # of workers


_use()
