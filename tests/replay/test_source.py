"""Files, folders and standard input become numbered lines."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from otel_loopguard.errors import RecordError, SettingError
from otel_loopguard.replay.source import Source, find_sources


def lines(source: Source, stdin: bytes = b"") -> list[tuple[int, bytes]]:
    """All lines of a source."""
    return [(line.number, line.text) for line in source.lines(io.BytesIO(stdin))]


def written(folder: Path, content: bytes, name: str = "calls.jsonl") -> Source:
    """A file as a source."""
    path = folder / name
    path.write_bytes(content)
    (source,) = find_sources([str(path)])
    return source


TWO_LINES = b'{"a": 1}\n\n  {"b": 2}  \r\n'
PACKED = gzip.compress(TWO_LINES, mtime=0)


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.json", "calls.jsonl.gz", "calls.txt", "calls"])
@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_numbered_as_an_editor_does(tmp_path: Path, name: str, packed: bool) -> None:  # noqa: FBT001
    """Empty lines count and are left out; packing is told by the bytes, whatever the name says."""
    content = PACKED if packed else TWO_LINES
    assert lines(written(tmp_path, content, name)) == [(1, b'{"a": 1}'), (3, b'{"b": 2}')]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_a_source(packed: bool) -> None:  # noqa: FBT001
    """`-` reads standard input, packed or not."""
    (source,) = find_sources(["-"])
    assert lines(source, PACKED if packed else TWO_LINES) == [(1, b'{"a": 1}'), (3, b'{"b": 2}')]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n \n", []),
        (b"\xef\xbb\xbf{}\n{}", [(1, b"{}"), (2, b"{}")]),
        (gzip.compress(b"{}\n", mtime=0) + gzip.compress(b"[]\n", mtime=0), [(1, b"{}"), (2, b"[]")]),
    ],
)
def test_odd_files(tmp_path: Path, content: bytes, expected: list[tuple[int, bytes]]) -> None:
    """Empty files, byte order marks and gzip files of several members are read."""
    assert lines(written(tmp_path, content)) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (json.dumps({"a": 1, "b": [2]}, indent=2), [{"a": 1, "b": [2]}]),
        (json.dumps([{"a": 1}, {"b": 2}]), [{"a": 1}, {"b": 2}]),
        (json.dumps([{"a": 1}, {"b": 2}], indent=1), [{"a": 1}, {"b": 2}]),
        ("[\n]", []),
    ],
)
def test_a_document_is_its_records(tmp_path: Path, document: str, expected: list[object]) -> None:
    """A JSON document over several lines is one record, a list one for each member, numbered from 1."""
    found = lines(written(tmp_path, document.encode()))
    assert [(number, json.loads(text)) for number, text in found] == list(enumerate(expected, 1))


@pytest.mark.parametrize("first", [b'{"a": 1, "b": "cut', b"{", b"[1,", b"not json", b'{"a": 1}}'])
def test_a_broken_first_line_costs_no_other(tmp_path: Path, first: bytes) -> None:
    """What only looks like the beginning of a document is a bad line like any other."""
    found = lines(written(tmp_path, first + b'\n{"b": 2}\n\n{"c": 3}'))
    assert found == [(1, first), (2, b'{"b": 2}'), (4, b'{"c": 3}')]


def test_a_folder_is_searched_to_the_bottom(tmp_path: Path) -> None:
    """Files of the known endings, in order of name; others are left alone."""
    for name in ("b.jsonl", "a/x.json.gz", "a/y.json", "c.jsonl.gz", "README.md", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    names = [source.name.removeprefix(f"{tmp_path}/") for source in find_sources([str(tmp_path)])]
    assert names == ["a/x.json.gz", "a/y.json", "b.jsonl", "c.jsonl.gz"]


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A name that stands for nothing, and a folder with nothing to read, are the user's to put right."""
    with pytest.raises(SettingError, match=r"gone: no such file or folder"):
        find_sources([str(tmp_path / "gone")])
    with pytest.raises(SettingError, match=r"no file in this folder ends in .jsonl, .json, .jsonl.gz, .json.gz"):
        find_sources([str(tmp_path)])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (PACKED[:-9], "the gzip data is broken or ends too early, after line 1"),
        (PACKED[:20] + b"garbage" * 9, "the gzip data is broken or ends too early, after line 1"),
        (b"\x1f\x8b\x00\x00", "the gzip data is broken or ends too early, after line 0"),
        (b"\x28\xb5\x2f\xfd\x00", "packed with zstd, unpack it with `zstd -d` and pipe it into `-`"),
    ],
)
def test_what_cannot_be_unpacked_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    """A broken or foreign packing names the file and the way out."""
    source = written(tmp_path, content)
    with pytest.raises(RecordError) as raised:
        lines(source)
    assert (raised.value.source, raised.value.reason) == (source.name, reason)


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    """The bytes that were read, as they lie on the disk, sum up to the file's size."""
    source = written(tmp_path, gzip.compress(TWO_LINES * 1000))
    heard: list[int] = []
    list(source.lines(io.BytesIO(), heard.append))
    assert sum(heard) == source.size
