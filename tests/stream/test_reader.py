"""Records become calls without content; what our own processor wrote replaces what is read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from otel_loopguard import conventions
from otel_loopguard.conventions import Event, Record
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.core.value import mapping_of
from otel_loopguard.replay.packed import pack_span
from otel_loopguard.stream.reader import Ending, RecordReader, read_ending
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Hints, Span
from tests.support.recorded import records

KEYS = Keyring(SecretKey(bytes(range(32))))
TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
CONTENT_KEYS = conventions.CONTENT.tool | conventions.CONTENT.messages
FINGERPRINT, RESULT = "f" * 32, "e" * 32


def span(signal: Any = "span", **attributes: object) -> Record:  # noqa: ANN401
    """A tool span of the gen-AI conventions; double underscores stand for dots."""
    held = {name.replace("__", "."): value for name, value in attributes.items()}
    return Record(
        signal,
        "execute_tool look",
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", **held},
        resource={"service.name": "triage", "tenant.id": "acme"},
        trace_id=TRACE,
        span_id=SPAN,
        parent_span_id=PARENT,
        start_ns=5,
        end_ns=9,
    )


CONTENT = {"gen_ai__tool__call__arguments": '{"id": 5}', "gen_ai__tool__call__result": "blue"}
MARKED = {
    "gen_ai__tool__call__arguments": "[REDACTED]",
    "gen_ai__tool__call__result": "[REDACTED]",
    "loopguard__fingerprint": FINGERPRINT,
    "loopguard__key__id": "theirs",
    "loopguard__run__id": "run-7",
    "loopguard__sequence": 3,
    "loopguard__process__id": "p",
    "loopguard__result__fingerprint": RESULT,
    "loopguard__outcome": "ok",
    "loopguard__verdict": "allow",
}


def read(record: Record, policy: Policy | None = None, keys: Keyring = KEYS, **options: Any) -> Span:  # noqa: ANN401
    """The span of a record."""
    found = RecordReader(policy or Policy(), keys, **options).read(record)
    assert found is not None
    return found


def call_of(record: Record, policy: Policy | None = None, keys: Keyring = KEYS, **options: Any) -> CallRecord:  # noqa: ANN401
    """The call of a record."""
    found = read(record, policy, keys, **options).call
    assert found is not None
    return found


def test_a_tool_span_becomes_a_call() -> None:
    """Ids, times, tool, fingerprint and result come from the span; run and agent wait for the spans around it."""
    call = call_of(span(**CONTENT, gen_ai__tool__call__id="c1"))
    assert (call.trace_id, call.span_id, call.parent_span_id, call.start_ns, call.end_ns) == (TRACE, SPAN, PARENT, 5, 9)
    assert (call.call.tool, call.call.call_id, call.call.start_ns, call.call.key_id) == (
        "look",
        "c1",
        5,
        KEYS.active.id,
    )
    assert call.call.fingerprint is not None
    assert (call.outcome.kind, call.outcome.end_ns, call.finished) == ("ok", 9, True)
    assert (call.run_id, call.sequence, call.process_id, call.is_event) == ("", None, "", False)


def test_equal_calls_are_equal_however_they_were_written() -> None:
    """Spelling and family do not matter: one fingerprint, one result."""
    one = call_of(span(**CONTENT))
    other = call_of(
        Record(
            "span",
            "look",
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "look",
                "input.value": '{ "id" : 5.0 }',
                "output.value": "blue",
            },
        )
    )
    assert (one.call.fingerprint, one.outcome.fingerprint) == (other.call.fingerprint, other.outcome.fingerprint)


def test_other_spans_are_kept_for_what_is_below_them() -> None:
    """An agent's span gives its role, any span its place in the tree, a log record that is nothing of ours nothing."""
    agent = read(Record("span", "invoke_agent x", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "x"}))
    assert agent.call is None
    assert agent.role is not None
    assert (agent.role.kind, agent.role.agent) == ("agent", "x")
    plain = read(Record("span", "GET /", {}, trace_id=TRACE, span_id=SPAN))
    assert (plain.call, plain.role, plain.trace_id, plain.span_id) == (None, None, TRACE, SPAN)
    assert RecordReader(Policy(), KEYS).read(Record("log", "something", {})) is None


def test_marks_are_taken_as_they_are() -> None:
    """Fingerprints that were made elsewhere are the call's, under the key id that made them."""
    call = call_of(span(**MARKED, loopguard__group__fingerprint="d" * 32, loopguard__items__unseen=2))
    assert (call.call.fingerprint, call.call.key_id, call.call.group) == (FINGERPRINT, "theirs", "d" * 32)
    assert (call.call.unknown, call.sequence, call.process_id) == (None, 3, "p")
    assert (call.outcome.kind, call.outcome.fingerprint, call.outcome.unseen, call.outcome.declared) == (
        "ok", RESULT, 2, True,
    )  # fmt: skip


def test_marks_of_an_error() -> None:
    """Message key, shape and category of an error travel without its text."""
    marks = MARKED | {
        "loopguard__outcome": "error",
        "loopguard__error__fingerprint": "c" * 32,
        "loopguard__error__shape": "b" * 32,
        "error__type": "timeout",
    }
    outcome = call_of(span(**marks)).outcome
    assert (outcome.kind, outcome.error, outcome.shape, outcome.category, outcome.refusal) == (
        "error", "c" * 32, "b" * 32, "transient", True,
    )  # fmt: skip


def test_what_another_key_made_is_not_mixed_with_what_ours_makes() -> None:
    """Where a marked span kept its content, nothing made with our key stands beside the other key's fingerprint."""
    marks = {name: value for name, value in MARKED.items() if "result__fingerprint" not in name} | CONTENT
    call = call_of(span(**marks))
    assert (call.call.key_id, call.outcome.fingerprint) == ("theirs", None)
    own = call_of(span(**(marks | {"loopguard__key__id": KEYS.active.id})))
    assert own.outcome.fingerprint == call_of(span(**CONTENT)).outcome.fingerprint


def test_an_empty_call_is_known_under_our_own_key() -> None:
    """A marked call without arguments is told from its fingerprint, because the key is at hand."""
    empty = call_of(span(gen_ai__tool__call__arguments="{}")).call
    assert empty.bare
    marks = MARKED | {"loopguard__fingerprint": empty.fingerprint, "loopguard__key__id": KEYS.active.id}
    assert call_of(span(**marks)).call.bare
    assert not call_of(span(**(marks | {"loopguard__fingerprint": FINGERPRINT}))).call.bare


def test_equal_idempotency_keys_are_known_without_their_values() -> None:
    """Two writes of one group have the same idempotency key where their fingerprints are equal."""
    policy = parse_policy('{"tools": {"look": {"kind": "write", "idempotency_key": "key"}}}')
    group = {"loopguard__group__fingerprint": "d" * 32}
    one, same = (call_of(span(**MARKED, **group), policy).call for _ in range(2))
    other = call_of(span(**(MARKED | {"loopguard__fingerprint": "a" * 32}), **group), policy).call
    assert one.idempotency == same.idempotency != other.idempotency
    assert call_of(span(**MARKED), policy).call.idempotency is None  # no group of its own: there was no key
    assert call_of(span(**MARKED, **group)).call.idempotency is None


@pytest.mark.parametrize(("kind", "payload"), [("unknown", True), ("write", True), ("read", False), ("poll", False)])
def test_a_call_without_its_content_may_have_carried_a_payload(kind: str, payload: bool) -> None:  # noqa: FBT001
    """Unless its tool is only ever asked: a receipt of something handed over is no evidence of a loop."""
    policy = parse_policy(json.dumps({"tools": {"look": {"kind": kind}}}))
    assert call_of(span(**MARKED), policy).call.payload == payload
    assert call_of(span(**CONTENT), policy).call.payload == (kind == "write")


def test_silence_of_work_that_is_done_is_no_empty_answer() -> None:
    """Marks alone say that it went well; with the content it is known to be silence, which differs from an answer."""
    content = {"gen_ai__tool__call__arguments": '{"command": "git add a.py"}', "gen_ai__tool__call__result": '""'}
    assert call_of(span(**MARKED)).outcome.kind == "ok"
    outcome = call_of(span(**(MARKED | content))).outcome
    assert (outcome.kind, outcome.approval) == ("empty", True)


def test_findings_travel() -> None:
    """What the process found of this call and of another one is kept apart."""
    events = (
        Event("loopguard.finding", {"loopguard.finding.kind": "identical", "loopguard.finding.action": "nudge"}),
        Event(
            "loopguard.finding",
            {
                "loopguard.finding.kind": "no_progress",
                "loopguard.finding.action": "nudge",
                "loopguard.finding.sequence": 2,
            },
        ),
    )
    call = call_of(span(**MARKED).changed(events=events))
    assert (call.findings, call.findings_elsewhere) == ((("identical", "nudge"),), (("no_progress", "nudge", 2),))


def test_our_own_log_event_is_no_record_of_the_call() -> None:
    """It carries a number, findings and marks, but no span, start or end."""
    attributes = {
        "loopguard.finding.kind": "identical",
        "loopguard.finding.action": "stop",
        "loopguard.finding.sequence": 4,
        "loopguard.run.id": "run-7",
        "loopguard.process.id": "p",
        "gen_ai.tool.name": "look",
    }
    found = read(Record("log", "loopguard.finding", attributes, trace_id=TRACE, span_id=SPAN, start_ns=5))
    assert found.call is not None
    assert (found.call.is_event, found.call.sequence, found.call.process_id) == (True, 4, "p")
    assert (found.call.span_id, found.call.start_ns, found.call.finished) == ("", None, False)
    assert (found.parent_span_id, found.hints) == (SPAN, Hints(run_id="run-7"))


@pytest.mark.parametrize(
    ("record", "ending"),
    [
        (
            Record(
                "log", "loopguard.run.end", {"loopguard.run.id": "r", "loopguard.termination.reason": "loop_detected"}
            ),
            Ending("r", "loop_detected"),
        ),
        (Record("log", "loopguard.run.end", {"loopguard.run.id": "r"}), Ending("r", "")),
        (Record("log", "loopguard.run.end", {}), None),
        (Record("log", "other", {"loopguard.run.id": "r"}), None),
        (Record("span", "loopguard.run.end", {"loopguard.run.id": "r"}), None),
    ],
)
def test_a_recorded_end(record: Record, ending: Ending | None) -> None:
    """The end of a run is our own log event of that name, with or without a reason."""
    assert read_ending(record) == ending


def test_key_scopes_separate_services_and_runs() -> None:
    """Equal calls have equal fingerprints within the scope of the key and no further."""

    def printed(scope: str, service: str, run: str) -> str | None:
        record = span(**CONTENT, loopguard__run__id=run).changed(resource={"service.name": service})
        return call_of(record, scope=scope).call.fingerprint

    assert printed("environment", "a", "1") == printed("environment", "b", "2")
    assert printed("service", "a", "1") == printed("service", "a", "2") != printed("service", "b", "1")
    assert printed("run", "a", "1") == printed("run", "b", "1") != printed("run", "a", "2")


def test_scope_values_come_from_span_or_resource() -> None:
    """The span's own attribute before its resource's; calls with different values never meet."""
    policy = parse_policy('{"scope": ["tenant.id"]}')
    resource = call_of(span(**CONTENT), policy).call
    own = call_of(span(**CONTENT, tenant__id="other"), policy).call
    same = call_of(span(**CONTENT, tenant__id="acme"), policy).call
    assert (resource.scope, resource.fingerprint) == (same.scope, same.fingerprint)
    assert resource.scope != own.scope
    assert resource.fingerprint != own.fingerprint


def test_no_content_gets_through(shared: Path) -> None:
    """A canary in all content of every recorded span is in nothing that was read from it."""
    reader = RecordReader(Policy(), KEYS)
    canary = "canary-5e3b"
    read_calls = 0
    for file in sorted((shared / "spans").glob("*.json")):
        for record in records(file):
            held = dict(record.attributes)
            for name in CONTENT_KEYS.intersection(held):
                held[name] = json.dumps({"secret": canary}) if str(held[name]).startswith("{") else f"{canary} text"
            found = reader.read(record.changed(attributes=held, status_message=canary))
            assert found is not None
            read_calls += found.call is not None
            plain = msgspec.to_builtins(found, enc_hook=mapping_of)
            for shown in (repr(found), str(pickle.dumps(plain)), str(pack_span(found, 1))):
                assert canary not in shown
    assert read_calls > 100
