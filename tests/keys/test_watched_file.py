"""A watched file: when it is looked at, what is said, and what stays in force."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from otel_loopguard.errors import SettingError
from otel_loopguard.keys import PolicySource, WatchedFile

SECOND = 1_000_000_000


def number_in(text: str) -> int:
    """A number, or the error that a wrong file gives."""
    if not text.strip().isdigit():
        raise SettingError("expected a number")
    return int(text)


class Watched:
    """A watched file with what it said."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []
        self.file = WatchedFile(str(path), number_in, self.said.append, "using zero")

    def at(self, seconds: float) -> int | None:
        """The value at a time."""
        return self.file.value(int(seconds * SECOND))

    def heard(self) -> list[str]:
        """What was said since the last question."""
        said, self.said[:] = list(self.said), []
        return said


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    """A file that says 1."""
    path = tmp_path / "number"
    path.write_text("1")
    return Watched(path)


def test_it_is_looked_at_once_a_second(watched: Watched) -> None:
    """Between two looks the value stays, whatever happens to the file; the change is told once."""
    assert watched.at(10) == 1
    watched.path.write_text("22")
    assert watched.at(10.9) == 1
    assert watched.heard() == []
    assert watched.at(11) == 22
    assert watched.at(12.5) == 22
    assert watched.heard() == [f"`{watched.path}` has changed and was read again"]


def test_the_last_good_value_stays(watched: Watched) -> None:
    """A broken, unreadable or lost file is told about once; the value stays until the file is good again."""
    assert watched.at(0) == 1
    watched.path.write_text("broken")
    assert [watched.at(second) for second in (1, 2, 3)] == [1, 1, 1]
    assert watched.heard() == ["expected a number; what was read before stays in force"]
    watched.path.write_bytes(b"\xff\xfe\xff")
    assert watched.at(4) == 1
    assert watched.heard() == [f"`{watched.path}` is not UTF-8 text; what was read before stays in force"]
    watched.path.unlink()
    assert [watched.at(second) for second in (5, 6)] == [1, 1]
    assert watched.heard() == [
        f"`{watched.path}` cannot be read: No such file or directory; what was read before stays in force"
    ]
    watched.path.write_text("5")
    assert watched.at(7) == 5
    assert watched.heard() == [f"`{watched.path}` has changed and was read again"]


def test_a_file_that_was_never_good(tmp_path: Path) -> None:
    """Until there is a value there is none, and what is used instead is said."""
    watched = Watched(tmp_path / "later")
    assert watched.at(0) is None
    assert watched.heard() == [f"`{watched.path}` cannot be read: No such file or directory; using zero"]
    watched.path.write_text("3")
    assert watched.at(1) == 3
    assert watched.heard() == []


def test_replacing_by_a_file_of_the_same_size_and_time_is_seen(watched: Watched) -> None:
    """Secrets are often replaced by renaming, with times kept: another file is another file."""
    assert watched.at(0) == 1
    before = watched.path.stat()
    other = watched.path.with_name("other")
    other.write_text("2")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(watched.path)
    assert watched.at(1) == 2


def test_a_link_that_moves_is_seen(watched: Watched) -> None:
    """Mounted secrets are links to a folder that is exchanged."""
    link = watched.path.with_name("link")
    link.symlink_to(watched.path)
    through = Watched(link)
    assert through.at(0) == 1
    other = watched.path.with_name("other")
    other.write_text("2")
    link.unlink()
    link.symlink_to(other)
    assert through.at(1) == 2


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """Whatever it is, it is no setting."""
    watched = Watched(tmp_path / "large")
    with watched.path.open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    assert watched.at(0) is None
    assert watched.heard() == [f"`{watched.path}` is longer than 4,194,304 bytes, is it the right file?; using zero"]


@pytest.mark.parametrize("path", ["a\x00b", "", "/dev/null/x", "."])
def test_a_path_that_cannot_be_is_told_about(path: str) -> None:
    """No path raises."""
    watched = Watched(Path("x"))
    watched.file = WatchedFile(path, number_in, watched.said.append, "using zero")
    assert watched.at(0) is None
    assert len(watched.heard()) == 1


def test_a_clock_that_jumps_back_is_no_reason_to_stop_looking(watched: Watched) -> None:
    """A time before the last look is a reason to look."""
    assert watched.at(1000) == 1
    watched.path.write_text("2 ")
    assert watched.at(5) == 2


def test_policies_are_watched_too(tmp_path: Path) -> None:
    """The built-in policy until there is a good file; the same object until the file changes."""
    path = tmp_path / "policy.yaml"
    said: list[str] = []
    source = PolicySource(str(path), said.append)
    assert source.policy(0).revision is None
    path.write_text("revision: first\n")
    first = source.policy(SECOND)
    assert first.revision == "first"
    assert source.policy(2 * SECOND) is first
    path.write_text("revision: [\n")
    assert source.policy(3 * SECOND) is first
    assert len(said) == 2
    start = f"`LOOPGUARD_POLICY`: `{path}`"
    assert said[0] == f"{start} cannot be read: No such file or directory; using the built-in policy"
    assert said[1].startswith(f"{start}: ")
    assert said[1].endswith("; what was read before stays in force")
    assert PolicySource(None, said.append).policy(0).revision is None
