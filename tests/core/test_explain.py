"""Words for a stuck agent: each kind has its sentence, the user's words replace ours, and everything is bounded."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.decision import Finding, Kind
from otel_loopguard.core.explain import REPORT_BLOCKED, Remaining, Words
from otel_loopguard.errors import SettingError

FINDING = Finding("identical", "nudge", "search", 2, 1, 2, 2)
TOOLS = Remaining(("search", "browse", "ask_user", REPORT_BLOCKED, "fetch"), frozenset(["fetch"]), ("ask_user",))


def test_a_nudge_in_full() -> None:
    """What was repeated, how often, what came back, and what remains: tools but the exhausted, a person, the report."""
    words = Words()
    assert words.say(words.nudge, FINDING, TOOLS, "2 hits") == (
        "[loopguard] You called `search` 2 times with the same arguments; one time more gets you no further.\n"
        "The earlier result: 2 hits\n"
        "What remains: widen or change the arguments; use another tool (`browse`); ask a person with `ask_user`; "
        "or call `report_blocked` with what you tried and what you need."
    )


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_words(kind: Kind) -> None:
    """Each kind of finding is said in a sentence of its own that names the tool or the count."""
    words = Words()
    finding = Finding(kind, "stop", "search", 2, 1, 7, 2, period=3)
    said = {
        words.say("{what}", Finding(one, "stop", "search", 2, 1, 7, 2, period=3), Remaining()) for one in get_args(Kind)
    }
    text = words.say(words.refuse, finding, Remaining())
    assert len(said) == len(get_args(Kind))
    assert "Not run" in text
    assert "{" not in text


def test_one_call_with_one_outcome_has_its_own_words() -> None:
    """Six equal outcomes of one call do not say that the steps in between brought nothing: they may well have."""
    turns = Finding("no_progress", "nudge", "search", 6, 1, 6, 6)
    call = Finding("no_progress", "nudge", "search", 6, 1, 6, 6, of_call=True)
    swing = Finding("no_progress", "nudge", "build", 9, 1, 5, 5, 2, of_call=True)
    assert "in the same two ways by turns" in Words().say("{what}", swing, Remaining())
    said = [Words().say("{what}", finding, Remaining()) for finding in (turns, call)]
    assert said[0] == "The last 6 steps brought nothing new."
    assert said[1].startswith("You called `search` 6 times with the same arguments and it came to the same each time")


def test_words_are_the_users_to_change() -> None:
    """Templates, sentences and options are replaced one by one."""
    words = Words(
        nudge="{what} | {options}", what={"identical": "again: {tool} x{count}"}, options={"identical": "stop it"}
    )
    assert words.say(words.nudge, FINDING, Remaining()) == "again: search x2 | stop it; ask a person"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nudge": "{arguments}"}, "unknown field"),
        ({"nudge": "{tool!r}"}, "unknown field"),
        ({"nudge": "{tool:>99999999}"}, "unknown field"),
        ({"refuse": "a { b"}, "is no template"),
        ({"stop": "x" * 5000}, "longer than 4000 characters"),
        ({"what": {"loop": "x"}}, "`loop` is no kind of finding"),
        ({"options": {"drift": "{nobody}"}}, "unknown field"),
        ({"max_length": 0}, "at least 4"),
    ],
)
def test_wrong_templates_are_refused_when_they_are_made(settings: dict[str, Any], message: str) -> None:
    """A template that would fail when an agent is stuck is an error before it runs."""
    with pytest.raises(SettingError, match=message):
        Words(**settings)


@given(
    st.text(max_size=5000), st.text(max_size=5000), st.lists(st.text(max_size=300), max_size=60), st.integers(4, 3000),
    st.integers(0, 700),
)  # fmt: skip
def test_everything_is_bounded(tool: str, earlier: str, tools: list[str], length: int, quoted: int) -> None:
    """However long names, results and lists of tools are, the text keeps its length."""
    words = Words(max_length=length, max_earlier=quoted)
    finding = Finding("identical", "nudge", tool, 2, 1, 2, 2)
    assert len(words.say(words.nudge, finding, Remaining(tuple(tools)), earlier)) <= length
