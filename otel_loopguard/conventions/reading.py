"""Reading a record with all conventions: which call it is, or whose span.

Not a convention: it asks them in their order and lets the later ones fill what the earlier ones left open, since one
span often carries the attributes of several.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from otel_loopguard.core.identifier import LONGEST, bounded

from ._decode import is_hidden
from ._record import ContentKeys, Convention, RawCall, Record, Role
from .claude_code import ClaudeCode
from .codex import Codex
from .gemini_cli import GeminiCli
from .gen_ai import GenAi
from .google_adk import GoogleAdk
from .haystack import Haystack
from .langfuse import Langfuse
from .loopguard import Loopguard
from .mcp import Mcp
from .mlflow import MLflow
from .openinference import OpenInference
from .openlit import OpenLit
from .openllmetry import OpenLLMetry
from .pydantic_ai import PydanticAi
from .vercel import Vercel

__all__ = ["CONTENT", "CONVENTIONS", "MARKERS", "NAMES", "NOT_TOOLS", "WATCHED", "read", "role"]

_OVERLAY: Final = Loopguard()

CONVENTIONS: Final[tuple[Convention, ...]] = (
    OpenLLMetry(),
    OpenInference(),
    Langfuse(),
    MLflow(),
    OpenLit(),
    GoogleAdk(),
    PydanticAi(),
    Haystack(),
    Vercel(),
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    Mcp(),
    GenAi(),
    _OVERLAY,
)
"""What packages write of their own before what they share, our own marks last. A new convention is one more here."""

MARKERS: Final = frozenset().union(*(convention.markers for convention in CONVENTIONS))
"""Attribute keys of which every record of ours has one, but for those told by their name."""

NAMES: Final = tuple(prefix for convention in CONVENTIONS for prefix in convention.names)
"""Prefixes of the names of records that are ours without any marker."""

CONTENT: Final = ContentKeys(
    tool=frozenset().union(*(convention.content.tool for convention in CONVENTIONS)),
    only_tool=frozenset().union(*(convention.content.only_tool for convention in CONVENTIONS)),
    tool_prefixes=tuple(dict.fromkeys(prefix for one in CONVENTIONS for prefix in one.content.tool_prefixes)),
    events=frozenset().union(*(convention.content.events for convention in CONVENTIONS)),
    messages=frozenset().union(*(convention.content.messages for convention in CONVENTIONS)),
    message_prefixes=tuple(dict.fromkeys(prefix for one in CONVENTIONS for prefix in one.content.message_prefixes)),
)
"""The union of what all families keep: a tool span is redacted by it, whichever family read it."""

WATCHED: Final = MARKERS | CONTENT.tool
"""Attribute keys of which a span has none that is neither ours nor may hold a tool call's content."""

NOT_TOOLS: Final = frozenset(["(merged tools)", "claude_code.tool.execution", "claude_code.tool.blocked_on_user"])
"""Google ADK's summary of a parallel batch whose calls have spans of their own, and the parts of a Claude Code call."""


def read(record: Record) -> RawCall | None:
    """The tool call that the record is, or None. Never raises."""
    call: RawCall | None = None
    for convention in _conventions(record):
        found = convention.read(record)
        if found is not None:
            call = found if call is None else _filled(call, found)
    if call is None or call.tool in NOT_TOOLS or record.name in NOT_TOOLS:
        return None
    if not call.tool:
        call = call.changed(tool=record.name)
    if len(call.tool) > LONGEST:  # a record's name, or a name that a family puts together
        call = call.changed(tool=bounded(call.tool))
    if call.marks is None and not _OVERLAY.markers.isdisjoint(record.attributes):
        return _OVERLAY.overlay(call, record)
    return call


def role(record: Record) -> Role | None:
    """What a span that is no tool call tells about the calls below it, or None. Never raises."""
    found: Role | None = None
    for convention in _conventions(record):
        other = convention.role(record)
        if other is not None:
            found = other if found is None else _joined(found, other)
    if found is not None and found.agent is not None and len(found.agent) > LONGEST:  # a record's name
        found = msgspec.structs.replace(found, agent=bounded(found.agent))
    return found


def _conventions(record: Record) -> tuple[Convention, ...]:
    """The conventions that may know the record, in order."""
    found = _by_keys(tuple(record.attributes))
    if found or not record.name.startswith(NAMES):
        return found
    return tuple(convention for convention in CONVENTIONS if record.name.startswith(convention.names))


@lru_cache(maxsize=1024)
def _by_keys(keys: tuple[str, ...]) -> tuple[Convention, ...]:
    """Instrumentations write few combinations of keys; the markers among them are looked up once."""
    return tuple(convention for convention in CONVENTIONS if not convention.markers.isdisjoint(keys))


def _filled(call: RawCall, other: RawCall) -> RawCall:
    """The call with what only the other reading knows."""
    changes: dict[str, object] = {}
    if is_hidden(call.arguments) and not is_hidden(other.arguments):
        changes["arguments"] = other.arguments
        changes["truncated"] = other.truncated
    if is_hidden(call.result) and not is_hidden(other.result):
        changes["result"] = other.result
    if other.is_error and not call.is_error:
        changes["is_error"] = True
    for field in _FILLED:
        if not getattr(call, field):
            value = getattr(other, field)
            if value:
                changes[field] = value
    return call.changed(**changes) if changes else call


_FILLED: Final = (
    "tool", "call_id", "agent", "run_id", "agent_call_id", "conversation_id", "channel_id", "prompt_id", "turn",
    "error_type", "error_message", "handoff_to", "user_message", "marks",
)  # fmt: skip


def _joined(role: Role, other: Role) -> Role:
    """An agent or a model wins over a step; names and ids are taken from whoever has them."""
    return Role(
        kind=other.kind if role.kind == "step" else role.kind,
        agent=role.agent or other.agent,
        run_id=role.run_id or other.run_id,
        agent_call_id=role.agent_call_id or other.agent_call_id,
        conversation_id=role.conversation_id or other.conversation_id,
    )
