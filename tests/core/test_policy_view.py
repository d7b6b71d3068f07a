"""The effective settings of a tool, each with where it came from."""

from __future__ import annotations

import json

import pytest

from otel_loopguard.core.policy import VOLATILE_KEYS
from otel_loopguard.core.policy_file.text import read_policy
from otel_loopguard.core.policy_file.view import Setting, policy_settings, view
from otel_loopguard.errors import PolicyError

TEXT = """
profile: lenient
mode: nudge
window: 5
defaults:
  identical: {in_a_row: 4}
tools:
  search:
    kind: read
    arguments: {ignore: ["rows[].id"], round: {"a.b": 2}}
    result: {progress: {state: {path: s, order: [x, y]}}}
    owner: team
  wait:
    kind: poll
    poll: {deadline: 90s, min_interval: 1500ms}
  pay:
    kind: write
    result: {changed: {path: a.b}}
match: {"*_search": search}
ask_user: [ask, search]
"""


def setting(name: str, tool: str | None, text: str = TEXT) -> Setting:
    """One effective setting of a tool."""
    return next(item for item in view(read_policy(text), tool).settings if item.name == name)


@pytest.mark.parametrize(
    ("tool", "name", "value", "source", "path", "line"),
    [
        ("search", "kind", "read", "tool", "$.tools.search.kind", 9),
        ("search", "identical.nudge", 2, "kind", None, None),
        ("search", "identical.in_a_row", 4, "defaults", "$.defaults.identical.in_a_row", 6),
        ("search", "drift.nudge", 5, "built-in", None, None),
        ("search", "arguments.text", "collapse", "profile", "$.profile", 2),
        ("search", "arguments.ignore", ["rows[].id", *sorted(VOLATILE_KEYS)], "tool",
         "$.tools.search.arguments.ignore", 10),
        ("search", "arguments.case_insensitive", ["every text"], "profile", "$.profile", 2),
        ("search", "arguments.round", {"a.b": 2, "every float": 2}, "tool", "$.tools.search.arguments.round", 10),
        ("search", "result.cache", True, "kind", None, None),
        ("search", "result.progress", {"state": {"path": "s", "order": ["x", "y"]}}, "tool",
         "$.tools.search.result.progress", 11),
        ("search", "mode", "nudge", "policy", "$.mode", 3),
        ("search", "ask_user", True, "policy", "$.ask_user", 20),
        ("web_search", "kind", "read", "match", "$.tools.search.kind", 9),
        ("web_search", "identical.in_a_row", 4, "defaults", "$.defaults.identical.in_a_row", 6),
        ("web_search", "ask_user", True, "policy", "$.ask_user", 20),
        ("wait", "poll.deadline", "90s", "tool", "$.tools.wait.poll.deadline", 15),
        ("wait", "poll.min_interval", "1500ms", "tool", "$.tools.wait.poll.min_interval", 15),
        ("wait", "poll.max_total", None, "built-in", None, None),
        ("pay", "result.changed", "a.b", "tool", "$.tools.pay.result.changed.path", 18),
        ("pay", "arguments.ignore", [], "kind", None, None),
        ("other", "arguments.ignore", sorted(VOLATILE_KEYS), "built-in", None, None),
        ("ask", "ask_user", True, "policy", "$.ask_user", 20),
        ("other", "kind", "unknown", "built-in", None, None),
        ("other", "ask_user", False, "built-in", None, None),
        (None, "identical.in_a_row", 4, "defaults", "$.defaults.identical.in_a_row", 6),
    ],
)  # fmt: skip
def test_every_value_says_where_it_came_from(  # noqa: PLR0913, PLR0917
    tool: str | None, name: str, value: object, source: str, path: str | None, line: int | None
) -> None:
    """Built-in, profile, kind, top of the file, defaults, pattern or tool, with the line where there is one."""
    found = setting(name, tool)
    assert (found.value, found.source, found.path) == (value, source, path)
    assert (None if found.place is None else found.place.line) == line


def test_a_value_that_the_window_lowered_says_so() -> None:
    """Only built-in values are lowered."""
    stop, row = setting("same_error.stop", "other"), setting("identical.in_a_row", "other")
    assert (stop.value, stop.source, stop.clamped) == (5, "built-in", True)
    assert (row.value, row.clamped) == (4, False)


@pytest.mark.parametrize(
    ("tool", "pattern", "target"),
    [("search", None, "search"), ("web_search", "*_search", "search"), ("other", None, None), (None, None, None)],
)
def test_a_view_names_the_tool_whose_settings_hold(tool: str | None, pattern: str | None, target: str | None) -> None:
    """Its own name, the tool that its pattern points at, or nobody."""
    found = view(read_policy(TEXT), tool)
    assert (found.tool, found.pattern, found.target) == (tool, pattern, target)


@pytest.mark.parametrize(
    ("tool", "shown", "hidden"),
    [
        ("search", {"page.cursor", "identical.stop", "drift.nudge"}, {"poll.deadline", "idempotency_key"}),
        ("wait", {"poll.deadline"}, {"identical.stop", "drift.nudge", "page.cursor", "idempotency_key"}),
        ("pay", {"idempotency_key", "duplicate_after_success", "result.changed"}, {"drift.nudge", "page.cursor"}),
    ],
)
def test_a_view_shows_what_has_an_effect(tool: str, shown: set[str], hidden: set[str]) -> None:
    """Settings of another kind of tool are left out."""
    names = {item.name for item in view(read_policy(TEXT), tool).settings}
    assert shown <= names
    assert not hidden & names
    assert "poll" not in names


def test_what_holds_for_every_tool() -> None:
    """The top of the file, with defaults filled in."""
    found = {item.name: (item.value, item.source) for item in policy_settings(read_policy(TEXT))}
    assert found == {
        "revision": (None, "built-in"),
        "profile": ("lenient", "policy"),
        "mode": ("nudge", "policy"),
        "window": (5, "policy"),
        "turns.no_progress": (6, "built-in"),
        "scope": ([], "built-in"),
        "match": ({"*_search": "search"}, "policy"),
        "ask_user": (["ask", "search"], "policy"),
    }


def test_a_view_is_plain_data() -> None:
    """Every value can be written as JSON."""
    for tool in ("search", "wait", "pay", None):
        json.dumps([item.value for item in view(read_policy(TEXT), tool).settings])


def test_a_wrong_policy_has_no_view() -> None:
    """Its first problem is raised."""
    with pytest.raises(PolicyError, match="unknown key `widnow`"):
        view(read_policy("widnow: 1"))
    with pytest.raises(PolicyError, match="unknown key `widnow`"):
        policy_settings(read_policy("widnow: 1"))
