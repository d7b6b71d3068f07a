"""What people write in code: one argument of a constructor, checked when it is given.

Not a reading of texts: settings and policies say their mistakes themselves. The value is never printed, since it may be
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_loopguard.errors import SettingError

__all__ = ["require", "require_number", "require_texts"]


def require(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """An argument is of a kind; ``expected`` says of which, and what to write.

    Raises:
        SettingError: It is not.

    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise SettingError(f"`{name}` is {expected}, not {_shown(value)}", name=name)


def require_number(name: str, value: object, least: int = 0, *, is_whole: bool = True) -> None:
    """An argument is a number, and not too small.

    Raises:
        SettingError: It is something else, or less than ``least``.

    """
    expected = f"{'a whole number' if is_whole else 'a number'}, at least {least}"
    require(name, value, int if is_whole else (int, float), expected)
    if not value >= least:  # type: ignore[operator] # it is one
        raise SettingError(f"`{name}` is {expected}", name=name)


def require_texts(name: str, value: Iterable[object]) -> tuple[str, ...]:
    """An argument is a list of names, or any other iterable of texts.

    Raises:
        SettingError: It is something else.

    """
    expected = 'names in a list, as `["search"]`'
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise SettingError(f"`{name}` is {expected}, not {_shown(value)}", name=name)
    found = tuple(value.keys() if isinstance(value, Mapping) else value)
    for one in found:
        require(name, one, str, expected)
    return tuple(str(one) for one in found)


def _shown(value: object) -> str:
    return "None" if value is None else f"`{type(value).__name__}`"
