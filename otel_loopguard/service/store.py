"""The state file: what came in since states were saved, the states, and what is to be delivered. SQLite, one process.

Not the detector: it writes what it is told in one transaction and reads it back. What came in is a journal of calls
without content, one row for all requests that were taken in together, so that a hundred requests cost one sync of the
disk; states of runs are written much more rarely, and the journal that they make superfluous is cut off.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from otel_loopguard.errors import StoreError, StoreProblem
from otel_loopguard.runtimes.packed import Packed
from otel_loopguard.runtimes.seat import Key
from otel_loopguard.service.outbox import Changes, Row
from otel_loopguard.service.partition import Share

__all__ = ["APPLICATION", "VERSION", "Entry", "Mark", "Saved", "Store"]

APPLICATION: Final = 0x4C4F4F50
"""``LOOP`` in the file's head: tells our files from other SQLite databases."""
VERSION: Final = 3
"""Of the tables. A file of a newer version is refused, an older one is migrated (`_MIGRATIONS`)."""

_SCHEMA: Final = """
CREATE TABLE journal (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE runs (tenant BLOB NOT NULL, run_id BLOB NOT NULL, time INTEGER NOT NULL, number INTEGER NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY (tenant, run_id)) WITHOUT ROWID;
CREATE TABLE outbox (position INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE cursors (sink TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE mark (only INTEGER PRIMARY KEY CHECK (only = 1), time INTEGER NOT NULL, number INTEGER NOT NULL,
  handed INTEGER NOT NULL DEFAULT 0);
INSERT INTO mark VALUES (1, 0, 0, 0);
CREATE TABLE share (only INTEGER PRIMARY KEY CHECK (only = 1), worker INTEGER NOT NULL, workers INTEGER NOT NULL);
INSERT INTO share VALUES (1, 0, 1);
"""

_MIGRATIONS: Final = {
    1: """
ALTER TABLE mark ADD COLUMN handed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE share (only INTEGER PRIMARY KEY CHECK (only = 1), worker INTEGER NOT NULL, workers INTEGER NOT NULL);
INSERT INTO share VALUES (1, 0, 1);
""",
    2: "",  # the same tables: rows of the journal have a form of their own since
}
"""What makes a file of a version one of the next."""

_PACKED: Final = msgspec.msgpack.Decoder(Packed)
_ENCODER: Final = msgspec.msgpack.Encoder()


class Entry(NamedTuple):
    """What came in together."""

    number: int
    time: int
    data: bytes


class Mark(NamedTuple):
    """How far what runs said is in the outbox: wake-ups up to a time, arrivals up to a number."""

    time: int
    number: int
    handed: int = 0
    """Calls of other workers' runs that were placed up to this time have arrived there."""


class Saved(NamedTuple):
    """A run's state as of a mark; None for a run that is gone."""

    key: Key
    packed: Packed | None
    mark: Mark


class Store:
    """One state file, held by this process alone."""

    def __init__(self, path: str, share: Share | None = None) -> None:
        """Open or make the file; raises `StoreError`, also where it holds another share of the runs than that."""
        self.path = path
        with self._told():
            self._db = _opened(path, share)

    @property
    def share(self) -> Share:
        """Which share of the runs the file holds."""
        with self._told():
            return Share(*self._db.execute("SELECT worker, workers FROM share").fetchone())

    def close(self) -> None:
        """Give the file back."""
        self._db.close()

    # Writing ------------------------------------------------------------------------------------------------------

    def commit(
        self,
        mark: Mark,
        changes: Changes,
        entry: Entry | None = None,
        saved: Iterable[Saved] = (),
        keep_from: int | None = None,
    ) -> None:
        """Write everything or nothing; it is on the disk when this returns. Raises `StoreError`."""
        with self._told():
            db = self._db
            try:
                db.execute("BEGIN IMMEDIATE")
                if entry is not None:
                    db.execute("INSERT INTO journal VALUES (?, ?, ?)", entry)
                db.execute("UPDATE mark SET time = ?, number = ?, handed = ?", mark)
                db.executemany("INSERT INTO outbox VALUES (?, ?)", changes.rows)
                if changes.cursors:
                    db.executemany("INSERT OR REPLACE INTO cursors VALUES (?, ?)", changes.cursors.items())
                db.execute("DELETE FROM outbox WHERE position <= ?", (changes.delivered,))
                for one in saved:
                    self._save(one)
                if keep_from is not None:
                    db.execute("DELETE FROM journal WHERE time < ?", (keep_from,))
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _save(self, saved: Saved) -> None:
        key = _raw(saved.key[0]), _raw(saved.key[1])
        if saved.packed is None:
            self._db.execute("DELETE FROM runs WHERE tenant = ? AND run_id = ?", key)
        else:
            row = (*key, saved.mark.time, saved.mark.number, _ENCODER.encode(saved.packed))
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", row)

    # Reading ------------------------------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """How far what runs said is in the outbox."""
        with self._told():
            return Mark(*self._db.execute("SELECT time, number, handed FROM mark").fetchone())

    def runs(self) -> Iterator[Saved]:
        """The saved states."""
        with self._told():
            for tenant, run_id, time, number, data in self._db.execute("SELECT * FROM runs"):
                yield Saved((_text(tenant), _text(run_id)), _PACKED.decode(data), Mark(time, number))

    def journal(self) -> Iterator[Entry]:
        """What came in and may not be part of the states, in its order."""
        with self._told():
            for row in self._db.execute("SELECT number, time, data FROM journal ORDER BY number"):
                yield Entry(*row)

    def outbox(self) -> tuple[list[Row], dict[str, int]]:
        """What is to be delivered, and the sinks' cursors."""
        with self._told():
            rows = [Row(*row) for row in self._db.execute("SELECT position, data FROM outbox ORDER BY position")]
            return rows, dict(self._db.execute("SELECT sink, position FROM cursors").fetchall())

    def journal_bytes(self) -> int:
        """Bytes of the journal."""
        with self._told():
            found: int = self._db.execute("SELECT coalesce(sum(length(data)), 0) FROM journal").fetchone()[0]
            return found

    # Care ---------------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """What is wrong with the file, as SQLite says; none where it is whole."""
        with self._told():
            found = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check")]
            return [] if found == ["ok"] else found

    def compact(self) -> None:
        """Give the disk back what is not used any more."""
        with self._told():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """SQLite's errors in our words."""
        try:
            yield
        except sqlite3.Error as error:
            raise _problem(self.path, error) from None
        except msgspec.DecodeError:
            raise StoreError(self.path, "corrupt") from None


def _opened(path: str, share: Share | None) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        db.execute("COMMIT")
        _refuse_strange(path, application, version, is_empty=is_empty)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if is_empty:
            db.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
            )
            if share is not None:
                db.execute("UPDATE share SET worker = ?, workers = ?", (share.worker, share.workers))
        else:
            _migrate(db, version)
        # Fails here and not in the middle of the night where the file or its folder cannot be written.
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE mark SET time = time")
        db.execute("COMMIT")
        _refuse_other(path, Share(*db.execute("SELECT worker, workers FROM share").fetchone()), share)
    except BaseException:
        db.close()
        raise
    return db


def _migrate(db: sqlite3.Connection, version: int) -> None:
    """Bring an older file to this version, each step whole or not at all."""
    for old in range(version, VERSION):
        db.executescript(f"BEGIN; {_MIGRATIONS[old]} PRAGMA user_version = {old + 1}; COMMIT;")


def _refuse_strange(path: str, application: int, version: int, *, is_empty: bool) -> None:
    if application != APPLICATION and not is_empty:
        raise StoreError(path, "foreign")
    if version > VERSION:
        raise StoreError(path, "newer", f"version {version}, this program knows up to {VERSION}")


def _refuse_other(path: str, found: Share, share: Share | None) -> None:
    if share is not None and found != share:
        raise StoreError(path, "divided", f"part {found.worker + 1} of {found.workers}")


_PROBLEMS: Final[dict[int, StoreProblem]] = {
    5: "locked",  # SQLITE_BUSY
    6: "locked",
    8: "read_only",
    10: "io",
    11: "corrupt",
    13: "full",
    14: "unreachable",  # SQLITE_CANTOPEN
    26: "corrupt",  # SQLITE_NOTADB
}
_BY_WORDS: Final[tuple[tuple[str, StoreProblem], ...]] = (
    ("locked", "locked"),
    ("readonly", "read_only"),
    ("malformed", "corrupt"),
    ("not a database", "corrupt"),
    ("full", "full"),
    ("unable to open", "unreachable"),
    ("disk I/O", "io"),
)


def _problem(path: str, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)  # Python 3.11 and later
    words = str(error)
    if code is not None:
        problem = _PROBLEMS.get(code & 0xFF, "io")
    else:
        problem = next((problem for part, problem in _BY_WORDS if part in words), "io")
    if problem == "io" and not _may_write(path):  # SQLite tells no more of a file in a folder that it cannot write to
        problem = "read_only"
    return StoreError(path, problem, words)


def _may_write(path: str) -> bool:
    file = Path(path)
    effective = os.access in os.supports_effective_ids
    return all(os.access(one, os.W_OK, effective_ids=effective) for one in (file, file.resolve().parent))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
