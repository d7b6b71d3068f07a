"""Whether a call says something rather than asks something: it hands over a text, a patch, a list of changes.

Not a kind of tool: an editor reads and writes, and its arguments tell which.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["has_payload"]

_ASKING: Final = frozenset(
    ["command", "cmd", "code", "script", "query", "sql", "statement", "sql_query", "cypher", "source_code", "question",
     "prompt"]
)  # fmt: skip
"""Arguments whose line breaks are a program's, not a payload's."""
_PAYLOADS: Final = frozenset(
    ["content", "file_text", "new_str", "new_string", "old_str", "replacement", "patch", "diff"]
)
_SHELL: Final = ("command", "cmd")
_EDITING: Final = re.compile(
    r"\s*(?:edit|insert|append|replace|write|create|str_replace|apply_patch)\b[^\n|;&<>]*\n\s*\S"
)
"""How an agent with one tool for everything edits: the command in the first line, and what is handed over below."""
_PAYLOAD_MEMBER: Final = re.compile(rf'"(?:{"|".join(sorted(_PAYLOADS))})"\s*:')


def has_payload(data: object) -> bool:
    """Whether arguments hold more than a question. A line break at the end of a text is a key that is pressed."""
    if not isinstance(data, dict):
        return isinstance(data, str) and "\n" in data.strip()
    for name, value in data.items():
        if isinstance(value, str):
            if name in _PAYLOADS:
                if value:
                    return True
            elif name in _ASKING:
                if "\n" in value and name in _SHELL and _EDITING.match(value) is not None:
                    return True
            elif ("\n" in value or value[:1] == "{") and _says_something(value):
                return True
        elif value is not None and (name in _PAYLOADS or _lists_payloads(value)):
            return True
    return False


def _lists_payloads(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) and not _PAYLOADS.isdisjoint(one) for one in value)


def _says_something(text: str) -> bool:
    """A line break, or JSON text of an object with a payload among its members."""
    return "\n" in text.strip() or (text.startswith("{") and _PAYLOAD_MEMBER.search(text) is not None)
