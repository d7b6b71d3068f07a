"""A tool that refuses again and again for one reason, with other work in between or not."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Step, run

REFUSED = Step("finish", {"answer": "42"}, "Error: the plan has open steps, cannot finish")
UNFLAGGED = Step("submit", {"patch": "- a\n+ b"}, "Unable to apply the patch: hunk 1 does not match")


def kinds(calls: list[Step]) -> set[str]:
    """The kinds of what was said."""
    return {kind for _, _, kind in run(calls).said}


def look(number: int) -> Step:
    """Reading something else."""
    return Step("look", {"page": number}, f"page {number} of the manual")


def edit(number: int) -> Step:
    """A piece of work that is accepted."""
    return Step("edit", {"path": f"f{number}.py", "content": f"x = {number}\n"}, "written")


def fix(*lines: str) -> list[Step]:
    """A build that fails in one way after each of some versions of one file."""
    written = [Step("edit", {"path": "main.py", "content": f"import job\n{line}\n"}, "written") for line in lines]
    return [one for version in written for one in (version, Step("shell", {"command": "build"}, Failure("no job")))]


def between(refused: Step, times: int, *work: Step, often: int = 1) -> list[Step]:
    """A refusal so many times, work before each."""
    calls: list[Step] = []
    for number in range(times):
        for step in range(often):
            for one in work:
                turned = {name: str(value).replace("1", f"{number}0{step}") for name, value in one.arguments.items()}  # type: ignore[attr-defined]
                calls.append(Step(one.tool, turned, f"{one.result} {number} {step}"))
        calls.append(refused)
    return calls


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        (between(REFUSED, 4, look(1)), 8),
        (between(REFUSED, 3, look(1)), None),
        (between(REFUSED, 4, look(1), often=14), 60),
        (between(REFUSED, 4, look(1), often=15), None),
        (between(REFUSED, 7, edit(1)), None),
        (between(REFUSED, 8, edit(1)), 16),
        (between(REFUSED, 8, edit(1), look(1)), 24),
    ],
)
def test_a_finish_that_is_refused(calls: list[Step], place: int | None) -> None:
    """Four refusals with nothing accepted in between are enough, eight with work each time, any fifteen turns apart."""
    refusals = [where for where, _, kind in run(calls).said if kind == "same_error"]
    assert refusals[:1] == ([] if place is None else [place])


def test_refusals_in_vain_and_after_work_add_up() -> None:
    """Two in vain, then refusals after work that weigh less than half: the seventh fills the measure."""
    calls = [REFUSED, look(1), look(2), REFUSED, *between(REFUSED, 5, edit(1), look(3))]
    assert [place for place, _, kind in run(calls).said if kind == "same_error"] == [19]
    assert "same_error" not in kinds(calls[:-1])


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ([UNFLAGGED, look(1), UNFLAGGED, look(2), UNFLAGGED], {"same_error"}),
        ([UNFLAGGED, look(1), UNFLAGGED, edit(2), UNFLAGGED], set()),
        ([UNFLAGGED, edit(1), UNFLAGGED, look(2), UNFLAGGED, look(3), UNFLAGGED], {"same_error"}),
    ],
)
def test_the_very_same_payload(calls: list[Step], kind: set[str]) -> None:
    """The very same payload refused for the third time with nothing accepted in between is told."""
    assert {name for _, _, name in run(calls).said if name == "same_error"} == kind


def test_work_of_the_refused_tool_itself() -> None:
    """A success of the tool is work where the refused call hands nothing over, and none where it does."""
    asked = Step("shell", {"command": "deploy --now"}, Failure("permission denied by the gate"))
    done = [Step("shell", {"command": f"build part {number}"}, f"built part {number}") for number in range(3)]
    handed = Step("db", {"patch": "a\nb"}, Failure("permission denied by the gate"))
    read = [Step("db", {"read": f"table {number}"}, f"rows of table {number}") for number in range(3)]
    assert "same_error" not in kinds([asked, done[0], asked, done[1], asked, done[2], asked])
    assert "same_error" in kinds([handed, read[0], handed, read[1], handed, read[2], handed])


def test_siblings_are_one_refusal() -> None:
    """Refusals of one turn count once: the model has not seen the first when it makes the second."""
    siblings = [Step("get", {"id": number}, Failure("Error: no permission"), turn="t1") for number in range(6)]
    assert run([*siblings, look(1)]).said == []


def test_other_reasons_are_other_refusals() -> None:
    """Each reason is counted alone."""
    reasons = ["plan is missing", "tests fail", "no summary", "branch is unknown"]
    calls = [call for reason in reasons for call in (look(1), Step("finish", {"answer": "42"}, Failure(reason)))]
    assert "same_error" not in kinds(calls)


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["job.run(fast)", "job.run(fast, safe)", "job.run(safe)", "job.run()"], 8),
        (["job.run(fast)", "job.run(fast, safe)", "job.run(safe)"], None),
        (["job.run(1)", "job.run(2)", "job.run(3)", "job.run(4)"], None),
        (["a b c d e f g", "h i j k l m n", "o p q r s t u", "v w x y z aa bb"], None),
    ],
)
def test_near_equal_fixes_that_fail_alike(lines: list[str], place: int | None) -> None:
    """A version of what was handed over before is no work that excuses the next failure; another number in it is."""
    refusals = [where for where, _, kind in run(fix(*lines)).said if kind == "same_error"]
    assert refusals == ([] if place is None else [place])


def test_a_payload_that_is_refused_between_its_versions() -> None:
    """What is taken away and handed over again is refused meanwhile for being there: that is no near-equal fix."""
    there = Step("edit", {"path": "main.py", "content": "import job\njob.run(fast)\n"}, Failure("it exists already"))
    taken = Step("edit", there.arguments, "written")
    gone = Step("shell", {"command": "rm main.py"}, "")
    assert "same_error" not in kinds([there, gone, taken] * 5)


def test_reports_about_different_things() -> None:
    """One report of what passed and what failed, about another thing each time, is not one refusal."""
    report = "1 failed, 3 passed"
    tests = [Step("test", {"of": name}, report) for name in ("models", "views", "forms", "urls", "admin")]
    assert run(tests).said == []
    assert [place for place, _, kind in run([tests[0], look(1), look(2)] * 4).said if kind == "same_error"] == [10]


@pytest.mark.parametrize(
    ("hits", "said"),
    [
        (set(), {"same_error", "no_progress"}),
        ({3, 7, 11}, set()),
    ],
)
def test_names_that_are_looked_up_one_after_the_other(hits: set[int], said: set[str]) -> None:
    """A tool that knows some of the things it is asked for does not refuse: what it does not know is not there."""
    missing = '{"error": "not_found", "message": "no such customer"}'
    calls = [
        Step("find", {"name": f"n{place}"}, f'{{"id": {place}}}' if place in hits else missing) for place in range(14)
    ]
    assert kinds(calls) == said


def test_an_edit_that_is_mended_in_its_blanks() -> None:
    """Calls that differ in blanks around a text are equal, so the nudge on a refused payload waits for its result."""

    def edit(blanks: int, answer: str) -> Step:
        return Step("edit", {"lines": "59:59", "content": " " * blanks + "output = connection.rolls_back"}, answer)

    refused, taken = "Edit refused: unindent does not match", "File a.py: 65 lines, edited"
    assert run([edit(0, refused), edit(4, refused), edit(8, taken)]).said == []
    assert run([edit(0, refused), edit(4, refused), edit(8, refused)]).said[0] == (3, "nudge", "identical")
