"""Every exception that otel-loopguard raises; it says nothing about exceptions that it swallows.

::

    LoopguardError
    ├── SettingError (ValueError)       a setting or a flag that cannot be used
    │   ├── PolicyError                 a policy file that is wrong, with the path into it
    │   └── KeySettingError             a key that is weak, broken or unknown
    ├── RecordError (ValueError)        a recorded line or file that cannot be read
    └── MissingExtraError (ImportError) an optional part that is not installed

None of them is ever raised into an instrumented application: they reach people through commands
and through code that calls this package on purpose.
"""

from __future__ import annotations

__all__ = [
    "KeySettingError",
    "LoopguardError",
    "MissingExtraError",
    "PolicyError",
    "RecordError",
    "SettingError",
]


class LoopguardError(Exception):
    """Base of every error of this package."""


class SettingError(LoopguardError, ValueError):
    """A setting has a value that cannot be used; ``name`` is the setting as the user wrote it."""

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class PolicyError(SettingError):
    """A policy is wrong at ``path`` (``$.tools.get_logs.kind``), ``line`` and ``column`` from 1 where known."""

    def __init__(self, message: str, *, path: str = "$", line: int | None = None, column: int | None = None) -> None:
        where = f" - at `{path}`"
        if line is not None:
            where += f" (line {line}, column {column})"
        super().__init__(message + where, name=path)
        self.reason = message
        self.path = path
        self.line = line
        self.column = column


class KeySettingError(SettingError):
    """A secret key is too short, not decodable or not known; the message never holds key material."""


class RecordError(LoopguardError, ValueError):
    """A recorded line cannot be read; ``source`` is the file as given, ``line`` counts from 1."""

    def __init__(self, reason: str, *, source: str = "", line: int | None = None) -> None:
        where = f"{source}:{line}: " if line is not None else f"{source}: " if source else ""
        super().__init__(where + reason)
        self.reason = reason
        self.source = source
        self.line = line


class MissingExtraError(LoopguardError, ImportError):
    """An optional dependency is not installed; the message is the command that installs it."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"not installed, run: pip install 'otel-loopguard[{extra}]'")
        self.extra = extra
