"""Names and ids as they are kept: of bounded length, equal exactly where they were."""

from __future__ import annotations

from enum import Enum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.identifier import LONGEST, bounded

texts = st.builds(
    lambda start, times, end: start * times + end,
    st.text(st.characters(), min_size=1, max_size=40),
    st.integers(1, 60),
    st.text(max_size=3),
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("run-7", "run-7"),
        ("a" * 256, "a" * 256),
        ("a" * 257, "a" * 64 + "…" + "e8d95cc2b4bc198c54b40bd214df958a"),
        ("\ud800" * 257, "\ud800" * 64 + "…" + "90328ef466bf808c830217d298e9a70e"),
    ],
)
def test_form(text: str, kept: str) -> None:
    """Up to 256 characters as they came; longer ones are a beginning and the SHA-256 of the whole."""
    assert bounded(text) == kept


@given(texts, texts)
def test_equality(one: str, other: str) -> None:
    """Two are equal in their kept form exactly where they are equal, and the form of a form is itself."""
    assert (bounded(one) == bounded(other)) is (one == other)
    assert bounded(bounded(one)) == bounded(one)
    assert len(bounded(one)) <= LONGEST


class Text(str, Enum):
    """An id as applications name them."""

    ID = "id-1"


@pytest.mark.parametrize(
    ("name", "kept"), [(7, "7"), (UUID(int=7), str(UUID(int=7))), (b"b", "b'b'"), (Text.ID, "id-1")], ids=repr
)
def test_what_is_no_text_is_spelled_out(name: object, kept: str) -> None:
    """An enumeration's text is its value, which is what exporters send."""
    assert bounded(name) == kept
    assert type(bounded(name)) is str
