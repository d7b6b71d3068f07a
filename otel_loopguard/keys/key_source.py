"""The keys of a process, from its settings: the key file, else the key variable, else an ephemeral key.

Not the settings' reading (`config`). In an agent nothing here raises: a weak or broken key is told about once and an
ephemeral one takes its place; commands raise instead.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_loopguard import names
from otel_loopguard.core.fingerprint import EPHEMERAL, MIN_SECRET, Keyring, SecretKey
from otel_loopguard.errors import KeySettingError

from .key_file import read_key_file
from .secret_text import decode_secret
from .watched_file import WatchedFile, text_of

if TYPE_CHECKING:
    from otel_loopguard.config import Settings

__all__ = ["KeySource", "load_keyring"]

_NO_KEY: Final = (
    f"no key is set, so fingerprints of this process cannot be compared with those of others: set `{names.KEY}` or "
    f"`{names.KEY_FILE}`, `loopguard key new` makes a key"
)
_INSTEAD: Final = "using a key of this process alone"


def load_keyring(settings: Settings, warn: Callable[[str], None] | None = None) -> Keyring:
    """The keys for a command; an ephemeral one where none is set.

    ``warn`` gets what should be known and does not stop the command. Raises `KeySettingError` for a key or a key
    file that cannot be used, `OSError` for a file that cannot be read.
    """
    tell = warn if warn is not None else _nobody
    if settings.key_file is not None:
        ring = _reader_of(settings.key_file, tell)(text_of(Path(settings.key_file)))
    elif settings.key is not None:
        ring = Keyring(SecretKey(decode_secret(settings.key, names.KEY)))
    else:
        tell(_NO_KEY)
        ring = _ephemeral()
    return ring


class KeySource:
    """The keys of an agent's process; the key file is read again when it changes, so a rotation needs no restart."""

    __slots__ = ("_file", "_ring")

    def __init__(self, settings: Settings, tell: Callable[[str], None], spare: bytes | None = None) -> None:
        """``tell`` gets one sentence about everything that should be known: no key, a broken one, a change.

        ``spare``: the secret that takes the place of a key, for processes that stand for one.
        """
        self._file: WatchedFile[Keyring] | None = None
        if settings.key_file is not None:
            self._file = WatchedFile(
                settings.key_file, _reader_of(settings.key_file, tell), tell, _INSTEAD, names.KEY_FILE
            )
            self._ring = _ephemeral(spare)
        else:
            self._ring = _from_variable(settings, tell, spare)

    def keyring(self, now_ns: int) -> Keyring:
        """The keys in force: the same object until they change. ``now_ns`` is a clock that does not run backwards.
        Never raises.
        """
        found = None if self._file is None else self._file.value(now_ns)
        return self._ring if found is None else found

    def __repr__(self) -> str:
        return f"KeySource({'no file' if self._file is None else 'file'})"


def _from_variable(settings: Settings, tell: Callable[[str], None], spare: bytes | None) -> Keyring:
    if settings.key is None:
        tell(_NO_KEY)
        return _ephemeral(spare)
    try:
        return Keyring(SecretKey(decode_secret(settings.key, names.KEY)))
    except KeySettingError as error:
        tell(f"{error}; {_INSTEAD}")
        return _ephemeral(spare)


def _ephemeral(spare: bytes | None = None) -> Keyring:
    return Keyring(SecretKey(secrets.token_bytes(MIN_SECRET) if spare is None else spare, EPHEMERAL))


def _reader_of(path: str, tell: Callable[[str], None]) -> Callable[[str], Keyring]:
    def read(text: str) -> Keyring:
        ring = read_key_file(text, path)
        _warn_of_rights(path, tell)
        return ring

    return read


def _warn_of_rights(path: str, tell: Callable[[str], None]) -> None:
    """Whoever can read the key can try arguments against fingerprints; whoever can write it can choose it."""
    if os.name != "posix":
        return
    mode = Path(path).stat().st_mode
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        who = "everybody" if mode & (stat.S_IROTH | stat.S_IWOTH) else "its group"
        what = "read" if mode & stat.S_IROTH else "written"
        tell(f"the key file `{path}` can be {what} by {who}: `chmod 600 {path}`")


def _nobody(_: str) -> None:
    return None
