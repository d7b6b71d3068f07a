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


SHOWN = "Kettle 29, Toaster 34, Blender 89, next page"
CLICK = Step("click", {"target": "next page"}, SHOWN)
OPENED = Step("open", {"page": "kitchen"}, SHOWN)
SCROLLED = Step("scroll", {"down": 1}, f"{SHOWN}, end of 1 page")
WAITED = Step("pause", {"for": 3}, "waited 3 s")
TYPED = Step("type", {"text": "tea"}, "typed")
VIEWED = [Step("view", {"item": name}, f"the {name} costs much") for name in ("kettle", "toaster")]
SAVED = Step("write", {"path": "a", "content": "b\n"}, "12 bytes")


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        ([OPENED, CLICK, SCROLLED, CLICK, WAITED, CLICK], 6),
        ([OPENED, CLICK, SCROLLED, CLICK, WAITED], None),
        ([CLICK, SCROLLED, CLICK, WAITED, CLICK], None),
        ([OPENED, CLICK, TYPED, CLICK, WAITED, CLICK], None),
        ([OPENED, CLICK, SCROLLED, CLICK, SAVED, CLICK], None),
        ([OPENED, CLICK, SAVED, CLICK, WAITED, CLICK], None),
        ([OPENED, CLICK, *VIEWED[:1], CLICK, *VIEWED[1:], CLICK], None),
        ([OPENED, CLICK, *VIEWED[:1], CLICK, SCROLLED, CLICK], 6),
        ([OPENED, SAVED, CLICK, SCROLLED, CLICK, WAITED, CLICK], 7),
    ],
)
def test_a_call_that_never_brought_anything(calls: list[Step], place: int | None) -> None:
    """What is known before a call is first made is told at the third time, unless something was done in between."""
    assert run(calls).said == ([] if place is None else [(place, "nudge", "identical")])


@pytest.mark.parametrize("shown", ["ok", "31 tests passed", "Error: page 3 is not there"])
def test_answers_that_say_little(shown: str) -> None:
    """Receipts, all's well and refusals are alike for many calls."""
    calls = [Step(one.tool, one.arguments, shown if one.result == SHOWN else one.result)
             for one in (OPENED, CLICK, SCROLLED, CLICK, WAITED, CLICK)]  # fmt: skip
    assert run(calls).said == []
