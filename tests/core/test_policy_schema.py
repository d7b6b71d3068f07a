"""The JSON Schema and the parser: one grammar, so they agree."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.policy_file.document import read_document
from otel_loopguard.core.policy_file.schema import policy_schema
from otel_loopguard.core.policy_file.text import read_policy
from otel_loopguard.errors import PolicyError

from .test_policy_shape import WRONG_FILES, WRONG_TOOLS

jsonschema = import_module("jsonschema")

VALIDATOR = jsonschema.Draft202012Validator(policy_schema())

COMPARED = re.compile(
    "never comes before|can never be reached|does not fit|is not in `tools`|never reached|past the `deadline`"
    "|one that fails|that is quick|lone surrogates|masks nothing|in `ignore` too|the cursor|`page` has no"
    "|whose own settings"
)
"""Words of the rules that compare two settings or try a value out, which a schema cannot."""


def says_schema(policy: object) -> bool:
    """Whether the schema takes a policy."""
    return bool(VALIDATOR.is_valid(policy))


def says_parser(policy: object) -> bool:
    """Whether the parser takes a policy, rules that only it can know left aside."""
    problems = read_policy(json.dumps(policy)).problems
    return all(COMPARED.search(problem.reason) for problem in problems)


def test_the_schema_is_a_schema() -> None:
    """Of the dialect that it names, with a sentence for every key."""
    schema = policy_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema

    todo: list[Any] = [schema]
    while todo:
        for child in todo.pop().get("properties", {}).values():
            assert child["description"]
            todo.append(child)


def test_the_schema_takes_what_the_parser_takes_of_the_behaviour_cases(shared: Path) -> None:
    """Every policy of the cases: accepted by both, or refused by both unless only a comparison shows why."""
    seen = 0
    for file in sorted((shared / "vectors").glob("*.json")):
        for case in json.loads(file.read_text("utf-8")):
            if "policy" in case:
                seen += 1
                assert says_schema(case["policy"]) == says_parser(case["policy"]), case["id"]
    assert seen > 200


@pytest.mark.parametrize(
    "policy",
    [
        {"widnow": 12},
        {"tools": {"t": {"argumnets": {}}}},
        {"tools": {"t": {"arguments": {"ignor": []}}}},
        {"tools": {"t": {"result": {"progress": {"growing": {"path": "a"}}}}}},
        {"tools": {"t": {"result": {"progress": {"version": {"path": "a", "order": ["b"]}}}}}},
        {"defaults": {"owner": "o"}},
        {"turns": {"max": 3}},
    ],
)
def test_unknown_keys_are_refused_at_every_level(policy: object) -> None:
    """An editor marks a misspelt key."""
    assert not says_schema(policy)
    assert not says_parser(policy)


@pytest.mark.parametrize(
    ("tool", "good"),
    [
        ({"kind": "poll", "poll": {"max_total": 5}}, True),
        ({"kind": "read", "poll": {"max_total": 5}}, False),
        ({"kind": "write", "result": {"changed": {"path": "c"}}}, True),
        ({"kind": "poll", "result": {"changed": {"path": "c"}}}, False),
        ({"kind": "read", "result": {"ignore": ["c"]}}, True),
        ({"kind": "write", "drift": {"nudge": 4}}, False),
        ({"kind": "none", "idempotency_key": "k"}, False),
        ({"kind": "write", "result": {"cache": True}}, False),
        ({"kind": "write", "result": {"cache": False}}, True),
    ],
)
def test_editors_know_which_settings_fit_a_kind(tool: object, good: bool) -> None:  # noqa: FBT001
    """Settings without effect are marked where the tool names its kind itself."""
    policy = {"tools": {"t": tool}}
    assert (says_schema(policy), says_parser(policy)) == (good, good)


@pytest.mark.parametrize(
    "text",
    [text for text, _, _ in WRONG_FILES] + [f"tools: {{t: {{{text}}}}}" for text, _, _ in WRONG_TOOLS],
)
def test_the_schema_refuses_wrong_shapes(text: str) -> None:
    """Whatever the parser refuses for its shape alone, as far as the text is YAML at all."""
    try:
        policy = read_document(text).plain()
    except PolicyError:
        return
    assert says_schema(policy) == says_parser(policy)


_TEXTS = st.sampled_from(["read", "write", "poll", "standard", "trim", "a", "a.b", "items[].id", "600s", "0s", "07m"])
_ODD_TEXTS = st.sampled_from(
    ["1.5s", "a..b", "[]", "[][].a", "a[]b", "*", "", " ", "a b", " a", "é", "a\tb", "x" * 257]
)
_NUMBERS = st.integers(-1, 70) | st.sampled_from([2.0, 2.5])
_LISTS = st.lists(st.sampled_from(["a", "b", "a[].b", "", 1, "a."]), max_size=3)
_VALUES: st.SearchStrategy[Any] = st.none() | st.booleans() | _NUMBERS | _TEXTS | _ODD_TEXTS | _LISTS
_PLACES = st.dictionaries(st.sampled_from(["a", "a.b", "a[]", "*", ""]), st.integers(-1, 20), max_size=2)
_RULES = st.dictionaries(st.sampled_from(["version", "items", "path"]), st.fixed_dictionaries({"path": _VALUES}))


def _some(*names: str, values: st.SearchStrategy[Any] = _VALUES) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), values, max_size=2)


_OF_ANY_KIND: dict[str, st.SearchStrategy[Any]] = {
    "identical": _some("nudge", "stop", "in_a_row", "stopp"),
    "arguments": _some("ignore", "identity", "defaults", "text", "round", "json", "nope", values=_VALUES | _PLACES),
    "owner": _VALUES,
}
_OF_SOME_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "result": _some("ignore", "volatile", "refusal", "cache", "progress", "changed", values=_VALUES | _RULES),
    "poll": _some("max_unchanged", "deadline", "min_interval"),
    "page": _some("cursor"),
}
"""Where a tool does not name its kind, the schema cannot know that one of these has no effect."""
_KINDS = st.sampled_from(["read", "write", "poll", "none", "unknown", "other", None])
_TOOLS = st.fixed_dictionaries({"kind": _KINDS}, optional=_OF_ANY_KIND | _OF_SOME_KINDS) | st.fixed_dictionaries(
    {}, optional=_OF_ANY_KIND
)
_POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "window": _VALUES,
        "scope": _VALUES,
        "mode": _VALUES,
        "tools": st.dictionaries(_TEXTS | _ODD_TEXTS, _TOOLS, max_size=2),
    },
)


@given(_POLICIES)
def test_schema_and_parser_agree_on_anything(policy: dict[str, Any]) -> None:
    """Policies put together at random, most of them wrong somewhere."""
    assert says_schema(policy) == says_parser(policy)
