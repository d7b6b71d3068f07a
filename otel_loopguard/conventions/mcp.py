"""Model Context Protocol: `tools/call` spans of clients and servers.

Not what the protocol carries beside tools. The request id is no call id: it counts the requests of one connection, and
the framework's span around it has the model's.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ._decode import call_id_of, failure, first_content, members, name_of, python_value, result_of, was_cut
from ._record import ContentKeys, RawCall, Record, Role

__all__ = ["IGNORED", "Mcp"]

_METHOD: Final = "mcp.method.name"
_CALL: Final = "tools/call"
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments",)
_RESULTS: Final = ("gen_ai.tool.call.result",)

IGNORED: Final = frozenset(["mcp.protocol.version", "mcp.resource.uri"])
"""Of `mcp.*`: what says nothing of a tool call."""


class Mcp:
    """The family."""

    name = "mcp"
    content: ClassVar[ContentKeys] = ContentKeys()
    markers: ClassVar[frozenset[str]] = frozenset([_METHOD])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """A `tools/call`; a client names the tool in the span's name alone."""
        attributes = record.attributes
        if attributes.get(_METHOD) != _CALL:
            return None
        named = record.name.partition(f"{_CALL} ")[2]
        written = first_content(attributes, _ARGUMENTS)
        result = first_content(attributes, _RESULTS)
        parts = members(result) if isinstance(result, str) and "isError" in result else None
        failed = failure(record, flagged=parts is not None and parts.get("isError") is True, text=result)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("gen_ai.tool.name")) or named,
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            call_id=call_id_of(attributes, ("gen_ai.tool.call.id",)),
            channel_id=name_of(attributes.get("mcp.session.id")),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
        )

    def role(self, record: Record) -> Role | None:  # noqa: ARG002 (the seam)
        """The protocol knows no agents and no models."""
        return None
