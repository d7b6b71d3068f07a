"""Programs of Debian's packages that tests run for real."""

from __future__ import annotations

import shutil
from typing import Final

from tests.support.required import missing

__all__ = ["program"]

_INSTALL: Final = "apt-get install -y --no-install-recommends prometheus prometheus-alertmanager"
_NAMES: Final = {"alertmanager": ("alertmanager", "prometheus-alertmanager")}
"""Where Debian calls it otherwise than its makers."""


def program(name: str) -> str:
    """Its path; skips the test where it is not there, which is a failure in CI."""
    found = next(filter(None, map(shutil.which, _NAMES.get(name, (name,)))), None)
    return found or missing(f"`{name}` is not installed: {_INSTALL}")
