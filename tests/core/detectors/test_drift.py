"""When different arguments bring the same nothing."""

from __future__ import annotations

import pytest

from tests.support.script import Failure, Row, run, step

QUIET = "defaults: {identical: {nudge: 11, stop: 12, in_a_row: 12}}"


def drift(rows: list[Row], policy: str = "{}") -> list[tuple[int, str, str]]:
    """What was said about drift alone."""
    return [one for one in run(rows, policy).said if one[2] == "drift"]


def searches(*results: object) -> list[Row]:
    """One search for each result, with another short word each time."""
    return [("search", {"word": f"w{number}"}, result) for number, result in enumerate(results)]


TOLD: list[tuple[int, str, str]] = [(5, "nudge", "drift")]


@pytest.mark.parametrize(
    ("results", "said"),
    [
        pytest.param([[]] * 4, [], id="four empty answers"),
        pytest.param([[]] * 5, TOLD, id="the fifth"),
        pytest.param([[]] * 8, TOLD, id="told once"),
        pytest.param([[], "", None, {}, {"hits": [], "total": 0}], TOLD, id="every kind of empty"),
        pytest.param([{"data": {"hits": [], "next": None}}] * 5, TOLD, id="empty inside"),
        pytest.param([[], [], ["one"], [], [], [], []], [], id="a hit starts again"),
        pytest.param([[], [], ["one"], [], [], [], [], []], [(8, "nudge", "drift")], id="and so it goes on"),
        pytest.param([{"ok": True, "errors": []}] * 6, [], id="all well is no empty answer"),
        pytest.param([True] * 6, [], id="neither is true"),
        pytest.param([[], Failure("nope"), [], Failure("nope"), []], TOLD, id="empty and failing may mix"),
        pytest.param([Failure("down"), Failure("up")] * 3, [], id="failures of two shapes"),
    ],
)
def test_streaks_of_nothing(results: list[object], said: list[tuple[int, str, str]]) -> None:
    """Five empty or failing answers of one tool to different arguments are told with the fifth."""
    assert drift(searches(*results)) == said


PAGE = ("albums 2000", "albums 2001", "the albums", "list of albums", "studio albums", "all albums")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (PAGE[:4], []),
        (PAGE, TOLD),
        ([*PAGE[:3], "a hit", *PAGE[3:]], []),
        ([*PAGE[:2], *PAGE[:2], *PAGE[2:4]], []),
    ],
)
def test_no_hit_in_words(texts: list[str], said: list[tuple[int, str, str]]) -> None:
    """That there is no hit is an empty answer, though it repeats what was sought."""
    rows: list[Row] = [
        ("find", {"text": text}, "1 place" if text == "a hit" else f"The text '{text}' was not found on this page.")
        for text in texts
    ]
    assert drift(rows, QUIET) == said


def test_equal_arguments_do_not_count() -> None:
    """The same question again is another rule's."""
    rows: list[Row] = [*searches([], [], [], []), ("search", {"word": "w0"}, [])]
    assert drift(rows, QUIET) == []


def test_other_tools_in_between_do_not_break_it() -> None:
    """A streak is one tool's, whatever else is done; siblings of one turn are one strike."""
    rows: list[Row] = []
    for number, one in enumerate(searches(*[[]] * 5)):
        rows += [one, ("note", {"n": number}, f"noted {number}")]
    assert drift(rows) == [(9, "nudge", "drift")]
    assert drift([step("search", {"word": f"w{number}"}, [], turn=1) for number in range(7)]) == []


def test_who_never_drifts() -> None:
    """Declared writes and pollers do not ask."""
    assert drift(searches(*[[]] * 6), "tools: {search: {kind: write, duplicate_after_success: allow}}") == []
    assert drift(searches(*[[]] * 6), "tools: {search: {kind: poll}}") == []


def test_the_threshold_is_the_tools() -> None:
    """A tool may be told earlier."""
    assert drift(searches(*[[]] * 3), "tools: {search: {kind: read, drift: {nudge: 3}}}") == [(3, "nudge", "drift")]


def test_long_questions_must_be_near() -> None:
    """Questions of four words and more are a streak only where they share half their words."""
    worded = ["red shoes size nine", "size nine red boots", "red nine shoes now", "shoes red nine", "red shoes nine"]
    rows: list[Row] = [("search", {"for": f"{words} please"}, []) for words in worded]
    assert drift(rows) == TOLD
    batch: list[Row] = [
        ("search", {"for": " ".join(f"{letter}{part}" for part in range(5))}, []) for letter in "abcdefg"
    ]
    assert drift(batch) == []


def test_failures_of_one_shape() -> None:
    """Five guesses at a name are told; three are honest exploration, and so is one guess made again."""

    def guess(*names: str) -> list[Row]:
        return [("sql", {"table": name}, Failure(f"no such table: {name}_2024")) for name in names]

    policy = "defaults: {same_error: {nudge: 11, stop: 12}, identical: {nudge: 11, stop: 12, in_a_row: 12}}"
    assert drift(guess("order", "orders", "sales"), policy) == []
    assert drift(guess("order", "orders", "sales", "booking", "bookings"), policy) == TOLD


def test_near_equal_questions_with_one_answer() -> None:
    """The answer is there and is asked for in other words: told with the fourth, two at least must differ."""
    worded = ["opening hours of the north library", "north library opening hours", "hours north library opening today",
              "the opening hours north library"]  # fmt: skip
    rows: list[Row] = [("ask_desk", {"question": words}, "open from 9 to 5") for words in worded]
    assert drift(rows[:3]) == []
    assert drift(rows) == [(4, "nudge", "drift")]
    vague: list[Row] = [("ask_desk", {"question": words}, "maybe") for words in worded]
    assert drift(vague) == []


FOUND = ("The archive holds the founding charter, two maps of the old town and a list of its first mayors; "
         "nothing else of that time was kept.")  # fmt: skip
ASKED = (
    "population of the old town in 1400", "old town population 1400 estimate", "how many lived in the old town in 1400",
    "old town inhabitants around 1400", "old town 1400 census population",
)  # fmt: skip
SHOPS = ("shop api", "shop worker", "mail api", "mail worker", "stock api")


@pytest.mark.parametrize(
    ("queries", "answer", "said"),
    [
        pytest.param(ASKED[:3], "Results for '{}': " + FOUND, [], id="three wordings"),
        pytest.param(ASKED, "Results for '{}': " + FOUND, [(4, "nudge", "drift")], id="the fourth"),
        pytest.param(ASKED, "{} / " + FOUND * 20, [(4, "nudge", "drift")], id="a long page"),
        pytest.param(ASKED, "Results for '{}': " + FOUND + " {n} more.", [], id="each answer says something else"),
        pytest.param(
            [f"history of the {name} in town" for name in ("harbour", "bridge", "market", "castle", "mill")],
            "Results for '{}': " + FOUND, [], id="one form filled with another thing each time"),
        pytest.param([f"restart the deployment {name} now" for name in SHOPS], "{}: restarted", [],
                     id="receipts of one batch"),
        pytest.param([f"state of user {number} in shop" for number in range(6)], "{} is active", [],
                     id="ids looked up"),
    ],
)  # fmt: skip
def test_answers_that_quote_the_question(queries: list[str], answer: str, said: list[tuple[int, str, str]]) -> None:
    """Near-equal questions have one answer though each answer repeats its question."""
    rows: list[Row] = [
        ("ask_archive", {"query": query}, answer.format(query, n=number)) for number, query in enumerate(queries)
    ]
    assert drift(rows) == said


def test_receipts_prove_nothing() -> None:
    """Equal receipts of accepted payloads, and ids looked up one after the other, are a batch."""
    edits: list[Row] = [
        ("edit", {"file": "poem.txt", "new_str": f"the rose is red line {number}"}, "1 line was replaced in the file")
        for number in range(8)
    ]
    assert drift(edits) == []
    ids: list[Row] = [("stock", {"id": number}, "3 in stock at the moment") for number in range(8)]
    assert drift(ids) == []


def shell(*lines: str, result: object = "") -> list[Row]:
    """Lines of a shell with one result."""
    return [("shell", {"command": line}, result) for line in lines]


OPTIONS = ("-name", "-iname", "-path -name", "-iname -path", "-type f -iname")
NAMES = ("models", "views", "forms", "urls", "admin", "tests")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(shell(*(f"git add src/app/{name}.py" for name in NAMES)), [], id="added one by one"),
        pytest.param(shell(*(f"mkdir {name}" for name in NAMES)), [], id="too short to be near"),
        pytest.param(
            shell("mkdir a", "git status", "touch a/b", "git diff", "cp c a/c", "git log -1", "git add a"),
            [], id="work with a look now and then",
        ),
        pytest.param(
            shell("git status", "git diff", "git log", "touch a/b", "git tag", "git branch -r"),
            [(6, "nudge", "drift")], id="looks with work now and then",
        ),
        pytest.param(shell(*(f"cp -n base/{name}.html out/{name}.html" for name in NAMES)), [], id="copied"),
        pytest.param(shell(*(f"python -m py_compile app/{name}.py" for name in NAMES)), [], id="compiled"),
        pytest.param(shell(*(f"grep -n {name} src/app/main.py" for name in NAMES)), [], id="sought one by one"),
        pytest.param(
            shell(*(f"grep -n 'old {name}' src/main.py" for name in ("", "def", "class", "url", "in"))),
            TOLD, id="one thing sought in vain",
        ),
        pytest.param(
            shell(*(f"grep -n {name} src/app/v{name}.py" for name in range(6))), TOLD, id="numbers gone through",
        ),
        pytest.param(
            shell(*(f"grep -n {name} src/main.py" for name in NAMES[:2]), *(f"grep {name} a" for name in NAMES[2:])),
            TOLD, id="most too short to tell",
        ),
        pytest.param(
            shell(*(f"find src {option} old -exec mv {{}} /srv/attic/ +" for option in OPTIONS)),
            TOLD, id="attempts at one thing",
        ),
        pytest.param(
            [("run_sql", {"sql": f"UPDATE stock SET open = 0 WHERE id = {number}"}, []) for number in range(6)],  # noqa: S608
            [], id="rows changed",
        ),
        pytest.param(
            [("run_sql", {"sql": f"SELECT * FROM stock WHERE id = {number}"}, []) for number in range(6)],  # noqa: S608
            TOLD, id="rows sought",
        ),
        pytest.param([("edit", {"path": name, "content": "x"}, None) for name in NAMES], [], id="payloads taken"),
    ],
)  # fmt: skip
def test_silence_of_work_that_is_done(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """A program that prints nothing when it is done, done to one thing after the other, is no question in vain."""
    assert drift(rows) == said


PAIRS = [("ann", "bob"), ("bob", "ann"), ("ann", "cid"), ("cid", "bob"), ("cid", "ann")]
ORDER = {"note": "sent by courier today", "region": "west"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(
            [("ship", {**ORDER, "id": f"N-{number}"}, "held at depot 4 for now") for number in range(8)],
            [], id="one id after the other",
        ),
        pytest.param(
            [("ship", {**ORDER, "id": f"N-{number}"}, "depot 4 is not open") for number in range(4)],
            [(4, "nudge", "drift")], id="refused whatever the id",
        ),
        pytest.param(
            [("ship", {**ORDER, "to": name}, {"status": "ok", "place": 1}) for name in NAMES], [], id="receipts",
        ),
        pytest.param(
            [("ship", {**ORDER, "to": name}, {"status": "held", "place": 1}) for name in NAMES],
            [], id="one name after the other",
        ),
        pytest.param(
            [("ship", {**ORDER, "to": name}, "0 parcels in 3 depots") for name in NAMES],
            [(4, "nudge", "drift")], id="nought for each name",
        ),
        pytest.param([("ship", {**ORDER, "to": name}, 0) for name in NAMES], [], id="a bare nought for each name"),
        pytest.param(
            [("ship", {**ORDER, "to": f"{name} or {number}"}, "[(0,)]") for number, name in enumerate(NAMES)],
            [], id="a bare nought for each name and number",
        ),
        pytest.param([("ship", {**ORDER, "to": name}, "No orders found") for name in NAMES], [], id="no hit for each"),
        pytest.param(
            [("ship", {**ORDER, "to": f"{name} or {other}"}, "held at depot 4") for name, other in PAIRS],
            [(4, "nudge", "drift")], id="names that come again",
        ),
        pytest.param(
            [("ship", {**ORDER, "to": f"{name} or {other}"}, "No results in 3 depots") for name, other in PAIRS],
            [(5, "nudge", "drift")], id="no hit is told with the fifth",
        ),
        pytest.param(
            shell(*(f"pytest -q tests/test_{name}.py" for name in NAMES[:5]), result="1 failed, 3 passed"),
            [], id="one report of different tests",
        ),
        pytest.param(
            shell(*(f"pytest -q tests/test_urls.py {option}" for option in ("", "-v", "-v -x", "-x")),
                  result="1 failed, 3 passed"),
            [(4, "nudge", "drift")], id="one report of one test",
        ),
        pytest.param(
            [("ship", {**ORDER, "limit": number} if number else ORDER, "held at depot 4") for number in (0, 5, 0, 0)],
            [(4, "nudge", "drift")], id="a number more is another wording",
        ),
    ],
)  # fmt: skip
def test_a_batch_is_no_rewording(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """One answer to a question that is asked for one id after the other is not the answer to one question."""
    assert [one for one in drift(rows, QUIET) if one[2] == "drift"] == said
