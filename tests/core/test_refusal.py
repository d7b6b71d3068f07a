"""What is remembered of refusals, and for how long."""

from __future__ import annotations

from otel_loopguard.core.history import History
from otel_loopguard.core.past.refusal import MEASURE, REASON_LIMIT
from tests.support.script import Failure, Step, run


def refused(reason: str, number: int = 1) -> Step:
    """A call refused for a reason."""
    return Step("finish", {"answer": number}, Failure(f"cannot finish: {reason}"))


def weights(history: History) -> list[tuple[int, int]]:
    """How often and how heavily each reason was met, the one met longest ago first."""
    return [(one.count, one.weight) for one in history.refusals.held]


REASONS = ["no title", "tests fail", "dirty tree", "no review", "merge conflict", "old base", "no branch", "bad sign",
           "lock held"]  # fmt: skip


def test_reasons_are_bounded() -> None:
    """So many reasons are remembered, the one met longest ago is forgotten first."""
    held = run([*map(refused, REASONS), refused(REASONS[1])]).history
    assert len(held.refusals.held) == REASON_LIMIT == len(REASONS) - 1
    assert weights(held) == [*[(1, 7)] * 7, (2, 14)]


def test_the_same_reason_in_other_words() -> None:
    """One reason is one message after the call's own words are masked, or one very answer."""
    masked = [Step("finish", {"answer": f"number {n}"}, Failure(f"cannot finish with number {n}")) for n in range(3)]
    answer = "cannot finish: step 3 is open"
    exact = [Step("finish", {"answer": text}, Failure(answer)) for text in ("3", "4 5", "step 3")]
    assert weights(run(masked).history) == [(3, 21)]
    assert weights(run(exact).history) == [(3, 21)]


def test_four_in_vain_are_the_measure() -> None:
    """Siblings weigh once, and what comes after accepted work weighs less than half."""
    work = [Step("edit", {"path": f"{number}.py", "content": f"{number}\n"}, "written") for number in range(2)]
    siblings = [Step("finish", {"answer": number}, Failure("cannot finish"), turn="t") for number in range(3)]
    assert weights(run([refused("no title", number) for number in range(4)]).history) == [(4, MEASURE)]
    assert weights(run([siblings[0], siblings[1], siblings[2]]).history) == [(1, 7)]
    held = run([refused("no title"), work[0], refused("no title"), work[1], refused("no title")]).history
    assert weights(held) == [(3, 13)]


def test_slips_are_light_where_other_work_goes_through() -> None:
    """A refusal that quotes another text than the last one weighs little, once any work was accepted."""
    olds = ("def one(self, step):", "import os and sys too", "for each in the list:")
    other, same = (
        [Step("edit", {"path": "a.py", "old": old, "new": "a = 1"}, Failure(f"`{old}` is not there")) for old in texts]
        for texts in (olds, [olds[0]] * 3)
    )
    work = Step("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}, "The file was edited")
    assert weights(run(other).history) == [(3, 21)]
    assert weights(run([other[0], work, *other[1:]]).history) == [(3, 7 + 3 + 3)]
    assert weights(run([same[0], work, *same[1:]]).history) == [(3, 7 + 3 + 7)]


def test_a_user_message_forgets_them() -> None:
    """After a user message everything starts anew."""
    spoken = Step("finish", {"answer": 1}, Failure("cannot finish: no title"), user_message=True)
    assert weights(run([refused("no title"), refused("no title"), spoken]).history) == [(1, 7)]
