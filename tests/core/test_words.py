"""Word sketches: what near-equal means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.words import SKETCH_SIZE, WORD_LIMIT, near, words_of
from tests.support.script import KEYS


@pytest.mark.parametrize(
    ("mine", "my_count", "other", "other_count"),
    [((), 40, (1, 2, 3, 4), 4), ((1, 2, 3, 4), 4, (), 40), ((), 40, (), 40), ((), 4, (), 4)],
)
def test_a_dropped_sketch_is_near_nothing(
    mine: tuple[int, ...], my_count: int, other: tuple[int, ...], other_count: int
) -> None:
    """Histories drop the sketches of older calls and keep their word counts: nothing is known of their words."""
    assert not near(mine, my_count, other, other_count)


WORDS = st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=12, unique=True)


def sketch(words: list[str]) -> tuple[tuple[int, ...], int]:
    """The sketch of words, as a reader makes it."""
    return tuple(sorted(KEYS.tags([word.encode() for word in words]))[:SKETCH_SIZE]), len(words)


@given(mine=WORDS, other=WORDS)
def test_up_to_sixteen_words_nearness_is_exact(mine: list[str], other: list[str]) -> None:
    """At least four words each, and at least half of the shorter one's shared; the order of the two does not matter."""
    shorter = min(len(mine), len(other))
    expected = shorter >= 4 and 2 * len(set(mine) & set(other)) >= shorter
    assert near(*sketch(mine), *sketch(other)) is expected
    assert near(*sketch(other), *sketch(mine)) is expected


@given(shared=st.integers(0, 200), mine=st.integers(0, 60), other=st.integers(0, 60), seed=st.integers(0, 10**6))
def test_nearness_of_long_texts_is_symmetric_and_sure_at_its_ends(
    shared: int, mine: int, other: int, seed: int
) -> None:
    """Texts of the same words are near, texts without a common word are not, and neither comes first."""
    both = [f"both{seed}-{number}" for number in range(shared)]
    one = [*both, *(f"mine{seed}-{number}" for number in range(mine))]
    two = [*both, *(f"other{seed}-{number}" for number in range(other))]
    assert near(*sketch(one), *sketch(two)) is near(*sketch(two), *sketch(one))
    if shared >= 4 and not mine and not other:
        assert near(*sketch(one), *sketch(two))
    if not shared:
        assert not near(*sketch(one), *sketch(two))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"q": "Opening HOURS, please!"}, ["opening", "hours", "please"]),
        ({"q": "snake_case and-more"}, ["snake", "case", "and", "more"]),
        ({"a": 12, "b": 1.5, "c": True, "d": None}, ["12", "1", "5"]),
        ({"a": ["x", {"b": "y"}, []], "c": "x"}, ["x", "y"]),
        ("Straße", ["strasse"]),
        ([], []),
        (None, []),
        ({"name": {}}, []),
    ],
)
def test_words(data: object, words: list[str]) -> None:
    """Letters and digits of the values, case folded, each once, in order; names of members are none."""
    assert words_of(data) == words


def test_only_the_first_words_are_looked_at() -> None:
    """However long the text and however deep the data, two hundred and fifty-six words are enough."""
    assert len(words_of(" ".join(str(number) for number in range(5000)))) == WORD_LIMIT
    assert len(words_of([{"a": str(number)} for number in range(5000)])) == WORD_LIMIT
    deep: object = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert words_of(deep) == []
