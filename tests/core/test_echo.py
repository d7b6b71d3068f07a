"""Answers without what they repeat of the call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.canonical import Unknown, load_and_encode
from otel_loopguard.core.policy import STRICT
from otel_loopguard.core.reading.echo import may_have_rest, without_echo

LEFT = "The archive holds the founding charter, two maps of the old town and a list of its first mayors."
"""More than the receipt of a thing."""


def rest(arguments: object, answer: object, *, worded: bool = True) -> bytes | None:
    """What is left of an answer."""
    canonical = load_and_encode(answer, STRICT)[1]
    assert not isinstance(canonical, Unknown)
    return without_echo(canonical, arguments, "standard", worded=worded)


@pytest.mark.parametrize(
    ("one", "answer", "other", "same"),
    [
        pytest.param({"q": "town charter maps"}, "For 'town charter maps': " + LEFT,
                     {"q": "maps and charter"}, "For 'maps and charter': " + LEFT, id="the query is quoted"),
        pytest.param("town charter maps", {"query": "town charter maps", "found": LEFT},
                     "maps and charter", {"query": "maps and charter", "found": LEFT}, id="as a member"),
        pytest.param({"q": "town charter maps"}, f"https://a.test/?q=town+charter+maps\n{LEFT}",
                     {"q": "maps and charter"}, f"https://a.test/?q=maps+and+charter\n{LEFT}", id="in a link"),
        pytest.param({"q": 'say "town"\nnow'}, f'[say "town"\nnow] {LEFT}',
                     {"q": 'tell "town"'}, f'[tell "town"] {LEFT}', id="with quotes and a line break"),
        pytest.param({"code": "a = 1\nload(charter, old=True)"},
                     f"line 2\n  load(charter, old=True)\n  ^^^^^^^^\n{LEFT}", {"code": "load(the_charter)\nb = 2\n"},
                     f"line 1\n  load(the_charter)\n  ^^^^\n{LEFT}", id="the line that failed, and where it stands"),
        pytest.param({"q": "about Harbours"}, f"harbours, as of now: {LEFT}",
                     {"q": "what of bridges"}, f"bridges, as of now: {LEFT}", id="a word of a short answer"),
        pytest.param({"q": "town charter maps"}, f"town charter maps (0.31 s): {LEFT}",
                     {"q": "maps and charter"}, f"maps and charter (12 s): {LEFT}", id="beside the time that it took"),
        pytest.param({"q": "town charter maps"}, "town charter maps\nfirst of May\nlast of June\n" + LEFT,
                     {"q": "maps and charter"}, "maps and charter\nlast of June\nfirst of May\n" + LEFT,
                     id="in another order"),
        pytest.param({"id": 7}, f"[17] link 'Archive'\n[24] text {LEFT}", {"id": 8},
                     f"[318] link 'Archive'\n[330] text {LEFT}", id="elements with other numbers"),
    ],
)  # fmt: skip
def test_equal_without_the_question(one: object, answer: object, other: object, same: object) -> None:
    """Two answers are one where they differ only in what they repeat."""
    assert rest(one, answer) is not None
    assert rest(one, answer) == rest(other, same)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        pytest.param({"q": "town charter maps"}, LEFT * 10, id="a long answer that quotes no whole text"),
        pytest.param({"q": "bridges"}, LEFT, id="nothing of the call"),
        pytest.param({"id": 17}, f"17: {LEFT}", id="a number"),
        pytest.param({"user": "alice"}, "alice: active", id="a status"),
        pytest.param({"deployment": "shop-api"}, "deployment.apps/shop-api restarted", id="a receipt"),
        pytest.param({"q": "old"}, f"old: {LEFT}", id="too short to tell from any text"),
        pytest.param(None, LEFT, id="no arguments"),
        pytest.param({"q": "harbour"}, "harbour " + LEFT * 1000, id="too long to look at"),
    ],
)
def test_what_has_no_rest(arguments: object, answer: object) -> None:
    """Nothing is repeated, or nothing else is said."""
    assert rest(arguments, answer) is None


@pytest.mark.parametrize("before", [0, 300])
@pytest.mark.parametrize(("words", "says_more"), [(11, False), (12, True)])
def test_how_much_is_left(before: int, words: int, says_more: bool) -> None:  # noqa: FBT001 - a column
    """Twelve words have to be left, wherever they stand."""
    answer = "harbour\n" + "7 " * before + "left " * words
    assert (rest({"q": "harbour"}, answer) is not None) == says_more


TEXTS = st.lists(st.sampled_from(["ab", "harbour", "townharbourtown", "9", "_", " ", ", ", "\n"]), max_size=60)


@given(
    answer=TEXTS.map("".join),
    value=st.sampled_from(["harbour", "harb", "town", "urto", "ab", "harbour, ab"]),
    worded=st.booleans(),
)
def test_too_few_letters(answer: str, value: str, *, worded: bool) -> None:
    """What is told to have too few letters has no rest, whatever is taken out of it."""
    canonical = load_and_encode(answer, STRICT)[1]
    assert not isinstance(canonical, Unknown)
    rest = without_echo(canonical, {"q": value}, "standard", worded=worded)
    assert may_have_rest(canonical, worded=worded) or rest is None


@pytest.mark.parametrize(
    ("letters", "may"), [("ab " * 11 + "7", False), ("ab " * 11 + "ab", True), ("abcdefgh " * 6, True)]
)
def test_enough_letters(letters: str, may: bool) -> None:  # noqa: FBT001 - a column
    """Twelve words, or as many letters as twelve words with something between them."""
    assert may_have_rest(letters.encode(), worded=True) is may
    assert not may_have_rest(letters.encode(), worded=False)


@pytest.mark.parametrize(
    ("query", "word"), [("STRASSE 7", "straße"), ("straße 7", "STRASSE"), ("harbours now", "harbour")]
)
def test_single_words(query: str, word: str) -> None:
    """Where no value is repeated as a whole, words are found whatever their case, and whole ones only."""
    found = rest({"q": query}, f"about the {word}: {LEFT}")
    assert (found is None) == (word == "harbour")
    assert found is None or word.encode() not in found


def test_short_questions_need_long_answers() -> None:
    """A name or an id is near no other: only a page that comes again says anything."""
    assert rest("harbour", f"harbour: {LEFT}", worded=False) is None
    assert rest("harbour", f"harbour: {LEFT * 4}", worded=False) is not None


def test_lists_of_numbers_are_data() -> None:
    """What stands in brackets in data is no element's number."""
    assert rest({"id": 7}, {"scores": [17], "of": LEFT}) is None


def test_answers_to_different_things() -> None:
    """What is left tells them apart."""
    mine = rest({"q": "town charter maps"}, "town charter maps: " + LEFT)
    assert mine != rest({"q": "maps of the town"}, "maps of the town: " + LEFT.replace("two maps", "three maps"))


def test_masks_of_the_policy() -> None:
    """Where nothing is volatile by policy, times and lines are content."""
    canonical = [
        without_echo(f'"town charter: {LEFT} ({time} s)"'.encode(), {"q": "town charter"}, "none", worded=True)
        for time in (1, 2)
    ]
    assert canonical[0] != canonical[1]
