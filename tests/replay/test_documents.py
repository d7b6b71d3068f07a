"""JSON documents in a text, in any layout, with and without other output between them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.errors import RecordError
from otel_loopguard.replay.documents import documents

NO_VALUE = "no JSON: expecting value"


def read(text: str | bytes) -> tuple[list[tuple[int, object]], list[tuple[int | None, str]]]:
    """The documents of a text, and what was bad in it."""
    bad: list[tuple[int | None, str]] = []
    held = text if isinstance(text, bytes) else text.encode()
    return list(documents(held, lambda error: bad.append((error.line, error.reason)))), bad


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ('{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        ('{\n  "a": 1\n}\n{\n  "a": 2\n}\n', [(1, {"a": 1}), (4, {"a": 2})]),
        ('{"a": 1}{"a": 2}', [(1, {"a": 1}), (1, {"a": 2})]),
        ('\n\n[{"a": 1}]', [(3, [{"a": 1}])]),
        ('\ufeff{"a": 1}', [(1, {"a": 1})]),
    ],
)
def test_documents(text: str, expected: list[tuple[int, object]]) -> None:
    """A document ends where it ends, not where a line does; its line is that of its beginning."""
    assert read(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "found", "line", "reason"),
    [
        ('starting\n{"a": 1}', [(2, {"a": 1})], 1, f"{NO_VALUE} after 0 characters"),
        ('{"a": 1}\nb: {"b": 2}\n{"a": 3}', [(1, {"a": 1}), (3, {"a": 3})], 2, f"{NO_VALUE} after 0 characters"),
        ('{"a": \n{"a": 1}', [(2, {"a": 1})], 1, "no JSON: expecting ',' delimiter after 15 characters"),
        ("5\n", [], 1, "expected a JSON object or a list of them"),
        ("[" * 100_000, [], 1, "no JSON: values are nested too deep"),
        ("[" + "1" * 5000 + "]", [], 1, "no JSON: a number is too long"),
    ],
)  # fmt: skip
def test_what_is_none_is_told(text: str, found: list[object], line: int, reason: str) -> None:
    """What is no document is told with its line; reading goes on at the next line that may begin one."""
    if reason.endswith("too long") and not hasattr(__import__("sys"), "set_int_max_str_digits"):
        pytest.skip("this Python reads numbers of any length")
    assert read(text) == (found, [(line, reason)])


def test_text_that_is_none() -> None:
    """Bytes that are no UTF-8 are told with their line, and the rest is read."""
    assert read(b'{"a": 1}\n\xff\n{"a": 2}')[0] == [(1, {"a": 1}), (3, {"a": 2})]
    assert read(b'{"a": 1}\n\xff\n{"a": 2}')[1][0] == (2, "not UTF-8 text at byte 10")


def test_who_is_told_may_raise() -> None:
    """The first bad place ends the reading where the caller wants that."""

    def bad(error: RecordError) -> None:
        raise error

    with pytest.raises(RecordError):
        list(documents(b"no", bad))


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text())), st.sampled_from([None, 2]))
def test_any_documents_come_back(held: list[dict[str, object]], indent: int | None) -> None:
    """Whatever is printed is read, laid out or not."""
    text = "\n".join(json.dumps(one, indent=indent) for one in held)
    assert [document for _, document in read(text)[0]] == held
