"""Regular expressions of a policy that could hold up the agent whose results they are searched for in."""

from __future__ import annotations

import re

import pytest

from otel_loopguard.core.policy_file.backtracking import slowness
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import PolicyError


@pytest.mark.parametrize(
    ("pattern", "slow"),
    [
        (r"(a+)+$", "exponential"),
        (r"(a*)*b", "exponential"),
        (r"(a|a)*b", "exponential"),
        (r"(?:ab|ab)*c", "exponential"),
        (r"(\w+\s?)*$", "exponential"),
        (r"(a|ab|b)*c", "exponential"),
        (r"(?:.|\s)*x", "exponential"),
        (r"(x+x+)+y", "exponential"),
        (r"((a?)b?)*c", "exponential"),
        (r"(\d{1,3}[.]?){4}", "exponential"),
        (r"(a{1,9}){1,9}b", "exponential"),
        (r'("[^"]*"|[^,])*$', "exponential"),
        (r"(?i)(kb|[A-K])*z", "exponential"),
        (r"(kb|[A-K])*z", None),
        (r"(?=(a+)+$)", "exponential"),
        (r"x(?!(a+)+$)", "exponential"),
        (r"(?P<a>x)(?(a)(y+)+|z)", "exponential"),
        (r".*a.*b", "cubic"),
        (r"^.*a.*b.*c", "cubic"),
        (r"(?m)^.*a.*b", "cubic"),
        (r"\s*\s*;", "cubic"),
        (r".*" * 100, "unknown"),
        (r"x?" * 128, "unknown"),
        (r"^.*a.*b", None),
        (r"a.*b", None),
        (r".*a", None),
        (r"\s+$", None),
        (r"(\w+\s)*x", None),
        (r"a*b*c*", None),
        (r"(a|b|c)*d", None),
        (r"(?:foo|bar|baz)+", None),
        (r"(?:\d{1,3}\.){3}\d{1,3}", None),
        (r"[a-z]{0,9}[a-z0-9]{0,9}", None),
        (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", None),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})", None),
        (r"(?:[^\"\\]|\\.)*\"", None),
        (r"([\"'])(?:(?!\1).)*\1", None),
        (r"took \d+(?:\.\d+)? ?ms", None),
        (r"request_id=[\w-]+", None),
        (r"(?:/[\w.-]+)+", None),
        (r"(?s)begin.*end", None),
        (r"^(?!ok)", None),
        (r"cannot|unable|refused", None),
        (r"", None),
    ],
)
def test_how_slow_a_search_may_be(pattern: str, slow: str | None) -> None:
    """Told by the pattern alone: two ways around one loop, or three loops that one text can go through."""
    re.compile(pattern)
    assert slowness(pattern) == slow


@pytest.mark.parametrize(
    ("setting", "way_out"),
    [
        (r"volatile: ['(a+)+']", "write no repeat inside of a repeat"),
        (r"refusal: ['.*no.*way']", "leave `.*` out at its ends"),
        (r"volatile: ['\d+', '" + ".*" * 100 + "']", "write several shorter ones"),
    ],
)
def test_a_slow_pattern_is_refused(setting: str, way_out: str) -> None:
    """With its place and what to write instead: results come from outside, and nothing stops a search half way."""
    with pytest.raises(PolicyError, match=re.escape(way_out)) as caught:
        parse_policy(f"tools: {{t: {{result: {{{setting}}}}}}}")
    assert caught.value.path is not None
    assert caught.value.path.startswith("$.tools.t.result.")


def test_quick_patterns_are_quick() -> None:
    """What is let through ends on texts that nearly fit, line after line."""
    for pattern in (r"(\w+\s)*x", r"^.*a.*b", r"(?:\d{1,3}\.){3}\d{1,3}", r"(?:[^\"\\]|\\.)*\""):
        for text in ("a" * 2_000, "a a" * 600, "1." * 900, "\\" * 2_000):
            assert slowness(pattern) is None
            re.sub(pattern, "", text)
