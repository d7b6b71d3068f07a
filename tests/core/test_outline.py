"""Outlines of long answers: equal for equal words, near for nearly equal ones."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.words import long_words_of, outline, retold

NUMBERS = st.sets(st.integers(0, 2**32 - 1), max_size=300)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_an_outline_is_of_a_set(numbers: set[int], random: Random) -> None:
    """Order and repetition change nothing, and 64 bits hold it."""
    shuffled = [*numbers, *list(numbers)[:3]]
    random.shuffle(shuffled)
    assert outline(shuffled) == outline(numbers)
    assert 0 <= outline(numbers) < 1 << 64


@given(NUMBERS, NUMBERS)
def test_retelling_is_mutual(mine: set[int], other: set[int]) -> None:
    """Either answer retells the other or neither does, and none retells itself or nothing."""
    assert retold(outline(mine), outline(other)) is retold(outline(other), outline(mine))
    assert not retold(outline(mine), outline(mine))
    assert not retold(outline(mine), 0)


@pytest.mark.parametrize(
    ("changed", "least", "most"),
    [(0, 0, 0), (15, 170, 200), (30, 10, 60), (60, 0, 2), (100, 0, 0)],
)
def test_how_much_may_change(changed: int, least: int, most: int) -> None:
    """Of a hundred words each, 15 others are a retelling nearly always, 30 others seldom, 60 never."""
    random = Random(7)
    told = 0
    for _ in range(200):
        words = [random.getrandbits(32) for _ in range(100 + changed)]
        told += retold(outline(words[:100]), outline(words[changed:]))
    assert least <= told <= most


@pytest.mark.parametrize(
    ("canonical", "words"),
    [
        (b'"Opening hours: Monday 10 to 12"', {b"opening", b"monday"}),
        (b'{"departments":["Stra\xc3\x9fenbau"],"short":"a few"}', {b"departments", b"stra\xc3\x9fenbau"}),
        (b'"first\\nsecond"', {b"second"}),
        (
            b'"the-caf\xc3\xa9s are DELAYED, invoice_number 9reopen9"',
            {b"caf\xc3\xa9s", b"delayed", b"invoice", b"number", b"reopen"},
        ),
        (b'"' + b"x" * 5 + b" " * 3_000 + b'afterwards"', set()),
    ],
)
def test_long_words(canonical: bytes, words: set[bytes]) -> None:
    """Words of six bytes and more, without case and numbers, from the beginning."""
    assert set(long_words_of(canonical)) == words
