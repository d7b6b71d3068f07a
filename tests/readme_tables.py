"""The README's tables, written from the registry of names: `python -m tests.readme_tables` writes them anew.

A table stands between `<!-- names: KIND -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from otel_loopguard.names import ATTRIBUTES, EVENTS, METRICS, SPAN_ATTRIBUTES, VARIABLES, Name

__all__ = ["TABLES", "with_tables"]

_MARKED: Final = re.compile(r"(<!-- names: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(headings: Iterable[str], names: Iterable[Name], columns: Callable[[Name], Iterable[str]]) -> str:
    rows = [tuple(headings), *(tuple(columns(name)) for name in names)]
    rows.insert(1, ("---",) * len(rows[0]))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _values(words: str) -> str:
    values = words.split(" | ")
    return words if len(values) == 1 else " \\| ".join(f"`{value}`" for value in values)


def _typed(name: Name) -> Iterable[str]:
    return f"`{name.name}`", name.type, name.meaning


TABLES: Final = {
    "settings": _table(
        ("variable", "values", "what it does"),
        VARIABLES,
        lambda name: (f"`{name.name}`", _values(name.type), name.meaning),
    ),
    "span attributes": _table(("attribute", "type", "meaning"), SPAN_ATTRIBUTES, _typed),
    "event attributes": _table(
        ("attribute", "type", "meaning"), [name for name in ATTRIBUTES if name not in SPAN_ATTRIBUTES], _typed
    ),
    "events": _table(("event", "severity", "meaning"), EVENTS, _typed),
    "metrics": _table(
        ("metric", "kind", "unit", "meaning"),
        METRICS,
        lambda name: (f"`{name.name}`", name.kind, f"`{name.type}`", name.meaning),
    ),
}
"""Markdown of every table by the words of its marker."""


def with_tables(text: str) -> str:
    """The text with every marked table as the registry has it; a marker that names no table is a KeyError."""
    return _MARKED.sub(lambda found: found[1] + TABLES[found[2]] + found[3], text)


if __name__ == "__main__":
    readme = Path(__file__).resolve().parent.parent / "README.md"
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")
