"""What stands for content that was withheld or cut, and what only looks so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.placeholder import may_be_withheld, withheld

WITHHELD = [
    ("[REDACTED]", "redacted"), ("[redacted]", "redacted"), ("__REDACTED__", "redacted"), ("<elided>", "redacted"),
    ("<redacted>", "redacted"), ("REDACTED", "redacted"), ("***REDACTED***", "redacted"), ("[Filtered]", "redacted"),
    ("[Scrubbed due to 'password']", "redacted"), ("<not serializable>", "redacted"), ("****", "redacted"),
    ("**********", "redacted"), ("[truncated]", "truncated"), ("<truncated due to size exceeding limit>", "truncated"),
    ("<4096 chars; not recorded>", "truncated"), ("abc…[truncated]", "truncated"), ("abc... [truncated]", "truncated"),
    ("abc…[Truncated]", "truncated"),
]  # fmt: skip
CONTENT = [
    "", "redacted", "elided", "what does [REDACTED] mean", "[REDACTED] twice [REDACTED]", "[x]", "<b>", "***", "*****", "__init__",
    "truncated", "a [truncated] text", "see [truncated]", "[REDACTED", "REDACTED]", "REDACTED ", "null", "N/A", "None",
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), WITHHELD)
def test_placeholders(text: str, reason: str) -> None:
    """What instrumentations write in the place of content; the quick search in JSON finds it as well."""
    assert withheld(text) == reason
    assert may_be_withheld(json.dumps({"a": [text]}, separators=(",", ":"), ensure_ascii=False))


@pytest.mark.parametrize("text", CONTENT)
def test_content(text: str) -> None:
    """A longer text that mentions a placeholder, and words that people use."""
    assert withheld(text) is None


@given(st.lists(st.sampled_from([*CONTENT, *(text for text, _ in WITHHELD)]) | st.text(max_size=5), max_size=4).map("".join))
def test_the_search_in_json_misses_nothing(text: str) -> None:
    """Whatever is a placeholder alone is found inside a document."""
    document = json.dumps({"k": text, "list": [text, {"x": text}]}, separators=(",", ":"), ensure_ascii=False)
    assert withheld(text) is None or may_be_withheld(document)
