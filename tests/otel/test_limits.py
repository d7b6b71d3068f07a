"""A span's limits: what we write never costs the user an attribute or an event, and is never cut."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import SpanLimits

from otel_loopguard import names
from otel_loopguard.config import Settings
from tests.support.process import Process

OWN = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": "{}"}


@pytest.mark.parametrize(("room", "kept"), [(0, 0), (1, 1), (3, 3), (6, 6), (40, 9)])
def test_our_attributes_evict_nothing(room: int, kept: int) -> None:
    """As many of ours are written as fit beside the user's, the most telling first; what is left out is counted."""
    process = Process(Settings(content="keep"), limits=SpanLimits(max_span_attributes=len(OWN) + room))
    process.call("search", "{}", result=...)
    (attributes,) = process.attributes
    assert {key: attributes[key] for key in OWN} == OWN
    ours = [key for key in attributes if key.startswith("loopguard.")]
    assert len(ours) == min(kept, 8)  # without a result there are eight to write
    assert ours == [
        names.FINGERPRINT, names.REPEAT_COUNT, names.VERDICT, names.OUTCOME, names.KEY_ID, names.RUN_ID,
        names.SEQUENCE, names.PROCESS_ID,
    ][:room]  # fmt: skip
    lost = process.live.counters.total(names.DROPPED)
    assert lost == 8 - len(ours)
    assert process.tools[0].dropped_attributes == 0


def test_redaction_needs_no_room() -> None:
    """Content is replaced on a full span, too."""
    process = Process(limits=SpanLimits(max_span_attributes=len(OWN)))
    process.call("search", '{"q": "canary"}', result=...)
    assert process.attributes == [{**OWN, "gen_ai.tool.call.arguments": "[REDACTED]"}]


@pytest.mark.parametrize("limit", [8, 16, 31, 32, 64])
def test_texts_that_would_be_cut_are_not_written(limit: int) -> None:
    """A fingerprint cut to a length limit would be another fingerprint: shorter limits leave it out."""
    process = Process(limits=SpanLimits(max_span_attribute_length=limit))
    process.call("s", "{}", result="[]")
    (attributes,) = process.attributes
    assert (names.FINGERPRINT in attributes) == (limit >= 32)
    for key, value in attributes.items():
        if key.startswith("loopguard.") and isinstance(value, str):
            assert len(value) <= limit
    assert (names.PROCESS_ID in attributes) == (limit >= 16)


def test_a_cut_argument_is_unknown() -> None:
    """Arguments that a length limit may have cut are never compared."""
    process = Process(limits=SpanLimits(max_span_attribute_length=16))
    with process.agent():
        process.call("s", '{"q": "aaaaaaaaaaaaaaaaaaaa1"}')
        process.call("s", '{"q": "aaaaaaaaaaaaaaaaaaaa2"}')
    assert process.written(names.FINGERPRINT) == [None, None]
    assert process.written(names.VERDICT) == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("limit", "kept"),
    [(1, ["mine"]), (2, ["mine", "loopguard.finding"]), (None, ["mine", "loopguard.finding"])],
)
def test_our_events_evict_nothing(limit: int | None, kept: list[str]) -> None:
    """A span that is full of events keeps its own; the finding goes out as a log event all the same."""
    limits = SpanLimits(max_events=SpanLimits.UNSET if limit is None else limit)
    process = Process(limits=limits)
    with process.agent():
        for _ in range(3):
            with process.tool(arguments={"q": "x"}) as span:
                span.add_event("mine")
    assert [event.name for event in process.tools[-1].events] == kept
    assert process.live.counters.total(names.DROPPED) == (0 if len(kept) == 2 else 1)


def test_dropped_events_stay_counted_when_events_are_rewritten() -> None:
    """Rewriting events keeps their times, their order and the SDK's count of dropped ones."""
    process = Process(limits=SpanLimits(max_events=2))
    with process.tool() as span:
        for step in range(3):
            span.add_event(f"step {step}", {"exception.message": "canary"}, timestamp=1_000 + step)
    (exported,) = process.tools
    assert [(event.name, event.timestamp) for event in exported.events] == [("step 1", 1_001), ("step 2", 1_002)]
    assert exported.dropped_events == 1
    assert all((event.attributes or {})["exception.message"] == "[REDACTED]" for event in exported.events)
