"""The state file: what is written is there, and every trouble is told with the way out."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from otel_loopguard.cli import main
from otel_loopguard.errors import StoreError
from otel_loopguard.service.intake import Accepted, Refused
from otel_loopguard.service.outbox import Changes, Row
from otel_loopguard.service.partition import Share
from otel_loopguard.service.store import _MIGRATIONS, APPLICATION, VERSION, Entry, Mark, Store
from tests.support.detecting import Detecting
from tests.support.spans import annotated, traces

NOTHING = Changes([], 0, {})
NOBODY = 65534
"""The user without rights."""


def newer(path: Path) -> None:
    """A file of a release to come."""
    Store(str(path)).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()


def foreign(path: Path) -> None:
    """A database of another program."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE songs (name)")
    db.close()


def noise(path: Path) -> None:
    """No database."""
    path.write_bytes(b"once upon a time " * 300)


@pytest.mark.parametrize(
    ("make", "problem", "words"),
    [
        (newer, "newer", f"the file is of a newer release, use that or another file (version {VERSION + 1}, this"),
        (foreign, "foreign", "this is a database of another program, name another file"),
        (noise, "corrupt", "the file is damaged; move it away to start anew, or put a copy in its place"),
        (Path.mkdir, "unreachable", "the file cannot be opened or made there, does the folder exist?"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, make: Callable[[Path], None], problem: str, words: str) -> None:
    """It is told at the start, naming the file, the trouble and the way out; the file is left as it is."""
    path = tmp_path / "state"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreError, match="state: ") as error:
        Store(str(path))
    assert error.value.problem == problem
    assert words in str(error.value)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_one_process_has_the_file(tmp_path: Path) -> None:
    """A second one is told who has it."""
    store = Store(str(tmp_path / "state"))
    with pytest.raises(StoreError, match="another process has the file, only one `loopguard` at a time") as error:
        Store(str(tmp_path / "state"))
    assert error.value.problem == "locked"
    store.close()


def test_what_is_committed_is_there(tmp_path: Path) -> None:
    """Journal, mark, outbox and cursors, after the file was closed without a word."""
    store = Store(str(tmp_path / "state"))
    store.commit(Mark(5, 1), Changes([Row(1, b"one"), Row(2, b"two")], 0, {}), Entry(2, 7, b"calls"))
    store.commit(Mark(9, 2), Changes([], 1, {"json": 1}))
    store.close()
    again = Store(str(tmp_path / "state"))
    assert again.mark() == Mark(9, 2)
    assert list(again.journal()) == [Entry(2, 7, b"calls")]
    assert again.outbox() == ([Row(2, b"two")], {"json": 1})
    again.close()


def test_all_or_nothing(tmp_path: Path) -> None:
    """A commit that fails half way leaves nothing of itself."""
    store = Store(str(tmp_path / "state"))
    store.commit(Mark(1, 1), NOTHING, Entry(1, 1, b"a"))
    with pytest.raises(StoreError):
        store.commit(Mark(2, 2), Changes([Row(1, b"x")], 0, {}), Entry(1, 2, b"the same number"))
    assert (store.mark(), store.outbox()) == (Mark(1, 1), ([], {}))
    store.close()


def test_a_full_disk_acknowledges_nothing(tmp_path: Path) -> None:
    """Requests are refused for now while nothing can be written, and taken again once it can; nothing is lost."""
    detector = Detecting(tmp_path / "state")
    assert detector.send(traces([annotated("run", 1)])) == [Accepted()]
    assert detector.store is not None
    pages = detector.store._db.execute("PRAGMA page_count").fetchone()[0]
    detector.store._db.execute(f"PRAGMA max_page_count = {pages}")
    many = [annotated("run", number) for number in range(2, 200)]
    (answer,) = detector.send(traces(many))
    assert isinstance(answer, Refused)
    assert (answer.reason, "the disk is full" in answer.message) == ("unavailable", True)
    assert detector.detector.trouble is not None
    detector.store._db.execute("PRAGMA max_page_count = 100000")
    assert detector.send(traces(many)) == [Accepted()]
    assert detector.detector.trouble is None
    detector.crash()
    detector.wait(30)
    assert ("run", "identical", "stop") in detector.findings()


@contextmanager
def as_nobody() -> Iterator[None]:
    """Not as root, who may write everywhere; whoever is not root stays who he is."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("make", "problem", "words"),
    [
        (lambda _: None, "unreachable", "cannot be opened or made there"),
        (lambda path: Store(str(path)).close(), "read_only", "cannot be written, give this user the right to"),
    ],
    ids=["no file", "a file"],
)
def test_a_folder_without_rights(make: Callable[[Path], None], problem: str, words: str) -> None:
    """It is told at the start, whether the file is there or not."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "inside" / "state"
        path.parent.mkdir()
        make(path)
        for each in (path.parent, *path.parent.iterdir()):
            each.chmod(0o555 if each.is_dir() else 0o444)
        path.parent.parent.chmod(0o755)
        with as_nobody(), pytest.raises(StoreError, match=words) as error:
            Store(str(path))
        path.parent.chmod(0o755)
    assert error.value.problem == problem


# Versions ---------------------------------------------------------------------------------------------------------

VERSION_1 = f"""
CREATE TABLE journal (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE runs (tenant BLOB NOT NULL, run_id BLOB NOT NULL, time INTEGER NOT NULL, number INTEGER NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY (tenant, run_id)) WITHOUT ROWID;
CREATE TABLE outbox (position INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE cursors (sink TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE mark (only INTEGER PRIMARY KEY CHECK (only = 1), time INTEGER NOT NULL, number INTEGER NOT NULL);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = 1;
"""
"""The tables of the first version, as they were."""


def as_version_1(path: Path) -> None:
    """Make a file what the first version would have written of the same."""
    newer = path.with_name("newer")
    path.rename(newer)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(VERSION_1)
        db.execute("ATTACH ? AS newer", (str(newer),))
        for table in ("journal", "runs", "outbox", "cursors"):
            db.execute(f"INSERT INTO {table} SELECT * FROM newer.{table}")  # noqa: S608 - the names are above
        db.execute("INSERT INTO mark SELECT only, time, number FROM newer.mark")
        db.commit()


@pytest.mark.parametrize("seconds", [1, 60], ids=["in the journal", "saved"])
def test_an_older_file_is_migrated(tmp_path: Path, seconds: int) -> None:
    """Runs of a file of the first version go on in this one, and what was not delivered is."""
    path = tmp_path / "state"
    before = Detecting(path)
    before.send(traces([annotated("run", number) for number in range(1, 4)]))
    before.wait(seconds)
    assert before.store is not None
    before.store.close()
    as_version_1(path)
    after = Detecting(path)
    assert after.store is not None
    assert after.store._db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert after.store.share == Share(0, 1)
    after.wall = before.wall
    after.send(traces([annotated("run", number) for number in range(4, 6)]))
    after.wait(60)
    assert {*before.findings(), *after.findings()} == {("run", "identical", "nudge"), ("run", "identical", "stop")}


def test_every_older_version_has_its_migration() -> None:
    """There is a way from each version to the next, so from any to this one."""
    assert sorted(_MIGRATIONS) == list(range(1, VERSION))


# The commands -----------------------------------------------------------------------------------------------------


def filled(path: Path) -> None:
    """A file with a run and its findings."""
    detector = Detecting(path)
    detector.send(traces([annotated("run", number) for number in range(1, 6)]))
    detector.wait(120)
    assert detector.store is not None
    detector.store.close()


def test_state_check(tmp_path: Path) -> None:
    """A whole file is said to be, with what is in it; exit 0."""
    filled(tmp_path / "state")
    done = CliRunner().invoke(main, ["state", "check", "--json", str(tmp_path / "state")])
    found = json.loads(done.stdout)
    assert (done.exit_code, found["problems"], found["runs"], found["version"]) == (0, [], 1, VERSION)


def test_state_check_of_a_damaged_file(tmp_path: Path) -> None:
    """A damaged file is said to be; exit 1 or 2, never a traceback."""
    path = tmp_path / "state"
    filled(path)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    done = CliRunner().invoke(main, ["state", "check", str(path)])
    assert done.exit_code in {1, 2}
    assert "damaged" in done.output


def test_state_compact(tmp_path: Path) -> None:
    """What is not used is given back, and nothing else is lost."""
    path = tmp_path / "state"
    filled(path)
    assert CliRunner().invoke(main, ["state", "compact", str(path)]).exit_code == 0
    store = Store(str(path))
    assert len(list(store.runs())) == 1
    assert store._db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    store.close()


def test_state_export(tmp_path: Path) -> None:
    """One line a run, with its verdict."""
    filled(tmp_path / "state")
    done = CliRunner().invoke(main, ["state", "export", str(tmp_path / "state")])
    (line,) = [json.loads(text) for text in done.stdout.splitlines() if "run_id" in text]
    assert (line["run_id"], line["verdict"], line["ended"]) == ("run", "stop", False)


@pytest.mark.parametrize("command", ["check", "compact", "export"])
def test_state_of_nothing(tmp_path: Path, command: str) -> None:
    """A file that is not there is an error, and is not made."""
    done = CliRunner().invoke(main, ["state", command, str(tmp_path / "none")])
    assert (done.exit_code, "No such file" in done.output) == (2, True)
    assert not (tmp_path / "none").exists()
