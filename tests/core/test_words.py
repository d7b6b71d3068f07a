"""Word sketches: what near-equal means."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.words import (
    MAX_DEPTH,
    NUMBERED,
    SKETCH_SIZE,
    WORD_LIMIT,
    ascii_words,
    asks_anew,
    counts_on,
    each_its_own,
    fills_a_form,
    leaves,
    near,
    words_of,
)
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


@given(text=st.text(st.characters(codec="ascii"), max_size=200))
def test_words_of_ascii(text: str) -> None:
    """Text in ASCII is split in a way of its own, into the same words as beside a letter that is not."""
    assert [*words_of([text]), "\u00e9"] == words_of([text, "\u00e9"])


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (None, [None]),
        ({"b": [1, {"c": "x"}], "a": [], "d": None}, [1, "x", None]),
        ([[[2], 3], (4, [5])], [2, 3, 4, 5]),
        ([[number] for number in range(5000)], list(range(4096))),
        (list(range(5000)), list(range(4096))),
    ],
)
def test_leaves(data: object, found: list[object]) -> None:
    """The scalars in order, the first 4096 of them."""
    assert list(leaves(data)) == found


@pytest.mark.parametrize(("levels", "found"), [(MAX_DEPTH - 1, [7, 8]), (MAX_DEPTH, [8])])
def test_leaves_that_are_too_deep(levels: int, found: list[int]) -> None:
    """What stands in more lists than a reader looks into is no leaf, and hides none beside it."""
    data: object = 7
    for _ in range(levels):
        data = [data]
    assert list(leaves([data, 8])) == found


def test_only_the_first_words_are_looked_at() -> None:
    """However long the text and however deep the data, two hundred and fifty-six words are enough."""
    assert len(words_of(" ".join(str(number) for number in range(5000)))) == WORD_LIMIT
    assert len(words_of([{"a": str(number)} for number in range(5000)])) == WORD_LIMIT
    deep: object = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert words_of(deep) == []


A, B, C, D, E = 2, 4, 6, 8, 10
ONE, TWO, NINE = 20 | NUMBERED, 40 | NUMBERED, 60 | NUMBERED
LONG = tuple(range(2, 2 * SKETCH_SIZE + 2, 2))


@pytest.mark.parametrize(
    ("sketches", "own"),
    [
        ([(A, B, C), (A, B, D), (A, B, E)], True),
        ([(A, B, C), (A, B, D), (A, B, D)], False),
        ([(A, B, C), (A, B)], True),
        ([(A, B, C), (A, B), (A, B)], False),
        ([(A, B), (A, C), (B, C, D)], False),
        ([(A, B), ()], False),
        ([LONG, LONG], True),
        ([LONG, (*LONG[:-1], 1000)], True),
        ([LONG, LONG[:-1], LONG[:-2]], False),
        ([(1, *LONG[:-1]), (3, *LONG[:-1])], True),
    ],
)
def test_each_has_a_word_of_its_own(sketches: list[tuple[int, ...]], own: bool) -> None:  # noqa: FBT001 - a column
    """Each text has a word that no other has, as far as the sketches of long ones can tell."""
    assert each_its_own(sketches) is own
    assert each_its_own(sketches[::-1]) is own


@pytest.mark.parametrize(
    ("mine", "other", "counts"),
    [
        ((A, B, ONE), (A, B, TWO), True),
        ((A, B, ONE, NINE), (A, B, TWO, NINE), True),
        ((A, B, ONE), (A, B, ONE), False),
        ((A, B, ONE), (A, B), False),
        ((A, B, ONE, TWO), (A, B, NINE), False),
        ((A, B, ONE), (A, C, TWO), False),
        ((A, B), (A, C), False),
        ((), (A, ONE), False),
        ((1, *LONG[:-1]), (3, *LONG[:-1]), True),
        (LONG, LONG, False),
    ],
)
def test_one_number_in_the_place_of_another(mine: tuple[int, ...], other: tuple[int, ...], counts: bool) -> None:  # noqa: FBT001
    """Texts that differ in as many ids or numbers, and in no other word, are one question about several things."""
    assert counts_on(mine, other) is counts
    assert counts_on(other, mine) is counts


@pytest.mark.parametrize(
    ("sketches", "fills"),
    [
        ([(A, B, C), (A, B, D), (A, B, E)], True),
        ([(A, B, C), (A, B, D), (A, B, C)], False),
        ([(A, B, C), (A, B, D), (A, B)], False),
        ([(A, B, C, D), (A, B, E)], False),
        ([(A, B, C), (A, D, C)], True),
        ([(A, B), (A, B)], False),
    ],
)
def test_one_form_filled_in_by_one_word(sketches: list[tuple[int, ...]], fills: bool) -> None:  # noqa: FBT001
    """Texts that differ in exactly one word each, never the same."""
    assert fills_a_form(sketches) is fills


@pytest.mark.parametrize(
    ("sketches", "anew"),
    [
        ([(A, B, C), (A, B, D), (A, B, E)], True),
        ([(A, B, C, D), (A, B, E)], True),
        ([(A, B, C, ONE), (A, B, D, TWO)], True),
        ([(A, C), (B, D)], True),
        ([(A, B, C), (A, B, D), (A, B)], False),
        ([(A, B, C), (A, B, D), (A, E, D)], False),
        ([(A, B, ONE), (A, B, TWO)], False),
        ([(A, B, C), (A, B, TWO)], False),
        ([(A, B), (A, B)], False),
        ([(A, B), ()], False),
        ([LONG, LONG], False),
        ([(*LONG[:-2], 50), (*LONG[:-2], 60)], True),
    ],
)
def test_other_things_in_one_form(sketches: list[tuple[int, ...]], anew: bool) -> None:  # noqa: FBT001 - a column
    """Each text has words besides those of all, none of them another's, and more than a number."""
    assert asks_anew(sketches) is anew


@given(text=st.text(st.characters(max_codepoint=127)))
def test_all_words_of_ascii(text: str) -> None:
    """They are the letters and digits that a pattern finds, case folded."""
    assert ascii_words(text) == [word.casefold() for word in re.findall(r"[^\W_]+", text)]
