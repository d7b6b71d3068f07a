"""When the user is asked what the user has answered."""

from __future__ import annotations

import pytest

from otel_loopguard.core.call import ABSENT
from tests.support.script import Row, run, step

POLICY = "ask_user: [ask]"
SIZE: Row = ("ask", {"question": "which size?"}, "medium")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([SIZE], [], id="asked once"),
        pytest.param([SIZE, SIZE], [(2, "nudge", "ask_again")], id="told before the second"),
        pytest.param([SIZE, ("ask", {"question": "which colour?"}, "red")], [], id="another question"),
        pytest.param([("ask", {"question": "which size?"}, ABSENT), SIZE], [], id="nobody answered"),
        pytest.param([("ask", {"question": "which size?"}, ""), SIZE], [], id="an empty answer is none"),
        pytest.param([SIZE, step("ask", {"question": "which size?"}, "large", user_message=True)], [], id="a new task"),
    ],
)
def test_questions(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """The same question, answered before in the same task, is told before it is asked."""
    assert run(rows, POLICY).said == said


def test_an_answer_changes_nothing() -> None:
    """Asking does not excuse a repetition of something else."""
    look: Row = ("look", {"at": "shelf"}, "empty shelf")
    rows = [look, SIZE, look, ("ask", {"question": "which colour?"}, "red"), look]
    assert run(rows, POLICY).said == [(5, "nudge", "identical")]
