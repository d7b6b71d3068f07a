"""Every query that QUERIES.md shows is a query: in its language's grammar, in names that exist, and answered."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from otel_loopguard import names
from tests.support.answers import ANSWERS, TRACES, traces_of
from tests.support.collector import Collector, free_port, until
from tests.support.incident import DETECTED, HEALTHY, LOOPING, Incident, agents, incident
from tests.support.queries import COLLECTOR_CONFIG, TEXT, VIEWS, Query, queries
from tests.support.required import missing
from tests.support.serving import Serving

GRAMMARS: Final = Path(__file__).parent / "grammars"
CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "grammars"
LANGUAGES: Final = ("traceql", "jaeger", "logql", "promql", "clickhouse", "duckdb")
CALLS: Final = 21
"""Tool calls of the afternoon: seven and two of the looping run, four, five and three of the others."""
PARSED: Final = ("traceql", "logql", "promql")

UNANSWERED: Final = {
    "The looping trace of a run": {"promql"},
    "All findings of one run, over all its processes": {"promql"},
    "Every call with the same fingerprint": {"promql"},
    "Is the telemetry of a run in doubt?": {"traceql", "jaeger"},
    "What was redacted?": {"logql", "promql"},
    "Which tool calls were not judged?": {"logql", "promql"},
}
"""Questions that a language cannot be asked: what it would need is not in the records that its backend holds."""


def asked(*languages: str) -> list[object]:
    """Queries as parameters."""
    return [pytest.param(query, id=f"{query.language}: {query.question}") for query in queries(*languages)]


# Names ------------------------------------------------------------------------------------------------------------


def spellings() -> set[str]:
    """Every name that there is, as OTLP, Loki and Prometheus spell it."""
    units = {"s": "_seconds", "By": "_bytes"}
    found = {item.name for item in (*names.ATTRIBUTES, *names.EVENTS)}
    found |= {name.replace(".", "_") for name in found}
    for metric in names.METRICS:
        base = metric.name.replace(".", "_") + units.get(metric.type, "")
        endings = {"counter": ("_total",), "gauge": ("",)}.get(metric.kind, ("_bucket", "_sum", "_count"))
        found |= {base + ending for ending in endings}
    return found


@pytest.mark.parametrize("query", asked(*LANGUAGES))
def test_names_exist(query: Query) -> None:
    """A name of ours in a query is one that we write, in the spelling of that backend."""
    used = set(re.findall(r"loopguard[._][\w.]*\w", query.text))
    assert used <= spellings()
    assert used or "gen_ai" in query.text or query.language == "duckdb"


def test_names_in_words_exist() -> None:
    """So are the names in the sentences between them, and in DuckDB's views."""
    rest = TEXT
    for query in queries(*LANGUAGES):
        rest = rest.replace(query.text, "")
    assert set(re.findall(r"\bloopguard[._][a-z][\w.]*\w", rest)) <= spellings()


def test_recorded_series_exist() -> None:
    """A series with colons is one that the recording rules make."""
    rules = yaml.safe_load((COLLECTOR_CONFIG / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
    recorded = {rule["record"] for group in rules["groups"] for rule in group["rules"] if "record" in rule}
    used = {name for query in queries("promql") for name in re.findall(r"loopguard:[a-z0-9_:]+", query.text)}
    assert used
    assert used <= recorded


def test_every_question_is_asked_in_every_language() -> None:
    """Of each question there is one query in each language, but where the records do not hold the answer."""
    found: dict[str, list[str]] = {}
    for query in queries(*LANGUAGES):
        found.setdefault(query.question, []).append(query.language)
    expected = {
        question: [language for language in LANGUAGES if language not in UNANSWERED.get(question, set())]
        for question in found
    }
    assert found == expected
    assert set(found) == {*ANSWERS, *TRACES}


# Grammars ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def grammars() -> Path:
    """The folder of the grammars with their packages, installed once for a lock file."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing("Node and npm are not installed (Debian, Ubuntu: apt install nodejs npm)")
    stamp = hashlib.sha256((GRAMMARS / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = CACHE / stamp
    if not folder.exists():
        # Made aside and moved: several workers of a test run may be here at once.
        aside = CACHE / f"{stamp}-{os.getpid()}"
        shutil.copytree(GRAMMARS, aside, dirs_exist_ok=True)
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"], cwd=aside, capture_output=True, text=True, check=False
        )
        if done.returncode:
            missing(f"npm cannot install the grammars of {GRAMMARS}: {done.stderr.strip()[-500:]}")
        try:
            aside.rename(folder)
        except OSError:  # another worker was first
            shutil.rmtree(aside)
    shutil.copy(GRAMMARS / "parse.mjs", folder)
    return folder


def mistakes(grammars: Path, given: list[tuple[str, str]]) -> list[str | None]:
    """What does not parse in each of these queries (language, text)."""
    done = subprocess.run(
        ["node", grammars / "parse.mjs"], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found: list[str | None] = json.loads(done.stdout)
    return found


def test_queries_parse(grammars: Path) -> None:
    """TraceQL, LogQL and PromQL are what their published grammars take."""
    given = [(query.language, query.text) for query in queries(*PARSED)]
    assert len(given) > 20
    wrong = {query: at for (_, query), at in zip(given, mistakes(grammars, given), strict=True) if at is not None}
    assert wrong == {}


def broken(query: Query) -> Iterator[str]:
    """The query with one mistake."""
    text = query.text
    yield text + " |"
    yield text.replace("{", "{ {", 1)
    bare = re.sub(r'"[^"]*"', lambda quoted: "." * len(quoted[0]), text)
    last = max(bare.rfind("}"), bare.rfind(")"))
    yield text[:last] + text[last + 1 :]
    if '"' in text:
        yield text.replace('"', "", 1)
        yield re.sub(r'"([^"]*)"', r"\1 and", text, count=1)
    if query.language == "traceql":
        yield re.sub(r"span\.|event[.:]", "spam.", text, count=1)
    if "count_over_time" in text:
        yield text.replace("count_over_time", "counts_over_times")
    if "increase" in text:
        yield text.replace("increase", "increases", 1)


def test_broken_queries_do_not_parse(grammars: Path) -> None:
    """The grammars notice a bracket, a quote, a scope or a function too few or too many in any of them."""
    given = [(query.language, text) for query in queries(*PARSED) for text in broken(query) if text != query.text]
    passed = [text for (_, text), at in zip(given, mistakes(grammars, given), strict=True) if at is None]
    assert passed == []


@pytest.mark.parametrize("query", asked("jaeger"))
def test_tags_are_texts(query: Query) -> None:
    """Jaeger takes a JSON object of texts; anything else is an error there."""
    tags = json.loads(query.text)
    assert tags
    assert all(isinstance(value, str) for value in tags.values())


# DuckDB -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def afternoon(tmp_path_factory: pytest.TempPathFactory) -> Incident:
    """What three agents and a detector sent."""
    return incident(tmp_path_factory.mktemp("detector"))


def ask(folder: Path, query: Query) -> list[tuple[object, ...]]:
    """Answer a query as somebody does who starts DuckDB in that folder."""
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `dev`: make install")
    with duckdb.connect() as base:
        base.execute(f"SET file_search_path = '{folder}'")
        base.execute(VIEWS)
        rows: list[tuple[object, ...]] = base.execute(query.text).fetchall()
        return rows


@pytest.mark.parametrize("query", asked("duckdb"))
def test_duckdb_answers(afternoon: Incident, tmp_path: Path, query: Query) -> None:
    """The exact answer, although one request of log records was delivered twice."""
    afternoon.write(tmp_path)
    answer = ask(tmp_path, query)
    if query.question in TRACES:
        assert traces_of(afternoon, answer) == TRACES[query.question]
    else:
        assert answer == ANSWERS[query.question]


@pytest.mark.parametrize("query", asked("duckdb"))
def test_duckdb_answers_of_a_quiet_day(tmp_path: Path, query: Query) -> None:
    """No findings, no events, not even a span: an empty answer, no error."""
    (tmp_path / "logs.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "traces.jsonl").write_text('{"resourceSpans": []}\n', encoding="utf-8")
    assert ask(tmp_path, query) == []


@pytest.mark.parametrize("query", asked("duckdb"))
def test_duckdb_answers_of_a_healthy_run(afternoon: Incident, tmp_path: Path, query: Query) -> None:
    """A healthy run alone gives no finding; only what was redacted and what could not be judged is of interest."""
    healthy = Incident(spans=[afternoon.of_run(HEALTHY)])
    healthy.write(tmp_path)
    expected = {
        "What was redacted?": [("gen_ai.tool.call.arguments", 4), ("gen_ai.tool.call.result", 5)],
        "Which tool calls were not judged?": [("support", 1)],
    }
    assert ask(tmp_path, query) == expected.get(query.question, [])


def test_duckdb_finds_a_run_on_the_resource(afternoon: Incident, tmp_path: Path) -> None:
    """A Collector that groups by run moves its id from spans to their resource; the answer is the same."""
    grouped = afternoon.of_run(LOOPING)
    for source in grouped.resource_spans:
        source.resource.attributes.append(KeyValue(key="loopguard.run.id", value=AnyValue(string_value=LOOPING)))
        for span in (span for scope in source.scope_spans for span in scope.spans):
            kept = [pair for pair in span.attributes if pair.key != "loopguard.run.id"]
            del span.attributes[:]
            span.attributes.extend(kept)
    Incident(spans=[grouped]).write(tmp_path)
    (query,) = [one for one in queries("duckdb") if one.question == "Every call with the same fingerprint"]
    assert ask(tmp_path, query) == ANSWERS[query.question]


def test_duckdb_reads_what_the_collector_writes(tmp_path: Path) -> None:
    """The same answers about the files of a real Collector, behind the gateway and a detector."""
    backend = Collector(tmp_path / "backend", "files_backend.yaml")
    target = f"127.0.0.1:{free_port()}"
    gateway = Collector(tmp_path / "gateway", "gateway.yaml", BACKEND_ENDPOINT=backend.grpc, DETECTOR_ENDPOINT=target)
    with (
        backend,
        gateway,
        Serving(tmp_path, grpc_address=target, otlp_endpoint=f"http://{gateway.findings}", lateness="2s"),
    ):
        sent = agents()
        for request in (*sent.spans, *sent.logs):
            gateway.send(request)
        until(
            lambda: sum(span.name.startswith("execute_tool") for span in backend.spans()) == CALLS, "all calls arrive"
        )
        until(lambda: _by_detector(backend) >= DETECTED, "what the detector found arrives")
        answers = {query.question: ask(backend.output, query) for query in queries("duckdb")}
    for question, expected in TRACES.items():
        assert traces_of(sent, answers.pop(question)) == expected
    assert answers == ANSWERS


def _by_detector(backend: Collector) -> set[str]:
    return {log.name for log in backend.logs() if log.resource["service.name"] == "otel-loopguard"}
