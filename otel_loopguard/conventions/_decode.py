"""What content looks like on the wire, taken apart: Python text, envelopes, schemas, tool messages, errors.

Not a canonical form: `core.canonical` decides what is equal. Text that is JSON already is handed on as it is: reading
it here would cost a second parse and lose what readers lose (duplicate keys, long numbers). Nothing here raises.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from otel_loopguard.core.canonical import Unknown, load
from otel_loopguard.core.form.placeholder import withheld
from otel_loopguard.core.identifier import LONGEST, bounded
from otel_loopguard.names import REDACTED

from ._json_text import Json
from ._record import ABSENT, Record

__all__ = [
    "NO_CALL_ID", "Failure", "ToolMessage", "call_id_of", "elements", "failure", "first_content", "first_name",
    "is_hidden", "is_schema", "members", "name_of", "plain", "python_value", "result_of", "tool_message", "unwrapped",
    "was_cut",
]  # fmt: skip

_HIDING: Final = frozenset("[<({_*R ")
_CONTENT: Final = frozenset(['{"', "{'", '["', "['", "[{", "{}", "[]"])
"""How a placeholder begins and how it does not: tells most content apart at no cost."""
_LONGEST_PLACEHOLDER: Final = 120

NO_CALL_ID: Final = frozenset(["<not specified>", "unknown", "none", "null", "n/a"])
"""What Google ADK, Agent Framework and others write where there is no id."""

_REPR: Final = re.compile(
    r"""(?: [\s{}\[\](),:]
      | b?'(?:[^'\\\n]|\\['"\\abfnrtv]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})*'
      | b?"(?:[^"\\\n]|\\['"\\abfnrtv]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})*"
      | [+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.]) | (?:True|False|None)(?!\w) )*""",
    re.VERBOSE,
)
"""Only what `repr` itself writes for plain data: other text could make Python's parser warn in the host's process."""

_REPR_STARTS: Final = ("{'", "['", "[{'", "('", "[('", "[True", "[False", "[None")
"""How Python text begins and JSON does not."""
_LONGEST_REPR: Final = 262_144
"""Python's own parser takes about 0.1 s for this much; longer text stays text."""

_CUT_MARKS: Final = (
    "…[truncated]", "… [truncated]", "...[truncated]", "... [truncated]", "...(truncated)", "[TRUNCATED]",
)  # fmt: skip
_DEEPEST: Final = 16
"""Levels of a structured value that are searched for cut text."""
_ELLIPSES: Final = ("...", "…")
_ENDINGS_OF_CUT: Final = (*_CUT_MARKS, *_ELLIPSES)
_BRACKETS: Final = frozenset("{[")
_OPENING: Final = re.compile(r"""\{\s*["']|\[\s*["'\[{]""")
"""How JSON and Python data begin, and hardly any text: `[draft] …` and `{name}` are texts."""
_SHORTEST_CUT: Final = 128
"""Longer text in a bracket counts as data however it goes on: nobody limits attributes to less than this."""
_SKIM: Final = msgspec.json.Decoder(msgspec.Raw)
"""Tells JSON from other text without making anything of it."""
_WHOLE: Final = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
"""Forgives line breaks in texts; digits are not converted, of which there may be too many."""
_BROKEN_OFF: Final = re.compile(
    r"""\s*(?: t(?:ru?)? | f(?:a(?:ls?)?)? | n(?:ul?)? | N(?:a)? | -?I[nfity]{0,6} | - | \.  | (?:\.\d+)?[eE][+-]?
      | ,\s* | \\?u?[0-9a-fA-F]{0,4} )""",
    re.VERBOSE,
)
"""What is left of a literal, a number, an escape or nothing at all where the text was cut: a reader stops before it."""
_LITERAL: Final = re.compile(r"[\[{(\s]+'")
_LITERAL_PART: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[\](){}'"]""", re.DOTALL)
_QUOTES: Final = ("'", '"')

_MESSAGE_REPR: Final = re.compile(r"content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") ", re.DOTALL)
_MESSAGE_CALL_ID: Final = re.compile(r" tool_call_id='([^']*)'")
_MESSAGE_IDS: Final = re.compile(r" (?:tool_call_)?id='[^']*'")


class ToolMessage(NamedTuple):
    """A LangChain `ToolMessage` without its ids, which would make no two results equal."""

    content: Any
    call_id: str | None
    is_error: bool


class Failure(NamedTuple):
    """How a call failed, from structured fields; the message is content."""

    is_error: bool
    error_type: str | None
    message: str | None


_NO_FAILURE: Final = Failure(is_error=False, error_type=None, message=None)


def name_of(value: object) -> str | None:
    """A name or an id as text of bounded length; None for what is empty or no scalar."""
    if isinstance(value, str):
        return (value if type(value) is str and len(value) <= LONGEST else bounded(value)) or None
    if value is None or isinstance(value, bool):
        return None
    return int.__repr__(value) if isinstance(value, int) else None


def first_name(attributes: Mapping[str, object], keys: tuple[str, ...]) -> str | None:
    """The first of the keys that holds a name."""
    for key in keys:
        if key in attributes:
            found = name_of(attributes[key])
            if found is not None:
                return found
    return None


def call_id_of(attributes: Mapping[str, object], keys: tuple[str, ...]) -> str | None:
    """The first of the keys that holds a call id, and not the words for not having one."""
    for key in keys:
        if key in attributes:
            found = name_of(attributes[key])
            if found is not None and found.casefold() not in NO_CALL_ID:
                return found
    return None


def is_hidden(value: object) -> bool:
    """Whether the value says only that content was taken away, or is no value at all."""
    if not isinstance(value, str):
        return value is ABSENT
    if len(value) > _LONGEST_PLACEHOLDER or value[:1] not in _HIDING or value[:2] in _CONTENT:
        return False
    return withheld(value) is not None


def first_content(attributes: Mapping[str, object], keys: tuple[str, ...]) -> object:
    """The first of the keys that holds content; where all are hidden, the first placeholder; else `ABSENT`."""
    hidden: object = ABSENT
    for key in keys:
        if key in attributes:
            value = attributes[key]
            if not is_hidden(value):
                return value
            if hidden is ABSENT:
                hidden = value
    return hidden


def python_value(value: object) -> object:
    """Text that is a Python repr of plain data as that data; everything else unchanged."""
    if isinstance(value, Json):
        return str(value)
    if not isinstance(value, str) or not value.startswith(_REPR_STARTS) or len(value) > _LONGEST_REPR:
        return value
    if _REPR.fullmatch(value) is None:
        return value
    try:
        found: object = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value
    return found


def members(value: object) -> dict[str, object] | None:
    """The members of a JSON object or a map; the objects and lists in a text's are `Json`.

    None where the value is no object.
    """
    if isinstance(value, Mapping):
        return {key: member for key, member in value.items() if isinstance(key, str)}
    if not isinstance(value, str) or value.lstrip()[:1] != "{":
        return None
    try:
        found = msgspec.json.decode(str(value), type=dict[str, msgspec.Raw])
        return {key: _member(bytes(raw)) for key, raw in found.items()}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _loose_members(value)


def _member(raw: bytes) -> object:
    """A member read; objects and lists stay as they are written, so that nothing in them is lost."""
    if raw[:1] in (b"{", b"["):
        return Json(raw.decode())
    return load(raw.decode()) if raw[0] in _NUMBER else msgspec.json.decode(raw)


def elements(value: object) -> list[object]:
    """The elements of a JSON list or a list, as `members` gives members; empty where the value is no list."""
    if isinstance(value, list | tuple):
        return list(value)
    if not isinstance(value, str):
        return []
    try:
        return [_member(bytes(raw)) for raw in msgspec.json.decode(str(value), type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = _loose_members(f'{{"value":{value}}}')
        inner = found["value"] if found else None
        return inner if isinstance(inner, list) else []


def _loose_members(text: str) -> dict[str, object] | None:
    """As `members` for what Python writes and strict readers refuse: NaN and lone surrogates."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


_NUMBER: Final = frozenset(b"-0123456789")


def unwrapped(value: object) -> object:
    """Arguments out of the envelope of a Python call: ``{"kwargs": {…}}``, ``{"args": […], "kwargs": {…}}``.

    Keyword arguments alone become the object, positional ones alone the list; both stay as they are. No two calls
    of one tool become equal by it.
    """
    if isinstance(value, str) and not value.startswith(('{"args"', '{"kwargs"')):
        return value
    parts = members(value)
    if parts is None or not parts.keys() <= {"args", "kwargs", "sanitize_inputs_outputs"} or "kwargs" not in parts:
        return value
    keywords, positional = parts["kwargs"], parts.get("args")
    if not isinstance(keywords, Mapping | Json) or not isinstance(positional, list | tuple | Json | None):
        return value
    if positional in (None, "[]", [], ()):
        return keywords
    return positional if keywords in ("{}", {}) else {"args": plain(positional), "kwargs": plain(keywords)}


def plain(value: object) -> object:
    """A member or an element as plain data; a placeholder where a part of it is one."""
    if not isinstance(value, Json):
        return value
    data = load(str(value))
    return REDACTED if isinstance(data, Unknown) else data


def is_schema(value: object) -> bool:
    """Whether an object describes arguments rather than being them: a JSON schema, or a map of described names."""
    if isinstance(value, str):
        value = _loose_members(value)
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("properties"), Mapping) and (value.get("type") == "object" or "$schema" in value):
        return True
    if value.get("type") == "object" and value.keys() <= {"type", "title", "additionalProperties", "description"}:
        return True
    return bool(value) and all(
        isinstance(member, Mapping) and isinstance(member.get("type"), str | list) for member in value.values()
    )


def tool_message(value: object) -> ToolMessage | None:
    """What a LangChain tool returned, out of any of the forms of its message; None for other values."""
    if isinstance(value, str):
        if "tool_call_id" not in value:
            return None
        if value.startswith("content="):
            return _message_repr(value)
    parts = members(value)
    for _ in range(3):  # `{"output": {"lc": …, "kwargs": {…}}}` is the deepest form
        if parts is None:
            return None
        if "content" in parts and "tool_call_id" in parts:
            return ToolMessage(parts["content"], name_of(parts["tool_call_id"]), parts.get("status") == "error")
        inner = "output" if "output" in parts else "data" if parts.get("type") == "tool" else "kwargs"
        parts = members(parts.get(inner))
    return None


def _message_repr(text: str) -> ToolMessage | None:
    named = _MESSAGE_CALL_ID.search(text)
    if named is None:
        return None
    call_id = name_of(named[1])
    found = _MESSAGE_REPR.match(text)
    is_error = " status='error'" in text[found.end() - 1 :] if found else " status='error'" in text
    content = python_value(f"[{found[1]}]") if found else None
    if isinstance(content, list):
        return ToolMessage(content[0], call_id, is_error)
    return ToolMessage(_MESSAGE_IDS.sub("", text), call_id, is_error)


def was_cut(value: object, limit: int | None) -> bool:
    """Whether an attribute limit or the instrumentation cut arguments short: two that begin alike are not the same.

    A text that begins as JSON or as a Python literal and ends before it is complete counts as cut where it is long, or
    ends in an ellipsis; a short one without is a model's own broken text, and that text is what the tool was given.
    """
    if isinstance(value, str):
        if limit is not None and len(value) >= limit:
            return True
        may_be_cut = len(value) >= _SHORTEST_CUT or value.rstrip().endswith(_ENDINGS_OF_CUT)
        return may_be_cut and _ends_early(value)
    return limit is not None and _fills(value, limit)


def result_of(value: object, limit: int | None) -> object:
    """A result, or `ABSENT` where a known limit cut it: two results that begin alike are not the same."""
    if limit is not None and _fills(value, limit):
        return ABSENT
    return str(value) if isinstance(value, Json) else value


def _fills(value: object, limit: int, depth: int = 0) -> bool:
    """Whether any text in the value is as long as the limit allows."""
    if depth > _DEEPEST:
        return False
    if isinstance(value, str):
        return len(value) >= limit
    if isinstance(value, Mapping):
        return any(_fills(member, limit, depth + 1) for member in value.values())
    return isinstance(value, list | tuple) and any(_fills(member, limit, depth + 1) for member in value)


def _ends_early(text: str) -> bool:
    if text.endswith(_CUT_MARKS):
        return True
    text = text.strip()
    if text[:1] not in _BRACKETS or (len(text) < _SHORTEST_CUT and _OPENING.match(text) is None):
        return False
    try:
        _SKIM.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _stops(text)
    return False


def _stops(text: str) -> bool:
    """Whether a text in a bracket that is no strict JSON ends before it is complete."""
    if _LITERAL.match(text) is not None:
        return text.endswith(_ELLIPSES) or _is_open(text)
    try:
        _WHOLE.decode(text)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated") or text.endswith(_ELLIPSES):
            return True
        return _BROKEN_OFF.fullmatch(text, error.pos) is not None
    except RecursionError:
        return False
    return False


def _is_open(text: str) -> bool:
    """Whether a Python literal lacks a closing bracket or quote, and has not ended before more text."""
    depth = 0
    for found in _LITERAL_PART.finditer(text):
        part = found[0]
        if part in _QUOTES:
            return True
        depth += (part in "([{") - (part in ")]}") if len(part) == 1 else 0
        if depth == 0:
            return False
    return True


def failure(record: Record, *, flagged: bool = False, text: object = None) -> Failure:
    """Whether and how the call failed: status, `error.type`, the exception event, or the family's own flag.

    The message is the exception's where one was recorded, else the status description, else ``text``.
    """
    written = record.attributes.get("error.type")
    if written is None and not flagged and not record.error:
        return _NO_FAILURE
    error_type = name_of(written)
    message: object = None
    for event in record.events:
        if event.name == "exception":
            if error_type in (None, "_OTHER"):
                error_type = name_of(event.attributes.get("exception.type")) or error_type
            message = event.attributes.get("exception.message")
            break
    for candidate in (message, record.status_message, text):
        if isinstance(candidate, str) and candidate and not is_hidden(candidate):
            return Failure(is_error=True, error_type=error_type, message=candidate)
    return Failure(is_error=True, error_type=error_type, message=None)
