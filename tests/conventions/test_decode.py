"""Taking content apart: nothing raises, nothing is lost, nothing is guessed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.conventions import ABSENT, Event, Record, read, role
from otel_loopguard.conventions._decode import (
    elements,
    is_hidden,
    is_schema,
    members,
    plain,
    python_value,
    tool_message,
    unwrapped,
    was_cut,
)
from otel_loopguard.conventions._json_text import Json
from otel_loopguard.core.canonical import Unknown, encode, load
from otel_loopguard.core.policy import STRICT

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ANYTHING = PLAIN | st.binary() | st.just(ABSENT)


@given(st.dictionaries(st.text(), PLAIN, min_size=1, max_size=4))
def test_repr_is_read(data: dict[str, object]) -> None:
    """What `repr` writes for plain data is read back as the data, where it begins as only Python does."""
    text = repr(data)
    assert python_value(text) == (data if text.startswith("{'") else text)


@given(st.text())
def test_other_text_stays(text: str) -> None:
    """No other text changes, and Python's parser never warns in the host's process."""
    for value in (text, "{'" + text, "['" + text + "']", "{'a': " + text + "}"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = python_value(value)
        assert found == value or not isinstance(found, str)


@pytest.mark.parametrize(
    "text",
    [
        "{'a': object()}",
        "{'a': <object at 0x7f>}",
        "{'a': datetime.datetime(2026, 1, 1)}",
        "{'a': '\\d'}",
        "{'a': 1or 2}",
        "{'a': " + "[" * 5000 + "]" * 5000 + "}",
        "{'a': 'b'",
        "{'a': 1 'b': 2}",
        "{'a': 0x10}",
        '{"a": 1}',
        "[1, 2]",
    ],
)
def test_not_a_repr(text: str) -> None:
    """Text that is no repr of plain data, or is JSON, stays text."""
    assert python_value(text) == text


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_members(data: dict[str, object]) -> None:
    """The members of JSON text are those of the object, whether its writer escaped or not."""
    for text in (json.dumps(data), json.dumps(data, ensure_ascii=False, indent=1)):
        found = members(text)
        assert found is not None
        assert _canonical({key: plain(value) for key, value in found.items()}) == _canonical(text)


@given(st.lists(PLAIN, max_size=4))
def test_elements(data: list[object]) -> None:
    """The elements of JSON text are those of the list."""
    text = json.dumps(data)
    assert _canonical([plain(value) for value in elements(text)]) == _canonical(text)


def test_text_in_an_object_is_no_json() -> None:
    """A member that is a text of JSON is told from a member that is an object."""
    found = members('{"a": "[1]", "b": [1]}')
    assert found == {"a": "[1]", "b": "[1]"}
    assert found is not None
    assert (isinstance(found["a"], Json), isinstance(found["b"], Json)) == (False, True)


def test_placeholder_in_an_envelope() -> None:
    """A placeholder somewhere in positional arguments hides them: they are equal to nothing."""
    found = unwrapped('{"args": [["__REDACTED__"]], "kwargs": {"a": 1}}')
    assert isinstance(load(found), Unknown)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "nothing", '{"a": }', "{" * 100_000, 7, None, ABSENT, b"{}"])
def test_no_members(text: object) -> None:
    """What is no object has no members."""
    assert members(text) is None


def test_loose_json() -> None:
    """What Python writes and strict readers refuse is read: NaN, lone surrogates."""
    assert members('{"a": "\\ud800", "b": 1}') == {"a": "\ud800", "b": 1}
    assert members('{"b": {"c": NaN}}') is not None


@given(st.dictionaries(st.text(), PLAIN, max_size=3), st.lists(PLAIN, max_size=3))
def test_envelopes_keep_calls_apart(keywords: dict[str, object], positional: list[object]) -> None:
    """What comes out of an envelope holds all that was in it."""
    found = unwrapped(json.dumps({"args": positional, "kwargs": keywords}))
    expected = {"args": positional, "kwargs": keywords} if positional and keywords else positional or keywords
    assert _canonical(plain(found)) == _canonical(json.dumps(expected))


def _canonical(value: object) -> object:
    found = encode(load(value), STRICT)
    return "unknown" if isinstance(found, Unknown) else found


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ('{"type": "object", "properties": {}}', True),
        ('{"$schema": "x", "properties": {"a": {}}}', True),
        ('{"type": "object", "additionalProperties": false}', True),
        ('{"a": {"type": "string"}, "b": {"type": ["integer", "null"]}}', True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, True),
        ('{"type": "object", "id": 7}', False),
        ('{"properties": {"colour": "red"}}', False),
        ('{"a": {"type": "string"}, "b": 1}', False),
        ('{"path": "a"}', False),
        ("{}", False),
        ("[]", False),
        ("text", False),
    ],
)
def test_schema(value: object, schema: bool) -> None:  # noqa: FBT001 (a table)
    """A schema describes arguments; arguments that mention types are no schema."""
    assert is_schema(value) is schema


@given(ANYTHING)
def test_nothing_raises(value: object) -> None:
    """No value makes any of it raise."""
    for function in (is_hidden, is_schema, members, elements, plain, python_value, tool_message, unwrapped):
        function(value)


KEYS = st.sampled_from(
    ["gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
     "gen_ai.tool.call.id", "gen_ai.agent.name", "openinference.span.kind", "tool.name", "tool.parameters",
     "input.value", "output.value", "metadata", "session.id", "error.type", "loopguard.sequence", "loopguard.run.id",
     "event.name"]
)  # fmt: skip
VALUES = ANYTHING | st.sampled_from(["execute_tool", "TOOL", "CHAIN", "AGENT", '{"kwargs": {}}', "content='a' "])


@given(
    st.sampled_from(["span", "log"]),
    st.text() | st.sampled_from(["execute_tool a", "loopguard.finding"]),
    st.dictionaries(KEYS, VALUES),
    st.lists(st.builds(Event, st.sampled_from(["exception", "gen_ai.choice", "loopguard.finding"]), st.just({}))),
    st.none() | st.integers(0, 100),
)
def test_no_record_raises(
    signal: str, name: str, attributes: dict[str, object], events: list[Event], limit: int | None
) -> None:
    """Whatever stands under the keys that we read, reading never raises."""
    record = Record(signal, name, attributes, events, length_limit=limit)  # type: ignore[arg-type]
    read(record)
    role(record)


WHOLE = [
    {"q": "a", "n": [1, 2.5, -3e20, True, False, None], "more": {"x": [], "y": "\\u00e9 \n\\ }", "z": "\u00e9"}},
    [{"a": 1}, {"b": "}]"}],
    ["a", "b, c"],
    [["a"], [1]],
]


@pytest.mark.parametrize("data", WHOLE)
@pytest.mark.parametrize("write", [json.dumps, partial(json.dumps, indent=2), repr], ids=["json", "2", "repr"])
def test_every_beginning_is_cut(data: object, write: Callable[[object], str]) -> None:
    """Data that stops after its first quote is cut where it is long or ends in an ellipsis; the whole is not."""
    text, long = write(data), write({"head": "x" * 128, "data": data})
    first = next(place for place, character in enumerate(text) if character in "\"'") + 1
    assert not was_cut(text, None)
    assert not was_cut(long, None)
    assert [end for end in range(140, len(long)) if not was_cut(long[:end], None)] == []
    assert not any(was_cut(text[:end], None) for end in range(first, min(len(text), 128)))
    assert all(was_cut(text[:end] + mark, None) for end in range(first, len(text)) for mark in ("...", "…"))


@pytest.mark.parametrize(
    "text",
    [
        "[draft] hello", "[draft] hello...", "{name}", "{name", "{name}, hello…", "[1] see there", "hello...", "", "…",
        '{"a": 1} and more', '["a"] hi', "['a'] hi", "[['a']] hi", "[[wiki]] text", "[[wiki", '{"a": b c d',
        '{"a": "5" tall"}', '{"a": ' + "9" * 5000 + "}", '"quoted', '{"a": "..."}', "{'a': '…'}",
        '{"a": NaN}', '{"a": "b\nc"}', "...", "[", "{",
    ],
)  # fmt: skip
def test_honest_texts_are_whole(text: str) -> None:
    """A text that does not begin as data, or goes on after it, or is only broken inside, is that text."""
    assert not was_cut(text, None)
