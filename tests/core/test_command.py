"""Programs that say nothing when their work is done, and programs that say nothing because they found nothing."""

from __future__ import annotations

import pytest

from otel_loopguard.core.reading.command import works_in_silence


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("git add src/app.py", True),
        ("git -C repo add app.py", True),
        ("mkdir -p build/out", True),
        ("cd /srv && touch a b", True),
        ("sed -i 's/a/b/' app.py", True),
        ("cat > notes.txt <<'EOF'\ngrep me\nEOF", True),
        ("echo done >> log.txt", True),
        ("grep -rl old src | xargs sed -i 's/old/new/'", True),
        ("find . -name '*.pyc' -delete", True),
        ("find src -name '*.tmp' -exec rm {} +", True),
        ("sudo -n chmod +x run.sh", True),
        ("bash -lc 'git add app.py'", True),
        ("python -m py_compile app.py", True),
        ("A=1 ./configure", True),
        ("cat src/__init__.py", True),
        ("diff -u old.txt new.txt", True),
        ("cat log.txt | grep needle", False),
        ("curl -sSLo a.tgz https://example.org/a.tgz", True),
        ("curl -s -X POST https://example.org/a -d '{}'", True),
        ("curl -s --request DELETE https://example.org/a", True),
        ("curl -s https://example.org/a", False),
        ("git status", False),
        ("git diff main 2>/dev/null", False),
        ("grep -rn needle src || true", False),
        ("grep -rn 'a > b' src", False),
        ("find . -name needle", False),
        ("find . -exec grep -l needle {} +", False),
        ("cd src && ls", False),
        ("LC_ALL=C /usr/bin/sort names.txt | uniq -d", False),
        ("timeout 9 rg needle 2>&1", False),
        ('bash -c "grep needle log"', False),
        ("kubectl get pods", False),
        ("kubectl delete pod web-1", True),
        ("SELECT * FROM orders", False),
        ("INSERT INTO orders VALUES (1)", True),
        ("", False),
        ("   ", False),
    ],
)  # fmt: skip
def test_a_line_that_works_in_silence(line: str, works: bool) -> None:  # noqa: FBT001 - a column of the table
    """Silence is success for a line that asks nothing or changes something; of one that asks it is an empty answer."""
    assert works_in_silence({"command": line}) is works


@pytest.mark.parametrize(
    ("arguments", "works"),
    [
        ({"cmd": ["bash", "-lc", "git add app.py"]}, True),
        ({"cmd": ["grep", "-rn", "needle"]}, False),
        ({"cmd": []}, False),
        ({"sql": "update t set a = 1 where b = 2"}, True),
        ({"query": "DELETE FROM t WHERE a = 1"}, True),
        ({"query": "create or replace view v as select 1"}, True),
        ({"sql": "select a from t"}, False),
        ({"query": "how to update a row in place"}, False),
        ({"query": "create table names for weddings"}, True),
        ({"code": "plt.savefig('a.png')"}, True),
        ({"code": "x = load()\nprint(x)"}, False),
        ({"code": "console.log(1)"}, False),
        ({"code": " "}, False),
        ({"code": 42}, False),
        ({"command": "search", "word": "needle"}, False),
        ({"command": "sync"}, True),
        ({"word": "mkdir a"}, False),
        ({"command": None}, False),
        ({"command": {"run": "mkdir a"}}, False),
        ("mkdir a", False),
        (None, False),
    ],
)
def test_where_a_program_stands(arguments: object, works: bool) -> None:  # noqa: FBT001 - a column of the table
    """A program is looked for in the arguments that are named after one, and a bare word beside others is none."""
    assert works_in_silence(arguments) is works


@pytest.mark.parametrize("line", ["'" * 5000, '"\\' * 3000, "a" * 200_000, "(" * 5000, "<<x" * 3000, "\x00 \ud800"])
def test_no_line_is_too_odd(line: str) -> None:
    """Whatever a model writes is looked at in bounded time."""
    assert isinstance(works_in_silence({"command": line}), bool)
