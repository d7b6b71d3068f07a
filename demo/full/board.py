"""What the full demo shows: the findings as a table, and where to look at the rest."""

from __future__ import annotations

import re
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from demo.full.backend import Backend
from demo.full.checks import jaeger_search
from demo.full.process import answers
from demo.full.programs import RECIPES
from demo.full.stack import Stack

__all__ = ["addresses", "findings", "write_question"]

GRAPH: Final = "sum by (gen_ai_agent_name, loopguard_finding_action) (rate(loopguard_findings_total[1m]))"
STYLES: Final = {"nudge": "yellow", "stop": "bold red"}
QUESTION: Final = "SELECT run, kind, action, tool, sequence FROM findings ORDER BY time;"
NAME: Final = "findings.sql"


def findings(console: Console, backend: Backend) -> None:
    """Every finding at the backend, each once, and the agents without one."""
    table = Table(
        title="What arrived at the backend", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0)
    )
    for heading in ("run", "found by", "finding", "call", "tool", "id"):
        table.add_column(heading, no_wrap=True)
    told = backend.findings()
    for one in told:
        by = "detector" if one.by_detector else "its process"
        what = f"{one.kind} [{STYLES.get(one.action, 'default')}]{one.action}[/]"
        table.add_row(one.run, by, what, str(one.call), one.tool, one.id[:8])
    for agent in sorted({span.service for span in backend.calls()} - {one.agent for one in told}):
        table.add_row(f"demo-{agent}", "", "[green]none[/]", "", "", "")
    console.print(table)


def write_question(folder: Path) -> Path:
    """A file for DuckDB, with the views of QUERIES.md; it stands beside the files that it asks."""
    text = (RECIPES / "QUERIES.md").read_text(encoding="utf-8")
    views = re.search(r"^```sql duckdb views\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    path = folder / NAME
    path.write_text(f"{views.group(1) if views else ''}\n{QUESTION}\n", encoding="utf-8")
    return path


def addresses(console: Console, stack: Stack) -> None:
    """Where to look, and where to send to."""
    width = max(len(name) for name, _ in _addresses(stack))
    for name, where in _addresses(stack):
        console.print(f"  {name:<{width}}  {where}", markup=False, soft_wrap=True)


def _addresses(stack: Stack) -> Iterator[tuple[str, str]]:
    if stack.prometheus is not None:
        graph = urllib.parse.urlencode({"g0.expr": GRAPH, "g0.tab": "0", "g0.range_input": "10m"})
        pages = f"http://{stack.prometheus}"
        if not answers(f"{pages}/alerts"):
            pages += "/classic"  # Debian's has no others
        yield "rate of findings", f"{pages}/graph?{graph}"
        yield "alerts", f"{pages}/alerts"
    if stack.jaeger is not None:
        yield "Jaeger, the stuck trace", jaeger_search(stack.jaeger)
    yield "the detector's numbers", f"http://{stack.page}/metrics"
    yield "rates in the gateway", f"http://{stack.rates}/metrics"
    yield "the gateway's own numbers", f"http://{stack.telemetry}/metrics"
    yield "the backend's files", str(stack.output)
    ask = f"import duckdb; print(duckdb.sql(open('{NAME}').read()))"
    yield "ask them, with DuckDB", f'cd {stack.output} && {sys.executable} -c "{ask}"'
    yield "an agent of your own", f"OTEL_EXPORTER_OTLP_ENDPOINT=http://{stack.http}  (gRPC: http://{stack.grpc})"
