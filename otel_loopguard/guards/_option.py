"""The arguments of a guard, and those that all adapters take, checked when they are given.

Not those of one adapter alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_loopguard.config import Settings
from otel_loopguard.core.explain import Words
from otel_loopguard.core.option import require, require_number, require_texts
from otel_loopguard.core.results import ResultLimits
from otel_loopguard.errors import SettingError
from otel_loopguard.live import Live

from ._told import Told

__all__ = [
    "require", "require_callable", "require_choices", "require_flag", "require_guard", "require_name", "require_texts",
]  # fmt: skip

_MODES: Final = ("observe", "nudge", "enforce")
_KINDS: Final[Mapping[str, type]] = {"words": Words, "limits": ResultLimits, "settings": Settings, "live": Live}


def require_choices(*, mode: object, refusals: object, attributes: object, **parts: object) -> None:
    """What a guard is made with."""
    if mode is not None and mode not in _MODES:
        raise SettingError(f"`mode` is one of {', '.join(f'`{one}`' for one in _MODES)}, or None", name="mode")
    require_number("refusals", refusals)
    require("attributes", attributes, (Mapping, type(None)), 'values by name, as `{"tenant": "a"}`, or None')
    for name, kind in _KINDS.items():
        require(name, parts[name], (kind, type(None)), f"a `{kind.__name__}` or None")


def require_guard(guard: object) -> None:
    """Whom to ask."""
    require("guard", guard, Told, "a `Guard`, as `Guard()` makes one")


def require_name(name: str, value: object) -> None:
    """The name of a run or an agent, or None."""
    require(name, value, (str, type(None)), "a text or None, as `str(...)` makes one")


def require_flag(name: str, value: object) -> None:
    """Yes or no."""
    require(name, value, bool, "`True` or `False`")


def require_callable(name: str, value: object, expected: str) -> None:
    """Something to be called."""
    if not callable(value):
        require(name, value, (), expected)
