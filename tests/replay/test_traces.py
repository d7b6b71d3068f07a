"""Lines of any kind become runs, in the order in which runs first appear."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.conventions import read, role
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import RecordError
from otel_loopguard.replay.call_record import Fields
from otel_loopguard.replay.packed import pack_call, pack_span, unpack_call, unpack_span
from otel_loopguard.replay.run import Report, judge
from otel_loopguard.replay.source import find_sources
from otel_loopguard.replay.traces import RecordedRun, Traces
from otel_loopguard.stream.otlp_json import records
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Hints, Span
from tests.support.call_records import record

KEYS = Keyring(SecretKey(bytes(range(32))))
MEMORY = 1 << 20
NEITHER = (
    "neither a call record (an object with `run_id` and `tool`) nor OTLP/JSON (with `resourceSpans` or `resourceLogs`)"
)


def collected(lines: Iterable[str | bytes | dict[str, Any]], memory: int = MEMORY) -> list[RecordedRun]:
    """The runs of some lines."""
    traces = Traces(Policy(), KEYS, "environment", memory)
    for line in lines:
        traces.add(line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode())
    runs = list(traces.runs())
    traces.close()
    return runs


def judged(path: Path) -> list[Report]:
    """The reports of a file."""
    (source,) = find_sources([str(path)])
    engine = Engine(Policy())
    lines = (line.text for line in source.lines(io.BytesIO()))
    return [report for run in collected(lines, 1 << 28) for report in judge(run, engine, calls=True)]


def call(run: str, **fields: object) -> dict[str, object]:
    """A call record."""
    return {"run_id": run, "tool": "look", "arguments": {}, "observation": "blue", **fields}


def span(trace: str, number: str, inside: str = "", start: int = 1, **attributes: object) -> dict[str, object]:
    """A span in OTLP/JSON; double underscores stand for dots."""
    held = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    return {
        "traceId": trace * 32, "spanId": number * 16, "parentSpanId": inside * 16, "name": "x",
        "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 1), "attributes": held,
    }  # fmt: skip


def request(*spans: dict[str, object]) -> dict[str, object]:
    """One OTLP/JSON line."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


TOOL = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "look", "gen_ai__tool__call__arguments": "{}"}
TALK = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "scout", "gen_ai__conversation__id": "talk"}


def test_runs_come_in_the_order_in_which_they_first_appear() -> None:
    """Whatever kind of line names a run first, and however late its trace names it."""
    runs = collected(
        [
            call("b"),
            request(span("1", "a", "f", **TOOL)),  # of the run `talk`, as its agent tells two lines below
            call("a"),
            call("b"),
            request(span("1", "f", **TALK)),
            request(span("2", "c", **TOOL)),
        ]
    )
    assert [(run.run_id, len(run)) for run in runs] == [("b", 2), ("talk", 1), ("a", 1), ("2" * 32, 1)]


def test_spans_of_one_run_come_from_several_traces() -> None:
    """A conversation that goes on in another trace is one run, in the order in which its calls came."""
    first = [span("1", "a", "f", 5, **TOOL), span("1", "f", **TALK)]
    second = [span("2", "b", "f", 9, **TOOL), span("2", "f", **TALK)]
    (run,) = collected([request(*first), request(*second)])
    assert [one.trace_id[:1] for one in run.records()] == ["1", "2"]
    assert {one.agent for one in run.records()} == {"scout"}
    assert [one.message for one in run.records()] == ["f" * 16, "f" * 16]


def test_a_recorded_end_gives_its_reason() -> None:
    """Our own event at a run's end, before or after its calls; a run of which only the end is known has no calls."""
    end = {
        "eventName": "loopguard.run.end",
        "attributes": [
            {"key": "loopguard.run.id", "value": {"stringValue": "a"}},
            {"key": "loopguard.termination.reason", "value": {"stringValue": "budget"}},
        ],
    }
    line = {"resourceLogs": [{"scopeLogs": [{"logRecords": [end]}]}]}
    for lines in ([call("a"), line], [line, call("a")]):
        (run,) = collected(lines)
        (report,) = judge(run, Engine(Policy()))
        assert (run.reason, report.termination_reason) == ("budget", "budget")
    assert collected([line]) == []
    (silent,) = collected([call("a")])
    assert judge(silent, Engine(Policy()))[0].termination_reason is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1]", "expected a JSON object"),
        ('"text"', "expected a JSON object"),
        ("{", "no JSON: expecting property name enclosed in double quotes at character 2"),
        ('{"run_id": "r", "tool": ', "no JSON: expecting value at character 25"),
        (b'{"run_id": "\xff", "tool": "x"}', "no JSON: the text is not UTF-8 at byte 13"),
        (b'{"resourceSpans": [], "x": "\xff"}', "no JSON: the text is not UTF-8 at byte 29"),
        ('{"run_id": "r", "tool": "a", "tool": "b"}', "a field stands twice - at `$.tool`"),
        ('{"run_id": "r", "tool": "a", "state": {}, "turn": 1, "state": 2}', "a field stands twice - at `$.state`"),
        ('{"a": 1}', NEITHER),
        ('{"run_id": "r"}', "a call record must have a field `tool`"),
        ('{"resourceSpans": {}}', "expected a list, found an object - at `$.resourceSpans`"),
        ('{"resourceSpans": ' + "[" * 200_000 + "]" * 200_000 + "}", "values are nested too deep"),
        ('{"resourceSpans": 1' + "0" * 5000 + ', "x": "\\ud800"}', "no JSON: a number has too many digits"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(line: str | bytes, reason: str) -> None:
    """What was expected and where it is wrong."""
    with pytest.raises(RecordError) as raised:
        collected([line])
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    "line",
    [
        '{"run_id": "r", "tool": "a", "observation": {"tool": "b", "run_id": "s"}}',
        '{"run_id": "r", "tool": "a", "arguments": {"x": 1, "x": 2}}',
        '{"run_id": "tool", "tool": "tool"}',
        '{"run_id": "r", "tool": "a", "mine": 1, "mine": 2}',
        r'{"run_id": "r", "tool": "a", "observation": "\"tool\": 1, \"tool\": 2"}',
    ],
)
def test_only_a_field_of_the_record_itself_may_not_stand_twice(line: str) -> None:
    """Content may hold the same names, values may be names, and what nobody reads may stand as often as it likes."""
    (run,) = collected([line])
    assert run.run_id in ("r", "tool")


def test_nothing_is_taken_from_a_line_that_cannot_be_read() -> None:
    """A request with one broken span leaves none of its spans behind."""
    traces = Traces(Policy(), KEYS, "environment", MEMORY)
    with pytest.raises(RecordError):
        traces.add(json.dumps(request(span("1", "a", **TOOL), {"traceId": "zz"})).encode())
    assert list(traces.runs()) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([10**30, -(10**30), 1 << 63, -1]) | st.floats()
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(Fields.__struct_fields__), VALUES, max_size=6), st.booleans())
def test_any_values_make_a_record_or_a_clear_error(fields: dict[str, object], whole: bool) -> None:  # noqa: FBT001
    """Whatever stands in a field, the line is taken and judged, or `RecordError` says what is wrong with it."""
    line = json.dumps({**fields, **({"run_id": "r", "tool": "t"} if whole else {})}).encode()
    traces = Traces(Policy(), KEYS, "environment", MEMORY)
    reason = ""
    try:
        traces.add(line)
    except RecordError as error:
        reason = error.reason
    assert "a mistake of otel-loopguard" not in reason
    assert [report.calls for run in traces.runs() for report in judge(run, Engine(Policy()))] == [1] * (not reason)


def test_a_mistake_of_ours_is_the_error_of_a_line() -> None:
    """What nobody thought of costs a line and names its type, not what it holds."""
    traces = Traces(Policy(), KEYS, "everywhere", MEMORY)  # type: ignore[arg-type] # no such scope
    with pytest.raises(RecordError, match=r"the line cannot be taken in \(\w+\), a mistake of otel-loopguard"):
        traces.add(json.dumps(call("a")).encode())


def test_deep_content_is_no_broken_line() -> None:
    """Arguments nested without bottom are unknown arguments of a good record."""
    (run,) = collected(['{"run_id": "r", "tool": "look", "arguments": ' + "[" * 200_000 + "]" * 200_000 + "}"])
    assert next(run.records()).call.unknown == "too_large"


def test_lone_surrogates_are_content() -> None:
    """JSON can spell what no encoding has; such a line is read like any other."""
    (run,) = collected(['{"run_id": "\\ud800", "tool": "\\udfff", "arguments": {"a": "\\ud801"}}'])
    assert (run.run_id, next(run.records()).call.tool) == ("\ud800", "\\udfff")


# Packing ----------------------------------------------------------------------------------------------------------

names = st.text(max_size=8)
numbers = st.none() | st.integers(0, 2**63)
call_records = st.builds(
    record,
    names,
    st.none() | names,
    st.none() | names,
    number=numbers,
    process=names,
    call_id=st.none() | names,
    turn=st.none() | st.integers(0, 9) | names,
    agent=names,
    start=numbers,
    end=numbers,
    user_message=st.booleans(),
    findings=st.sampled_from([(), (("identical", "nudge"),)]),
    elsewhere=st.sampled_from([(), (("identical", "nudge", 3),)]),
    event=st.booleans(),
)


@given(call_records, st.integers(0, 2**40))
def test_a_packed_call_comes_back(one: CallRecord, index: int) -> None:
    """Every field survives the wait."""
    assert unpack_call(pack_call(one, index), one.run_id) == (index, one)


@given(call_records, st.none() | st.builds(Hints, names, names, agent=names, turn=names), numbers)
def test_a_packed_span_comes_back(one: CallRecord, hints: Hints | None, start: int | None) -> None:
    """Spans with and without a call survive the wait, and so does the role of a span."""
    one = one.changed(run_id="")
    span_of_call = Span("", "s", "p", start, None, None, one, hints)
    assert unpack_span(pack_span(span_of_call, 3), "") == (3, span_of_call)
    agent = Span("t" * 32, "s", "p", start, 9, role(AGENT))
    assert unpack_span(pack_span(agent, 4), "t" * 32) == (4, agent)


AGENT = next(records(request(span("1", "f", **TALK))))


def test_a_waiting_call_is_small(shared: Path) -> None:
    """A recorded call takes about 200 bytes while it waits, whatever its arguments and result."""
    traces = Traces(Policy(), KEYS, "environment", MEMORY)
    with gzip.open(shared / "corpus" / "mini_swe_gemini3.jsonl.gz") as lines:
        for line in lines:
            traces.add(line)
    runs = list(traces.runs())
    traces.close()
    sizes = [len(pack_call(one, index)) for run in runs for index, one in enumerate(run.records())]
    assert sum(sizes) / len(sizes) < 210


def test_little_memory_changes_nothing(shared: Path) -> None:
    """What went through the temporary file is judged like what did not."""
    with gzip.open(shared / "corpus" / "trail.otlp.jsonl.gz") as lines:
        held = list(lines)
    assert collected(held, memory=2000) == collected(held)


# Long runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["numbered", "timed"])
def test_a_long_run_is_judged_piece_by_piece_like_a_whole(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a run is and however its lines are shuffled, its findings are those of one piece."""
    lines = []
    for number in range(400):
        name = {"sequence": number} if shape == "numbered" else {"start_ns": number * 10, "end_ns": number * 10 + 5}
        arguments = {"id": number - number % 60 if number % 60 < 5 else number}
        lines.append(call("r", tool="look", arguments=arguments, turn=number, call_id=f"c{number}", **name))
    lines += lines[::7]
    random.Random(7).shuffle(lines)
    (run,) = collected(lines)
    whole = judge(run, Engine(Policy()), calls=True)
    monkeypatch.setattr("otel_loopguard.replay.run._PIECE", 20)
    pieces = judge(run, Engine(Policy()), calls=True)
    assert len(whole[0].findings) > 10
    assert [asdict(report) for report in pieces] == [asdict(report) for report in whole]


# Recorded corpora -------------------------------------------------------------------------------------------------


def test_no_tool_span_of_the_recorded_traces_is_left_unread(shared: Path) -> None:
    """Every span that is marked as a tool's is a call, and is counted in a report."""
    path = shared / "corpus" / "trail.otlp.jsonl.gz"
    kinds: Counter[bool] = Counter()
    with gzip.open(path) as lines:
        for line in lines:
            for one in records(json.loads(line)):
                if one.attributes.get("openinference.span.kind") == "TOOL":
                    kinds[read(one) is not None] += 1
    assert kinds == {True: 266}
    reports = judged(path)
    assert sum(report.calls for report in reports) == 266
    assert not any(call.fingerprint is None for report in reports for call in report.observed)
    assert not any(report.integrity for report in reports)


CORPORA = (
    ("agentrx_tau_retail", 49, 394), ("dgm_editor", 169, 1473), ("intercode", 400, 2990), ("iso_codex", 59, 1621),
    ("iso_trae", 76, 3068), ("livemcpbench", 46, 449), ("magentic_one", 23, 235), ("mini_swe_gemini3", 110, 3981),
    ("sdk_cassettes", 225, 296), ("study_openhands", 24, 606), ("study_repairagent", 36, 1313),
    ("sweagent_edit", 11, 154), ("tau_bench_airline", 93, 594), ("trail", 96, 445),
)  # fmt: skip


@pytest.mark.parametrize(("name", "runs", "calls"), CORPORA, ids=[name for name, *_ in CORPORA])
def test_recorded_runs_are_judged(shared: Path, name: str, runs: int, calls: int) -> None:
    """Every run and call of a corpus is judged, none of them with a doubt about its records."""
    reports = judged(shared / "corpus" / f"{name}.jsonl.gz")
    assert (len(reports), sum(report.calls for report in reports)) == (runs, calls)
    assert sum(report.observations for report in reports) == calls
    assert not any(report.integrity for report in reports)
