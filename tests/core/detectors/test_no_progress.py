"""When a run goes on without anything new."""

from __future__ import annotations

import pytest

from otel_loopguard.core.call import ABSENT
from tests.support.script import Row, run, step

READS = "turns: {no_progress: 3}\ntools: {gauge: {kind: read}, valve: {kind: write}, boiler: {kind: poll}}"


def idle(rows: list[Row], policy: str = READS) -> list[tuple[int, str, str]]:
    """What was said about progress alone."""
    return [one for one in run(rows, policy).said if one[2] == "no_progress"]


def gauge(number: int, reading: object = "low") -> Row:
    """One reading of a gauge."""
    return ("gauge", {"id": number}, reading)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([gauge(1), gauge(2), gauge(3)], [], id="the first reading was news"),
        pytest.param([gauge(1), gauge(2), gauge(3), gauge(4)], [(4, "nudge", "no_progress")], id="three without news"),
        pytest.param([gauge(number) for number in range(9)], [(4, "nudge", "no_progress")], id="said once"),
        pytest.param([gauge(1), gauge(2), gauge(3), gauge(4, "high")], [], id="a new reading"),
        pytest.param(
            [gauge(1), gauge(2), ("valve", {"id": 1}, "low"), gauge(3), gauge(4)], [], id="a successful change"
        ),
        pytest.param([gauge(1), gauge(2), gauge(3), ("boiler", {"id": 1}, "low")], [], id="waiting within a budget"),
        pytest.param(
            [gauge(1), gauge(2), ("gauge", "[REDACTED]", "low"), gauge(3), gauge(4)],
            [(5, "nudge", "no_progress")],
            id="a turn of which nothing is known is skipped",
        ),
        pytest.param([gauge(1), gauge(2), gauge(3, ABSENT), gauge(4, ABSENT), gauge(5)], [], id="no result, no turn"),
        pytest.param(
            [*[gauge(number) for number in range(4)], gauge(5, "high"), *[gauge(number) for number in range(6, 9)]],
            [(4, "nudge", "no_progress"), (8, "nudge", "no_progress")],
            id="told anew after news",
        ),
        pytest.param(
            [gauge(number, f"gauge {number} is not connected") for number in range(10, 14)],
            [(4, "nudge", "no_progress")],
            id="one refusal, whatever it quotes",
        ),
        pytest.param(
            [gauge(number, f"no gauges found for {number}") for number in range(10, 14)],
            [(4, "nudge", "no_progress")],
            id="one answer that nothing was found",
        ),
        pytest.param(
            [gauge(1, "not connected"), gauge(2, "not known"), gauge(3, "not allowed"), gauge(4, "not now")],
            [],
            id="another refusal each time",
        ),
        pytest.param(
            [gauge(number, f"gauge {number} is connected") for number in range(10, 14)], [], id="each its own"
        ),
    ],
)
def test_idle_turns(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """So many turns in a row without a result never seen, a change or a wait."""
    assert idle(rows) == said


def test_the_last_call_of_the_turn_carries_it() -> None:
    """A turn is judged when it is over, with all its calls."""
    rows = [step("gauge", {"id": f"{turn}{name}"}, "low", turn=turn) for turn in range(4) for name in "ab"]
    assert idle(list(rows)) == [(8, "nudge", "no_progress")]
    assert idle([*rows, step("gauge", {"id": 9}, "high", turn=3)]) == []


def test_the_state_of_the_application_decides_alone() -> None:
    """Where it comes along, screens may change: only a state never seen is progress."""
    rows = [step("press", {"key": number}, f"screen {number}", state={"level": 1}) for number in range(4)]
    assert idle(list(rows)) == [(4, "nudge", "no_progress")]
    rows[2] = step("press", {"key": 2}, "screen 2", state={"level": 2})
    assert idle(list(rows)) == []


def test_evidence_of_idle_turns() -> None:
    """Turns that count, from the first call of the first of them."""
    finding = run([gauge(1, "a"), gauge(2, "b"), gauge(3, "b"), gauge(4, "a"), gauge(5, "b")], READS).findings[0]
    assert (finding.count, finding.limit, finding.sequence, finding.first_sequence) == (3, 3, 5, 3)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("Wool socks, $4; cotton socks, $3; silk socks, $9", [(7, "nudge", "no_progress")]),
        ("The step was executed as it stands", []),
        ("ok", []),
    ],
)
def test_calls_of_a_kind_that_nobody_knows(result: str, said: list[tuple[int, str, str]]) -> None:
    """The first call of its kind may have changed something, unless it shows what was seen before."""
    assert idle([("act", {"on": f"thing {number}"}, result) for number in range(9)], "{}") == said


@pytest.mark.parametrize(("row", "said"), [("12 lines", [(7, "nudge", "no_progress")]), ("{} lines", [])])
def test_a_page_that_quotes_the_question(row: str, said: list[tuple[int, str, str]]) -> None:
    """It is no other page for that, where it is a page: what little a short answer says may hold for each thing."""
    items = " ".join(f"Item{chr(97 + n % 26)}{chr(97 + n // 26)} costs little" for n in range(60))
    rows: list[Row] = []
    for number, name in enumerate(("red", "grey", "blue", "white", "black", "green", "pink", "brown")):
        query = f"{name} and some paper bags for school"
        rows.append(("find", {"query": query, "at": number}, f"Shop. Search: {query}. {items} {row.format(number)}"))
    assert idle(rows, "{}") == said


def rounds(count: int, report: str = "2 failed") -> list[Row]:
    """Edit and run, so many times."""
    rows: list[Row] = []
    for number in range(count):
        rows += [("edit", {"line": number}, f"edited {number}"), ("run", {"all": True}, report)]
    return rows


def test_six_equal_outcomes() -> None:
    """The same call with the same outcome six times is told, whatever was done in between; five rounds are work."""
    assert idle(rounds(5), "{}") == []
    assert idle(rounds(6), "{}") == [(12, "nudge", "no_progress")]
    assert idle(rounds(9), "{}") == [(12, "nudge", "no_progress")]
    assert idle([*rounds(3), *rounds(5, "1 failed")], "{}") == []


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ("abab", []),
        ("ababa", [(10, "nudge", "no_progress")]),
        ("xababa", [(12, "nudge", "no_progress")]),
        ("aabba", []),
        ("abcab", []),
        ("ab+aba", []),
    ],
)
def test_swinging_between_two_failures(reports: str, said: list[tuple[int, str, str]]) -> None:
    """A fix that brings back the failure before it, twice over, is told, as long as the call never succeeds."""
    words = {
        "a": "error: value moved at a.rs:{}", "b": "error: value borrowed at a.rs:{}", "c": "error: no such name",
        "x": "error: none", "+": "built",
    }  # fmt: skip
    rows: list[Row] = []
    for number, report in enumerate(reports):
        rows += [("edit", {"line": number}, f"edited {number}"), ("build", {}, words[report].format(number))]
    assert idle(rows, "{}") == said


def test_siblings_are_one_outcome() -> None:
    """Equal calls of one turn count once."""
    rows = [step("run", {"all": True}, "2 failed", turn=turn) for turn in range(5) for _ in range(2)]
    assert idle(list(rows), "turns: {no_progress: 50}") == []


REPEATED = [(3, "nudge", "identical"), (5, "stop", "identical")]
LEVELS = {"still": [1] * 8, "moving": list(range(1, 9)), "once": [1, 1, 1, 1, 2, 2, 2, 2]}


@pytest.mark.parametrize(
    ("levels", "policy", "said"),
    [
        ("still", "{}", [*REPEATED, (6, "nudge", "no_progress"), (7, "nudge", "no_progress")]),
        ("moving", "{}", []),
        ("moving", "tools: {press: {kind: read}}", [(2, "nudge", "identical")]),
        ("once", "{}", [*REPEATED, (6, "nudge", "no_progress"), (8, "nudge", "identical")]),
    ],
)
def test_equal_calls_while_the_application_moves(levels: str, policy: str, said: list[tuple[int, str, str]]) -> None:
    """A key pressed again is no repeat once the application says that it is somewhere else; until then nobody knows."""
    rows = [step("press", {"key": "down"}, "ok", state={"level": level}) for level in LEVELS[levels]]
    assert run(rows, policy).said == said


def test_rounds_and_silence_while_the_application_moves() -> None:
    """Neither laps nor empty answers count where its state is a new one each time."""
    keys = ("down", "left") * 4
    rows = [step("press", {"key": key}, "", state={"level": level}) for level, key in enumerate(keys)]
    other = [step("press", {"key": f"{key}{level}"}, "", state={"level": level}) for level, key in enumerate(keys)]
    assert run(rows).said == run(other).said == []


def page(number: int, text: str, found: str) -> Row:
    """What a browser shows after something was typed: its elements have other numbers each time."""
    lines = [f"[{7 * number + place}] link '{name}'" for place, name in enumerate(("Orders", "Products", "Customers"))]
    shown = "\n".join(
        [*lines, f"[{7 * number + 4}] textbox 'Product' value: {text}", f"[{7 * number + 5}] text '{found}'"]
    )
    return ("type", {"element": str(7 * number), "text": text}, shown + "\n" + "the footer of every page of it " * 6)


WORDS = ("racer", "tank top", "racer tank", "tank racer", "the racer", "top racer", "tanks", "racers")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([page(number, text, "0 records") for number, text in enumerate(WORDS)],
                     [(7, "nudge", "no_progress")], id="one page whatever is typed"),
        pytest.param([page(number, text, f"{number} records") for number, text in enumerate(WORDS)], [],
                     id="each time it shows something else"),
    ],
)  # fmt: skip
def test_pages_that_show_what_was_typed(rows: list[Row], said: list[tuple[int, str, str]]) -> None:
    """A page is known though it shows what was typed, and numbers its elements anew."""
    assert idle(rows, "{}") == said


LOOKS = [{"rent": 900 + 10 * number, "pets": "yes"} for number in range(8)]


@pytest.mark.parametrize(
    ("looks", "receipt", "said"),
    [
        pytest.param(LOOKS, "Navigated back", [], id="each look tells something new"),
        pytest.param(LOOKS[:2] * 4, "Navigated back", [(18, "nudge", "no_progress")], id="looks that were seen"),
        pytest.param(LOOKS, "Error: nowhere to go back to", [(18, "nudge", "no_progress")], id="a step that fails"),
    ],
)
def test_steps_between_looks(looks: list[object], receipt: str, said: list[tuple[int, str, str]]) -> None:
    """A step back from one thing to the next comes to the same each time, and the run goes on."""
    rows: list[Row] = []
    for number, look in enumerate(looks):
        rows += [("click", {"index": number}, f"opened flat {number}"), ("extract", {"query": "rent"}, look),
                 ("go_back", {}, receipt)]  # fmt: skip
    assert [one for one in run(rows).said if one[2] == "no_progress"] == said
