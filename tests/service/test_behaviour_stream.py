"""The behaviour cases through the stream: what replay says of their spans, a detector says of them too.

Once from spans with content, and once from spans that our own processor annotated and emptied. The records of some
cases say what no span can (two records of one number, a number that is missing): those cases are about call records
and are judged by replay alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.trace import StatusCode

from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.replay.run import judge
from otel_loopguard.replay.traces import Traces
from otel_loopguard.runtimes import Arrival, Limits, Said
from otel_loopguard.service.intake import Request
from otel_loopguard.stream.events import Found
from tests.support.detecting import SECOND, Detecting
from tests.support.process import Fixed, Process
from tests.support.spans import span, traces

VECTORS = Path(__file__).parent.parent / "vectors" / "behaviour"
CASES = {
    case["id"]: case
    for file in sorted(VECTORS.glob("*.json"))
    for case in json.loads(file.read_text())
    if "error" not in case["expect"] and case["calls"]
}
KEYS = Keyring(SecretKey(b"k" * 32, "k1"))


def spans_of(case: dict[str, Any]) -> Iterator[Span]:
    """The calls of a case as an agent without our processor writes them."""
    for place, call in enumerate(case["calls"]):
        run, agent = call["run_id"], call.get("agent") or ""
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call["tool"],
            "loopguard.run.id": run,
        }
        for name, key in (("arguments", "gen_ai.tool.call.arguments"), ("observation", "gen_ai.tool.call.result")):
            if name in call and call[name] is not ...:
                attributes[key] = call[name] if isinstance(call[name], str) else json.dumps(call[name])
        if agent:
            attributes["gen_ai.agent.name"] = agent
        if call.get("call_id"):
            attributes["gen_ai.tool.call.id"] = call["call_id"]
        turn = call.get("turn", call.get("parallel_group"))
        attributes["loopguard.turn"] = turn if isinstance(turn, int) else place + 1_000_000 if turn is None else turn
        if call.get("user_message"):
            attributes["loopguard.user.message"] = True
        if call.get("handoff_to"):
            attributes["loopguard.handoff.agent"] = call["handoff_to"]
        if call.get("error_type"):
            attributes["error.type"] = call["error_type"]
        if call.get("answered_by") == "loopguard":
            attributes["loopguard.outcome"] = "ours"
        attributes |= {
            key: value for key, value in (call.get("attributes") or {}).items() if isinstance(value, (str, int))
        }
        at = call["sequence"] if isinstance(call.get("sequence"), int) else place
        yield span(
            f"execute_tool {call['tool']}", attributes, at=at * 2, trace=run, span_id=f"{run}/{agent}/{place}",
            parent=f"{run}/{agent}", error=bool(call.get("is_error")),
        )  # fmt: skip


def policy_of(case: dict[str, Any]) -> Policy:
    """The case's policy."""
    return parse_policy(json.dumps(case["policy"])) if "policy" in case else Policy()


Told = set[tuple[str, str, str]]


def replayed(spans: list[Span], policy: Policy) -> Told:
    """Id, kind and action of what replay finds in some spans."""
    document = MessageToDict(traces(spans))
    for one, original in zip(document["resourceSpans"][0]["scopeSpans"][0]["spans"], spans, strict=True):
        one |= {"traceId": original.trace_id.hex(), "spanId": original.span_id.hex()}
        if original.parent_span_id:
            one["parentSpanId"] = original.parent_span_id.hex()
    collected = Traces(policy, KEYS, "environment", 1 << 20)
    collected.add(json.dumps(document).encode())
    engine = Engine(policy)
    return {
        (found.id, found.finding.kind, found.finding.action)
        for run in collected.runs()
        for report in judge(run, engine)
        for found in report.findings
        if found.finding.action != "info" and not found.reported
    }


def streamed(spans: list[Span], policy: Policy, *, backwards: bool) -> Told:
    """The same of what a detector delivers that gets them one by one."""
    detector = Detecting(policy=policy, limits=Limits(lateness=30 * SECOND))
    for one in reversed(spans) if backwards else spans:
        detector.send(traces([one]))
    detector.wait(70, stride=35)
    for run in {run for _, run in detector.runtime.roster}:
        detector.runtime._end(("", run), "", detector.detector._clock.now(), told=False)
    detector.wait(70, stride=35)
    return {
        (
            message.id,
            str(message.attributes["loopguard.finding.kind"]),
            str(message.attributes["loopguard.finding.action"]),
        )
        for message in detector.events("loopguard.finding")
    }


@pytest.mark.parametrize("name", CASES)
def test_spans_with_content(name: str) -> None:
    """The stream finds what replay finds in the same spans, whichever way round they come."""
    case = CASES[name]
    spans = list(spans_of(case))
    policy = policy_of(case)
    expected = replayed(spans, policy)
    assert streamed(spans, policy, backwards=False) == expected
    assert streamed(spans, policy, backwards=True) == expected


def test_the_cases_find_something() -> None:
    """What the test above compares is not nothing."""
    assert sum(bool(replayed(list(spans_of(case)), policy_of(case))) for case in CASES.values()) > 100


# Annotated and emptied --------------------------------------------------------------------------------------------


def annotated_spans(case: dict[str, Any], policy: Policy) -> list[Span]:
    """The same spans from a process with our processor: its marks on them, its content gone."""
    process = Process(sources=Fixed(policy))
    for one in sorted(spans_of(case), key=lambda one: one.start_time_unix_nano):
        attributes = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in one.attributes}
        own = process.tracer.start_span(one.name, attributes=attributes, start_time=one.start_time_unix_nano)
        if one.status.code == Status.STATUS_CODE_ERROR:
            own.set_status(StatusCode.ERROR)
        own.end(one.end_time_unix_nano)
    (holder,) = encode_spans(process.spans).resource_spans
    (scoped,) = holder.scope_spans
    return list(scoped.spans)


def heard(spans: list[Span], policy: Policy) -> set[tuple[str, str]]:
    """Kind and action of what a stream finds, whether the process reported it or not."""
    detector = Detecting(policy=policy, limits=Limits(lateness=30 * SECOND))
    said: list[Said] = []
    read = detector.detector._reading.read(Request("", "traces", is_json=False, body=traces(spans).SerializeToString()))
    detector.runtime.take([Arrival("", one) for one in read.spans], 0)
    said += detector.runtime.on_time(50 * SECOND)
    for run in {run for _, run in detector.runtime.roster}:
        detector.runtime._end(("", run), "", 50 * SECOND, told=False)
    said += detector.runtime.on_time(200 * SECOND)
    return {
        (one.event.finding.kind, one.event.finding.action)
        for one in said
        if isinstance(one.event, Found) and one.event.finding.action != "info"
    }


BLIND = {
    "near-equal arguments are told by their words, which are not sent": (
        "P34-a", "P34-g", "P34-h", "P34-j", "P34-n", "P55-c", "P56-a", "P57-a", "S19-a",
    ),
    "that an argument is a thought is not sent": ("P37-a", "P37-c", "P37-g", "P37-i"),
    "what a result declares, a version, a state, items that are no list, is not sent": (
        "V02-c", "V02-d", "V02-e", "V02-g", "V04-h", "V07-b", "P40-f", "P45-c", "P45-l",
    ),
    "a text that refuses without an error flag has a message key and counts as a refusal": (
        "P25-e", "P25-h", "P25-j", "P25-k",
    ),
    "a mark tells of a user message, not to which agent": ("P43-a",),
}  # fmt: skip
"""Cases whose findings differ where only marks are there, and why."""
UNSEEN = {name: reason for reason, names in BLIND.items() for name in names}


@pytest.mark.parametrize("name", CASES)
def test_spans_annotated_and_emptied(name: str) -> None:
    """Marks alone give what content gives, but for what marks cannot say."""
    case = CASES[name]
    policy = policy_of(case)
    spans = annotated_spans(case, policy)
    assert name in UNSEEN or heard(spans, policy) == heard(list(spans_of(case)), policy)


@pytest.mark.parametrize("reason", BLIND)
def test_what_marks_cannot_say(reason: str) -> None:
    """Each reason for which the test above looks away is one: some case of it does differ."""
    differing = []
    for name in BLIND[reason]:
        case, policy = CASES[name], policy_of(CASES[name])
        if heard(annotated_spans(case, policy), policy) != heard(list(spans_of(case)), policy):
            differing.append(name)
    assert differing
