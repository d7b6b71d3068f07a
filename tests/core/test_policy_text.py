"""Policy texts: what they mean, and that nothing but a `PolicyError` comes out of a wrong one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.policy import CycleRule, IdenticalRule, Policy, PollRule, ProgressRule, SameErrorRule
from otel_loopguard.core.policy_file.text import parse_policy, read_policy
from otel_loopguard.errors import PolicyError

EVERYTHING = """
version: 1
revision: "2026-11-29.1"
profile: standard
mode: observe
window: 12
turns: {no_progress: 4}
scope: [tenant.id]
defaults:
  kind: unknown
  identical: {nudge: 3, stop: 5, in_a_row: 5}
  cycle: {max_period: 8, nudge: 2, stop: 3}
  drift: {nudge: 5}
  same_error: {nudge: 3, stop: 6}
tools:
  get_logs:
    kind: read
    mode: nudge
    identical: {nudge: 2, stop: 4}
    arguments:
      ignore: [meta.request_id]
      identity: [service, since, level]
      defaults: {limit: 50, tags: [a, {b: null}]}
      drop_nulls: false
      text: collapse
      case_insensitive: [order_id]
      round: {amount: 2, "lines[].price": 0}
      unordered: [tags]
      json: [payload]
      path: [file, "paths[]"]
    result:
      ignore: [took_ms, "rows[].seen"]
      volatile: ["build \\\\d+"]
      refusal: none
      cache: false
    owner: team-observability
  get_export_status:
    kind: poll
    result: {progress: {state: {path: status, order: [queued, running], terminal: [complete, failed]}}}
    poll: {max_unchanged: 10, max_total: 60, deadline: 600s, min_interval: 250ms}
  search_cases:
    kind: read
    result: {progress: {items: {path: "items[].id"}}}
    page: {cursor: cursor}
  issue_refund:
    kind: write
    idempotency_key: key
    duplicate_after_success: nudge
    result: {changed: {path: meta.changed}}
match: {"mcp__*__search*": search_cases}
ask_user: [ask_user]
"""


def test_every_key_reaches_the_policy() -> None:
    """A setting that is read and goes nowhere would be a promise not kept."""
    policy = parse_policy(EVERYTHING)
    assert (policy.revision, policy.scope, policy.no_progress_turns) == ("2026-11-29.1", ("tenant.id",), 4)
    logs = policy.for_tool("get_logs")
    assert (logs.kind, logs.mode, logs.owner) == ("read", "nudge", "team-observability")
    assert logs.identical == IdenticalRule(2, 4, 5)
    rules = logs.arguments
    assert rules.ignore == (("meta", "request_id"),)
    assert rules.identity == (("service",), ("since",), ("level",))
    assert rules.defaults == {"limit": 50, "tags": ["a", {"b": None}]}
    assert (rules.drop_nulls, rules.text, rules.case_insensitive) == (False, "collapse", (("order_id",),))
    assert rules.round == {("amount",): 2, ("lines", "[]", "price"): 0}
    assert (rules.unordered, rules.json, rules.path) == ((("tags",),), (("payload",),), (("file",), ("paths", "[]")))
    assert logs.result.ignore == (("took_ms",), ("rows", "[]", "seen"))
    assert (logs.result.volatile, logs.result.refusal, logs.result.cache) == (("build \\d+",), "none", False)
    export = policy.for_tool("get_export_status")
    order, terminal = ("queued", "running"), ("complete", "failed")
    assert export.result.progress == ProgressRule("state", ("status",), order, terminal)
    assert export.poll == PollRule(10, 60, 600_000_000_000, 250_000_000)
    search = policy.for_tool("mcp__crm__search_notes")
    assert search.result.progress == ProgressRule("items", ("items", "[]", "id"))
    assert (search.cursor, search.result.cache) == ("cursor", True)
    refund = policy.for_tool("issue_refund")
    assert (refund.idempotency_key, refund.duplicate_after_success) == ("key", "nudge")
    assert refund.arguments.volatile == frozenset()
    assert refund.result.changed == ("meta", "changed")
    assert policy.for_tool("ask_user").asks_user


@pytest.mark.parametrize("text", ["{}", "version: 1", "tools: {}", "defaults: {identical: {}}", "match: {}\nscope: []"])
def test_a_policy_that_says_nothing_is_the_built_in_one(text: str) -> None:
    """The defaults of the file and of the code are one thing."""
    assert parse_policy(text) == Policy()


@pytest.mark.parametrize(
    ("text", "identical"),
    [
        ("tools: {t: {}}", (3, 5, 5)),
        ("tools: {t: {kind: read}}", (2, 3, 5)),
        ("tools: {t: {kind: read, identical: {stop: 6}}}", (2, 6, 5)),
        ("tools: {t: {kind: read, identical: {in_a_row: 7}}}", (2, 3, 7)),
        ("defaults: {identical: {nudge: 4}}\ntools: {t: {owner: o}}", (4, 5, 5)),
        ("defaults: {identical: {nudge: 4, stop: 6, in_a_row: 8}}\ntools: {t: {kind: read}}", (2, 3, 8)),
        ("defaults: {identical: {nudge: 4, stop: 6}}\ntools: {t: {identical: {stop: 7}}}", (4, 7, 5)),
        ("defaults: {kind: read}\ntools: {t: {owner: o}}", (2, 3, 5)),
        ("defaults: {kind: read}\ntools: {t: {kind: write}}", (3, 5, 5)),
        ("defaults: {kind: read}\ntools: {t: {kind: unknown}}", (3, 5, 5)),
        ("defaults: {kind: read, identical: {nudge: 4, stop: 6}}", (4, 6, 5)),
        ("defaults: {kind: read, identical: {nudge: 4, stop: 6}}\ntools: {t: {owner: o}}", (4, 6, 5)),
        ("defaults: {kind: read, identical: {nudge: 4, stop: 6}}\ntools: {t: {kind: read}}", (2, 3, 5)),
        ("window: 4", (3, 4, 4)),
        ("window: 4\ntools: {t: {kind: read}}", (2, 3, 4)),
        ("window: 5\ntools: {t: {identical: {nudge: 4}}}", (4, 5, 5)),
    ],
)
def test_the_layers_of_identical(text: str, identical: tuple[int, int, int]) -> None:
    """Built-in, then defaults, then the tool; declaring a tool `read` sets two and three at the level that does so;
    only built-in values give way to a small window.
    """
    rule = parse_policy(text).for_tool("t").identical
    assert (rule.nudge, rule.stop, rule.in_a_row) == identical


def test_a_small_window_lowers_only_what_does_not_fit() -> None:
    """The clamped policy is whole: every nudge still comes before its stop."""
    tool = parse_policy("window: 4").default
    assert (tool.cycle, tool.same_error) == (CycleRule(4, 2, 3), SameErrorRule(3, 4))
    assert tool.drift.nudge == 5


@pytest.mark.parametrize(
    ("text", "volatile"),
    [
        ("tools: {t: {kind: read}}", True),
        ("tools: {t: {kind: write}}", False),
        ("defaults: {kind: write}", False),
        ("profile: strict", False),
        ("profile: lenient", True),
        ("tools: {t: {arguments: {identity: [timestamp]}}}", False),
        ("tools: {t: {arguments: {path: [timestamp.file]}}}", False),
        ("tools: {t: {kind: read, page: {cursor: timestamp}}}", False),
        ("tools: {t: {arguments: {ignore: [timestamp]}}}", True),
    ],
)
def test_well_known_volatile_keys_count_where_they_have_a_meaning(text: str, volatile: bool) -> None:  # noqa: FBT001
    """`timestamp` is left out by name alone, unless the tool writes or its owner gave the field a meaning."""
    assert ("timestamp" in parse_policy(text).for_tool("t").arguments.volatile) is volatile


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("profile: strict", ("exact", False, False, None)),
        ("profile: lenient", ("collapse", True, True, 2)),
        ("profile: lenient\ntools: {t: {arguments: {text: exact}}}", ("exact", True, True, 2)),
        ("profile: strict\ntools: {t: {arguments: {drop_nulls: true, text: trim}}}", ("trim", True, False, None)),
    ],
)
def test_a_tool_wins_over_the_profile(text: str, rules: tuple[object, ...]) -> None:
    """The profile is where a tool's rules start from."""
    found = parse_policy(text).for_tool("t").arguments
    assert (found.text, found.drop_nulls, found.fold_case, found.round_floats) == rules


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [("250ms", 250_000_000), ("1s", 10**9), ("5m", 300 * 10**9), ("2h", 7200 * 10**9), ("0600s", 600 * 10**9)],
)
def test_durations(text: str, nanoseconds: int) -> None:
    """A whole number with its unit."""
    policy = parse_policy(f"tools: {{t: {{kind: poll, poll: {{deadline: {text}}}}}}}")
    assert policy.for_tool("t").poll == PollRule(deadline=nanoseconds)


def _cases(folder: Path) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    for file in sorted((folder / "vectors").glob("*.json")):
        for case in json.loads(file.read_text("utf-8")):
            if "policy" in case:
                yield case["id"], case["policy"], case["expect"].get("error")


def test_policies_of_the_behaviour_cases(shared: Path) -> None:
    """Those with an expected error are refused with its words, all others are read."""
    refused = 0
    for name, policy, error in _cases(shared):
        problems = read_policy(json.dumps(policy)).problems
        if error is None:
            assert problems == (), name
        else:
            refused += 1
            assert any(error in str(problem) for problem in problems[:1]), name
    assert refused >= 20


def test_the_documented_example(shared: Path) -> None:
    """The example of the schema's description is a good policy."""
    text = (shared / "policy_schema.md").read_text("utf-8").split("```yaml\n")[1].split("```")[0]
    policy = parse_policy(text)
    assert policy.revision == "2026-11-29.1"
    assert len(policy.tools) == 8


_WORDS = [
    "version",
    "window",
    "tools",
    "t",
    "kind",
    "read",
    "poll",
    "identical",
    "nudge",
    "stop",
    "arguments",
    "ignore",
    "result",
    "progress",
    "state",
    "path",
    "order",
    "match",
    "defaults",
    "scope",
    "*",
    "a.b",
    "[]",
    "12",
    "600s",
]
_near_policies = st.recursive(
    st.sampled_from(_WORDS) | st.none() | st.booleans() | st.integers(-2, 70) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=5),
    max_leaves=25,
)


@given(st.text(max_size=80) | _near_policies.map(json.dumps))
def test_parsing_raises_nothing_but_policy_errors(text: str) -> None:
    """Any text at all, and texts that are nearly policies."""
    try:
        policy = parse_policy(text)
    except PolicyError as error:
        assert error.reason  # noqa: PT017 - both outcomes are right
    else:
        assert policy.for_tool("t").identical.nudge < policy.for_tool("t").identical.stop
