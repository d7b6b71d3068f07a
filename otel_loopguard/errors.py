"""Every exception that otel-loopguard raises; it says nothing about exceptions that it swallows.

::

    LoopguardError
    ├── SettingError (ValueError)       a setting or a flag that cannot be used
    │   ├── PolicyError                 a policy file that is wrong, with the path into it
    │   └── KeySettingError             a key that is weak, broken or unknown
    ├── RecordError (ValueError)        a recorded line or file that cannot be read
    ├── StateError (ValueError)         bytes of a history that cannot be read
    ├── StoreError (OSError)            a state file that cannot be used
    ├── LoopDetected (RuntimeError)     a guard in mode `enforce` ended an agent's turn
    └── MissingExtraError (ImportError) an optional part that is not installed

None of them is ever raised into an application that is only instrumented: they reach people through commands
and through code that calls this package on purpose. Whoever installs a guard that enforces asks for `LoopDetected`.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

__all__ = [
    "KeySettingError",
    "LoopDetected",
    "LoopguardError",
    "MissingExtraError",
    "PolicyError",
    "RecordError",
    "SettingError",
    "StateError",
    "StoreError",
    "StoreProblem",
]

StoreProblem = Literal[
    "full", "read_only", "locked", "corrupt", "newer", "foreign", "unreachable", "io", "divided", "missing"
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


class StateError(LoopguardError, ValueError):
    """Bytes that are to hold a state of ours hold none that this release can read."""


_STORE: Final[dict[StoreProblem, str]] = {
    "full": "the disk is full, nothing more is taken in until there is room",
    "read_only": "the file or its folder cannot be written, give this user the right to",
    "locked": "another process has the file, only one `loopguard` at a time can use it",
    "corrupt": "the file is damaged; move it away to start anew, or put a copy in its place",
    "newer": "the file is of a newer release, use that or another file",
    "foreign": "this is a database of another program, name another file",
    "unreachable": "the file cannot be opened or made there, does the folder exist?",
    "io": "the file cannot be read or written",
    "divided": "the file is of a set of state files for another number of workers, move it away or name another file",
    "missing": "the file is one of a set and is not there, put it back or move the others away to start anew",
}
"""What each problem means, and the way out."""


class StoreError(LoopguardError, OSError):
    """A state file cannot be used; ``problem`` tells why, ``path`` is the file as given."""

    def __init__(self, path: str, problem: StoreProblem, detail: str = "") -> None:
        super().__init__(f"{path}: {_STORE[problem]}" + (f" ({detail})" if detail else ""))
        self.path = path
        self.problem = problem


class MissingExtraError(LoopguardError, ImportError):
    """An optional dependency is not installed; the message is the command that installs it."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"not installed, run: pip install 'otel-loopguard[{extra}]'")
        self.extra = extra


class LoopDetected(LoopguardError, RuntimeError):  # noqa: N818 - a reason to stop, not a mistake
    """An agent was stopped because it repeats itself. Trying again would repeat it once more: it is not retryable.

    The conversation is left whole, every call of the step answered, so the session can go on with a new message.
    """

    retryable: Final = False

    def __init__(  # noqa: PLR0913 - what a handover needs
        self, summary: str, *, tool: str, kind: str, count: int, run_id: str, agent: str = "", finding_id: str = ""
    ) -> None:
        super().__init__(summary)
        self.summary = summary
        """What happened, for whoever takes over; no arguments and no results."""
        self.tool = tool
        self.kind = kind
        """Of the finding."""
        self.count = count
        """Calls, laps or turns that counted."""
        self.run_id = run_id
        self.agent = agent
        self.finding_id = finding_id
        """As `loopguard.finding.id` of the finding's event."""

    def __reduce__(self) -> tuple[object, ...]:
        """Its parts by name, so that it can be copied and sent to another process."""
        named = partial(
            LoopDetected, tool=self.tool, kind=self.kind, count=self.count, run_id=self.run_id, agent=self.agent,
            finding_id=self.finding_id,
        )  # fmt: skip
        return named, (self.summary,)
