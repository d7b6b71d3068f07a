"""How many tokens a model's span says that it spent.

Not its messages, and no convention of its own: families name the same two numbers differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["tokens_of"]

_TOTALS: Final = ("gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens", "ai.usage.tokens")
"""Shared by several packages, OpenInference, OpenLLMetry, Vercel's AI SDK."""
_PARTS: Final = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"),
    ("llm.token_count.prompt", "llm.token_count.completion"),
    ("ai.usage.promptTokens", "ai.usage.completionTokens"),
)
"""The semantic conventions in their new and old forms, OpenInference, Vercel's AI SDK."""


def tokens_of(attributes: Mapping[str, object]) -> int | None:
    """The tokens in and out together, None where the span does not tell."""
    for key in _TOTALS:
        total = _count(attributes.get(key))
        if total is not None:
            return total
    for one, other in _PARTS:
        given, made = _count(attributes.get(one)), _count(attributes.get(other))
        if given is not None or made is not None:
            return (given or 0) + (made or 0)
    return None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
