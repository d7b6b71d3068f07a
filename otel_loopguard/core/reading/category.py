"""Categories of failures: what an error means for a retry, from its structured type alone.

Not a reading of messages: a type that nobody knows is of no category, whatever its text says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_loopguard.core.call import Category
from otel_loopguard.core.policy import ToolKind

__all__ = ["category_of", "is_category", "is_known"]

_TRANSIENT: Final = frozenset(["timeout", "connection_lost", "rate_limit", "transient", "server_error"])
_NAMED: Final[Mapping[str, Category]] = {
    "validation": "validation", "permission": "permission", "not_found": "not_found", "unknown_tool": "unknown_tool",
}  # fmt: skip
_REJECTED: Final = frozenset([*_NAMED, "transient"])
"""Of a declared write: it has not happened. After anything else it may have."""
_WORDS: Final = _TRANSIENT | _REJECTED | {"cancelled", "unknown"}
_SPELLINGS: Final = {
    "408": "timeout", "504": "timeout", "429": "rate_limit", "500": "server_error", "502": "server_error",
    "503": "transient", "401": "permission", "403": "permission", "404": "not_found", "400": "validation",
    "422": "validation", "timeouterror": "timeout", "readtimeout": "timeout", "connecttimeout": "timeout",
    "deadline_exceeded": "timeout", "connectionerror": "connection_lost", "connectionreseterror": "connection_lost",
    "connectionabortederror": "connection_lost", "brokenpipeerror": "connection_lost",
    "connecterror": "connection_lost",
    "timeoutexception": "timeout", "transporterror": "connection_lost", "networkerror": "connection_lost",
    "clientconnectionerror": "connection_lost",
    "readerror": "connection_lost", "writeerror": "connection_lost", "remoteprotocolerror": "connection_lost",
    "writetimeout": "timeout", "pooltimeout": "timeout",
    "connectionrefusederror": "connection_lost", "unavailable": "connection_lost", "ratelimiterror": "rate_limit",
    "resource_exhausted": "rate_limit", "cancellederror": "cancelled", "permissionerror": "permission",
    "permission_denied": "permission", "unauthenticated": "permission", "filenotfounderror": "not_found",
    "notfounderror": "not_found", "notfound": "not_found",
    "validationerror": "validation", "invalid_argument": "validation", "valueerror": "validation",
    "notimplementederror": "validation", "fileexistserror": "validation", "modelretry": "validation",
    "jsondecodeerror": "unknown", "unicodeerror": "unknown", "unicodedecodeerror": "unknown",
}  # fmt: skip
"""How HTTP, gRPC, Python and its frameworks spell the same categories in `error.type`.

An answer that cannot be decoded is a `ValueError` in Python: what was asked for may have been done.
"""


def is_category(error_type: str) -> bool:
    """Whether a structured type is a mere category, and no type of an error."""
    return error_type in _WORDS


def is_known(error_type: str) -> bool:
    """Whether a structured type says what kind of failure an error is."""
    spelled = _spelled(error_type)
    return spelled in _WORDS or spelled in _SPELLINGS


def category_of(error_type: str | None, *, is_error: bool, kind: ToolKind) -> Category:
    """The category of a failure, from its structured type alone; the same type means more on a declared write.

    A write may have happened unless its type says that it was rejected: done twice, it cannot be undone.
    """
    if not is_error:
        return ""
    spelled = _spelled(error_type or "unknown")
    name = spelled if spelled in _WORDS else _SPELLINGS.get(spelled, "unknown")
    if kind == "write":
        if name not in _REJECTED:
            return "unknown_outcome"
        return _NAMED.get(name, "validation")
    return "transient" if name in _TRANSIENT else _NAMED.get(name, "unknown")


def _spelled(error_type: str) -> str:
    return error_type.rsplit(".", 1)[-1].casefold()
