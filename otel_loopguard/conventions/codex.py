"""Codex CLI: its log events `codex.tool_result`.

Not its trace events of the same name, which hold only lengths.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import call_id_of, failure, name_of, python_value, result_of, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["Codex"]

_RESULT: Final = "codex.tool_result"
_TRACED: Final = "arguments_length"


class Codex:
    """The family."""

    name = "codex"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset(["arguments", "output"]),
        events=frozenset(["arguments", "output"]),
        messages=frozenset(["prompt"]),
    )
    markers: ClassVar[frozenset[str]] = frozenset(["call_id"])
    names: tuple[str, ...] = ("codex.",)

    def read(self, record: Record) -> RawCall | None:
        """The event of a finished call; one that was never dispatched has neither id nor arguments."""
        attributes = record.attributes
        if record.signal != "log" or _RESULT not in (record.name, attributes.get("event.name")):
            return None
        if _TRACED in attributes:
            return None
        written = attributes.get("arguments", ABSENT)
        output = attributes.get("output", ABSENT)
        failed = failure(record, flagged=attributes.get("success") in ("false", False), text=output)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("tool_name")) or "",
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            result=result_of(output, record.length_limit),
            call_id=call_id_of(attributes, ("call_id",)),
            conversation_id=name_of(attributes.get("conversation.id")),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:  # noqa: ARG002 (the seam)
        """Events stand in no tree."""
        return None
