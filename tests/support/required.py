"""Programs that some tests need and that not every machine has: a skip that says how to get one, a failure in CI."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["missing"]


def missing(reason: str, *, variable: str = "CI") -> NoReturn:
    """Skip with the reason, or fail where the environment says by a variable that it must be there."""
    if os.environ.get(variable) == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
