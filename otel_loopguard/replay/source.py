"""Where recorded runs lie: files, folders and standard input, as numbered lines.

Not what the lines say: only which files are meant, how they are packed, and where one record ends. A JSON document
that was laid out over several lines, or that is one list, becomes lines of one record each.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from otel_loopguard.errors import RecordError, SettingError

__all__ = ["Line", "Source", "find_sources"]

ENDINGS: Final = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
"""What is read in a folder; a file that is named itself may have any name."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_LONGEST: Final = 256 << 20
"""Bytes of a line, or of a document over several lines: the Collector's own requests are at most 4 MiB by default."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record's text with its number, from 1."""

    number: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or standard input."""

    name: str
    """As the user wrote it; ``-`` is standard input."""
    path: Path | None
    size: int | None = None
    """Bytes on disk; None where nobody knows."""

    def lines(self, stdin: IO[bytes], advance: Callable[[int], None] = lambda _: None) -> Iterator[Line]:
        """The lines that hold something; ``advance`` hears how many bytes of the file were read.

        Raises `RecordError` where the file cannot be unpacked or a line has no end.
        """
        with stdin if self.path is None else self.path.open("rb") as raw:
            counted = io.BufferedReader(_Counted(raw, advance), 1 << 16)
            reached = 0
            try:
                for line in self._numbered(self._unpacked(counted)):
                    reached = line.number
                    yield line
            except (EOFError, zlib.error, gzip.BadGzipFile):
                reason = f"the gzip data is broken or ends too early, after line {reached}"
                raise RecordError(reason, source=self.name) from None

    def text(self, stdin: IO[bytes]) -> bytes:
        """All that it holds. Raises `RecordError` where it cannot be unpacked or is more than memory should hold."""
        with stdin if self.path is None else self.path.open("rb") as raw:
            stream = self._unpacked(io.BufferedReader(_Counted(raw, lambda _: None), 1 << 16))
            try:
                held = stream.read(_LONGEST + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                raise RecordError("the gzip data is broken or ends too early", source=self.name) from None
        if len(held) > _LONGEST:
            raise RecordError(
                f"more than {_LONGEST >> 20} MiB, hand over a part: `head -n 1000 FILE | ... -`", source=self.name
            )
        return held

    def _unpacked(self, stream: io.BufferedReader[_Counted]) -> IO[bytes]:
        head = stream.peek(4)[:4]
        if head.startswith(_GZIP):
            return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
        if head == _ZSTD:
            raise RecordError("packed with zstd, unpack it with `zstd -d` and pipe it into `-`", source=self.name)
        return cast("IO[bytes]", stream)

    def _numbered(self, stream: IO[bytes]) -> Iterator[Line]:
        number = 0
        while text := stream.readline(_LONGEST):
            number += 1
            if len(text) >= _LONGEST:
                raise RecordError(f"the line is longer than {_LONGEST >> 20} MiB", source=self.name, line=number)
            if number == 1:
                text = text.removeprefix(b"\xef\xbb\xbf")
            text = text.strip()
            if text and number == 1 and _goes_on(text):
                yield from _document(text, stream)
                return
            if text:
                yield Line(number, text)


class _Counted(io.RawIOBase):
    """A file that tells how much of it was read."""

    def __init__(self, raw: IO[bytes], advance: Callable[[int], None]) -> None:
        super().__init__()
        self._raw = raw
        self._advance = advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        data = self._raw.read(len(view))
        view[: len(data)] = data
        self._advance(len(data))
        return len(data)


def find_sources(names: Sequence[str]) -> list[Source]:
    """The files that some names stand for, folders searched to the bottom, in order of name.

    Raises `SettingError` where a name stands for nothing.
    """
    sources: list[Source] = []
    for name in names:
        path = Path(name)
        if name == "-":
            sources.append(Source("-", None))
        elif path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.name.endswith(ENDINGS) and file.is_file())
            if not found:
                raise SettingError(f"{name}: no file in this folder ends in {', '.join(ENDINGS)}", name=name)
            sources += [Source(os.fspath(file), file, file.stat().st_size) for file in found]
        elif path.exists():
            sources.append(Source(name, path, path.stat().st_size if path.is_file() else None))
        else:
            raise SettingError(f"{name}: no such file or folder", name=name)
    return sources


# Documents --------------------------------------------------------------------------------------------------------


def _goes_on(text: bytes) -> bool:
    """Whether the first line is the beginning of a JSON document that goes on, or one list."""
    if text.startswith(b"["):
        return True
    if text.endswith(b"}") or not text.startswith(b"{"):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        pass
    return False


def _document(first: bytes, stream: IO[bytes]) -> Iterator[Line]:
    """The records of a document: its members where it is a list. What is no document is lines after all."""
    rest = stream.read(_LONGEST)
    try:
        document = json.loads(first + b"\n" + rest)
    except (ValueError, RecursionError):
        yield Line(1, first)
        for number, text in enumerate((rest + stream.read()).split(b"\n"), 2):
            if text.strip():
                yield Line(number, text.strip())
        return
    for number, record in enumerate(document if isinstance(document, list) else [document], 1):
        yield Line(number, json.dumps(record).encode())
