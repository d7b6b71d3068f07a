"""What the demo shows and what it asks of itself: tables, savings, and the checks that decide the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from demo.run import DOLLARS_A_MILLION_IN, DOLLARS_A_MILLION_OUT, GUARD_EVENTS, Call, Run, saving
from demo.scripts import STEPS

__all__ = ["Check", "check_guarded", "checks", "show"]

FOLD: Final = 4
"""So many rows that differ in nothing but their numbers become one."""

STYLES: Final = {"allow": "green", "nudge": "yellow", "stop": "bold red", "unknown": "magenta"}


class Check(NamedTuple):
    """One thing that must hold."""

    holds: bool
    words: str


def checks(stuck: Run, healthy: Run, requests: Iterable[bytes], secret: str, *, logs: bool) -> list[Check]:
    """What must hold: the loop found early, the healthy run left alone, nothing readable on the wire.

    `logs` says whether this SDK can send log events.
    """
    asked = [call for call in stuck.calls if call.tool == "search_logs"]
    nudge, stop = stuck.first("nudge"), stuck.first("stop")
    raw = b"".join(requests)
    everything = [*stuck.calls, *healthy.calls]
    return [
        Check(len(stuck.calls) == len(healthy.calls) == STEPS, f"both runs are complete: {STEPS} tool spans each"),
        Check(
            len({call.fingerprint for call in asked}) == 1 and bool(asked and asked[0].fingerprint),
            "the question in four spellings has one fingerprint",
        ),
        Check(
            nudge is not None and stop is not None and nudge < stop <= STEPS // 4,
            f"the loop is found: nudge at step {nudge}, stop at step {stop}",
        ),
        Check(
            bool(stuck.events if logs else stuck.span_events),
            f"the loop events came over OTLP: {', '.join(stuck.events) or f'{stuck.span_events} on spans'}",
        ),
        Check(
            not healthy.events and not healthy.span_events and all(call.verdict == "allow" for call in healthy.calls),
            "the healthy run is left alone: no nudge, no stop, no event",
        ),
        Check(
            all(call.arguments == "[REDACTED]" for call in everything) and secret.encode() not in raw,
            f"no argument or result is readable in the {len(raw):,} bytes that arrived",
        ),
    ]


def check_guarded(guarded: Run, *, logs: bool) -> Check:
    """The guarded agent asks its question once; refused twice, it is stopped."""
    ran = sum(call.tool == "search_logs" for call in guarded.calls)
    steps = len(guarded.dollars)
    denied, ended = GUARD_EVENTS[0], GUARD_EVENTS[1:]
    told = guarded.guard == (denied, denied, *ended) if logs else True
    return Check(
        ran == 1 and steps <= STEPS // 4 and told,
        f"the guarded agent is stopped at step {steps}: told, refused, refused, its question was dispatched once",
    )


def show(console: Console, stuck: Run, healthy: Run, guarded: Run) -> None:
    """Both runs as tables, side by side where the terminal is wide enough, then what stopping would have saved."""
    tables = (
        _table("stuck: one question in four spellings", stuck),
        _table("healthy: pages, a poll, edits and test runs", healthy),
    )
    console.print(Columns(tables, padding=(1, 3)))
    saved = saving(stuck)
    if saved is None:
        return
    share = saved.dollars / saved.of_dollars
    console.print(
        f"Stopping the stuck run at step [bold]{saved.step}[/] instead of {len(stuck.calls)} saves "
        f"[bold]{saved.steps} steps[/] and [bold]${saved.dollars:.2f}[/] of ${saved.of_dollars:.2f} ({share:.0%}): "
        f"the transcript is sent again at every step, at an assumed ${DOLLARS_A_MILLION_IN:g} a million tokens in "
        f"and ${DOLLARS_A_MILLION_OUT:g} out, nothing cached."
    )
    console.print(
        f"The same agent with a guard ended at step [bold]{len(guarded.dollars)}[/] after {len(guarded.calls)} tool "
        f"calls and [bold]${sum(guarded.dollars):.2f}[/], without one at step {len(stuck.dollars)} after "
        f"{len(stuck.calls)} and ${sum(stuck.dollars):.2f}."
    )


def _table(title: str, run: Run) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("step", "tool", "fingerprint", "repeat", "verdict"):
        table.add_column(heading, justify="right" if heading in {"step", "repeat"} else "left", no_wrap=True)
    for row in _rows(run.calls):
        table.add_row(*row)
    return table


def _rows(calls: Iterable[Call]) -> Iterator[tuple[str, ...]]:
    for (tool, fingerprint, verdict), group in groupby(calls, lambda call: (call.tool, call.fingerprint, call.verdict)):
        alike = list(group)
        parts = [alike] if len(alike) >= FOLD else [[call] for call in alike]
        for part in parts:
            first, last = part[0], part[-1]
            yield (
                _span(first.step, last.step),
                tool,
                fingerprint[:12] or "-",
                _span(first.repeat, last.repeat),
                f"[{STYLES.get(verdict, 'red')}]{verdict or 'none'}[/]",
            )


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
