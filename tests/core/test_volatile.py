"""Which parts of a result change without anything having happened, and which numbers are what was asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.core.reading.volatile import MASK, mask, may_be_volatile

VOLATILE = [
    ("at 2024-05-01T10:02:03Z", "at ·"),
    ("at 2024-05-01 10:02:03.123 +02:00 sharp", "at · sharp"),
    ("since 2024/05/01 10:02", "since ·"),
    ("Wed, 01 May 2024 10:02:03 GMT", "·"),
    ("01/May/2024:10:02:03 +0000] GET", "·] GET"),
    ("it is 10:02 now", "it is · now"),
    ("[10:02:03,456] ready", "[·] ready"),
    ("at 9:05 PM", "at ·"),
    ("took 0.31 s", "took ·"),
    ("done in 12ms.", "done in ·."),
    ("finished after 3 minutes", "finished after ·"),
    ("elapsed: 1,5 hours", "elapsed: ·"),
    ("ran 40 tests in 1m 12s", "ran 40 tests in ·"),
    ("took 2m3.5s", "took ·"),
    ("finished after 1 hour, 2 minutes and", "finished after · and"),
    ("elapsed 1h 02m 30s", "elapsed ·"),
    ("seen 5 minutes ago", "seen · ago"),
    ("pid 4242 died", "· died"),
    ("PID: 4242", "·"),
    ("attempt 3 failed", "· failed"),
    ("listening on port 50312", "listening on ·"),
    ("port: 8080", "·"),
    ("object at 0x7fd00a32d3c0", "object at ·"),
    ("id 9d8f3a2e-1c4b-4b6e-9f00-0123456789ab", "id ·"),
    ("wrote /tmp/tmpab12cd/out.txt", "wrote ·/out.txt"),
    ("in /var/folders/aB/xyz9", "in /var·"),
    ("bash: line 35963: foo: command not found", "ba·: foo: command not found"),
    ("Cell In[12], line 3", "Cell ·, line 3"),
    ("Out [7]: 3 rows", "·: 3 rows"),
    ("no quota (request id: req_8fA2k1)", "no quota (·)"),
    ("X-Request-ID: 41c0-77, sent", "·, sent"),
    ("Ray ID: 8f2a91c3d4e5f607", "·"),
    ("trace_id=4bf92f3577b34da6 refused", "· refused"),
    ("[2496] link 'Next'\n\t[7] main", "· link 'Next'\n· main"),
    ("[33]<button>Go", "·<button>Go"),
    ("14,692 / 200K tokens used (7%)", "·"),
    ("You have 12 steps left", "· left"),
    ("Turns left: 3", "·"),
    ("tool calls remaining:12, so: go on", "·, so: go on"),
    ("Current step: 5/50 at", "· at"),
]
CONTENT = [
    "42 % done", "57 %", "3 failed, 2 passed", "page 2 of 9", "2/9", "version 1.2.3", "$ 12.50", "21 degrees",
    "2024-05-01", "01 May 2024", "12 seats", "1024 bytes", "5 MB", "31 s left", "took 12 steps", "in 5 files",
    "after 3 tries", "in 12m 5 files", "took 5 h 3 steps",
    "10 minutes", "attempted 3 times", "portable 50312", "support 12", "rapid 5", "0x12", "deadbeef",
    "1:2", "3:1 won", "array[12]", "the request id is missing", "a request identical to 123456",
    "10:02:03:04", "a10:02", "line 12", "ratio 16:9", "Jan 5",
    "Step 3/7", "12 steps left", "steps remaining: 3", "see [12] there", "[12] links", "200K tokens",
    "5 days ago", "/tmp/out/list.txt", "/tmp",  # noqa: S108 - texts
]  # fmt: skip


LONG = "all is well\n" * 50


@pytest.mark.parametrize(("text", "masked"), VOLATILE)
def test_volatile_parts(text: str, masked: str) -> None:
    """Moments, durations after their words, numbers that a system gives out, random names."""
    assert mask(text, "standard") == masked.replace("·", MASK)
    assert mask(LONG + text, "standard") == LONG + masked.replace("·", MASK)


@pytest.mark.parametrize("text", CONTENT)
def test_content(text: str) -> None:
    """Percent, counts, versions, money, plain dates, sizes: a number is masked for its place, never for being one."""
    assert mask(text, "standard") == text
    assert mask(LONG + text, "standard") == LONG + text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 0.31 s", "took 0.29 s"),
        ("sh: line 35963: foo: command not found", "sh: line 35967: foo: command not found"),
        ("up since 10:01", "up since 10:02"),
    ],
)
def test_no_progress(one: str, other: str) -> None:
    """Texts that differ in their volatile parts alone are one."""
    assert mask(one, "standard") == mask(other, "standard")


@pytest.mark.parametrize(
    ("one", "other"), [("42 %", "57 %"), ("3 failed", "2 failed"), ("page 2 of 9", "page 3 of 9"), ("v1.2", "v1.3")]
)
def test_progress(one: str, other: str) -> None:
    """Texts that differ in what they count are two."""
    assert mask(one, "standard") != mask(other, "standard")


def test_lines_of_errors() -> None:
    """An interpreter counts the lines of what it was just sent; in an answer a line is content."""
    text = 'File "<stdin>", line 12, in <module>'
    assert mask(text, "standard", error=True) == text.replace("line 12", MASK)
    assert mask("a baseline 12", "standard", error=True) == "a baseline 12"


def test_how_long_one_waits_is_masked_in_errors() -> None:
    """A lock that is not to be had tells the seconds; where they are what was asked for they are content."""
    told = "Could not get lock, held by process 412... {}"
    assert mask(told.format("40s"), "standard", error=True) == mask(told.format("1.5 minutes"), "standard", error=True)
    assert mask("a lap of 40s", "standard") == "a lap of 40s"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("locked since 12 min.", "locked since ·."),
        ("lock held 2 hrs", "lock held ·"),
        ("é: locked for \u0663 seconds", "é: locked for ·"),
        ("12 services, 3 modules, 5mm, 7 hits", "12 services, 3 modules, 5mm, 7 hits"),
    ],
)
def test_durations_in_errors(text: str, masked: str) -> None:
    """A number is a duration where a whole unit follows it, whatever script its digits are of."""
    assert mask(text, "standard", error=True) == masked.replace("·", MASK)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/store.rs:11:14: borrow of moved value", "src/store.rs:12:14: borrow of moved value"),
        ("app.ts(4,11): error TS2304", "app.ts(9,2): error TS2304"),
        ("main.c:12: undeclared", "main.c:14: undeclared"),
        ("10 |   let e = 1;\n   |   ^", "12 |   let e = 1;\n   |   ^"),
    ],
)
def test_places_in_files_are_masked_in_errors(one: str, other: str) -> None:
    """A fix moves what stands behind it; in what a tool was asked for, a place is content."""
    assert mask(one, "standard", error=True) == mask(other, "standard", error=True)
    assert mask(one, "standard") == one


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("content_policy_violation err_8f2A91c3", "content_policy_violation ·"),
        ("token expired, trace 4bf92f3577b34da6", "token expired, trace ·"),
        ("evt_41c09a7f7e: no such plan", "·: no such plan"),
        ("req_Zx81Yt77 and trace_9Qm2kkTz", "· and ·"),
        ("é 00c0ffee12", "é ·"),
        ("test_parser_2023 failed", "test_parser_2023 failed"),
        ("no decade 20240501 in facade", "no decade 20240501 in facade"),
        ("utf8_decode2 is deprecated", "utf8_decode2 is deprecated"),
        ("trace_back is not defined", "trace_back is not defined"),
    ],
)
def test_ids_in_errors(text: str, masked: str) -> None:
    """Of an error, an id without a pattern is no part; a name with a number in it is, and in an answer both are."""
    assert mask(text, "standard", error=True) == masked.replace("·", MASK)
    assert mask(text, "standard") == text


def test_a_long_text_is_masked_piece_by_piece() -> None:
    """Whole lines as far as they go: an owner's pattern never sees more than some thousand characters at once."""
    line = "job 1 was made by user 22\n"
    assert mask(line * 2_000, (r"\d+",)) == line.replace("1", MASK).replace("22", MASK) * 2_000
    assert mask("7" * 20_000, (r"\d+",)) == MASK * 3


def test_declared_patterns_take_the_place_of_the_built_in_ones() -> None:
    """A policy's own expressions, or none at all."""
    assert mask("job 17 at 10:02", (r"job \d+",)) == f"{MASK} at 10:02"
    assert mask("job 17 at 10:02", "none") == "job 17 at 10:02"
    assert mask("job 17 at 10:02", ()) == "job 17 at 10:02"


parts = st.sampled_from([*(text for text, _ in VOLATILE), *CONTENT, "é", "x", "7", ":", "\\"])
between = st.sampled_from([" ", ", ", "\n", '"'])
texts = st.lists(st.tuples(parts, between), max_size=6).map(lambda pairs: "".join(map("".join, pairs)))


@given(text=texts, error=st.booleans())
def test_masking_twice_changes_nothing_more(text: str, error: bool) -> None:  # noqa: FBT001 - drawn
    """What a mask leaves holds nothing volatile."""
    once = mask(text, "standard", error=error)
    assert mask(once, "standard", error=error) == once


@given(text=texts, error=st.booleans())
def test_a_text_without_a_hint_is_never_changed(text: str, error: bool) -> None:  # noqa: FBT001 - drawn
    """The search that decides whether patterns are tried misses none, in a text and in the JSON of it."""
    if mask(text, "standard", error=error) != text:
        assert may_be_volatile(text, "standard", error=error)
        assert may_be_volatile(json.dumps({"a": [text]}, ensure_ascii=False), "standard", error=error)


@pytest.mark.parametrize(
    "text",
    [
        "a/" * 200_000 + "sh: line 1:",
        "1" * 400_000 + " ago",
        "/tmp/" + "a/" * 200_000,  # noqa: S108 - a text
        "/tmp/A" + "a" * 400_000,  # noqa: S108 - a text
        "Jan " * 100_000 + "1:00",
        "in 1" * 100_000,
        "12:00" * 80_000,
        "-aaaa-aaaa-aaaa-" * 25_000,
        "took: ~" * 60_000 + "1",
    ],
    ids=["a path", "a number", "folders", "a name", "months", "durations", "clocks", "ids", "words"],
)
def test_hard_texts(text: str) -> None:
    """Texts made to be hard are masked in one go: a pattern that looked back over them would take hours here."""
    assert len(mask(text, "standard", error=True)) <= len(text)
