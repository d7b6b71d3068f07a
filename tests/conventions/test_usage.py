"""Tokens of model spans, in every spelling."""

from __future__ import annotations

import pytest

from otel_loopguard.conventions.usage import tokens_of


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, None),
        ({"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}, 120),
        ({"gen_ai.usage.input_tokens": 100}, 100),
        ({"gen_ai.usage.output_tokens": 0}, 0),
        ({"gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 3}, 10),
        ({"llm.token_count.total": 9, "llm.token_count.prompt": 7}, 9),
        ({"llm.token_count.prompt": 7, "llm.token_count.completion": 1}, 8),
        ({"llm.usage.total_tokens": 5}, 5),
        ({"ai.usage.promptTokens": 2, "ai.usage.completionTokens": 2}, 4),
        ({"gen_ai.usage.input_tokens": "many", "gen_ai.usage.output_tokens": True}, None),
        ({"gen_ai.usage.input_tokens": -1}, None),
    ],
)
def test_tokens(attributes: dict[str, object], expected: int | None) -> None:
    """A total where there is one, else in and out; nothing where neither is a count."""
    assert tokens_of(attributes) == expected
