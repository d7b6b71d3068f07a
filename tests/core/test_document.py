"""YAML texts as bounded trees with places."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.policy_file.document import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NODES,
    Place,
    read_document,
    render,
    shown,
)
from otel_loopguard.errors import PolicyError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing but a comment", None),
        ("{}", {}),
        ("a: 1", {"a": 1}),
        ("a: [1, -2, +3, 0x1F, 0o17, 007]", {"a": [1, -2, 3, 31, 15, 7]}),
        ("a: [1.5, 1e3, -.5, 2., 1E-2]", {"a": [1.5, 1000.0, -0.5, 2.0, 0.01]}),
        ("a: [true, True, FALSE, null, ~, ]", {"a": [True, True, False, None, None]}),
        ("a: [on, off, yes, no, y, n]", {"a": ["on", "off", "yes", "no", "y", "n"]}),
        ("a: [2026-11-29, 12:30, 1_000]", {"a": ["2026-11-29", "12:30", "1_000"]}),
        ("a: ['1', \"true\", '', !!str 2, ! 3]", {"a": ["1", "true", "", "2", "3"]}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: &x {b: [1]}\nc: *x", {"a": {"b": [1]}, "c": {"b": [1]}}),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ('{\n\t"a":\t[1,\n\t\t2]}', {"a": [1, 2]}),
        ('{"a": "\\ud83d\\ude00\\/", "\\ud83d\\ude00": 1}', {"a": "😀/", "😀": 1}),
        ('{"a": "\\ud83d"}', {"a": "\ud83d"}),
    ],
)  # fmt: skip
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    """Words such as `on`, dates and clock times are text; numbers are those of JSON, octal and hexadecimal ones too."""
    assert read_document(text).plain() == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("0.1000000000000000055511151231257827", Decimal("0.1000000000000000055511151231257827")),
        ("1e400", Decimal("1e400")),
        ("1e1000000000", Decimal("1e1000000000")),
        ("9007199254740993", 9007199254740993),
        ("1" * 400, int("1" * 400)),
    ],
)
def test_numbers_stay_exact(text: str, value: object) -> None:
    """A number is a float only where a float says exactly what was written."""
    found = read_document(f"a: {text}").plain()
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_every_node_knows_its_place() -> None:
    """Lines and columns count from 1, of keys and of values."""
    node = read_document("# about\na:\n  - one\n  - b: {c: two}\n")
    assert isinstance(node.value, dict)
    member = node.value["a"]
    assert member.place == Place(2, 1)
    assert isinstance(member.node.value, list)
    first, second = member.node.value
    assert (first.place, second.place) == (Place(3, 5), Place(4, 5))
    assert isinstance(second.value, dict)
    assert (second.value["b"].place, second.value["b"].node.place) == (Place(4, 5), Place(4, 8))


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ("a: 1\na: 2", "key `a` is given twice, first in line 1 - at `$.a`", 2, 1),
        ("x: {'a': 1, \"a\": 2}", "key `a` is given twice, first in line 1 - at `$.x.a`", 1, 13),
        ("a: [1", "not YAML: expected ',' or ']'", 1, 6),
        ("a:\n\t- b", "not YAML: a tab cannot indent YAML, use spaces - at `$`", 2, 1),
        ("a: b: c", "not YAML: mapping values are not allowed here", 1, 5),
        ("a: \x00", "not YAML: a character that no text file holds", 1, 4),
        ("b: 1\na: \x7f", "not YAML: a character that no text file holds", 2, 4),
        ("a: 1\n---\nb: 2", "expected one YAML document, got a second one - at `$`", 2, 1),
        ("a: !!python/object:os.system x", "tag `tag:yaml.org,2002:python/object:os.system` is not allowed", 1, 4),
        ("a: !mine {}", "tag `!mine` is not allowed, write a plain value - at `$.a`", 1, 4),
        ("a: *b", "alias `*b` has no anchor before it - at `$.a`", 1, 4),
        ("a: &b [*b]", "alias `*b` stands inside its own anchor - at `$.a[0]`", 1, 8),
        ("a: &b x\n*b : 1", "expected text as a key, got an alias - at `$`", 2, 1),
        ("[a]: 1", "expected text as a key, got a list or a mapping - at `$`", 1, 1),
        ("{1: 2}", "expected text as a key, write `1` in quotes - at `$`", 1, 2),
        ("x:\n  true: 2", "expected text as a key, write `true` in quotes - at `$.x`", 2, 3),
        ("b: &b {}\nc: {<<: *b}", "merge keys (`<<`) are not part of YAML 1.2, repeat the settings - at `$.c`", 2, 5),
        ("a: .inf", "expected a finite number, got `.inf` - at `$.a`", 1, 4),
        ("a: [.nan]", "expected a finite number, got `.nan` - at `$.a[0]`", 1, 5),
        (f"a: {'1' * 401}", "expected a number of at most 400 digits - at `$.a`", 1, 4),
        ("[" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep - at `$`", 1, MAX_DEPTH + 1),
        ('a: "\\U99999999"', "not YAML: an escape or a directive that cannot be read - at `$`", None, None),
        (f"%YAML {'1' * 5000}.1\n---\na", "not YAML: an escape or a directive that cannot be read", None, None),
        ("x" * (MAX_CHARACTERS + 1), "expected at most 262144 characters, got more, let `match`", None, None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(text: str, words: str, line: int | None, column: int | None) -> None:
    """Each refusal says what it is about, where, and where there is one the way out."""
    with pytest.raises(PolicyError) as caught:
        read_document(text)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_aliases_are_counted_as_if_written_out() -> None:
    """Nine lists of nine aliases each would be half a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(PolicyError, match=f"more than {MAX_NODES} values, aliases written out"):
        read_document("\n".join(lines))


def test_the_largest_text_is_read_in_full() -> None:
    """The bounds leave room for a policy of a thousand tools."""
    text = json.dumps({f"tool_{number}": {"kind": "read", "a": [1, 2, 3], "b": {"c": "d"}} for number in range(3000)})
    assert len(text) > 0.6 * MAX_CHARACTERS
    assert read_document(text).size == 1 + 3000 * 8


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("tools", "get_logs", "kind"), "$.tools.get_logs.kind"),
        (("match", "mcp__*__search*"), "$.match.mcp__*__search*"),
        (("scope", 0), "$.scope[0]"),
        (("tools", "two words"), '$.tools["two words"]'),
        (("tools", ""), '$.tools[""]'),
        (("tools", "a\x1b[31m"), '$.tools["a\\u001b[31m"]'),
        (("tools", "x" * 200), f'$.tools["{"x" * 80}"]'),
    ],
)
def test_paths_read_like_json_paths(path: tuple[str | int, ...], text: str) -> None:
    """Names stand as they are, unless a reader or a terminal would stumble over them."""
    assert render(path) == text


def test_texts_in_messages_are_short_and_harmless() -> None:
    """Nothing that a terminal obeys, and never a page."""
    assert shown("plain `text` of a user") == "plain `text` of a user"
    assert shown("\x1b]0;title\x07\n") == "\\u001b]0;title\\u0007\\n"
    assert shown("x" * 100) == "x" * 80 + "…"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)


@given(_json, st.sampled_from([None, 2, "\t"]))
def test_json_means_what_json_says(value: object, indent: int | str | None) -> None:
    """JSON is YAML: every JSON text without raw control characters reads as the JSON value, however indented."""
    assert read_document(json.dumps(value, indent=indent)).plain() == value


@given(st.text(max_size=60) | st.text(alphabet="abc:-*&!|>'\"[]{},#%?\n\t \\u0x1", max_size=80))
def test_reading_raises_nothing_but_its_own_error(text: str) -> None:
    """Any text is a tree or a `PolicyError`."""
    try:
        node = read_document(text)
    except PolicyError as error:
        assert error.reason  # noqa: PT017 - both outcomes are right
    else:
        assert node.size >= 1
