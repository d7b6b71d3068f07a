"""Categories of failures: what an error means for a retry, from its structured type alone.

Not a reading of messages: a type that nobody knows is of no category, whatever its text says.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.core.call import Category
from otel_loopguard.core.policy import ToolKind

__all__ = ["category_of"]

_UNKNOWN_OUTCOMES: Final = frozenset(["timeout", "connection_lost", "rate_limit", "cancelled", "unknown"])
"""Of a declared write: it may have happened."""
_TRANSIENT: Final = frozenset(["timeout", "connection_lost", "rate_limit", "transient"])
_NAMED: Final = {
    "validation": "validation", "permission": "permission", "not_found": "not_found", "unknown_tool": "unknown_tool",
}  # fmt: skip
_SPELLINGS: Final = {
    "408": "timeout", "504": "timeout", "429": "rate_limit", "500": "transient", "502": "transient",
    "503": "transient", "401": "permission", "403": "permission", "404": "not_found", "400": "validation",
    "422": "validation", "timeouterror": "timeout", "readtimeout": "timeout", "connecttimeout": "timeout",
    "deadline_exceeded": "timeout", "connectionerror": "connection_lost", "connectionreseterror": "connection_lost",
    "connectionabortederror": "connection_lost", "brokenpipeerror": "connection_lost",
    "connecterror": "connection_lost",
    "readerror": "connection_lost", "writeerror": "connection_lost", "remoteprotocolerror": "connection_lost",
    "writetimeout": "timeout", "pooltimeout": "timeout",
    "connectionrefusederror": "connection_lost", "unavailable": "connection_lost", "ratelimiterror": "rate_limit",
    "resource_exhausted": "rate_limit", "cancellederror": "cancelled", "permissionerror": "permission",
    "permission_denied": "permission", "unauthenticated": "permission", "filenotfounderror": "not_found",
    "validationerror": "validation", "invalid_argument": "validation",
}  # fmt: skip
"""How HTTP, gRPC and Python spell the same categories in `error.type`."""


def category_of(error_type: str | None, *, is_error: bool, kind: ToolKind) -> Category:
    """The category of a failure, from its structured type alone; the same type means more on a declared write."""
    if not is_error:
        return ""
    if error_type is None:
        return "unknown"
    spelled = error_type.rsplit(".", 1)[-1].casefold()
    known = spelled in _NAMED or spelled in _TRANSIENT or spelled in _UNKNOWN_OUTCOMES
    name = spelled if known else _SPELLINGS.get(spelled, "")
    if kind == "write" and name in _UNKNOWN_OUTCOMES:
        return "unknown_outcome"
    if kind == "write" and name == "transient":
        return "validation"
    if name in _TRANSIENT:
        return "transient"
    named = _NAMED.get(name)
    return named if named is not None else "unknown"  # type: ignore[return-value]
