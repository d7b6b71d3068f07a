"""What a tool owner may declare: the settings of an engine, resolved per tool.

Not their reading from text (`policy_text`): here are only values, their built-in defaults and the rule that
finds a tool's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

__all__ = [
    "ArgumentRules", "CycleRule", "DriftRule", "IdenticalRule", "KeyPath", "Mode", "Policy", "PollRule", "Profile",
    "ProgressRule", "ResultRules", "SameErrorRule", "ToolKind", "ToolPolicy", "VOLATILE_KEYS",
]  # fmt: skip

Profile = Literal["standard", "strict", "lenient"]
Mode = Literal["observe", "nudge", "enforce"]
ToolKind = Literal["read", "write", "poll", "none", "unknown"]
KeyPath = tuple[str, ...]
"""A field inside arguments or a result: ``meta.request_id`` is ``("meta", "request_id")``; a segment ``[]`` stands
for every member of a list."""

VOLATILE_KEYS = frozenset(
    ["request_id", "trace_id", "span_id", "timestamp", "now", "nonce", "idempotency_key"]
)
"""Ignored at the top level by the profiles `standard` and `lenient`, except for declared writes (design section 3)."""


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


STRICT = ArgumentRules(volatile=frozenset(), drop_nulls=False, text="exact")
"""The "always" list and nothing else (profile `strict`)."""


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

    def for_tool(self, tool: str) -> ToolPolicy:
        """The settings of a tool: its own, else those its first fitting pattern names, else the defaults."""
        found = self.tools.get(tool)
        if found is not None:
            return found
        for pattern, target in self.match:
            if fnmatchcase(tool, pattern):
                return self.tools[target]
        return self.default
