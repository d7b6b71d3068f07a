"""What stands for content that was withheld or cut, and what only looks so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.form.placeholder import CUT_HINT, is_withheld_at, withheld

WITHHELD = [
    ("[REDACTED]", "redacted"),
    ("[redacted]", "redacted"),
    ("__REDACTED__", "redacted"),
    ("<elided>", "redacted"),
    ("<redacted>", "redacted"),
    ("REDACTED", "redacted"),
    ("***REDACTED***", "redacted"),
    ("[Filtered]", "redacted"),
    ("[Scrubbed due to 'password']", "redacted"),
    ("<not serializable>", "redacted"),
    ("****", "redacted"),
    ("**********", "redacted"),
    ("[truncated]", "truncated"),
    ("<truncated due to size exceeding limit>", "truncated"),
    ("<4096 chars; not recorded>", "truncated"),
    ("abc…[truncated]", "truncated"),
    ("abc... [truncated]", "truncated"),
    ("abc…[Truncated]", "truncated"),
]
CONTENT = [
    "",
    "redacted",
    "elided",
    "what does [REDACTED] mean",
    "[REDACTED] twice [REDACTED]",
    "[x]",
    "<b>",
    "***",
    "*****",
    "__init__",
    "truncated",
    "a [truncated] text",
    "see [truncated]",
    "[REDACTED",
    "REDACTED]",
    "REDACTED ",
    "null",
    "N/A",
    "None",
]


@pytest.mark.parametrize(("text", "reason"), WITHHELD)
def test_placeholders(text: str, reason: str) -> None:
    """What instrumentations write in the place of content."""
    assert withheld(text) == reason


@pytest.mark.parametrize("text", CONTENT)
def test_content(text: str) -> None:
    """A longer text that mentions a placeholder, and words that people use."""
    assert withheld(text) is None


@given(
    st.lists(st.sampled_from([*CONTENT, *(text for text, _ in WITHHELD)]) | st.text(max_size=5), max_size=4).map(
        "".join
    )
)
def test_the_search_in_json_agrees(text: str) -> None:
    """Inside a document a text is found to be withheld where it is so alone, or has the hint of a cut text."""
    document = json.dumps([text], separators=(",", ":"), ensure_ascii=False)
    if CUT_HINT not in text:
        assert is_withheld_at(document, 2) == (withheld(text) is not None)
