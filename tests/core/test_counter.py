"""How far an answer says that something has come."""

from __future__ import annotations

import pytest

from otel_loopguard.core.reading.counter import counter_of
from tests.support.script import Failure, Row, run


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("Add printer, step 3 of 8: Address", 3),
        ("step 480/4000 loss 2.8\nstep 490/4000 loss 2.7", 490),
        ("copied 57 %", 57),
        ("12.5% done", 12.5),
        ("12 out of 40 pages", 12),
        ({"state": "running", "progress": 0.4}, 0.4),
        ({"done": True, "step": 7}, 7),
        ("epoch 3 loss 0.25\nEpoch: 4 loss 0.24", 4),
        ("iter=120", 120),
        ("stepped over 3 stones", None),
        ({"score": 7}, None),
        ("7 seats", None),
        ({"completed": 4_111_111_111_111_111}, None),
        ("step 4111111111111111", None),
        ("4111111111111111 / 3", None),
        ("2024/05/01 all quiet", None),
        ("src/v1/2/x.py", None),
        ("step 3 of 8" + " and so on" * 60, None),
        (7, None),
    ],
)
def test_counts(answer: object, count: float | None) -> None:
    """A part of a whole, a share, or a member that is named like one; a bare number, a date or a path is none."""
    found = counter_of(answer, refused=False)
    assert (None if found is None else found.value) == count


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("step 3 of 8: print a test page? No", 3),
        ("PAGE 2/7 is not filled in", 2),
        ("no: Question 4 OF 9", 4),
        ("slide 5 / 6 is missing, screen 6/6 too", 6),
        ("\u017ftep 3/8 is not done", 3),
        ("attempt 3 of 8 failed", None),
        ("page 3 is missing", None),
        ("57 % failed", None),
        ({"step": 3}, None),
    ],
)
def test_counts_of_what_says_no(answer: object, count: float | None) -> None:
    """A form's next page may ask a question, and a try that fails may be counted."""
    found = counter_of(answer, refused=True)
    assert (None if found is None else found.value) == count


def wizard(*answers: object) -> list[Row]:
    """One click at one place for each answer."""
    return [("click", {"x": 612, "y": 488}, answer) for answer in answers]


LETTERS = [f"{one}{two}word{three}" for one in "abcdefgh" for two in "klmnopqrs" for three in "tuvw"]


def long_page(number: int) -> str:
    """A page of a report that has words of its own."""
    return "a page of a long report " * 20 + " ".join(LETTERS[36 * number : 36 * number + 36])


PAGES = [f"step {number} of 9: page {'abcdefghi'[number]}" for number in range(1, 9)]
TOLD = [(5, "nudge", "identical")]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        pytest.param(PAGES, [], id="it goes on"),
        pytest.param([page.split(":")[1] for page in PAGES], TOLD, id="nothing counts"),
        pytest.param([f"page {number} at {number % 2} %" for number in range(8)], [(6, "nudge", "identical")],
                     id="up and down"),
        pytest.param([f"a.py b.py. Context used: {number} %" for number in range(40, 49)], TOLD, id="a budget used up"),
        pytest.param([{"pose": "stuck at the wall", "step": number} for number in range(9)], TOLD, id="steps alone"),
        pytest.param([{"at": f"door {number}", "step": number} for number in range(7)], [], id="steps somewhere"),
        pytest.param([*PAGES[:6], "another page", "one more"], [(8, "nudge", "identical")], id="it stalls"),
        pytest.param([long_page(number) for number in range(8)], [], id="another long page each time"),
        pytest.param([Failure(f"attempt {page}") for page in PAGES], TOLD, id="tries that fail"),
    ],
)  # fmt: skip
def test_a_row_that_counts_up(answers: list[object], said: list[tuple[int, str, str]]) -> None:
    """One call five times in a row is told, unless its answers count up: pages of a wizard, steps of a training."""
    assert [one for one in run(wizard(*answers)).said if one[0] < 9 and one[1] == "nudge"][: len(said) or 1] == said
