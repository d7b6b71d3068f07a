"""Whether structured data says that a call failed, where nobody flagged it: ``{"success": false, "error": "..."}``.

Not a search for words: a member with a settled name has to say so, at the top of the data, and beside it nothing may
stand that was found. A report of what failed elsewhere, a job's state or a test run's, is what was asked for.
"""

from __future__ import annotations

from typing import Final

__all__ = ["is_fault"]

_SUCCESS: Final = frozenset(["success", "succeeded", "ok", "successful", "issuccess", "is_success"])
_FAILURE: Final = frozenset(["iserror", "is_error", "haserror", "has_error"])
"""`isError` is that of MCP's tool results."""
_STATUS: Final = frozenset(["status", "result", "outcome", "type", "verdict", "decision"])
_FAILED: Final = frozenset(["error", "fail", "failure", "failed", "reject", "rejected", "invalid", "denied"])
_REASONS: Final = frozenset(["error", "errors", "error_message", "errormessage", "exception"])
_TOLD: Final = frozenset(["message", "detail", "reason", "feedback"])
_BESIDE: Final = frozenset(
    ["message", "detail", "details", "reason", "code", "error_code", "errorcode", "hint", "type", "status", "title",
     "status_code", "statuscode", "feedback", "verdict", "decision", "attempt", "attempts", "request_id",
     "retry_after", "retry_in", "limit", "remaining", "requestid", "timestamp", "path", "trace_id",
     "documentation_url", "jsonrpc"]
)  # fmt: skip
"""Members that explain an error: in the problem details of RFC 9457, of GitHub, of Spring and others."""


def is_fault(data: dict[str, object]) -> bool:
    """Whether an object is the report of the call's own failure.

    That is one in which a flag says no, or a status together with a reason, or which holds a reason and nothing but
    what explains one. A number under `error` is a count; `true` is a reason.
    """
    reason = status = told = False
    only = True
    is_reply = "jsonrpc" in data  # whose `id` is the request's, and nothing that was found
    for name, value in data.items():
        folded = name.casefold()
        if (value is False and folded in _SUCCESS) or (value is True and folded in _FAILURE):
            return True
        if folded in _STATUS and isinstance(value, str) and value.casefold() in _FAILED:
            status = True
        elif folded in _REASONS:
            reason = reason or _is_reason(value)
        elif folded in _BESIDE:
            told = told or (folded in _TOLD and _is_reason(value))
        elif value and not (is_reply and folded == "id"):
            only = False
    return (status and (reason or told)) or (reason and only)


def _is_reason(value: object) -> bool:
    """A text, an object or a list of them with something in it, or a plain yes."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, (str, dict)) and one for one in value)
    return value is True or (isinstance(value, (str, dict)) and bool(value))
