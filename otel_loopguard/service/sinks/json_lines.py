"""Messages as lines of JSON, at the end of a file or on standard output.

Not a log of the server: only what runs say is written, an object a line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from otel_loopguard.errors import SettingError
from otel_loopguard.service.message import Message
from otel_loopguard.service.sinks._base import SinkUnavailableError

__all__ = ["JsonLinesSink", "as_object"]

_ENCODER: Final = msgspec.json.Encoder()


def as_object(message: Message) -> dict[str, object]:
    """A message as programs read it."""
    found: dict[str, object] = {"id": message.id, "event": message.name, "severity": message.severity}
    found["time_unix_nano"] = message.time_ns
    if message.tenant:
        found["tenant"] = message.tenant
    if message.trace_id:
        found |= {"trace_id": message.trace_id, "span_id": message.span_id}
    return {**found, "attributes": message.attributes}


class JsonLinesSink:
    """A file, or `-` for standard output."""

    name = "json"
    batch = 256

    def __init__(self, path: str) -> None:
        """Raises `SettingError` where the file cannot be written."""
        self._path = path
        try:
            self._file = os.dup(sys.stdout.fileno()) if path == "-" else os.open(path, _FLAGS, 0o640)
        except OSError as error:
            raise SettingError(
                f"{path}: {error.strerror}, name another file with `--json-file`", name="json_file"
            ) from None

    def send(self, messages: Sequence[Message]) -> None:
        """Write the lines and bring them to the disk."""
        lines = [_ENCODER.encode(as_object(message)) + b"\n" for message in messages]
        try:
            if self._path != "-" and not Path(self._path).exists():  # it was moved away by whoever rotates logs
                os.close(self._file)
                self._file = os.open(self._path, _FLAGS, 0o640)
            # One write a line on standard output: other workers write there too, and a pipe keeps short ones whole.
            for data in lines if self._path == "-" else [b"".join(lines)]:
                _write(self._file, data)
            if self._path != "-":
                os.fsync(self._file)
        except OSError as error:
            raise SinkUnavailableError(f"{self._path}: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND
