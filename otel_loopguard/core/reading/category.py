"""Categories of failures: what an error means for a retry, from its structured type or the status that it reports.

Not a reading of messages: a type that nobody knows is of no category, whatever its text says, but for the few statuses
of HTTP that ask for another try.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from otel_loopguard.core.call import Category
from otel_loopguard.core.policy import ToolKind

__all__ = ["category_of", "is_category", "is_known", "is_passing"]

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

_STATUSES: Final = ("status", "status_code", "statusCode", "code", "http_status")
_PASSING: Final = frozenset([429, 502, 503, 504, "429", "502", "503", "504"])
_SAID: Final = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|error(?: code)?)[ :=]{1,2}(?:429|502|503|504)\b"
    r"|\b(?:429 Too Many Requests|502 Bad Gateway|503 Service (?:Temporarily )?Unavailable|504 Gateway Time-?out)\b",
    re.IGNORECASE,
)
_SAID_NUMBERS: Final = ("429", "502", "503", "504")
_LONGEST: Final = 600
"""Characters of a text that may be the report of such a status."""


def is_passing(data: object) -> bool:
    """Whether a failure's data or text reports a status of HTTP after which the same is worth another try."""
    if isinstance(data, str):
        said = len(data) <= _LONGEST and any(number in data for number in _SAID_NUMBERS)
        return said and _SAID.search(data) is not None
    if not isinstance(data, dict):
        return False
    inner = data.get("error")
    return any(
        isinstance(one.get(name), (int, str)) and one[name] in _PASSING
        for one in (data, inner)
        if isinstance(one, dict)
        for name in _STATUSES
    )


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
