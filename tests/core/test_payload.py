"""Which calls hand something over, rather than ask."""

from __future__ import annotations

import pytest

from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader

READER = CallReader(Policy(), fingerprinter(Keyring(SecretKey(b"k" * 32)), "environment"))


@pytest.mark.parametrize(
    ("arguments", "payload"),
    [
        ({"path": "a.py", "content": "x = 1"}, True),
        ({"path": "a.py", "old_str": "x = 1", "new_str": ""}, True),
        ({"path": "a.py", "edits": [{"old_string": "x = 1", "new_string": "x = 2"}]}, True),
        ({"path": "a.py", "ranges": [{"first": 1, "last": 2}]}, False),
        ({"note": "first line\nsecond line"}, True),
        ({"params": '{"path": "a.md", "content": "x"}'}, True),
        ({"params": '{"path": "a.md", "line": 3}'}, False),
        ({"command": "view", "path": "a.py", "file_text": "", "new_str": "", "old_str": None}, False),
        ({"command": "cat <<'EOF' > a.py\nx = 1\nEOF"}, False),
        ({"command": "edit 3:7\nx = 1\nend_of_edit"}, True),
        ({"command": "edit 3:7"}, False),
        ({"command": "create table\nwith 3 rows"}, True),
        ({"command": "python a.py\nedit 3:7"}, False),
        ({"command": "edit a.py && ls\nls"}, False),
        ({"sql": "create table orders (\nid int)"}, False),
        ({"query": "select *\nfrom orders"}, False),
        ({"content_type": "text"}, False),
        ({}, False),
        ({"keystrokes": "ls -la\n"}, False),
        ({"keystrokes": "ls\npwd\n"}, True),
        ("one line", False),
        ("one line\n", False),
        ("two\nlines", True),
    ],
)
def test_payload(arguments: object, payload: bool) -> None:  # noqa: FBT001 - a column of the table
    """A text of several lines that is no program, or an argument named for content; in lists and JSON text too.

    An agent with one tool for everything hands over what stands below the command that edits.
    """
    assert READER.call("tool", arguments).payload is payload
