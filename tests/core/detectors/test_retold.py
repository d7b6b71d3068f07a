"""A call repeated in a row whose long answer tells the same in other words, or only moves its times."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Step, run

PAGE = (
    "The page about property taxes shows the department address, telephone number, opening hours, several pictures "
    "of buildings, links to documents and payment instructions, and below them general information about deadlines, "
    "exemptions, veterans, assessment appeals, refunds, registration offices and electronic correspondence. A search "
    "field stands above, and a footer with privacy notices, accessibility statements and contact links below. "
    "Visitors choose between English, Spanish and Vietnamese, create accounts, subscribe to newsletters or report "
    "problems with printed notices, missing receipts, wrong addresses and changed ownership."
)
RETOLD = PAGE.replace("several pictures", "various photographs").replace("general information", "background material")
TURNED = RETOLD.replace("telephone number", "contact details").replace("A search", "An entry")
OTHER = " ".join(
    f"The section on {word} explains who needs {word} permits and what {word} offices charge for them."
    for word in ("zoning", "vehicle", "marriage", "hunting", "fishing", "library", "hospital", "election", "employment",
                 "building", "parking", "camping", "boating", "catering", "trading", "burning")
)  # fmt: skip
GROWN = [PAGE, f"{PAGE} Transportation", f"{PAGE} Transportation, weather"]


@pytest.mark.parametrize(
    ("pages", "place"),
    [
        ([PAGE, RETOLD, TURNED], 3),
        ([PAGE, RETOLD], None),
        ([PAGE, OTHER, PAGE, OTHER], None),
        (GROWN, None),
    ],
)
def test_a_page_told_again(pages: list[str], place: int | None) -> None:
    """Most long words are the same, and some are not: nothing new came. What only grew by a word is no retelling."""
    calls = [Step("click", {"target": "Contact the department"}, page) for page in pages]
    assert run(calls).said == ([] if place is None else [(place, "nudge", "identical")])


def test_other_calls_in_between() -> None:
    """Only calls in a row are judged by their words: after other work a report that reads alike is another report."""
    looks = [Step("scroll", {"by": number}, f"{OTHER} {number}") for number in range(2)]
    calls = [Step("click", {"target": "Contact"}, page) for page in (PAGE, RETOLD, TURNED)]
    assert run([calls[0], looks[0], calls[1], looks[1], calls[2]]).said == []


@pytest.mark.parametrize(
    ("result", "failed", "place"),
    [
        ("sorted 10000 rows in {} s", False, None),
        ("1 failed, 4 passed in {} s", True, 11),
        ("1 failed, 4 passed in {} s", False, 11),
        ("sorted 10000 rows", False, 11),
    ],
)
def test_times_that_moved(result: str, failed: bool, place: int | None) -> None:  # noqa: FBT001 - a column
    """Six equal outcomes with edits between are told, but not where the answer has times that may be worked on."""
    calls: list[Step] = []
    for number in range(6):
        told = result.format(0.5 + number / 10)
        calls.append(Step("run", {"script": "bench.py"}, Failure(told) if failed else told))
        calls.append(Step("edit", {"path": "a.py", "content": f"x = {number}\n"}, f"written {number}"))
    assert [where for where, _, kind in run(calls).said if kind == "no_progress"] == ([] if place is None else [place])
