"""What every module offers: an explicit list that is sorted and equals reality."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from inspect import isclass, isfunction
from types import ModuleType

import pytest

import otel_loopguard
from otel_loopguard.errors import MissingExtraError

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(otel_loopguard.__path__, "otel_loopguard.")
    if not module.name.endswith("__main__")
)


def imported(name: str) -> ModuleType:
    """The module; one that needs an extra that is not installed says so and is skipped."""
    try:
        return import_module(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        pytest.skip("needs the extra `serve`")


def offer(module: ModuleType) -> Sequence[str]:
    """The explicit list; a package that only holds others needs none."""
    if hasattr(module, "__path__") and not hasattr(module, "__all__"):
        return ()
    listed: Sequence[str] = module.__all__
    return listed


def _order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, each by alphabet: as ruff sorts."""
    if name.isupper():
        return 0, name
    return (1, name) if name[0].isupper() else (2, name)


@pytest.mark.parametrize("name", ["otel_loopguard", *MODULES])
def test_offer_is_sorted_and_real(name: str) -> None:
    """`__all__` is there, sorted, without doubles, and every name in it exists."""
    module = imported(name)
    offered = list(offer(module))
    assert offered == sorted(set(offered), key=_order)
    assert [item for item in offered if not hasattr(module, item)] == []


@pytest.mark.parametrize("name", MODULES)
def test_nothing_public_is_left_out(name: str) -> None:
    """A class or function without an underscore that a module defines is in its `__all__`; in a package,
    nothing is defined in the own file.
    """
    module = imported(name)
    defined = {
        item
        for item, value in vars(module).items()
        if (isclass(value) or isfunction(value)) and value.__module__ == name and not item.startswith("_")
    }
    assert defined - set(offer(module)) == set()
    assert not (hasattr(module, "__path__") and defined)


def test_package_offers_what_users_import() -> None:
    """The public surface is this list and changes with it."""
    assert otel_loopguard.__all__ == [
        "LoopGuardSpanProcessor",
        "Settings",
        "finish",
        "instrument",
        "run",
        "uninstrument",
        "user_message",
    ]
