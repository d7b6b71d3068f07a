"""What is allowed in a policy and probably not meant.

Not errors: a policy with advice works as written. The window has two inequalities: longest cycle <= window <
shortest legitimate gap, the fewest turns between two equal calls that are both useful.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .document import Path, Place, render
from .fold import Folded, ToolSettings
from .grammar import SMALLEST_WINDOW, WrittenTool
from .text import PolicyReading

__all__ = ["Advice", "advice"]


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to reconsider."""

    message: str
    path: str
    place: Place | None = None


def advice(reading: PolicyReading, shortest_gap: int | None = None) -> tuple[Advice, ...]:
    """Everything to reconsider in a policy without problems; ``shortest_gap`` in turns, where the owner knows it."""
    if reading.folded is None:
        return ()
    found = [
        *_window(reading.folded),
        *([] if shortest_gap is None else _gap(reading.folded, shortest_gap)),
        *(
            item
            for name, tool in reading.written.get("tools", {}).items()
            for item in _tool(reading.folded, name, tool)
        ),
    ]
    return tuple(Advice(message, render(path), reading.places.get(path)) for message, path in found)


def _window(folded: Folded) -> Iterator[tuple[str, Path]]:
    """What a small window made of the built-in values."""
    window = folded.policy.window
    clamped = [name for name, origin in folded.default.origins.items() if origin.clamped]
    if "cycle.max_period" in clamped:
        message = f"a window of {window} turns sees no lap of more than {window} turns, the built-in rule looks for 8"
        yield message, ("window",)
    lowered = ", ".join(f"`{name}`" for name in clamped if name != "cycle.max_period")
    if lowered:
        yield f"a window of {window} turns lowers {lowered} to {window}", ("window",)


def _gap(folded: Folded, gap: int) -> Iterator[tuple[str, Path]]:
    window = folded.policy.window
    if window < gap:
        return
    lap = max(settings.values["cycle.max_period"] for settings in (folded.default, *folded.tools.values()))
    useful = f"equal calls {gap} turns apart are useful, and a window of {window} turns counts them as repeats"
    if gap <= SMALLEST_WINDOW:
        yield f"{useful}: no window is that small, declare what the tool reads, polls or pages instead", ("window",)
    elif gap <= lap:
        yield f"{useful}: write a window below {gap} and a `cycle.max_period` of at most {gap - 1}", ("window",)
    else:
        fitting = f"of {lap}" if lap == gap - 1 else f"from {lap} to {gap - 1}"
        yield f"{useful}: write a window {fitting}", ("window",)


def _tool(folded: Folded, name: str, tool: WrittenTool) -> Iterator[tuple[str, Path]]:
    at: Path = ("tools", name)
    settings: ToolSettings = folded.tools[name]
    budgets = (value for setting, value in settings.values.items() if setting.startswith("poll."))
    if settings.values["kind"] == "poll" and all(value is None for value in budgets):
        yield "a poller without a budget may poll for ever, write `poll.max_unchanged` or `poll.deadline`", at
    items = tool.get("result", {}).get("progress", {}).get("items")
    if items is not None and "[]" not in items["path"]:
        message = "one item a result, write `[]` after the name of a list, such as `items[].id`"
        yield message, (*at, "result", "progress", "items", "path")
    if tool.get("result", {}).get("cache") and settings.values["kind"] == "unknown":
        message = "only answers of declared reads are kept, write `kind: read` if the tool changes nothing"
        yield message, (*at, "result", "cache")
    if tool.get("idempotency_key") is not None and settings.values["duplicate_after_success"] == "allow":
        message = "every repeat is allowed, so the key is never asked for"
        yield message, (*at, "idempotency_key")
