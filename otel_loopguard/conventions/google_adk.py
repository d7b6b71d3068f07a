"""Google's Agent Development Kit: what it writes beside the gen-AI conventions.

Not its tool spans as such, which follow those conventions; only the older form of arguments and results, and its
model spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from ._decode import failure, first_content, members, name_of, python_value, result_of, was_cut
from ._record import ABSENT, ContentKeys, RawCall, Record, Role

__all__ = ["GoogleAdk"]

_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
_RESPONSE: Final = "gcp.vertex.agent.tool_response"
_REQUEST: Final = "gcp.vertex.agent.llm_request"
_SESSION: Final = "gcp.vertex.agent.session_id"
_WITHHELD: Final = ("{}", "N/A", ABSENT)
"""What stands in both places when content capture is off; an empty object beside a response is no arguments."""
_NOT_GIVEN: Final = "<not specified>"
_TRANSFER: Final = "transfer_to_agent"
"""The kit's own tool that hands the work to the agent in its one argument."""


class GoogleAdk:
    """The family."""

    name = "google_adk"
    content: ClassVar[ContentKeys] = ContentKeys(
        tool=frozenset([_ARGUMENTS, _RESPONSE, _REQUEST, "gcp.vertex.agent.llm_response", "gcp.vertex.agent.data"]),
        only_tool=frozenset([_ARGUMENTS, _RESPONSE]),
        messages=frozenset([_REQUEST, "gcp.vertex.agent.llm_response", "gcp.vertex.agent.data"]),
    )
    markers: ClassVar[frozenset[str]] = frozenset([_ARGUMENTS, _REQUEST, "gcp.vertex.agent.event_id"])
    names: tuple[str, ...] = ()

    def read(self, record: Record) -> RawCall | None:
        """An `execute_tool` span of the kit."""
        attributes = record.attributes
        if record.signal != "span" or attributes.get("gen_ai.operation.name") != "execute_tool":
            return None
        written = attributes.get(_ARGUMENTS, ABSENT)
        result = _response(attributes)
        if written == "N/A" or (written == "{}" and attributes.get(_RESPONSE, ABSENT) in _WITHHELD):
            written = ABSENT
        failed = failure(record)
        return RawCall(
            family=self.name,
            tool=name_of(attributes.get("gen_ai.tool.name")) or "",
            arguments=python_value(written),
            truncated=was_cut(written, record.length_limit),
            result=result_of(result, record.length_limit),
            is_error=failed.is_error,
            error_type=failed.error_type,
            error_message=failed.message,
            handoff_to=_handoff(attributes),
        )

    def role(self, record: Record) -> Role | None:
        """`call_llm` of the older schema, which has no operation name; and `invocation`, which has nothing."""
        attributes = record.attributes
        if _REQUEST not in attributes or "gen_ai.operation.name" in attributes:
            return None
        return Role("model", conversation_id=name_of(attributes.get(_SESSION)))


def _response(attributes: Mapping[str, object]) -> object:
    found = attributes.get(_RESPONSE, ABSENT)
    if found in _WITHHELD and attributes.get(_ARGUMENTS, ABSENT) in _WITHHELD:
        return ABSENT
    parts = members(found) if isinstance(found, str) and _NOT_GIVEN in found else None
    return ABSENT if parts == {"result": _NOT_GIVEN} else found


def _handoff(attributes: Mapping[str, object]) -> str | None:
    if attributes.get("gen_ai.tool.name") != _TRANSFER:
        return None
    given = members(first_content(attributes, ("gen_ai.tool.call.arguments", _ARGUMENTS)))
    return name_of(given.get("agent_name")) if given else None
