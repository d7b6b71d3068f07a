"""`loopguard inspect`: how spans are read, without a value of them, from every form in which they are recorded."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_loopguard.cli import main
from otel_loopguard.conventions import Record
from otel_loopguard.replay.inspection import looks_like_a_call

Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOPGUARD_KEY_FILE", raising=False)
    monkeypatch.setenv("LOOPGUARD_KEY", "0123456789abcdef" * 4)


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs `loopguard inspect`: exit code, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["inspect", *map(str, arguments)])
        written = capsys.readouterr()
        return int(left.value.code or 0), written.out, written.err

    return run


def span(name: str, span_id: int, parent: int = 0, **attributes: object) -> dict[str, Any]:
    """A span as the SDK's console exporter prints it."""
    return {
        "name": name,
        "context": {"trace_id": f"0x{7:032x}", "span_id": f"0x{span_id:016x}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": f"0x{parent:016x}" if parent else None,
        "status": {"status_code": "UNSET"},
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()},
        "events": [],
    }


AGENT = span("invoke_agent a", 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="a")
CALL = span(
    "execute_tool search", 2, 1, gen_ai__operation__name="execute_tool", gen_ai__tool__name="search",
    gen_ai__tool__call__arguments='{"q": "canary", "n": 1}', gen_ai__tool__call__result='["canary"]',
)  # fmt: skip
COPY = span("search", 3, 2, openinference__span__kind="TOOL", tool__name="search")
UNREAD = span("acme.tool", 4, 1, acme__tool__name="search", acme__kind="TOOL", acme__input="canary")
OTHER = span("GET /", 5, 1, http__method="GET", gen_ai__tool__definitions="canary")
SPANS = [AGENT, CALL, COPY, UNREAD, OTHER]


def objects(out: str) -> list[dict[str, Any]]:
    """Lines of JSON."""
    return [json.loads(line) for line in out.splitlines()]


def test_what_is_told_of_a_span(ran: Ran, tmp_path: Path) -> None:
    """Each span has its reading: convention, call without values, spans that are one call, calls that were missed."""
    file = tmp_path / "spans.json"
    file.write_text("\n".join(json.dumps(one, indent=4) for one in SPANS))
    code, out, err = ran("--json", file)
    agent, call, copy, unread, other = objects(out)
    assert (code, err) == (0, "")
    assert "canary" not in out
    assert [one["read_as"] for one in (agent, call, copy, unread, other)] == [
        "agent",
        "call",
        "call",
        "unread call",
        "other",
    ]
    assert (call["conventions"][0], call["line"], call["file"]) == ("gen_ai", 19, str(file))
    assert call["call"] == {
        "tool": "search", "fingerprint": call["call"]["fingerprint"], "unknown": None,
        "arguments": "object of 2: number, text", "result": "list", "call_id": None, "is_error": False,
        "error_type": None, "agent": "a", "run_id": f"{7:032x}", "run_named": False, "inside": None,
    }  # fmt: skip
    assert len(call["call"]["fingerprint"]) == 32
    assert (copy["call"]["inside"], copy["call"]["unknown"]) == ("execute_tool search", "absent")
    assert unread["looks"] == ["name", "acme.tool.name", "acme.kind"]
    assert (other["looks"], other["call"]) == ([], None)


def test_the_table(ran: Ran, tmp_path: Path) -> None:
    """People get a table a file, what was missed below it, and a count; no value either."""
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(SPANS))
    code, out, _ = ran(file)
    assert code == 0
    assert "canary" not in out
    assert "acme.tool looks like a tool call and is not read, by name, acme.tool.name, acme.kind" in out
    assert "search (same call as execute_tool search)" in out
    assert out.splitlines()[-1] == "5 spans and log records: 1 agent, 2 call, 1 unread call, 1 other"


def test_calls_alone(ran: Ran, tmp_path: Path) -> None:
    """`--calls` leaves out what is no call and does not look like one."""
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(SPANS))
    assert [one["read_as"] for one in objects(ran("--json", "--calls", file)[1])] == ["call", "call", "unread call"]


def test_otlp_json(ran: Ran, tmp_path: Path) -> None:
    """Lines of the Collector's file exporter, packed or not, are read the same."""
    attribute = {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}
    held = {"name": "execute_tool t", "traceId": "a" * 32, "spanId": "b" * 16, "attributes": [attribute]}
    request = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": [held, held]}]}]}
    text = (json.dumps(request) + "\n") * 2
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    found = objects(ran("--json", tmp_path)[1])
    assert [(Path(one["file"]).name, one["line"], one["call"]["tool"], one["scope"]) for one in found] == [
        (name, line, "t", "s") for name in ("a.jsonl", "b.jsonl.gz") for line in (1, 1, 2, 2)
    ]


def test_output_between_spans(ran: Ran, tmp_path: Path) -> None:
    """What a program prints beside its spans is bad input, or counted and left out."""
    file = tmp_path / "out.txt"
    file.write_text(f"starting\n{json.dumps(CALL, indent=4)}\ndone\n{json.dumps({'a': 1})}\n")
    code, out, err = ran(file)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {file}:1: no JSON")
    assert "--skip-bad" in err
    code, out, err = ran("--skip-bad", "--json", file)
    assert (code, [one["name"] for one in objects(out)]) == (0, ["execute_tool search"])
    assert err.startswith(f"warning: skipped 3 that cannot be read, the first: {file}:1: no JSON")


def test_nothing_to_tell(ran: Ran, tmp_path: Path) -> None:
    """An empty file has no spans; a missing one is bad input."""
    (tmp_path / "empty.json").write_text("")
    assert ran(tmp_path / "empty.json") == (0, "no spans found\n", "")
    assert ran(tmp_path / "missing.json")[0] == 2


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("tool", {}, ("name",)),
        ("run_tool_now", {}, ("name",)),
        ("toolbox", {}, ()),
        ("x", {"acme.function.name": "f"}, ("acme.function.name",)),
        ("x", {"span.type": "Tool"}, ("span.type",)),
        ("x", {"span.type": '"TOOL"'}, ("span.type",)),
        ("x", {"gen_ai.tool.definitions": "[]", "llm.tools.count": 3, "tool_choice": "auto"}, ()),
        ("x", {"http.route": "/tools"}, ()),
    ],
)
def test_what_looks_like_a_call(name: str, attributes: dict[str, object], expected: tuple[str, ...]) -> None:
    """A name or a key that speaks of a tool, or a marker that says so; not what describes tools."""
    assert looks_like_a_call(Record("span", name, attributes)) == expected


def test_every_recording_is_read(ran: Ran, shared: Path) -> None:
    """Of all recorded spans none that is a tool's is missed, and nothing recorded is shown."""
    code, out, err = ran("--json", shared / "spans")
    found = objects(out)
    assert (code, err) == (0, "")
    assert len({one["file"] for one in found}) == len(list((shared / "spans").glob("*.json")))
    missed = {one["name"] for one in found if one["read_as"] == "unread call"}
    assert missed <= {"BaseWorkflowAgent.aggregate_tool_results"}
    assert Counter(one["read_as"] for one in found)["call"] > 100
    assert "notes/a.txt" not in out
    assert "hello" not in out
