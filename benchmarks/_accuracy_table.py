"""The accuracy figures as one table, what is measured side by side.

Not a report of its own: everything in it is in the JSON too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from _corpora import SOURCES
from _rulesets import KEYS, PLAIN
from _scores import ONE_SIDED, Judged, Score, by_kind, found, score
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from _results import Results

__all__ = ["show"]

_WIDTH = 146
"""Columns where the output is no terminal."""


def show(results: Results, shares: Mapping[str, float], limits: Mapping[str, float]) -> None:
    """Print the table, what the labels are worth, and which share is over its limit."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(_table(results))
    console.print("P R F1: precision, recall, F1 by the labels `read` and `given` alone; a dash: they tell nothing.")
    console.print("calls: median number of calls until a loop was found. What the sources of labels are worth:")
    for name, worth in SOURCES.items():
        console.print(f"  {name}: {worth}", highlight=False)
    chance = sum(results.chance.values())
    console.print(f"runs flagged under one of {len(KEYS)} keys and not under another: {chance}", highlight=False)
    for name, share in shares.items():
        over = "over" if share > limits[name] else "within"
        console.print(f"{name} {share:.4f}, {over} its limit of {limits[name]:.2f}", highlight=False)


def _table(results: Results) -> Table:
    table = Table(
        title="Runs flagged, and how often that is right (P R F1 in percent)", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for name in ("", "runs", "loop/clean", "flag/stop", "calls", "ours"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for name in PLAIN:
        table.add_column(name, justify="right", no_wrap=True)
    for corpus in results.corpora:
        plain = [score(results.plain[rule][corpus.name]) for rule in PLAIN]
        _add(table, corpus.name, score(results.ours[corpus.name]), [_percent(one) for one in plain])
    table.add_section()
    everything = [score(results.of_all(results.plain[rule])) for rule in PLAIN]
    _add(table, "all corpora", score(results.of_all(results.ours)), [_percent(one) for one in everything])
    table.add_row("flagged of them", *[""] * 5, *[str(one.flagged) for one in everything])
    table.add_section()
    table.add_row("share that is flagged", style="bold")
    for name in ONE_SIDED:
        _add_source(table, name, results)
    table.add_section()
    table.add_row("ours, by one kind alone", style="bold")
    for kind in results.kinds:
        _add(table, f"  {kind}", by_kind(results.of_all(results.ours), kind), [])
    table.add_section()
    table.add_row("ours, without", style="bold")
    for name, judged in results.ablated.items():
        _add(table, f"  {name}", score(results.of_all(judged)), [])
    return table


def _add(table: Table, name: str, ours: Score, plain: Sequence[str]) -> None:
    calls = "" if ours.calls is None else f"{ours.calls:g}"
    labelled = f"{ours.loops}/{ours.clean}" if ours.loops or ours.clean else ""
    table.add_row(name, str(ours.runs), labelled, f"{ours.flagged}/{ours.stopped}", calls, _percent(ours, 1), *plain)


def _add_source(table: Table, name: str, results: Results) -> None:
    """A row of a source that tells one side: how many of its runs each set of rules flags."""
    ours = results.of_all(results.ours)
    flagged, stopped, whole = _found(ours, name)
    if not whole:
        return
    shares = [_found(results.of_all(results.plain[rule]), name)[0] / whole for rule in PLAIN]
    table.add_row(
        f"  {name}", str(whole), "", f"{flagged}/{stopped}", "", f"{flagged / whole:.1%}",
        *[f"{share:.1%}" for share in shares],
    )  # fmt: skip


def _found(judged: Sequence[Judged], name: str) -> tuple[int, int, int]:
    source, label, grouped = ONE_SIDED[name]
    return found(judged, source, label=label, grouped=grouped)


def _percent(one: Score, places: int = 0) -> str:
    """Precision, recall and F1 in percent; a dash where no label tells."""
    shares = (one.precision, one.recall, one.f1)
    return " ".join("-" if share is None else f"{100 * share:.{places}f}" for share in shares)
