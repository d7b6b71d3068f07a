"""When paging brings nothing, and how one may page for ever."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Row, run

ITEMS = "tools: {loans: {kind: read, page: {cursor: after}, result: {progress: {items: {path: 'rows[].id'}}}}}"
PLAIN = "tools: {loans: {kind: read, page: {cursor: after}}}"


def pages(*rows: list[int], start: int = 0) -> list[Row]:
    """One page for each list of ids, with another cursor each time."""
    return [
        ("loans", {"after": start + number, "branch": "north"}, {"rows": [{"id": one} for one in ids], "page": number})
        for number, ids in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([[number] for number in range(60)], [], id="new items for ever"),
        pytest.param([[1, 2], [2, 3], [3, 4]], [], id="overlapping pages with something new"),
        pytest.param([[1, 2], [3], []], [], id="an empty last page is free"),
        pytest.param([[1, 2], [1], [2]], [(3, "nudge", "page")], id="told at the second page without news"),
        pytest.param(
            [[1, 2], [1], [2], [1, 2]], [(3, "nudge", "page"), (4, "stop", "page")], id="stopped before the third"
        ),
        pytest.param([[1, 2], [1], [3], [1], [4]], [], id="an unseen item starts the count again"),
        pytest.param(
            [[1, 2], [1], [2], [3], [1], [2]],
            [(3, "nudge", "page"), (4, "stop", "page"), (6, "nudge", "page")],
            id="the stop was decided before the page that would have brought news; then all begins anew",
        ),
    ],
)
def test_items(rows: list[list[int]], said: list[tuple[int, str, str]]) -> None:
    """Pages are judged by their declared items, whatever else they say."""
    assert [one for one in run(pages(*rows), ITEMS).said if one[2] == "page"] == said


def test_without_items_a_page_is_its_result() -> None:
    """A page is new when its result was not seen before under the same other arguments."""
    rows: list[Row] = [("loans", {"after": number}, text) for number, text in enumerate(["a", "b", "a", "b", "a"])]
    assert run(rows, PLAIN).said == [(4, "nudge", "page"), (5, "stop", "page")]
    fresh: list[Row] = [("loans", {"after": number}, f"page {number}") for number in range(30)]
    assert run(fresh, PLAIN).said == []


def test_each_list_is_its_own() -> None:
    """The same page under other arguments is another list's."""
    rows: list[Row] = [
        ("loans", {"after": 1, "branch": branch}, {"rows": [{"id": 1}]}) for branch in ("north", "south", "east")
    ]
    assert run(rows, ITEMS).said == []


def test_paging_back_is_paging() -> None:
    """Backwards over pages that were not seen yet."""
    rows: list[Row] = [("loans", {"after": number}, {"rows": [{"id": number}]}) for number in range(20, 0, -1)]
    assert run(rows, ITEMS).said == []


def test_the_same_cursor_is_an_equal_call() -> None:
    """The same page again is told like any equal read."""
    rows: list[Row] = [("loans", {"after": 3}, {"rows": [{"id": 1}]})] * 2
    assert run(rows, ITEMS).said == [(2, "nudge", "identical")]


def test_failures_that_pass_are_no_pages() -> None:
    """A page that could not be fetched for the moment brings nothing and proves nothing."""
    rows: list[Row] = [("loans", {"after": number}, Failure("busy", "timeout")) for number in range(2)]
    assert [one for one in run([*pages([1]), *rows], ITEMS).said if one[2] == "page"] == []
