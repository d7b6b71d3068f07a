"""Tags are the same however they are made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.tag import name_tag, salt_of, symbol_of, symbol_of_key, tag_of, tag_of_two

NUMBERS = st.integers(0, 2**64 - 1)


@given(NUMBERS, NUMBERS)
def test_two_numbers_have_one_tag(one: int, other: int) -> None:
    """The short way to the tag of two numbers gives what the long one does."""
    assert tag_of_two(one, other) == tag_of(one, other)


@given(NUMBERS)
def test_a_key_has_the_symbol_of_the_set_that_it_is_alone_in(key: int) -> None:
    """The first time and when it is remembered."""
    assert symbol_of_key(key) == symbol_of_key(key) == symbol_of({key})


@given(st.text(max_size=200))
def test_a_name_has_one_tag(name: str) -> None:
    """The first time and when it is remembered, whatever the name is and however long."""
    first = name_tag(name), salt_of(name)
    for number in range(1100):  # more names than are remembered
        name_tag(f"other {number}")
    assert (name_tag(name), salt_of(name)) == first
