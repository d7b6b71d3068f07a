"""Policies as values: which settings a tool gets."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.policy import LENIENT, STRICT, ArgumentRules, Policy, ToolPolicy

READ = ToolPolicy(kind="read")
WRITE = ToolPolicy(kind="write")
POLICY = Policy(
    default=ToolPolicy(owner="everybody"),
    tools={"search_cases": READ, "pay": WRITE, "mcp__crm__pay": READ},
    match=(("mcp__*__pay", "pay"), ("mcp__*__search*", "search_cases"), ("mcp__crm__*", "pay"), ("ask?", "pay")),
    ask_user=frozenset(["pay", "ask_guest", "asks"]),
)


def test_the_built_in_policy_is_the_documented_one() -> None:
    """Numbers that users read in the README and rely on."""
    policy = Policy()
    tool = policy.for_tool("anything")
    assert (policy.mode, policy.profile, policy.window, policy.no_progress_turns) == ("observe", "standard", 12, 6)
    assert (tool.kind, tool.mode, tool.asks_user) == ("unknown", "observe", False)
    assert (tool.identical.nudge, tool.identical.stop, tool.identical.in_a_row) == (3, 5, 5)
    assert (tool.cycle.max_period, tool.cycle.nudge, tool.cycle.stop) == (8, 2, 3)
    assert (tool.drift.nudge, tool.same_error.nudge, tool.same_error.stop) == (5, 3, 6)


def test_profiles_differ_in_what_they_normalise() -> None:
    """Strict does nothing of its own; lenient folds blanks and case and rounds."""
    assert ArgumentRules().volatile == {
        "request_id", "trace_id", "span_id", "timestamp", "now", "nonce", "idempotency_key",
    }  # fmt: skip
    assert (ArgumentRules().text, ArgumentRules().drop_nulls, ArgumentRules().fold_case) == ("trim", True, False)
    assert (STRICT.volatile, STRICT.text, STRICT.drop_nulls) == (frozenset(), "exact", False)
    assert (LENIENT.text, LENIENT.fold_case, LENIENT.round_floats, LENIENT.drop_nulls) == ("collapse", True, 2, True)


@pytest.mark.parametrize(
    ("tool", "kind", "pattern", "asks"),
    [
        ("search_cases", "read", None, False),
        ("mcp__wiki__search", "read", "mcp__*__search*", False),
        ("mcp__crm__search_notes", "read", "mcp__*__search*", False),
        ("mcp__crm__list", "write", "mcp__crm__*", True),
        ("mcp__wiki__pay", "write", "mcp__*__pay", True),
        ("mcp__crm__pay", "read", None, False),
        ("pay", "write", None, True),
        ("MCP__crm__list", "unknown", None, False),
        ("xmcp__crm__list", "unknown", None, False),
        ("mcp__crm__list\n", "write", "mcp__crm__*", True),
        ("ask_guest", "unknown", None, True),
        ("asks", "write", "ask?", True),
        ("", "unknown", None, False),
    ],
)
def test_a_tool_gets_its_own_settings_else_the_first_fitting_patterns(
    tool: str, kind: str, pattern: str | None, asks: bool  # noqa: FBT001
) -> None:  # fmt: skip
    """Named tools win; patterns count in order, in case and from end to end; the rest gets the defaults."""
    settings = POLICY.for_tool(tool)
    assert (settings.kind, settings.asks_user) == (kind, asks)
    fitting = POLICY.fitting(tool)
    assert (None if fitting is None else fitting[0]) == pattern
    assert (settings.owner == "everybody") == (kind == "unknown")


def test_for_tool_gives_the_same_object_every_time() -> None:
    """Settings are folded once."""
    for tool in ("search_cases", "mcp__wiki__search", "ask_guest", "anything"):
        assert POLICY.for_tool(tool) is POLICY.for_tool(tool)


def test_made_up_names_cost_bounded_memory() -> None:
    """However many tools a model invents, and however long their names are, the policy stays small and right."""
    policy = Policy(tools={"t": READ}, match=(("x*", "t"),))
    for number in range(2_000):
        assert policy.for_tool(f"x{number}") == READ
        assert policy.for_tool(f"y{number}") == policy.default
        assert len(policy._fitted) <= 512
    before = dict(policy._fitted)
    assert policy.for_tool("x" * 1_000_000) == READ
    assert policy._fitted == before


_GLOBS = st.lists(st.text(alphabet="ab*?[]!-_", min_size=1, max_size=6), min_size=1, max_size=5, unique=True)


@given(_GLOBS, st.text(alphabet="ab_[]!-", max_size=8))
def test_patterns_fit_as_the_standard_library_says(globs: list[str], tool: str) -> None:
    """All patterns in one expression choose what the first fitting `fnmatchcase` chooses."""
    tools = {f"target{index}": ToolPolicy(owner=glob) for index, glob in enumerate(globs)}
    policy = Policy(tools=tools, match=tuple(zip(globs, tools, strict=True)))
    expected = next((glob for glob in globs if fnmatchcase(tool, glob)), None)
    assert policy.for_tool(tool).owner == expected


def test_one_mode_for_every_tool() -> None:
    """The mode of the environment reaches named, matched and unnamed tools, and changes nothing else."""
    enforcing = POLICY.with_mode("enforce")
    for tool in ("pay", "mcp__wiki__search", "ask_guest", "anything"):
        assert enforcing.for_tool(tool).mode == "enforce"
        assert POLICY.for_tool(tool).mode == "observe"
    assert enforcing.mode == "enforce"
    assert enforcing.with_mode("observe") == POLICY


def test_a_policy_is_a_value() -> None:
    """Immutable, comparable, and the same after a trip to another process."""
    with pytest.raises(FrozenInstanceError):
        POLICY.window = 5  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(POLICY))  # noqa: S301 - our own bytes
    assert again == POLICY
    assert again.for_tool("mcp__wiki__search") == READ
    assert "_patterns" not in repr(POLICY)
