"""When two error messages have one key."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.reading.message import message_key, message_shape, opening, unquoted


def key(text: str, arguments: object = None) -> str:
    """The key of a message to a call with these arguments."""
    return message_key(text, arguments, "standard")


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("no such file: notes.md", {"path": "notes.md"}, "no such file: ·"),
        ("no such file: 'notes.md'.", {"path": " notes.md "}, "no such file: '·'."),
        ("bad id 1234", {"id": 1234}, "bad id ·"),
        ("bad ids 1234, 12345", {"id": 1234}, "bad ids ·, 12345"),
        ("rejected {'a': 1}", {"a": 1}, "rejected ·"),
        ('rejected {"a": 1}', {"a": 1}, "rejected ·"),
        ('rejected {"a":1}', {"a": 1}, "rejected ·"),
        ("a b c", {"x": "a", "y": "b"}, "a b c"),
        ("value 0 is wrong", {"x": 0}, "value 0 is wrong"),
        ("deep value is wrong", {"x": [{"y": "deep value"}]}, "· is wrong"),
        ("north-east and north", {"x": "north", "y": "north-east"}, "· and ·"),
        ("true is wrong", {"x": True}, "true is wrong"),
        ("late at 10:02:03", {}, "late at ·"),
        ("syntax error, line 7", {}, "syntax error, ·"),
        ("4\u00d7 waiting for the door", {}, "·\u00d7 waiting for the door"),
        ("too\n   many   blanks ", {}, "too many blanks"),
        ("no such file", "no such", "· file"),
    ],
)
def test_keys(text: str, arguments: object, expected: str) -> None:
    """Volatile parts and the call's own values as whole words are masked, the longest first, and blanks are folded."""
    assert key(text, arguments) == expected.replace("·", "\N{MIDDLE DOT}")


TRACE = 'Traceback (most recent call last):\n  File "{}", line 4, in <module>\n    {}\n{}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACE.format("a.py", "load(rows)", "ValueError: no number: '1,204'"), "ValueError: no number: '1,204'"),
        (
            f"---\n{TRACE.format('a', 'b', 'KeyError: 1')}\nduring\n{TRACE.format('c', 'd', 'x.Error: two')}",
            "x.Error: two",
        ),
    ],
)
def test_an_exception_is_its_last_line(text: str, expected: str) -> None:
    """Frames quote the program, which differs from try to try; what was raised at last tells the error."""
    assert key(text) == expected
    assert message_shape(text, None) == message_shape(expected, None)


def test_an_exception_without_words_is_told_by_its_frames() -> None:
    """A bare `AssertionError` may be another one in another place."""
    assert key(TRACE.format("a.py", "assert one", "AssertionError")) != key(
        TRACE.format("a.py", "assert two", "AssertionError")
    )


def test_lines_of_a_longer_value() -> None:
    """A tool that quotes the line of a patch that it misses quotes the call; short lines are nobody's own."""
    missed = "expected lines not found: {}"
    patches = [f"@@ step\n-    {line}\n+    pass\n" for line in ("self.items.insert(0)", "return self.items")]
    told = [key(missed.format(patch.splitlines()[1][1:].strip()), {"patch": patch}) for patch in patches]
    assert told == ["expected lines not found: ·".replace("·", "\N{MIDDLE DOT}")] * 2
    assert key("found: x = 1", {"patch": "x = 1\ny = 2\n"}) == "found: x = 1"


SENTENCE = "The edit brings a syntax error. Read it and try again."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{SENTENCE}\n\nline 3: unexpected indent", SENTENCE),
        ("not applied\n\nline 3: unexpected indent", "not applied\n\nline 3: unexpected indent"),
        ("one line", "one line"),
    ],
)
def test_what_refuses_a_payload_is_told_by_its_first_paragraph(text: str, expected: str) -> None:
    """Where that has words enough: what follows shows the payload."""
    assert opening(text) == expected


@given(st.text("aB1_ .-/é²\n", max_size=30), st.text("aB1_ .-/é²", min_size=2, max_size=4))
def test_values_are_found_as_a_pattern_finds_them(text: str, value: str) -> None:
    """A value is masked from the left wherever no letter, digit or underscore goes on with it."""
    values = sorted(dict.fromkeys([value, value.strip()]), key=len, reverse=True)
    expected = text
    for one in values:
        if len(one) > 1:
            left = r"(?<!\w)" if re.match(r"\w", one[0]) else ""
            right = r"(?!\w)" if re.match(r"\w", one[-1]) else ""
            expected = re.sub(left + re.escape(one) + right, "\N{MIDDLE DOT}", expected)
    assert unquoted(text, {"value": value}) == expected


def test_numbers_that_the_call_did_not_hand_over_stay() -> None:
    """Three are left and two are left are two messages, of one shape."""
    assert key("3 are left") != key("2 are left")
    assert message_shape("3 are left", None) == message_shape("2 are left", None)


def test_a_message_is_told_by_its_head() -> None:
    """A dump of any length is compared by its first eight thousand characters."""
    assert key("x" * 9000 + "a") == key("x" * 9000 + "b")
    assert len(key("word " * 100_000)) < 9000


@pytest.mark.parametrize("arguments", [None, {}, [], "", 7, {"a": 10**300}, [[[]]], {"a": float("nan")}, "\ud800"])
def test_any_arguments(arguments: object) -> None:
    """Nothing that a call may be made with raises."""
    assert key("it failed", arguments) == "it failed"
    assert message_shape("it failed", arguments) == "it failed"
