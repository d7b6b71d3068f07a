"""The policy of a process: its file, read again when it changes, else the built-in one.

Not the policy's grammar (`core.policy_text`): a file that is wrong leaves the last good policy in force.
"""

from __future__ import annotations

from collections.abc import Callable

from otel_loopguard import names
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy

from .watched_file import WatchedFile

__all__ = ["PolicySource"]


class PolicySource:
    """The policy in force."""

    __slots__ = ("_built_in", "_file")

    def __init__(self, path: str | None, tell: Callable[[str], None]) -> None:
        """``tell`` gets one sentence about every change and about a file that cannot be used."""
        self._built_in = Policy()
        self._file: WatchedFile[Policy] | None = None
        if path is not None:
            self._file = WatchedFile(path, parse_policy, tell, "using the built-in policy", names.POLICY)

    def policy(self, now_ns: int) -> Policy:
        """The policy in force: the same object until it changes. ``now_ns`` is a clock that does not run backwards.
        Never raises.
        """
        found = None if self._file is None else self._file.value(now_ns)
        return self._built_in if found is None else found
