"""Near-equal attempts at one thing that come to few different ends, and near-equal questions with one answer."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Step, run


def kinds(calls: list[Step]) -> set[str]:
    """The kinds of what was said."""
    return {kind for _, _, kind in run(calls).said}


def attempt(option: str, result: str) -> Step:
    """One attempt at one command; what is wrong says the error text, silence is no error."""
    command = f"convert report draft final {option}"
    return Step("shell", {"command": command}, Failure(result) if result.startswith("sh:") else result)


OPTIONS = ("fast", "safe", "plain", "quiet", "full", "small", "strict", "again")
USAGE = "sh: convert: unknown switch, see usage"
BROKEN = "sh: convert: cannot open the file"
NOTHING = "40 pages read, nothing of them written"


@pytest.mark.parametrize(
    ("results", "places"),
    [
        (["", USAGE, "", BROKEN, "", USAGE], []),
        (["", USAGE, "", BROKEN, "", USAGE, ""], [7]),
        ([NOTHING, USAGE, NOTHING, USAGE, NOTHING], []),
        ([NOTHING, USAGE, NOTHING, USAGE, NOTHING, USAGE], [6]),
        ([NOTHING, USAGE, NOTHING, USAGE, "12 pages written to it", NOTHING, USAGE], []),
        ([NOTHING, USAGE, NOTHING, USAGE, "All pages converted, 0 errors", NOTHING, USAGE], []),
    ],
)
def test_attempts_by_turns(results: list[str], places: list[int]) -> None:
    """Four attempts to an end that is known already are told, silence being one; a hit or all's well starts anew."""
    calls = [attempt(option, result) for option, result in zip(OPTIONS, results, strict=False)]
    assert run(calls).said == [(place, "nudge", "drift") for place in places]


def test_things_that_differ_in_a_number_are_tried_in_turn() -> None:
    """A hit among them begins them anew, in which form ever the others fail."""

    def page(number: int) -> Step:
        text = f"attendance {number}00" if number in {3, 7} else Failure("403 forbidden" if number % 2 else "404 gone")
        return Step("fetch", {"url": f"https://site{number}.example/p"}, text)

    assert kinds([page(number) for number in range(11)]) == set()
    assert kinds([page(number + 20) for number in range(11)]) >= {"drift", "same_error"}


def test_something_else_is_done_in_between() -> None:
    """What may have changed the world starts the attempts again, an attempt at the same does not."""
    calls = [attempt(OPTIONS[number], USAGE if number % 2 else NOTHING) for number in range(6)]
    written = Step("write", {"path": "draft", "content": "a new draft\n"}, "written")
    assert run(calls).said == [(6, "nudge", "drift")]
    assert run([*calls[:3], written, *calls[3:]]).said == []


def seek(option: str, result: str) -> Step:
    """One search, worded by an option."""
    return Step("shell", {"command": f"grep -rn {option} header in all chapters"}, result)


@pytest.mark.parametrize(
    ("results", "places"),
    [
        (["", NOTHING, "", NOTHING, "", NOTHING], [6]),
        (["", NOTHING, "", NOTHING, ""], []),
        (["", NOTHING, "", "12 pages have one", "", NOTHING, ""], []),
        (["", "3 pages have one", "", "4 pages have one", "", ""], []),
    ],
)
def test_silence_of_who_was_asked(results: list[str], places: list[int]) -> None:
    """Silence of a search is an end like others where one answer comes again beside it; of work it says: done."""
    calls = [seek(option, result) for option, result in zip(OPTIONS, results, strict=False)]
    assert run(calls).said == [(place, "nudge", "drift") for place in places]
    assert run([attempt(option, result) for option, result in zip(OPTIONS, results, strict=False)]).said == []


def test_one_number_after_the_other() -> None:
    """Ids that are gone through one by one are no attempts at one thing, whether they are there or not."""
    counted = [attempt(f"page {number}", USAGE if number % 3 == 1 else NOTHING) for number in range(8)]
    worded = [
        attempt(option, one.result if isinstance(one.result, str) else USAGE)
        for option, one in zip(OPTIONS, counted, strict=True)
    ]
    assert "drift" not in kinds(counted)
    assert "drift" in kinds(worded)


def test_things_that_are_not_near() -> None:
    """Failures of different commands are not attempts at one thing."""
    texts = ["list all users there", "open door number four", "start red engine now", "print long summary here"]
    calls = [Step("shell", {"command": text}, "" if number % 2 else USAGE) for number, text in enumerate(texts * 2)]
    assert "drift" not in kinds([calls[number] for number in (0, 1, 2, 3)])


def test_a_short_text_is_in_a_long_one() -> None:
    """A call that is more than twice as long is no attempt at the same, however many words they share."""
    short = [attempt(OPTIONS[number], USAGE if number % 2 else NOTHING) for number in range(6)]
    more = " and then list chapters, count figures, check links, merge notes, sort names"
    long = [
        Step("shell", {"command": f"{one.arguments['command']}{more}"}, one.result)  # type: ignore[index]
        for one in short
    ]
    assert run(short).said == run(long).said == [(6, "nudge", "drift")]
    assert run([*long[:3], *short[3:]]).said == []


WORDINGS = ("please", "of it", "now please", "of the account", "of it please", "and of the account")
ALL_WELL = "All checks passed, 0 failed"
NO_CHANGE = "The balance of the account is 40 EUR"


@pytest.mark.parametrize(("answer", "kind"), [(NO_CHANGE, {"drift"}), (ALL_WELL, set())])
def test_one_answer_to_many_wordings(answer: str, kind: set[str]) -> None:
    """The answer is there and is asked for again; all's well is another answer for each thing."""
    wordings = ["what is the balance now", "what is the balance", "tell me the balance now", "balance now what is"]
    calls = [Step("ask", {"question": text}, answer) for text in wordings]
    assert kinds(calls) == kind


def test_wordings_with_something_new_in_between() -> None:
    """Wordings after something new weigh less than half: three of them and three others fill the measure of four."""
    asked = [Step("ask", {"question": f"what is the balance now {word}"}, NO_CHANGE) for word in WORDINGS]
    written = [Step("write", {"path": "a", "content": f"note {number}\n"}, "written") for number in range(3)]
    calls = [asked[0], written[0], asked[1], written[1], asked[2], written[2], *asked[3:]]
    assert run(calls[:-1]).said == []
    assert run(calls).said == [(9, "nudge", "drift")]


def test_a_call_that_only_failed_before_is_made_for_the_first_time() -> None:
    """What failed has changed nothing: its first success does, so what follows is judged anew."""
    create = {"path": "a.py", "text": "print(1)"}
    run_it = Step("run", {"path": "a.py"}, "exit 1, see log")
    calls = [
        Step("create", create, Failure("file exists")), run_it, run_it,
        Step("create", create, "created"), run_it,
    ]  # fmt: skip
    assert run(calls).said == []


NAMED = ("maps of the harbour", "harbour maps of 1800", "maps of the old harbour", "old harbour maps list",
         "harbour maps of the town", "all harbour maps")  # fmt: skip


@pytest.mark.parametrize(
    ("count", "answer", "said"),
    [
        pytest.param(4, "Could not find [{}]. Similar: ['{n} a', '{n} b']", [], id="four wordings"),
        pytest.param(6, "Could not find [{}]. Similar: ['{n} a', '{n} b']", [(5, "nudge", "drift")], id="the fifth"),
        pytest.param(6, "The page {n} of the atlas shows it: {}", [], id="each is found"),
    ],
)
def test_a_no_that_names_other_things_each_time(count: int, answer: str, said: list[tuple[int, str, str]]) -> None:
    """Refusals without an error flag are one end where they have one shape, whatever they offer instead."""
    calls = [
        Step("search", {"title": name}, answer.format(name, n="abcdef"[number])) for number, name in enumerate(NAMED)
    ]
    assert [one for one in run(calls[:count]).said if one[2] == "drift"] == said


FAULTS = ("unexpected indent in '{}'", "the name was not expected after: {}", "a bracket is missing: {}",
          "must not begin like this: {}", "unindent does not match: {}", "wrong token near {}")  # fmt: skip
LOOK = Step("view", {"path": "a.py"}, "def area(width, height): ...")


def patch(number: int, *, taken: bool = False) -> Step:
    """One wording of one edit, refused for another reason than the others."""
    text = f"def area(width, height):\n{' ' * (number + 1)}return width * height + {number}"
    answer = "File a.py edited" if taken else "Edit refused. " + FAULTS[number].format(text)
    return Step("edit", {"path": "a.py", "new_str": text}, answer)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        pytest.param([*map(patch, range(4))], [], id="four"),
        pytest.param([*map(patch, range(5))], [(5, "nudge", "drift")], id="the fifth"),
        pytest.param([*map(patch, range(3)), LOOK, *map(patch, range(3, 5))], [(6, "nudge", "drift")],
                     id="looked at in between"),
        pytest.param([*map(patch, range(3)), patch(5, taken=True), *map(patch, range(3, 5))], [], id="one is taken"),
    ],
)  # fmt: skip
def test_an_edit_that_is_never_taken(calls: list[Step], said: list[tuple[int, str, str]]) -> None:
    """Near-equal payloads that are refused have one end, whatever the reasons."""
    assert [one for one in run(calls).said if one[2] == "drift"] == said


def start(number: int, told: str = "") -> Step:
    """A server started in other words, which says nothing."""
    return Step("shell", {"command": f"nohup serve app main port 8000 option {OPTIONS[number]} quietly"}, told)


def ask(number: int, answer: str = "curl: (7) failed to connect to port 8000 after {} ms") -> Step:
    """The server asked after some seconds."""
    return Step("shell", {"command": f"sleep {number}; curl -sS localhost port 8000 health"}, answer.format(number))


@pytest.mark.parametrize(
    ("calls", "places"),
    [
        pytest.param([one for number in range(5) for one in (start(number), ask(number))], [], id="five"),
        pytest.param([one for number in range(6) for one in (start(number), ask(number))], [12], id="the sixth"),
        pytest.param([one for number in range(6) for one in (start(number, f"listens on {number}"), ask(number))], [],
                     id="each start says something else"),
        pytest.param([one for number in range(6) for one in (start(number), ask(number, "status {}: 9 users"))], [],
                     id="it answers"),
        pytest.param([start(0), *(ask(0) for _ in range(2)), Step("edit", {"path": "a", "content": "b\n"}, "edited"),
                      *(one for number in range(1, 5) for one in (start(number), ask(number)))], [],
                     id="something was changed"),
    ],
)  # fmt: skip
def test_the_same_done_about_the_same_failure(calls: list[Step], places: list[int]) -> None:
    """A failure that comes again though nearly the same was done about it each time, in silence."""
    assert [place for place, _, kind in run(calls).said if kind == "drift"] == places


@pytest.mark.parametrize(
    ("names", "said"),
    [
        pytest.param(("Oslo", "Rome", "Bern", "Kyiv", "Riga", "Minsk"), [], id="another place each time"),
        pytest.param(("Oslo", "Oslo now", "in Oslo", "Oslo city", "old Oslo", "Oslo again"), [(5, "nudge", "drift")],
                     id="one place in other words"),
    ],
)  # fmt: skip
def test_a_no_in_what_is_told(names: tuple[str, ...], said: list[tuple[int, str, str]]) -> None:
    """Answers about one thing after the other may all hold a no, in one form with other numbers."""
    calls = [
        Step("forecast", {"question": f"how is the weather tomorrow at {name}"}, f"{9 + number} degrees, no rain")
        for number, name in enumerate(names)
    ]
    assert [one for one in run(calls).said if one[2] == "drift"] == said
