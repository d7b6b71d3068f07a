"""A small file that may change while the process runs: read again when it has, at most once a second.

Not a thread and not a clock: whoever needs the value asks and says what time it is. A file that cannot be read, or
that says something wrong, leaves the last good value in force and is told about once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final, Generic, TypeVar

from otel_loopguard.errors import LoopguardError, SettingError

__all__ = ["WatchedFile", "text_of"]

T = TypeVar("T")

CHECK_EVERY_NS: Final = 1_000_000_000
MAX_BYTES: Final = 4 * 1024 * 1024

_Signature = tuple[int, ...] | None


class WatchedFile(Generic[T]):
    """The value of a file, as ``parse`` reads it from the text.

    ``parse`` raises a `LoopguardError` for a text that says something wrong. ``tell`` gets one sentence about every
    change and every failure; ``instead`` says there what is used while no good value was ever read, and
    ``setting`` which setting named the file.
    """

    __slots__ = ("_checked_ns", "_instead", "_lock", "_parse", "_path", "_setting", "_signature", "_tell", "_value")

    def __init__(
        self, path: str, parse: Callable[[str], T], tell: Callable[[str], None], instead: str, setting: str = ""
    ) -> None:
        self._path = Path(path)
        self._setting = setting
        self._instead = instead
        self._parse = parse
        self._tell = tell
        self._value: T | None = None
        self._signature: _Signature = ()
        self._checked_ns: int | None = None
        self._lock = Lock()

    def value(self, now_ns: int) -> T | None:
        """The last good value; None before there was one. ``now_ns`` is a clock that does not run backwards. Never
        raises, and never waits for another thread that is reading.
        """
        if self._checked_ns is not None and 0 <= now_ns - self._checked_ns < CHECK_EVERY_NS:
            return self._value
        if self._lock.acquire(blocking=False):
            try:
                self._checked_ns = now_ns
                self._check()
            finally:
                self._lock.release()
        return self._value

    def _check(self) -> None:
        signature = self._sign()
        if signature == self._signature:
            return
        self._signature = signature
        before = self._value
        try:
            self._value = self._parse(text_of(self._path))
        except LoopguardError as error:
            self._tell(self._failure(str(error)))
        except (OSError, ValueError) as error:  # a path with a nought byte is a ValueError
            reason = error.strerror if isinstance(error, OSError) else None
            self._tell(self._failure(f"`{self._path}` cannot be read: {reason or 'not a path'}"))
        else:
            self._told(before)

    def _told(self, before: T | None) -> None:
        if before is not None:
            self._tell(f"`{self._path}` has changed and was read again")

    def _failure(self, problem: str) -> str:
        path = f"`{self._path}`"
        where = (
            "" if not self._setting else f"`{self._setting}`: " if path in problem else f"`{self._setting}`: {path}: "
        )
        return f"{where}{problem}; {self._instead if self._value is None else 'what was read before stays in force'}"

    def _sign(self) -> _Signature:
        """What changes when the file does: replaced, rewritten, or given other rights; None where it cannot be seen."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - the same call, without a second object on every check
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def text_of(path: Path) -> str:
    """The text of a small file in UTF-8.

    Raises `SettingError` for one that is larger than any setting or not in UTF-8, `OSError` where it cannot be read.
    """
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise SettingError(f"`{path}` is longer than {MAX_BYTES:,} bytes, is it the right file?", name=str(path))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingError(f"`{path}` is not UTF-8 text", name=str(path)) from None
