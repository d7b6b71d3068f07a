"""The most common changes to JSON data, fast: null members go, blanks at the ends of texts go, 1.0 becomes 1.

Not a definition: `normal` and `number` say what they mean, and tests compare the two. Scalars are handled where they
stand, because a call for each of them would cost more than all the rest. What is no dict, list, tuple, text or float
stays as it is, and the caller looks whether anything is left to do.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["BLANKS", "trimmed", "with_integers", "without_nulls"]

BLANKS: Final = " \t\n\v\f\r"
"""The six blanks of ASCII."""

_HOLDERS: Final = frozenset([dict, list, tuple])
_WITH_TEXTS: Final = frozenset([dict, list, tuple, str])
_WITH_FLOATS: Final = frozenset([dict, list, tuple, float])


def without_nulls(data: Any) -> Any:
    """``data`` without the members of dicts that are None, at any depth."""
    if type(data) is dict:
        return {
            name: without_nulls(value) if type(value) in _HOLDERS else value
            for name, value in data.items()
            if value is not None
        }
    if type(data) in _HOLDERS:
        return [without_nulls(value) if type(value) in _HOLDERS else value for value in data]
    return data


def trimmed(data: Any) -> Any:
    """``data`` with its texts trimmed, except those of nothing but blanks; keys stay."""
    if type(data) is str:
        return data.strip(BLANKS) or data
    if type(data) is dict:
        return {
            name: (value.strip(BLANKS) or value)
            if type(value) is str
            else trimmed(value)
            if type(value) in _HOLDERS
            else value
            for name, value in data.items()
        }
    if type(data) in _HOLDERS:
        return [trimmed(value) if type(value) in _WITH_TEXTS else value for value in data]
    return data


def with_integers(data: Any) -> Any:
    """``data`` with integral floats below 2^53 as integers."""
    if type(data) is float:
        return int(data) if data.is_integer() else data
    if type(data) is dict:
        return {name: with_integers(value) if type(value) in _WITH_FLOATS else value for name, value in data.items()}
    if type(data) in _HOLDERS:
        return [with_integers(value) if type(value) in _WITH_FLOATS else value for value in data]
    return data
