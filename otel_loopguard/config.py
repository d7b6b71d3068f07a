"""The settings of one process, read from environment variables.

Not the policy (a file of its own) and not the key (`keys` decodes it): here are only what the variables say and what
an unknown value means. Reading takes a mapping, so nothing here looks at the process.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn, cast

from . import names
from .core.policy import Mode
from .errors import SettingError

__all__ = ["Baggage", "Content", "Exceptions", "KeyScope", "Settings"]

KeyScope = Literal["environment", "service", "run"]
"""How far equal calls have equal fingerprints."""
Content = Literal["redact", "redact_all", "keep"]
"""What happens to arguments and results on tool spans; `redact_all` reaches every span."""
Exceptions = Literal["drop", "keep"]
"""What happens to exception messages, stack traces and status descriptions of tool spans."""
Baggage = Literal["off", "on"]
"""Whether run id and agent are sent to other processes."""

_MODES: Final = ("observe", "nudge", "enforce")
_PREFIX: Final = "LOOPGUARD_"
_ON: Final = frozenset(["true", "1"])
_OFF: Final = frozenset(["false", "0", ""])


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable with a few allowed words."""

    name: str
    words: tuple[str, ...]
    unset: str | None
    """What holds where it is unset or empty."""
    unknown: str
    """What holds for any other word: the most private, the least intrusive."""


_KEY_SCOPE: Final = _Variable(names.KEY_SCOPE, ("environment", "service", "run"), "environment", "run")
_CONTENT: Final = _Variable(names.CONTENT, ("redact", "redact_all", "keep"), "redact", "redact_all")
_EXCEPTIONS: Final = _Variable(names.EXCEPTIONS, ("drop", "keep"), "drop", "drop")
_MODE: Final = _Variable(names.MODE, _MODES, None, "observe")
_GUARD: Final = _Variable(names.GUARD, _MODES, None, "observe")
_BAGGAGE: Final = _Variable(names.BAGGAGE, ("off", "on"), "off", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment asks for; the defaults are those of an empty environment."""

    enabled: bool = False
    key: str | None = field(default=None, repr=False)
    """The secret as it was written; None where a key file wins over it."""
    key_file: str | None = None
    key_scope: KeyScope = "environment"
    content: Content = "redact"
    exceptions: Exceptions = "drop"
    policy_file: str | None = None
    mode: Mode | None = None
    """The mode of every tool; None leaves it to the policy."""
    guard: Mode | None = None
    """Whether the guard adapters are installed, and with which mode; None: they are not."""
    baggage: Baggage = "off"
    warnings: tuple[str, ...] = ()
    """One for each variable that could not be taken as written, naming it and what is allowed; no values."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("settings may hold a secret, hand over `Settings.read` instead of pickling them")

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Settings:
        """The settings of an environment. Never raises: a wrong value becomes a warning and the safest reading."""
        reader = _Reader(environ)
        guard = cast("Mode | None", reader.word(_GUARD))
        key_file = reader.text(names.KEY_FILE)
        key = reader.text(names.KEY)
        return cls(
            enabled=reader.enabled(),
            key=key if key_file is None else None,
            key_file=key_file,
            key_scope=cast("KeyScope", reader.word(_KEY_SCOPE)),
            content=cast("Content", reader.word(_CONTENT)),
            exceptions=cast("Exceptions", reader.word(_EXCEPTIONS)),
            policy_file=reader.text(names.POLICY),
            mode=cast("Mode | None", reader.word(_MODE)) or guard,
            guard=guard,
            baggage=cast("Baggage", reader.word(_BAGGAGE)),
            warnings=(*reader.problems, *reader.misspelt()),
        )

    @classmethod
    def read_strict(cls, environ: Mapping[str, str]) -> Settings:
        """The same for commands: raises `SettingError` for the first thing that `read` would only warn about."""
        settings = cls.read(environ)
        if settings.warnings:
            message, _, _ = settings.warnings[0].partition("; using")
            raise SettingError(message, name=message.split("`")[1])
        return settings


class _Reader:
    """Reads variables and remembers what was wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.problems: list[str] = []

    def text(self, name: str) -> str | None:
        """A free value; empty counts as unset, as for every variable of OpenTelemetry."""
        return self.environ.get(name, "").strip() or None

    def word(self, variable: _Variable) -> str | None:
        """One of the allowed words, whatever its case."""
        word = (self.text(variable.name) or "").lower()
        if not word:
            return variable.unset
        if word in variable.words:
            return word
        self.refuse(variable.name, variable.words, variable.unknown)
        return variable.unknown

    def enabled(self) -> bool:
        """On for any word but the negative ones: whoever sets the variable wants to be watched over."""
        word = (self.text(names.ENABLED) or "").lower()
        if word in _OFF:
            return False
        if word not in _ON:
            self.refuse(names.ENABLED, ("true", "false"), "true")
        return True

    def refuse(self, name: str, words: tuple[str, ...], used: str) -> None:
        """Note a wrong value, without repeating it: a secret may have been put into the wrong variable."""
        allowed = ", ".join(f"`{word}`" for word in words)
        self.problems.append(f"`{name}` has an unknown value, expected one of {allowed}; using `{used}`")

    def misspelt(self) -> list[str]:
        """Warnings for variables that nobody reads and that look like one of ours."""
        known = [item.name.removeprefix(_PREFIX) for item in names.VARIABLES]
        found = []
        for name in sorted(self.environ):
            rest = name.removeprefix(_PREFIX)
            if rest == name or rest in known:
                continue
            near = difflib.get_close_matches(rest[:64], known, n=1, cutoff=0.8)
            if near:
                found.append(f"`{name[:80]}` is not a variable of otel-loopguard, did you mean `{_PREFIX}{near[0]}`?")
        return found
