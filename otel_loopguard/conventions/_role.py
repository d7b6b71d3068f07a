"""What a span that is no tool call says of those around it.

Not a record: it holds no content, and goes on to whoever places calls.
"""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Role"]


class Role(msgspec.Struct, frozen=True):
    """What a record that is no tool call tells about the calls below or after it."""

    kind: Literal["agent", "model", "step"]
    """`step` is neither (a workflow, a chain, a cycle of an event loop): it may still name a run or a conversation."""
    agent: str | None = None
    run_id: str | None = None
    agent_call_id: str | None = None
    conversation_id: str | None = None
