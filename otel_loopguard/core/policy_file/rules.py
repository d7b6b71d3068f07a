"""Which settings of a policy contradict each other or can never take effect.

Not the shape of single values (`policy_shape`). Every rule names the setting, says why and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from otel_loopguard.core.policy import CYCLE_TURNS, KeyPath, ToolKind
from otel_loopguard.errors import PolicyError

from .document import Path
from .fold import WINDOWED, Folded, ToolSettings
from .grammar import ONLY_FOR, WrittenArguments, WrittenPolicy, WrittenTool
from .shape import Reading

__all__ = ["contradictions"]

_GLOB: Final = frozenset("*?[")


def contradictions(written: WrittenPolicy, folded: Folded, reading: Reading) -> Iterator[PolicyError]:
    """Every contradiction of a policy, in the file's order as far as the rules allow."""
    window = folded.policy.window
    yield from _windows(folded.default, ("defaults",), window, reading)
    yield from _order(folded.default, ("defaults",), reading)
    yield from _laps(folded.default, reading)
    for name, tool in written.get("tools", {}).items():
        at = ("tools", name)
        settings = folded.tools[name]
        yield from _windows(settings, at, window, reading)
        yield from _order(settings, at, reading, folded.default)
        yield from _kinds(tool, settings.values["kind"], at, reading)
        yield from _poll(tool, at, reading)
        yield from _progress(tool, at, reading)
        yield from _arguments(tool, at, reading)
        yield from _cursor(tool, at, reading)
    yield from _match(written, reading)


def _windows(settings: ToolSettings, at: Path, window: int, reading: Reading) -> Iterator[PolicyError]:
    """Thresholds that the window can never hold."""
    for name in WINDOWED:
        origin, value = settings.origins[name], settings.values[name]
        if value > window and _is_below(origin.path, at):
            what = "a lap of {} turns does not fit" if name == "cycle.max_period" else "{} can never be reached in"
            hint = f"raise `window` or write at most {window}"
            yield reading.error(f"{what.format(value)} a window of {window} turns, {hint}", origin.path)


def _laps(settings: ToolSettings, reading: Reading) -> Iterator[PolicyError]:
    """Laps of which so many are never remembered."""
    period, stop = settings.values["cycle.max_period"], settings.values["cycle.stop"]
    if period * stop > CYCLE_TURNS:
        message = f"{stop} laps of {period} turns are never seen, {CYCLE_TURNS} turns are remembered, lower one of them"
        yield reading.error(message, ("defaults", "cycle"))


def _order(
    settings: ToolSettings, at: Path, reading: Reading, outer: ToolSettings | None = None
) -> Iterator[PolicyError]:
    """Nudges that do not come before their stop; what the ``outer`` settings say already is not said again."""
    for section in ("identical", "cycle", "same_error"):
        names = (f"{section}.nudge", f"{section}.stop")
        nudge, stop = (settings.values[name] for name in names)
        origins = [settings.origins[name] for name in names]
        if nudge < stop or (outer is not None and origins == [outer.origins[name] for name in names]):
            continue
        own = [origin.path for origin in origins if _is_below(origin.path, at)]
        where = own[0] if len(own) == 1 else (*at, section) if own else at
        hint = f"write a `stop` above {nudge} or a `nudge` below {stop}"
        yield reading.error(f"a nudge at {nudge} never comes before the stop at {stop}, {hint}", where)


def _is_below(path: Path, at: Path) -> bool:
    return path[: len(at)] == at


def _kinds(tool: WrittenTool, kind: ToolKind, at: Path, reading: Reading) -> Iterator[PolicyError]:
    for setting, kinds in ONLY_FOR:
        here = (*at, *setting)
        if here in reading.places and kind not in kinds:
            allowed = " or ".join(f"`{name}`" for name in kinds)
            message = f"`{setting[-1]}` has no effect on a tool of `kind: {kind}`, only where `kind` is {allowed}"
            yield reading.error(message, here)
    if tool.get("result", {}).get("cache") and kind == "write":
        message = "the answer of a write is never kept for a repeat, remove `cache` or declare another `kind`"
        yield reading.error(message, (*at, "result", "cache"))


def _poll(tool: WrittenTool, at: Path, reading: Reading) -> Iterator[PolicyError]:
    poll = tool.get("poll", {})
    unchanged, total = poll.get("max_unchanged"), poll.get("max_total")
    if unchanged is not None and total is not None and unchanged > total:
        message = f"{unchanged} unchanged polls can never be reached with a `max_total` of {total}, lower the first"
        yield reading.error(message, (*at, "poll"))
    interval, deadline = poll.get("min_interval"), poll.get("deadline")
    if interval is not None and deadline is not None and interval > deadline:
        message = "the second poll is past the `deadline` already, write a `min_interval` below it"
        yield reading.error(message, (*at, "poll"))


def _progress(tool: WrittenTool, at: Path, reading: Reading) -> Iterator[PolicyError]:
    """A field of a result that is ignored and decides at once."""
    result = tool.get("result", {})
    ignored = frozenset(result.get("ignore", ()))
    for kind, rule in result.get("progress", {}).items():
        if _covered(rule["path"], ignored):
            message = f"`{_shown(rule['path'])}` is in `ignore` too, remove it from one of them"
            yield reading.error(message, (*at, "result", "progress", kind, "path"))


def _arguments(tool: WrittenTool, at: Path, reading: Reading) -> Iterator[PolicyError]:
    arguments = tool.get("arguments", {})
    here = (*at, "arguments")
    ignored = frozenset(arguments.get("ignore", ()))
    identity = arguments.get("identity")
    if identity is not None and all(_covered(path, ignored) for path in identity):
        message = "every field of `identity` is in `ignore` too, so all calls would be equal, remove one from `ignore`"
        yield reading.error(message, (*here, "identity"))
    key = tool.get("idempotency_key")
    if identity and key is not None and all(path[0] == key for path in identity):
        message = f"only the idempotency key `{key}` is in `identity`, so all writes would be equal, name what differs"
        yield reading.error(message, (*here, "identity"))
    for name, path, place in _normalised(arguments):
        if _covered(path, ignored):
            message = f"`{_shown(path)}` is in `ignore` too, remove it from one of them"
            yield reading.error(message, (*here, name, place))


def _cursor(tool: WrittenTool, at: Path, reading: Reading) -> Iterator[PolicyError]:
    """A cursor that does not count, so that no page differs from the one before; a row of pages."""
    cursor = tool.get("page", {}).get("cursor")
    if cursor is None:
        return
    if "in_a_row" in tool.get("identical", {}):
        message = "pages may follow each other without end, so a tool with `page` has no `in_a_row`, remove it"
        yield reading.error(message, (*at, "identical", "in_a_row"))
    arguments = tool.get("arguments", {})
    identity = arguments.get("identity")
    if _covered((cursor,), frozenset(arguments.get("ignore", ()))):
        message = f"the cursor `{cursor}` is in `arguments.ignore`, so every page would be the same call"
        yield reading.error(message, (*at, "page", "cursor"))
    if identity is not None and not any(path[0] == cursor for path in identity):
        message = f"the cursor `{cursor}` is not in `arguments.identity`, so every page would be the same call"
        yield reading.error(message, (*at, "page", "cursor"))


def _normalised(arguments: WrittenArguments) -> Iterator[tuple[str, KeyPath, str | int]]:
    """Fields with a rule of their own: the rule, the field, the last step of the setting's path."""
    lists = {name: arguments.get(name, ()) for name in ("case_insensitive", "unordered", "json", "path")}
    for name, paths in lists.items():
        for index, path in enumerate(paths):  # type: ignore[arg-type, var-annotated]
            yield name, path, index
    for path in arguments.get("round", {}):
        yield "round", path, _shown(path)
    for field in arguments.get("defaults", {}):
        yield "defaults", (field,), field


def _covered(path: KeyPath, by: frozenset[KeyPath]) -> bool:
    """Whether a field or one that holds it is listed."""
    return any(path[:length] in by for length in range(1, len(path) + 1))


def _shown(path: KeyPath) -> str:
    return ".".join(path).replace(".[]", "[]")


def _match(written: WrittenPolicy, reading: Reading) -> Iterator[PolicyError]:
    tools = written.get("tools", {})
    earlier: list[str] = []
    for pattern, tool in written.get("match", {}).items():
        at = ("match", pattern)
        if tool not in tools:
            yield reading.error(f"`{tool}` is not in `tools`, describe it there", at)
        if pattern in tools and not _GLOB & set(pattern):
            yield reading.error("a tool of this name is in `tools`, whose own settings win, remove one of them", at)
        first = next((other for other in earlier if _includes(other, pattern)), None)
        if first is not None:
            yield reading.error(f"never reached: `{first}` stands before it and fits the same names", at)
        earlier.append(pattern)


def _includes(general: str, special: str) -> bool:
    """Whether every name that fits ``special`` fits ``general``, as far as stars alone can tell."""
    return not {"?", "["} & set(general) and "[" not in special and fnmatchcase(special, general)
