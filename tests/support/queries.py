"""The queries of `collector_config/QUERIES.md`: which question each answers, and in which language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["COLLECTOR_CONFIG", "TEXT", "VIEWS", "Query", "queries"]

COLLECTOR_CONFIG: Final = Path(__file__).resolve().parents[2] / "collector_config"
TEXT: Final = (COLLECTOR_CONFIG / "QUERIES.md").read_text(encoding="utf-8")
_LANGUAGES: Final = {"sql clickhouse": "clickhouse", "sql duckdb": "duckdb", "json jaeger": "jaeger"}
_PART: Final = re.compile(
    r"^## (?P<question>[^\n]+)$|^```(?P<fence>[a-z ]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Query(NamedTuple):
    """One fenced block under a question."""

    question: str
    language: str
    text: str


def _parts() -> list[Query]:
    question, found = "", []
    for part in _PART.finditer(TEXT):
        question = part["question"] or question
        if part["fence"]:
            found.append(Query(question, _LANGUAGES.get(part["fence"], part["fence"]), part["text"].strip()))
    return found


VIEWS: Final = next(part.text for part in _parts() if part.language == "sql duckdb views")
"""What DuckDB is told before it is asked anything."""


def queries(*languages: str) -> list[Query]:
    """All queries in these languages, in the file's order."""
    return [part for part in _parts() if part.language in languages]
