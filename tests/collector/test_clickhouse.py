"""The SQL for ClickHouse is answered by ClickHouse, in the exporter's own tables, as DuckDB answers its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.answers import ANSWERS, TRACES, traces_of
from tests.support.clickhouse import statements
from tests.support.incident import Incident, incident
from tests.support.queries import COLLECTOR_CONFIG, Query, queries
from tests.support.required import missing

PYTHON: Final = COLLECTOR_CONFIG.parent / ".cache" / "chdb" / "bin" / "python"
ASK: Final = Path(__file__).parent / "ask_chdb.py"
EXPORTER: Final = "github.com/open-telemetry/opentelemetry-collector-contrib/exporter/clickhouseexporter"
QUERIES: Final = queries("clickhouse")


@pytest.fixture(scope="module")
def templates() -> Path:
    """The exporter's statements, of the release that the recipes are tested with."""
    if not PYTHON.exists():
        missing("chDB (0.5 GB) is not installed in .cache/chdb: make test-jaeger", variable="LOOPGUARD_TEST_BACKENDS")
    go = shutil.which("go")
    if go is None:
        missing("Go is not installed (https://go.dev/dl/), it fetches the exporter", variable="LOOPGUARD_TEST_BACKENDS")
    release = re.search(r"otlpreceiver (v[\d.]+)", (COLLECTOR_CONFIG / "builder.yaml").read_text(encoding="utf-8"))[1]
    command = [go, "mod", "download", "-json", f"{EXPORTER}@{release}"]
    done = subprocess.run(command, cwd=PYTHON.parents[2], capture_output=True, text=True, check=False)
    if done.returncode:
        missing(f"Go cannot fetch {EXPORTER}@{release}: {done.stderr[-500:]}", variable="LOOPGUARD_TEST_BACKENDS")
    return Path(json.loads(done.stdout)["Dir"]) / "internal" / "sqltemplates"


def ask(before: list[str], *texts: str) -> list[list[list[str | int]]]:
    """The rows that answer each query."""
    given = json.dumps({"before": before, "ask": texts})
    done = subprocess.run([PYTHON, ASK], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[list[str | int]]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def afternoon(templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Incident:
    """What three agents and a detector sent; nothing happens where chDB is absent."""
    del templates
    return incident(tmp_path_factory.mktemp("detector"))


@pytest.fixture(scope="module")
def answers(
    templates: Path, afternoon: Incident, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, list[tuple[str | int, ...]]]:
    """All answers, from one session."""
    before = statements(templates, afternoon, tmp_path_factory.mktemp("rows"))
    found = ask(before, *(query.text for query in QUERIES))
    return {query.question: [tuple(row) for row in rows] for query, rows in zip(QUERIES, found, strict=True)}


@pytest.mark.parametrize("query", [pytest.param(query, id=query.question) for query in QUERIES])
def test_clickhouse_answers(
    answers: Mapping[str, list[tuple[str | int, ...]]], afternoon: Incident, query: Query
) -> None:
    """The exact answer, although one request of log records was delivered twice."""
    answer = answers[query.question]
    if query.question in TRACES:
        assert traces_of(afternoon, answer) == TRACES[query.question]
    else:
        assert answer == ANSWERS[query.question]


def test_clickhouse_answers_of_a_quiet_day(templates: Path, tmp_path: Path) -> None:
    """Tables without a row: empty answers, no error."""
    found = ask(statements(templates, Incident(), tmp_path), *(query.text for query in QUERIES))
    assert found == [[] for _ in QUERIES]
