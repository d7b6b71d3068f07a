"""What kind of failure an exception is, by what it is derived from and what it was raised from.

Not a reading of its text. What cannot be told to be a rejection counts, for a declared write, as an unknown outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from otel_loopguard.core.reading.category import category_of, is_known

__all__ = ["error_type_of", "message_of"]

_CHAIN: Final = 8
"""Exceptions looked at that one was raised from."""
_NO_REQUEST: Final = range(400, 500)
"""HTTP statuses of a request that was refused."""
_READERS: Final = frozenset(
    ["binascii", "jsonschema", "marshmallow", "msgpack", "msgspec", "pydantic", "pydantic_core"]
)
"""Packages that read data: what they raise is about a reply as likely as about arguments."""
_UNREAD: Final = ("decodeerror", "decodevalueerror", "parseerror", "parsererror", "parsingerror", "syntaxerror")
"""How the errors of other readers end, of whatever they are derived."""
_UNREADABLE: Final = "DecodeError"
"""What is said where a reader's own name (`ValidationError`) would say that the call was rejected."""


def error_type_of(error: BaseException) -> str:
    """The `error.type` of an exception: the nearest of its classes that says what kind of failure it is.

    An HTTP status that it carries says it too. Where it hides a failure after which a write may have happened, it is
    that one; where nothing says anything, its own class. What is no `Exception` broke the call off: `cancelled`. Data
    that could not be read is no rejection, though Python derives it from `ValueError`: a reply means that it was sent.
    """
    own = _named(error)
    if not _may_have_happened(own):
        for hidden in _raised_from(error):
            named = _named(hidden)
            if (is_known(named) or named == _UNREADABLE) and _may_have_happened(named):
                return named
    return own


def message_of(error: BaseException) -> str:
    """An exception's text; empty where it has none to give, since it may raise when it is asked."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the host's exception goes on, not this one
        return ""


def _named(error: BaseException) -> str:
    if not isinstance(error, Exception):
        return "cancelled"
    bases = [base for base in type(error).__mro__ if base not in {Exception, BaseException, object}]
    own = type(error).__qualname__
    status = _status(error)
    if status is not None and not is_known(own):
        return str(status) if is_known(str(status)) else "validation" if status in _NO_REQUEST else own
    for base in bases:
        if _reads(base):
            return base.__qualname__ if _may_have_happened(base.__qualname__) else _UNREADABLE
        if is_known(base.__qualname__):
            return base.__qualname__
    return own


def _reads(error: type) -> bool:
    """Whether a class of errors is about data that something could not read."""
    return error.__module__.partition(".")[0] in _READERS or error.__qualname__.casefold().endswith(_UNREAD)


def _may_have_happened(error_type: str) -> bool:
    return category_of(error_type, is_error=True, kind="write") == "unknown_outcome"


def _raised_from(error: BaseException) -> Iterator[BaseException]:
    """The exceptions behind one, whether they were named or were being handled."""
    for _ in range(_CHAIN):
        behind = error.__cause__ or error.__context__
        if behind is None:
            return
        yield behind
        error = behind


def _status(error: Exception) -> int | None:
    """The HTTP status that clients keep in one of these places."""
    try:
        for holder in (error, getattr(error, "response", None)):
            for name in ("status_code", "status"):
                status = getattr(holder, name, None)
                if isinstance(status, int) and not isinstance(status, bool) and 400 <= status < 600:  # noqa: PLR2004
                    return status
    except Exception:  # noqa: BLE001, S110 - a property that raises
        pass
    return None
