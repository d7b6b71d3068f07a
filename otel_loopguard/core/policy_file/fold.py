"""From what a policy says to what holds: built-in values, profile, kind, defaults and the tool, laid over each other.

Not the checks: a contradiction is folded like anything else and found by `policy_rules`. Every value remembers
where it came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Final, Literal

from otel_loopguard.core.policy import (
    LENIENT,
    STRICT,
    ArgumentRules,
    CycleRule,
    DriftRule,
    IdenticalRule,
    KeyPath,
    Policy,
    PollRule,
    Profile,
    ProgressRule,
    ResultRules,
    SameErrorRule,
    ToolPolicy,
)  # fmt: skip

from .document import Path
from .grammar import WrittenArguments, WrittenDefaults, WrittenPolicy, WrittenTool

__all__ = ["BUILT_IN", "WINDOWED", "Folded", "Origin", "Source", "ToolSettings", "fold"]

Source = Literal["built-in", "profile", "kind", "policy", "defaults", "tool"]
"""Who says a value: nobody, the profile, the tool's kind, the top of the file, ``defaults``, the tool's entry."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an effective value came from."""

    source: Source
    path: Path = ()
    """Of the setting in the file; empty for what the file does not say."""
    clamped: bool = False
    """The built-in value was larger than the window."""


BUILT_IN: Final = Origin("built-in")
_POLICY: Final = Policy()
_BY_KIND: Final = Origin("kind")
_THRESHOLDS: Final = ("identical", "cycle", "drift", "same_error")
WINDOWED: Final = (
    "identical.nudge",
    "identical.stop",
    "identical.in_a_row",
    "same_error.nudge",
    "same_error.stop",
    "cycle.max_period",
)
"""What is counted inside the window, or must fit it."""


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The effective settings of one tool by dotted name, before they become a `ToolPolicy`."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)

    def lay(self, name: str, value: object, origin: Origin) -> None:
        """Set one value over what was there."""
        self.values[name] = value
        self.origins[name] = origin

    def clamp(self, window: int) -> None:
        """Built-in thresholds that a small window leaves no room for become the window."""
        for name in WINDOWED:
            if self.values[name] > window and self.origins[name].source == "built-in":
                self.lay(name, window, Origin("built-in", clamped=True))

    def part(self, section: str) -> dict[str, Any]:
        """The values below one section, without its name."""
        start = section + "."
        return {name[len(start) :]: value for name, value in self.values.items() if name.startswith(start)}

    def build(self) -> ToolPolicy:
        """The settings as the engine reads them."""
        top = {name: value for name, value in self.values.items() if "." not in name and name != "poll"}
        return ToolPolicy(
            **top,
            identical=IdenticalRule(**self.part("identical")),
            cycle=CycleRule(**self.part("cycle")),
            drift=DriftRule(**self.part("drift")),
            same_error=SameErrorRule(**self.part("same_error")),
            arguments=ArgumentRules(**self.part("arguments")),
            result=ResultRules(**self.part("result")),
            poll=PollRule(**self.part("poll")) if self.values["kind"] == "poll" else None,
        )


@dataclass(frozen=True, slots=True)
class Folded:
    """A policy with, for its defaults and every named tool, the settings that it was built from."""

    policy: Policy
    default: ToolSettings
    tools: Mapping[str, ToolSettings]


def fold(written: WrittenPolicy) -> Folded:
    """The effective policy; targets of ``match`` that are not in ``tools`` are left out."""
    defaults = written.get("defaults", {})
    asked = written.get("ask_user", ())
    default = _settings(written, defaults, {}, (), asks_user=False)
    tools = {
        name: _settings(written, defaults, tool, ("tools", name), asks_user=name in asked)
        for name, tool in written.get("tools", {}).items()
    }
    policy = Policy(
        revision=written.get("revision"),
        profile=written.get("profile", "standard"),
        mode=written.get("mode", "observe"),
        window=written.get("window", _POLICY.window),
        no_progress_turns=written.get("turns", {}).get("no_progress", _POLICY.no_progress_turns),
        scope=written.get("scope", ()),
        default=default.build(),
        tools={name: settings.build() for name, settings in tools.items()},
        match=tuple((pattern, tool) for pattern, tool in written.get("match", {}).items() if tool in tools),
        ask_user=frozenset(asked),
    )
    return Folded(policy, default, tools)


def _settings(
    written: WrittenPolicy, defaults: WrittenDefaults, tool: WrittenTool, at: Path, *, asks_user: bool
) -> ToolSettings:
    settings = ToolSettings()
    for name, value in _flat(ToolPolicy()):
        settings.lay(name, value, BUILT_IN)
    for name, value in _flat(PollRule(), "poll."):
        settings.lay(name, value, BUILT_IN)
    if "mode" in written:
        settings.lay("mode", written["mode"], Origin("policy", ("mode",)))
    _lay_thresholds(settings, defaults, "defaults", ("defaults",), own_kind="kind" not in tool)
    _lay_thresholds(settings, tool, "tool", at, own_kind=True)
    _lay_arguments(settings, written.get("profile", "standard"), tool, at)
    _lay_rest(settings, tool, at)
    if asks_user:
        settings.lay("asks_user", value=True, origin=Origin("policy", ("ask_user",)))
    settings.clamp(written.get("window", _POLICY.window))
    return settings


def _flat(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """The fields of a settings object by dotted name."""
    if not is_dataclass(value):
        return
    for item in fields(value):
        member = getattr(value, item.name)
        if is_dataclass(member) and item.name != "progress":
            yield from _flat(member, f"{prefix}{item.name}.")
        else:
            yield prefix + item.name, member


def _lay_thresholds(settings: ToolSettings, said: WrittenDefaults, source: Source, at: Path, *, own_kind: bool) -> None:
    """Kind and thresholds of one level. Declaring a tool as `read` sets two and three at that level, so that the
    level's own `identical` wins over it and an outer level's does not.
    """
    if own_kind and "kind" in said:
        settings.lay("kind", said["kind"], Origin(source, (*at, "kind")))
        if said["kind"] == "read":
            settings.lay("identical.nudge", 2, _BY_KIND)
            settings.lay("identical.stop", 3, _BY_KIND)
    for section in _THRESHOLDS:
        thresholds: Mapping[str, int] = said.get(section, {})  # type: ignore[assignment]
        for name, value in thresholds.items():
            settings.lay(f"{section}.{name}", value, Origin(source, (*at, section, name)))


def _lay_arguments(settings: ToolSettings, profile: Profile, tool: WrittenTool, at: Path) -> None:
    rules = {"strict": STRICT, "lenient": LENIENT}.get(profile)
    if rules is not None:
        for name, value in _flat(rules, "arguments."):
            if value != settings.values[name]:
                settings.lay(name, value, Origin("profile", ("profile",)))
    if settings.values["kind"] == "write" and settings.values["arguments.volatile"]:
        settings.lay("arguments.volatile", frozenset(), _BY_KIND)
    written = tool.get("arguments", {})
    for name, value in written.items():
        settings.lay(f"arguments.{name}", value, Origin("tool", (*at, "arguments", name)))
    declared = _declared(written) | set(tool.get("page", {}).values())
    kept = settings.values["arguments.volatile"] & declared
    if kept:
        settings.lay("arguments.volatile", settings.values["arguments.volatile"] - kept, Origin("tool", at))


def _declared(arguments: WrittenArguments) -> set[str]:
    """Top-level fields that the owner gives a meaning: their names are no reason to leave them out."""
    listed: tuple[KeyPath, ...] = (
        *arguments.get("identity", ()), *arguments.get("case_insensitive", ()), *arguments.get("round", {}),
        *arguments.get("unordered", ()), *arguments.get("json", ()), *arguments.get("path", ()),
    )  # fmt: skip
    return {path[0] for path in listed} | {*arguments.get("defaults", {})}


def _lay_rest(settings: ToolSettings, tool: WrittenTool, at: Path) -> None:
    if settings.values["kind"] == "read":
        settings.lay("result.cache", value=True, origin=_BY_KIND)
    result = tool.get("result", {})
    for name, value in result.items():
        settings.lay(f"result.{name}", value, Origin("tool", (*at, "result", name)))
    for kind, rule in result.get("progress", {}).items():
        progress = ProgressRule(kind, rule["path"], rule.get("order", ()), rule.get("terminal", ()))
        settings.lay("result.progress", progress, Origin("tool", (*at, "result", "progress")))
    if "changed" in result:
        settings.lay("result.changed", result["changed"]["path"], Origin("tool", (*at, "result", "changed", "path")))
    for name, value in tool.get("poll", {}).items():
        settings.lay(f"poll.{name}", value, Origin("tool", (*at, "poll", name)))
    if "page" in tool:
        settings.lay("cursor", tool["page"]["cursor"], Origin("tool", (*at, "page", "cursor")))
    for name in ("mode", "idempotency_key", "duplicate_after_success", "owner"):
        if name in tool:
            settings.lay(name, tool[name], Origin("tool", (*at, name)))  # type: ignore[literal-required]
