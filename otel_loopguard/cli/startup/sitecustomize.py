"""What `loopguard run` puts into the start of a Python process: the start-up hook, then the module that this one hides.

Not a part of the package: it is found by its name on PYTHONPATH and imports nothing of ours unless it is to.
"""

# ruff: noqa: INP001 - a folder on PYTHONPATH, not a package

import os
import sys


def _start() -> None:
    try:
        import otel_loopguard_autoload as autoload
    except ImportError:
        sys.stderr.write(
            "otel-loopguard: not installed for this Python, so `loopguard run` does nothing in it: "
            f"{sys.executable} -m pip install otel-loopguard\n"
        )
        return
    if autoload.is_enabled(os.environ):
        autoload.activate()


def _chain() -> None:
    """Run the `sitecustomize` that would have run without this one; its errors are the interpreter's to tell."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded at start-up
    sys.path[:] = [part for part in sys.path if os.path.abspath(part or ".") != here]  # noqa: PTH100
    hidden = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if hidden is not None:
            sys.modules["sitecustomize"] = hidden


_start()
_chain()
