"""What a tool owner may declare: the settings of an engine, resolved per tool.

Not their reading from text (`policy_text`): here are only values, their built-in defaults and the rule that
finds a tool's settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import translate
from typing import Final, Literal

__all__ = [
    "CYCLE_TURNS", "LENIENT", "REPORT_BLOCKED", "STRICT", "VOLATILE_KEYS", "ArgumentRules", "CycleRule", "DriftRule",
    "IdenticalRule", "KeyPath", "Mode", "Policy", "PollRule", "Profile", "ProgressRule", "ResultRules", "SameErrorRule",
    "ToolKind", "ToolPolicy",
]  # fmt: skip

Profile = Literal["standard", "strict", "lenient"]
Mode = Literal["observe", "nudge", "enforce"]
ToolKind = Literal["read", "write", "poll", "none", "unknown"]
KeyPath = tuple[str, ...]
"""A field inside arguments or a result: ``meta.request_id`` is ``("meta", "request_id")``; a segment ``[]`` stands
for every member of a list."""

VOLATILE_KEYS: Final = frozenset(["request_id", "trace_id", "span_id", "timestamp", "now", "nonce", "idempotency_key"])
"""Ignored at the top level by the profiles `standard` and `lenient`, except for declared writes: a write that names
another moment or request may be another write."""

REPORT_BLOCKED: Final = "report_blocked"
"""Name of the tool with which an agent says that it cannot go on."""
CYCLE_TURNS: Final = 192
"""Turns remembered as symbols for cycles: three laps of the longest, 64 turns."""
_MAX_FITTED: Final = 512
"""Names remembered beside those of the policy: more tools than agents are given, at most 128 KiB of names."""
_MAX_NAME: Final = 256


@dataclass(frozen=True, slots=True)
class IdenticalRule:
    """Equal calls in the window: thresholds count the judged call."""

    nudge: int = 3
    stop: int = 5
    in_a_row: int = 5


@dataclass(frozen=True, slots=True)
class CycleRule:
    """Laps in all, the first included."""

    max_period: int = 8
    nudge: int = 2
    stop: int = 3


@dataclass(frozen=True, slots=True)
class DriftRule:
    """Different arguments, same empty or failing answer."""

    nudge: int = 5


@dataclass(frozen=True, slots=True)
class SameErrorRule:
    """One message key, arguments ignored."""

    nudge: int = 3
    stop: int = 6


@dataclass(frozen=True, slots=True)
class PollRule:
    """Budgets of a declared poller; None is no limit. Times in nanoseconds."""

    max_unchanged: int | None = None
    max_total: int | None = None
    deadline: int | None = None
    min_interval: int | None = None


@dataclass(frozen=True, slots=True)
class ProgressRule:
    """One directional extractor."""

    kind: Literal["version", "state", "items", "decreasing", "percent"]
    path: KeyPath
    order: tuple[str, ...] = ()
    terminal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentRules:
    """How arguments become canonical, profile and tool already folded together."""

    volatile: frozenset[str] = VOLATILE_KEYS
    """Names dropped at the top level, by exact name."""
    ignore: tuple[KeyPath, ...] = ()
    identity: tuple[KeyPath, ...] | None = None
    """Only these fields count; None: all."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    drop_nulls: bool = True
    text: Literal["exact", "trim", "collapse"] = "trim"
    fold_case: bool = False
    """Case is folded in every text (profile `lenient`)."""
    case_insensitive: tuple[KeyPath, ...] = ()
    round: Mapping[KeyPath, int] = field(default_factory=dict)
    round_floats: int | None = None
    """Places to which every float is rounded (profile `lenient`)."""
    unordered: tuple[KeyPath, ...] = ()
    json: tuple[KeyPath, ...] = ()
    path: tuple[KeyPath, ...] = ()


STRICT: Final = ArgumentRules(volatile=frozenset(), drop_nulls=False, text="exact")
"""The "always" list and nothing else (profile `strict`)."""

LENIENT: Final = ArgumentRules(text="collapse", fold_case=True, round_floats=2)
"""What people who type call the same (profile `lenient`): blanks and case do not count, floats have two places."""


@dataclass(frozen=True, slots=True)
class ResultRules:
    """How a result is compared."""

    ignore: tuple[KeyPath, ...] = ()
    volatile: Literal["standard", "none"] | tuple[str, ...] = "standard"
    """The built-in set, nothing, or regular expressions to mask."""
    refusal: Literal["standard", "none"] | tuple[str, ...] = "standard"
    progress: ProgressRule | None = None
    changed: KeyPath | None = None
    """False there means that a write changed nothing."""
    cache: bool = False


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """All settings of one tool, defaults filled in."""

    kind: ToolKind = "unknown"
    identical: IdenticalRule = IdenticalRule()
    cycle: CycleRule = CycleRule()
    drift: DriftRule = DriftRule()
    same_error: SameErrorRule = SameErrorRule()
    arguments: ArgumentRules = ArgumentRules()
    result: ResultRules = ResultRules()
    poll: PollRule | None = None
    cursor: str | None = None
    """The argument that must advance from page to page."""
    idempotency_key: str | None = None
    duplicate_after_success: Literal["allow", "nudge", "stop"] = "stop"
    asks_user: bool = False
    mode: Mode = "observe"
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A whole policy; immutable, so one object serves every run."""

    revision: str | None = None
    """The owner's own version, emitted as `loopguard.policy.version`; None for the built-in policy."""
    profile: Profile = "standard"
    mode: Mode = "observe"
    window: int = 12
    """Earlier turns remembered for repeats, 4 to 64."""
    no_progress_turns: int = 6
    scope: tuple[str, ...] = ()
    default: ToolPolicy = ToolPolicy()
    tools: Mapping[str, ToolPolicy] = field(default_factory=dict)
    match: tuple[tuple[str, str], ...] = ()
    """Shell patterns, case-sensitive, in the file's order; a named tool wins."""
    ask_user: frozenset[str] = frozenset()
    _patterns: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    """All patterns as one expression."""
    _settled: Mapping[str, ToolPolicy] = field(init=False, repr=False, compare=False)
    """Named tools, tools that ask the user, and the report of a blocked agent: it changes nothing, and one report is
    like another."""
    _fitted: dict[str, ToolPolicy] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What was found for other names; emptied when it is full, since a model may make up any number of them."""

    def __post_init__(self) -> None:
        parts = (f"(?P<m{index}>{translate(pattern)})" for index, (pattern, _) in enumerate(self.match))
        object.__setattr__(self, "_patterns", re.compile("|".join(parts)) if self.match else None)
        object.__setattr__(self, "_settled", self.tools)
        asking = {tool: replace(self.for_tool(tool), asks_user=True) for tool in self.ask_user}
        rules = ResultRules(refusal="none")  # its answer is no refusal, whatever words it has
        report = replace(self.default, kind="none", arguments=ArgumentRules(identity=()), result=rules)
        object.__setattr__(self, "_settled", {REPORT_BLOCKED: report, **self.tools, **asking})

    def for_tool(self, tool: str) -> ToolPolicy:
        """The settings of a tool: its own, else those its first fitting pattern names, else the defaults."""
        found = self._settled.get(tool)
        if found is not None:
            return found
        return self.default if self._patterns is None else self._fitted.get(tool) or self._fit(tool)

    def _fit(self, tool: str) -> ToolPolicy:
        fitting = self.fitting(tool)
        found = self.default if fitting is None else self._settled[fitting[1]]
        if len(self._fitted) >= _MAX_FITTED:
            self._fitted.clear()
        if len(tool) <= _MAX_NAME:
            self._fitted[tool] = found
        return found

    def fitting(self, tool: str) -> tuple[str, str] | None:
        """The pattern that decides for a tool, and the named tool it stands for."""
        if self._patterns is None or tool in self.tools:
            return None
        found = self._patterns.match(tool)
        return None if found is None or found.lastgroup is None else self.match[int(found.lastgroup[1:])]

    def with_mode(self, mode: Mode) -> Policy:
        """The same policy with one mode for every tool, as `LOOPGUARD_MODE` sets it."""
        tools = {name: replace(settings, mode=mode) for name, settings in self.tools.items()}
        return replace(self, mode=mode, default=replace(self.default, mode=mode), tools=tools)
