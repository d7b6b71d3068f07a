"""Run id and agent as W3C baggage: sent where the setting says so, read always, bounded, and in no key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import baggage, propagate, trace
from opentelemetry import context as otel_context
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.identifier import bounded
from tests.support.process import Process

SEND = Settings(baggage="on")


@pytest.fixture(autouse=True)
def _propagators(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The propagator's class as it was, for every test anew."""
    monkeypatch.setattr(W3CBaggagePropagator, "inject", W3CBaggagePropagator.inject)
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()]))
    yield
    propagate.set_global_textmap(before)


def sent() -> dict[str, str]:
    """The headers of a request that is sent here."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def told(carrier: dict[str, str]) -> dict[str, object]:
    """What a receiver finds in the baggage."""
    return dict(baggage.get_all(propagate.extract(carrier)))


def serve(process: Process, carrier: dict[str, Any], arguments: object = None) -> dict[str, Any]:
    """A server makes one call for a request: what its span says."""
    token = otel_context.attach(propagate.extract(carrier))
    try:
        process.call("search", arguments)
    finally:
        otel_context.detach(token)
    return process.attributes[-1]


def test_off_by_default() -> None:
    """Without the setting no request carries anything of ours."""
    process = Process()
    with otel_loopguard.run("r", agent="a"), process.agent("a"):
        assert "baggage" not in sent()


def test_what_code_names_is_sent() -> None:
    """Run and agent of `run` go with a request, with a span around it or without."""
    process = Process(SEND)
    with otel_loopguard.run("run 1,=ü", agent="a"):
        assert told(sent()) == {names.RUN_ID: "run 1,=ü", names.AGENT_NAME: "a"}
        with process.agent("other"), process.tool():
            assert told(sent()) == {names.RUN_ID: "run 1,=ü", names.AGENT_NAME: "a"}


def test_what_spans_say_is_sent() -> None:
    """The conversation and the agent of the spans around a request are its run and agent."""
    process = Process(SEND)
    with process.agent("researcher", **{"gen_ai.conversation.id": "talk"}):
        assert told(sent()) == {names.RUN_ID: "talk", names.AGENT_NAME: "researcher"}
        with process.tool():
            assert told(sent()) == {names.RUN_ID: "talk", names.AGENT_NAME: "researcher"}


def test_a_run_that_is_only_a_trace_is_not_sent() -> None:
    """The trace id travels by itself; nothing is added where nothing is known."""
    process = Process(SEND)
    with process.agent(""), process.tool():
        assert "baggage" not in sent()
    assert "baggage" not in sent()


def test_the_applications_own_baggage_stays() -> None:
    """What the application sends is sent as before, and its context is not changed."""
    Process(SEND)
    token = otel_context.attach(baggage.set_baggage("tenant", "t"))
    try:
        with otel_loopguard.run("r"):
            assert told(sent()) == {"tenant": "t", names.RUN_ID: "r"}
            assert dict(baggage.get_all()) == {"tenant": "t"}
    finally:
        otel_context.detach(token)


def test_a_propagator_that_is_set_later_sends_too() -> None:
    """Whatever the application makes its global propagator, and when: baggage is baggage."""
    Process(SEND)
    Process(SEND)
    propagate.set_global_textmap(W3CBaggagePropagator())
    with otel_loopguard.run("r"):
        assert sent() == {"baggage": "loopguard.run.id=r"}


def test_without_baggage_nothing_is_sent() -> None:
    """An application that propagates trace context alone sends nothing of ours."""
    process = Process(SEND)
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    with otel_loopguard.run("r"), process.agent():
        assert list(sent()) == ["traceparent"]


def test_long_names_are_sent_in_their_short_form() -> None:
    """A receiver reads a long name as it is kept here."""
    Process(SEND)
    with otel_loopguard.run("r" * 257, agent="a" * 256):
        assert told(sent()) == {names.RUN_ID: bounded("r" * 257), names.AGENT_NAME: "a" * 256}


def test_a_failure_is_not_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the place cannot be told the request goes out without it."""
    process = Process(SEND)
    monkeypatch.setattr(process.processor, "place_in", lambda *_: {}["canary"])
    with process.agent("a"):
        assert list(sent()) == ["traceparent"]


def test_a_server_counts_in_the_callers_run() -> None:
    """The other process puts its calls into the run and agent of the caller, over several requests."""
    client, server = Process(SEND), Process()
    with otel_loopguard.run("r", agent="a"), client.agent():
        first = serve(server, sent())
        second = serve(server, sent())
    assert [one[names.RUN_ID] for one in (first, second)] == ["r", "r"]
    assert [one[names.AGENT_NAME] for one in (first, second)] == ["a", "a"]
    assert [one[names.REPEAT_COUNT] for one in (first, second)] == [1, 2]


@pytest.mark.parametrize(
    "header",
    [
        "loopguard.run.id=",
        "loopguard.run.id",
        ",".join(f"k{number}=v" for number in range(5000)),
        "loopguard.fingerprint=00,loopguard.key.id=k,loopguard.sequence=9",
    ],
    ids=["empty", "no pair", "too many", "other names"],
)
def test_what_is_read_is_bounded(header: str) -> None:
    """A run id that is none is not taken, and no other name of ours is read from baggage at all."""
    process = Process()
    found = serve(process, {"baggage": header})
    assert found[names.RUN_ID] == trace.format_trace_id(process.tools[-1].context.trace_id)
    assert (found[names.SEQUENCE], found[names.KEY_ID]) == (1, "k1")


def test_a_long_run_id_is_read_in_its_short_form() -> None:
    """What another program sends whole is the run that its spans name by the same id."""
    found = serve(Process(), {"baggage": f"loopguard.run.id={'r' * 257}"})
    assert found[names.RUN_ID] == bounded("r" * 257)


def test_baggage_enters_no_fingerprint() -> None:
    """Whatever a caller sends, equal calls have equal fingerprints under the process's own key."""
    process = Process()
    with_it = serve(process, {"baggage": "loopguard.run.id=r,gen_ai.agent.name=a,tenant.id=t"}, {"q": 1})
    without = serve(process, {}, {"q": 1})
    assert with_it[names.FINGERPRINT] == without[names.FINGERPRINT]
    assert with_it[names.RUN_ID] == "r"


@pytest.mark.parametrize("name", ["loopguard.run.id", "gen_ai.agent.call.id", "gen_ai.conversation.id", "session.id"])
@pytest.mark.parametrize("copied", [False, True])
def test_baggage_enters_no_key_of_a_run(name: str, copied: bool) -> None:  # noqa: FBT001 (a table)
    """Where each run has its own key, a caller that names the run of another cannot compare with it.

    Nor where a processor copies baggage to spans.
    """
    process = Process(key_scope="run")
    with otel_loopguard.run("r"):
        process.call("search", {"q": 1})
    token = otel_context.attach(propagate.extract({"baggage": f"{name}=r"}))
    try:
        for _ in range(2):
            process.call("search", {"q": 1}, **({name: "r"} if copied else {}))
        with otel_loopguard.run("r"):
            process.call("search", {"q": 1})
    finally:
        otel_context.detach(token)
    assert [one[names.RUN_ID] for one in process.attributes] == ["r"] * 4
    given, carried, other, again = process.written(names.FINGERPRINT)
    assert given == again
    assert len({given, carried, other}) == 3


def test_one_trace_of_a_carried_run_has_one_key() -> None:
    """Within a trace the calls of a run that baggage names are compared, guarded or not."""
    process = Process(key_scope="run")
    token = otel_context.attach(propagate.extract({"baggage": "loopguard.run.id=r"}))
    try:
        with process.agent("a"):
            process.call("search", {"q": 1})
            process.call("search", {"q": 1})
    finally:
        otel_context.detach(token)
    assert process.written(names.REPEAT_COUNT) == [1, 2]
