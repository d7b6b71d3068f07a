"""The effective settings of one tool, each with where it came from, as people and programs read them.

Not a policy: nothing decides by a view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from otel_loopguard.core.policy import ProgressRule

from .document import Place, render
from .fold import BUILT_IN, Origin, ToolSettings
from .grammar import ONLY_FOR
from .text import PolicyReading

__all__ = ["Setting", "ToolView", "policy_settings", "view"]

_PROFILE: Final = {
    "arguments.volatile": "arguments.ignore",
    "arguments.fold_case": "arguments.case_insensitive",
    "arguments.round_floats": "arguments.round",
}
"""Settings that no key of a file holds but `profile`, by the key under which they are shown."""
_RENAMED: Final = {"cursor": "page.cursor", "asks_user": "ask_user"}
_SECONDS: Final = 1_000_000_000
_MILLISECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value."""

    name: str
    """As in the file: ``identical.nudge``."""
    value: object
    """Plain data; fields and durations as the file writes them."""
    source: str
    """`built-in`, `profile`, `kind`, `policy`, `defaults`, `match` or `tool`."""
    clamped: bool = False
    """The built-in value was larger than the window."""
    path: str | None = None
    """Of the setting in the file; None for what the file does not say."""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ToolView:
    """All that holds for one tool."""

    tool: str | None
    """None: every tool that the policy does not name."""
    pattern: str | None
    """The pattern of ``match`` that fits the tool's name."""
    target: str | None
    """The named tool whose settings hold."""
    settings: tuple[Setting, ...]


def view(reading: PolicyReading, tool: str | None = None) -> ToolView:
    """The effective settings of a tool; without one those of every tool that is not named.

    Raises the reading's first problem, a `PolicyError`, where the policy is wrong.
    """
    folded = reading.sound()
    pattern, target = (None, None) if tool is None else folded.policy.fitting(tool) or (None, None)
    if target is None and tool in folded.tools:
        target = tool
    settings = folded.default if target is None else folded.tools[target]
    if tool in folded.policy.ask_user:
        settings = replace(settings, values=dict(settings.values), origins=dict(settings.origins))
        settings.lay("asks_user", value=True, origin=Origin("policy", ("ask_user",)))
    shown = tuple(_settings(settings, reading, by_pattern=pattern is not None))
    return ToolView(tool, pattern, target, shown)


def policy_settings(reading: PolicyReading) -> tuple[Setting, ...]:
    """The settings that hold for every tool. Raises the reading's first problem where the policy is wrong."""
    policy = reading.sound().policy
    values = {
        "revision": policy.revision,
        "profile": policy.profile,
        "mode": policy.mode,
        "window": policy.window,
        "turns.no_progress": policy.no_progress_turns,
        "scope": list(policy.scope),
        "match": dict(policy.match),
        "ask_user": sorted(policy.ask_user),
    }
    found = []
    for name, value in values.items():
        path = tuple(name.split("."))
        place = reading.places.get(path)
        path_shown = None if place is None else render(path)
        found.append(Setting(name, value, "built-in" if place is None else "policy", path=path_shown, place=place))
    return tuple(found)


def _settings(settings: ToolSettings, reading: PolicyReading, *, by_pattern: bool) -> Iterator[Setting]:
    kind = settings.values["kind"]
    hidden = {".".join(path) for path, kinds in ONLY_FOR if kind not in kinds}
    for name in settings.values:
        shown = _RENAMED.get(name, name)
        if name == "poll" or name in _PROFILE or hidden & {shown, shown.partition(".")[0]}:
            continue
        value, origin = _effective(name, settings)
        source = "match" if by_pattern and origin.source == "tool" else origin.source
        path = render(origin.path) if origin.path else None
        yield Setting(shown, _plain(name, value), source, origin.clamped, path, reading.places.get(origin.path))


def _effective(name: str, settings: ToolSettings) -> tuple[object, Origin]:
    """A value with what the profile adds to it, and where it comes from."""
    value, origin = settings.values[name], settings.origins[name]
    more = next((part for part, key in _PROFILE.items() if key == name), None)
    by_profile = None if more is None else settings.values[more]
    if more is None or by_profile is None or by_profile is False:
        return value, origin
    if isinstance(by_profile, frozenset):
        value = (*value, *((key,) for key in sorted(by_profile)))
    elif isinstance(value, Mapping):
        value = {**value, "every float": by_profile}
    else:
        value = (*value, ("every text",))
    return value, settings.origins[more] if origin == BUILT_IN else origin


def _plain(name: str, value: object) -> object:
    """A value as the file writes it."""
    if isinstance(value, ProgressRule):
        rule = {"path": _field(value.path), "order": list(value.order), "terminal": list(value.terminal)}
        return {value.kind: {key: said for key, said in rule.items() if said}}
    if name in {"poll.deadline", "poll.min_interval"} and isinstance(value, int):
        return f"{value // _SECONDS}s" if value % _SECONDS == 0 else f"{value // _MILLISECONDS}ms"
    if name == "result.changed" and isinstance(value, tuple):
        return _field(value)
    if isinstance(value, Mapping):
        return {_field(key) if isinstance(key, tuple) else key: said for key, said in value.items()}
    if isinstance(value, (tuple, frozenset)):
        items = [_field(item) if isinstance(item, tuple) else item for item in value]
        return sorted(items) if isinstance(value, frozenset) else items
    return value


def _field(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[]", "[]")
