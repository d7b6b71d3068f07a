"""What a text answer comes to."""

from __future__ import annotations

import pytest

from otel_loopguard.core.reading.answer import (
    Answer,
    finds_nothing,
    is_receipt,
    is_silent,
    is_wordless,
    read_answer,
    tells,
)

REFUSAL = Answer(refusal=True)
APPROVAL = Answer(approval=True)
REPORT = Answer(refusal=True, approval=True)
NEITHER = Answer()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No replacement was performed: the old text did not appear verbatim in routes.py.", REFUSAL),
        ("cannot finish: the report has no title", REFUSAL),
        ("File already exists at notes.md", REFUSAL),
        ("Traceback: KeyError: 'name'", REFUSAL),
        ("Rejected: the draft lacks citations", REFUSAL),
        ("That is wrong, try again", REFUSAL),
        ("Too many rows were asked for", REFUSAL),
        ("ERROR: pattern is wrong", REFUSAL),
        ("lost connection; the request timed out", REFUSAL),
        ("42 rows in orders", NEITHER),
        ("[File: a.py] 1:x = 2 (check the indentation, no duplicate lines, etc)", NEITHER),
        ("knot, notice, nobody, mirror", NEITHER),
        ("", NEITHER),
        ("File created successfully at: /repo/reproduce_error.py", APPROVAL),
        ("error.log\nsrc/missing/invalid.txt\nC:\\errors\\wrong", NEITHER),
        ("tests/test_errors.py::test_invalid_input ok, 2 passed", APPROVAL),
        ("test_fail_fast and missing_test ran", NEITHER),
        ("(src/errors/wrong.py:12)\tD:\\errors\\x\nops::invalid::failed/not [missing.json]", NEITHER),
        ("app::errors::wrong", REFUSAL),
        ("'we can't' he said, it's \ud800'wrong'", REFUSAL),
        ("'mustn't've' stay'd", NEITHER),
        ("[('id', b'int', 'NO', 'PRI', None, ''), ('name', b'text', 'YES', '', None, '')]", NEITHER),
        ("cannot open /repo/errors.py", REFUSAL),
        ("http://example.org/errors/404 was not reached", REFUSAL),
        ("sqlalchemy.exc.OperationalError: locked", REFUSAL),
    ],
)
def test_words_of_refusal(text: str, expected: Answer) -> None:
    """A text says no by a closed list of whole words, whatever their case, or by the name of an error's class; names of
    files, pages and tests say nothing.
    """
    assert read_answer(text, "standard") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meta=None content=[text('stored')] isError=False", APPROVAL),
        ('{"error": null, "rows": 3}', NEITHER),
        ('{"errors": [], "rows": 3}', NEITHER),
        ("12 files checked, 0 errors", NEITHER),
        ("finished without any errors", APPROVAL),
        ("compiled with no type errors", NEITHER),
        ("8 passed, 0 failed", APPROVAL),
        ("8 passed, 2 failed", REPORT),
        ("1 test failed, 3 tests passed in 0.2 s", REPORT),
        ("Tests: failed: 2, passed: 8", REPORT),
        ("0 passed, 2 failed", REFUSAL),
        ("8 passed, then it failed", REFUSAL),
        ("0 errors, but the file is missing", REFUSAL),
    ],
)
def test_no_failure_is_no_refusal(text: str, expected: Answer) -> None:
    """What says that nothing failed is taken out before failures are searched for."""
    assert read_answer(text, "standard") == expected


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("No results found for 'rotate key'", True),
        ("no matching documents", True),
        ("Nothing found.", True),
        ("Nothing matched in 40 files.", True),
        ("The search gave 0 hits in 12 files", True),
        ("zero matches", True),
        ("No messages matched your search.", True),
        ("No files found", True),
        ("no open orders were found for Ann", True),
        ("No credentials found", False),
        ("No such files found", False),
        ("no element found", False),
        ("10 hits, 2,0 results", False),
        ("The search string 'dragon' was not found on this page.", True),
        ("ls: no such file or directory", False),
        ("No such entry", False),
        ("3 results", False),
        ("the query returned nothing", True),
        ("the page says nothing of it and has none matched", True),
        ("casino results, 9.0 hits, 30 matches", False),
        ("nothings were found nothingness", False),
        ("No results found. " + "x" * 600, False),
    ],
)
def test_a_search_without_a_hit(text: str, nothing: bool) -> None:  # noqa: FBT001 - a column of the table
    """A search that ran and had no hit is told by its words, and is no refusal; a missing file is another matter."""
    assert finds_nothing(text) is nothing
    if nothing:
        assert read_answer(text, "standard") == NEITHER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 passed in 0.2 s", APPROVAL),
        ("OK", APPROVAL),
        ("File at notes.md has been overwritten with new content.", APPROVAL),
        ("The index is up to date", APPROVAL),
        ("3 passed, then an exception", REFUSAL),
        (
            "bash: cannot set terminal process group (-1)\nbash: no job control in this shell\n1 passed in 0.2 s",
            APPROVAL,
        ),
        ("a.py:3: FutureWarning: this will raise an error\n  frame.mean()\n40", NEITHER),
        ("a.py:3: FutureWarning: this will raise an error", REFUSAL),
        ("DeprecationWarning: old\nValueError: no such column", REFUSAL),
        ("INSERT 0 1", APPROVAL),
        ("UPDATE 0", NEITHER),
        ("Query OK, 2 rows affected (0.01 sec)", APPROVAL),
        ("0 rows affected", NEITHER),
        ("broken: 3 rows", NEITHER),
        ("40 pages read, nothing of them written", NEITHER),
        ("Laptops are replaced every 4 years.", NEITHER),
        ("A claim has to be submitted within 30 days", NEITHER),
        ("2 files have been replaced and are valid; a backup was saved", APPROVAL),
    ],
)
def test_approvals(text: str, expected: Answer) -> None:
    """A text approves where it says that all is well, and nothing that says no."""
    assert read_answer(text, "standard") == expected


@pytest.mark.parametrize(
    ("data", "receipt"),
    [
        ({"status": "ok"}, True),
        ({"status": "ok", "updated": 1}, True),
        ({"success": True, "id": 7}, True),
        ({"queued": True, "position": 3}, True),
        ({"status": "ok", "count": 0}, False),
        ({"status": "ok", "items": []}, False),
        ({"status": "ok", "city": "Oslo"}, False),
        ({"success": False}, False),
        ({"in_stock": True, "price": 12}, False),
        ({"status": "held"}, False),
        ({"count": 3}, False),
        ({"status": None}, False),
        ({f"added{number}": True for number in range(9)}, False),
        ({}, False),
        (["ok"], False),
        (True, False),
    ],
)
def test_receipts(data: object, receipt: bool) -> None:  # noqa: FBT001 - a column of the table
    """Structured data that approves and says nothing else: no list, no nought, no text of its own."""
    assert is_receipt(data) is receipt


@pytest.mark.parametrize(
    ("data", "telling"),
    [
        ("200", True),
        ("held at depot 4 until noon", True),
        ("took 0.4 s, 10 rows", True),
        ("0 rows in 3 partitions", False),
        ("rows: 0", False),
        ("0", True),
        ("[(0,)]", True),
        (0, True),
        (0.0, True),
        (True, True),
        (False, False),
        ("no rows.", False),
        ("None", False),
        ("nothing to do here", False),
        ("it is empty", False),
        ("10 knots, 2.0 and .no", True),
        ("sent to: null", False),
        ("sent to: none!", False),
        ("--", False),
        ("", False),
        ("word " * 200, False),
        ({"status": 200, "length": 512}, True),
        ({"status": {"name": "held"}}, True),
        ({"status": "held", "rows": 0}, False),
        ({"status": "held", "rows": [1]}, False),
        ({"ok": False}, False),
        ({}, False),
        ([1], False),
        (7, True),
        (None, False),
    ],
)
def test_answers_that_tell_of_something(data: object, telling: bool) -> None:  # noqa: FBT001 - a column of the table
    """A short answer about something, which several things may well have in common; lists are another matter."""
    assert tells(data) is telling


LONG_REFUSAL = "Your fix did not target all the lines. " + "line 12, " * 100
LONG_ANSWER = "def read(path):\n" * 60 + "    raise ValueError('not a path')"


@pytest.mark.parametrize(
    ("text", "payload", "expected"),
    [
        (LONG_REFUSAL, True, REFUSAL),
        (LONG_REFUSAL, False, NEITHER),
        (LONG_ANSWER, True, NEITHER),
        (LONG_ANSWER, False, NEITHER),
        ("<output>" + LONG_REFUSAL + "</output>", True, REFUSAL),
    ],
)
def test_a_long_text_refuses_a_payload_at_its_opening(text: str, payload: bool, expected: Answer) -> None:  # noqa: FBT001
    """A long text mentions problems without being one, unless it answers a payload and opens with the no."""
    assert read_answer(text, "standard", payload=payload) == expected


@pytest.mark.parametrize(
    ("refusals", "text", "expected"),
    [
        ("none", "cannot finish", NEITHER),
        ("none", "saved", APPROVAL),
        ((r"^DENY\b",), "DENY: quota", REFUSAL),
        ((r"^DENY\b",), "cannot finish", NEITHER),
        ((r"^DENY\b",), "saved", APPROVAL),
    ],
)
def test_a_policy_replaces_the_list(refusals: str | tuple[str, ...], text: str, expected: Answer) -> None:
    """The owner of a tool says what a refusal of it looks like, or that there is none."""
    assert read_answer(text, refusals) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wordless"),
    [
        ("", True),
        ("<returncode>1</returncode>\n<output>\n</output>", True),
        ("exit 1", True),
        ("Process exited with code 2.", True),
        ("command failed with exit status 127", True),
        ("Error: exit code: 1", True),
        ("failed", False),
        ("exit 1: no such file", False),
        ("<output>denied</output>", False),
        ("error " * 20, False),
    ],
)
def test_texts_that_say_nothing(text: str, wordless: bool) -> None:  # noqa: FBT001 - a column of the table
    """Tags, and the status that a command ended with, are no words."""
    assert is_wordless(text) is wordless


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("", True),
        ("Command failed with exit code 1 and no output", True),
        ("exit status: 2 (empty stdout, stderr)", True),
        ("<out>no output</out> <returncode>1</returncode>", True),
        ("<error>exit code 1</error>", True),
        ("the output and the status", False),
        ("exit code 1: no such file", False),
        ("exit1 without output", False),
        ("exit code 1 " + "-" * 200, False),
    ],
)
def test_programs_that_end_in_silence(text: str, silent: bool) -> None:  # noqa: FBT001 - a column of the table
    """A status, and words that say that there was no output, but nothing else."""
    assert is_silent(text) is silent
