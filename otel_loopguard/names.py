"""The registry of every name that this project emits or reads: attributes, events, metrics, variables.

Not the names of other conventions beyond the few that we write ourselves; those live with the convention that
reads them. The README's table of names is tested against this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["ATTRIBUTES", "EVENTS", "METRICS", "REDACTED", "SCOPE", "SPAN_ATTRIBUTES", "VARIABLES", "Name"]

NameKind = Literal["attribute", "event", "counter", "histogram", "gauge", "variable"]


@dataclass(frozen=True, slots=True)
class Name:
    """One name with what a reader of a dashboard must know about it."""

    name: str
    kind: NameKind
    type: str
    """Value type of an attribute, unit (UCUM) of a metric, allowed values of a variable."""
    meaning: str


SCOPE: Final = "otel_loopguard"
"""Instrumentation scope of everything that we emit."""

REDACTED: Final = "[REDACTED]"
"""What redacted content becomes."""

# Span attributes -------------------------------------------------------------------------------------------------
FINGERPRINT: Final = "loopguard.fingerprint"
KEY_ID: Final = "loopguard.key.id"
RUN_ID: Final = "loopguard.run.id"
SEQUENCE: Final = "loopguard.sequence"
REPEAT_COUNT: Final = "loopguard.repeat.count"
REPEAT_CONSECUTIVE: Final = "loopguard.repeat.consecutive"
RESULT_FINGERPRINT: Final = "loopguard.result.fingerprint"
OUTCOME: Final = "loopguard.outcome"
VERDICT: Final = "loopguard.verdict"
PROCESS_ID: Final = "loopguard.process.id"
TURN: Final = "loopguard.turn"
PROGRESS: Final = "loopguard.progress"
FINDING_KIND: Final = "loopguard.finding.kind"
FINDING_KINDS: Final = "loopguard.finding.kinds"
POLICY_VERSION: Final = "loopguard.policy.version"
REDACTED_KEYS: Final = "loopguard.redacted.keys"
ERROR_FINGERPRINT: Final = "loopguard.error.fingerprint"
ERROR_SHAPE: Final = "loopguard.error.shape"
GROUP_FINGERPRINT: Final = "loopguard.group.fingerprint"
ITEMS_UNSEEN: Final = "loopguard.items.unseen"
USER_MESSAGE: Final = "loopguard.user.message"
HANDOFF_AGENT: Final = "loopguard.handoff.agent"
STATE_FINGERPRINT: Final = "loopguard.state.fingerprint"
AGENT_NAME: Final = "gen_ai.agent.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"

# Event and metric attributes --------------------------------------------------------------------------------------
FINDING_ID: Final = "loopguard.finding.id"
FINDING_ACTION: Final = "loopguard.finding.action"
FINDING_SEQUENCE: Final = "loopguard.finding.sequence"
FINDING_FIRST_SEQUENCE: Final = "loopguard.finding.first_sequence"
FINDING_COUNT: Final = "loopguard.finding.count"
FINDING_LIMIT: Final = "loopguard.finding.limit"
FINDING_PERIOD: Final = "loopguard.finding.period"
NUDGE_OUTCOME: Final = "loopguard.nudge.outcome"
TERMINATION_REASON: Final = "loopguard.termination.reason"
RUN_CALLS: Final = "loopguard.run.calls"
RUN_REPEAT_MAX: Final = "loopguard.run.repeat.max"
RUN_PROGRESSED: Final = "loopguard.run.progressed"
RUN_WASTED_CALLS: Final = "loopguard.run.wasted.calls"
RUN_WASTED_TOKENS: Final = "loopguard.run.wasted.tokens"
INTEGRITY_KIND: Final = "loopguard.integrity.kind"
INTEGRITY_LEVEL: Final = "loopguard.integrity.level"
DROP_REASON: Final = "loopguard.drop.reason"
QUEUE_NAME: Final = "loopguard.queue.name"
SERVER_ANSWER: Final = "loopguard.server.answer"

BLOCKED_KIND: Final = "loopguard.blocked.kind"
BLOCKED_NEEDED: Final = "loopguard.blocked.needed"

# Events -----------------------------------------------------------------------------------------------------------
FINDING: Final = "loopguard.finding"
NUDGE: Final = "loopguard.nudge.outcome"
RUN_END: Final = "loopguard.run.end"
INTEGRITY: Final = "loopguard.integrity"
DENIED: Final = "loopguard.dispatch.denied"
STOPPED: Final = "loopguard.response.terminal"
BLOCKED: Final = "loopguard.blocked"

# Metrics ----------------------------------------------------------------------------------------------------------
TOOL_CALLS: Final = "loopguard.tool.calls"
FINDINGS: Final = "loopguard.findings"
NUDGES: Final = "loopguard.nudges"
DROPPED: Final = "loopguard.dropped"
RUNS: Final = "loopguard.runs"
INTEGRITY_FINDINGS: Final = "loopguard.integrity.findings"
DENIALS: Final = "loopguard.denials"
BLOCKED_REPORTS: Final = "loopguard.blocked.reports"
ERRORS: Final = "loopguard.errors"
DETECTION_CALLS: Final = "loopguard.detection.calls"
WASTED_CALLS: Final = "loopguard.wasted.calls"
OVERHEAD_DURATION: Final = "loopguard.overhead.duration"
LAST_RECORD_TIME: Final = "loopguard.last.record.time"
QUEUE_SIZE: Final = "loopguard.queue.size"
SERVER_REQUESTS: Final = "loopguard.server.requests"
SERVER_ITEMS: Final = "loopguard.server.items"
SERVER_LATENCY: Final = "loopguard.server.latency"
SERVER_RUNS: Final = "loopguard.server.runs"
SERVER_STATE_SIZE: Final = "loopguard.server.state.size"
SERVER_CONNECTIONS: Final = "loopguard.server.connections"

# Environment variables --------------------------------------------------------------------------------------------
ENABLED: Final = "LOOPGUARD_ENABLED"
KEY: Final = "LOOPGUARD_KEY"
KEY_FILE: Final = "LOOPGUARD_KEY_FILE"
KEY_SCOPE: Final = "LOOPGUARD_KEY_SCOPE"
CONTENT: Final = "LOOPGUARD_CONTENT"
EXCEPTIONS: Final = "LOOPGUARD_EXCEPTIONS"
POLICY: Final = "LOOPGUARD_POLICY"
MODE: Final = "LOOPGUARD_MODE"
GUARD: Final = "LOOPGUARD_GUARD"
BAGGAGE: Final = "LOOPGUARD_BAGGAGE"


def _attribute(name: str, type_: str, meaning: str) -> Name:
    return Name(name, "attribute", type_, meaning)


SPAN_ATTRIBUTES: Final = (
    _attribute(
        FINGERPRINT, "string", "keyed HMAC of tool and canonical arguments, 32 hex digits; absent where unknown"
    ),
    _attribute(KEY_ID, "string", "the key that made the fingerprints; never compare across key ids"),
    _attribute(RUN_ID, "string", "the run that the call belongs to"),
    _attribute(SEQUENCE, "int", "number of the call in its run, agent and process, in the order in which calls end"),
    _attribute(REPEAT_COUNT, "int", "how often the fingerprint stands in window and history, this call included"),
    _attribute(REPEAT_CONSECUTIVE, "int", "how often in a row, this call included; written above 1"),
    _attribute(RESULT_FINGERPRINT, "string", "keyed HMAC of the result after the policy's result rules"),
    _attribute(OUTCOME, "string", "ok, empty, noop, error, missing or ours (refused or answered by us)"),
    _attribute(VERDICT, "string", "allow, nudge, stop or unknown: what the engine says, not whether the call ran"),
    _attribute(PROCESS_ID, "string", "random id of the counting process; new after a fork"),
    _attribute(TURN, "int", "number of the model decision that made the call, where known"),
    _attribute(PROGRESS, "string", "advanced, unchanged or unknown; written on a repeat"),
    _attribute(FINDING_KIND, "string", "the primary finding's kind; on a span event, that finding's kind"),
    _attribute(FINDING_KINDS, "string[]", "kinds of all findings of the call, sorted"),
    _attribute(POLICY_VERSION, "string", "revision of the policy; absent for the built-in one"),
    _attribute(REDACTED_KEYS, "string[]", "what was removed from the span, sorted"),
    _attribute(ERROR_FINGERPRINT, "string", "keyed HMAC of the error's message, volatile parts masked"),
    _attribute(ERROR_SHAPE, "string", "keyed HMAC of the shape of the error message, or of the words for no hit"),
    _attribute(GROUP_FINGERPRINT, "string", "fingerprint without cursor and idempotency key, where it differs"),
    _attribute(ITEMS_UNSEEN, "int", "declared items of the result never seen before in the run"),
    _attribute(USER_MESSAGE, "boolean", "true on the first call after a user message"),
    _attribute(HANDOFF_AGENT, "string", "the agent that the call hands work to"),
    _attribute(STATE_FINGERPRINT, "string", "keyed HMAC of the application's own state after the call"),
    _attribute(AGENT_NAME, "string", "written where the tool span lacks it"),
    _attribute(TOOL_NAME, "string", "written where the tool span lacks it"),
    _attribute(TOOL_CALL_ID, "string", "written where the tool span lacks it"),
    _attribute(ERROR_TYPE, "string", "written where the tool span lacks it"),
)
"""What the span processor writes on tool spans."""

ATTRIBUTES: Final = (
    *SPAN_ATTRIBUTES,
    _attribute(FINDING_ID, "string", "same for the same finding whoever reports it: de-duplicate by it"),
    _attribute(FINDING_ACTION, "string", "nudge, stop or info"),
    _attribute(FINDING_SEQUENCE, "int", "number of the judged call"),
    _attribute(FINDING_FIRST_SEQUENCE, "int", "number of the first call of the episode"),
    _attribute(FINDING_COUNT, "int", "calls, laps or turns that count"),
    _attribute(FINDING_LIMIT, "int", "the threshold that was reached"),
    _attribute(FINDING_PERIOD, "int", "turns of one lap"),
    _attribute(NUDGE_OUTCOME, "string", "recovered, escalated or open"),
    _attribute(
        TERMINATION_REASON,
        "string",
        "why the run ended, as recorded: final_answer, loop_detected, turn_limit, budget, deadline, tool_error or "
        "cancelled",
    ),
    _attribute(RUN_CALLS, "int", "tool calls of the run"),
    _attribute(RUN_REPEAT_MAX, "int", "highest repeat count of the run"),
    _attribute(RUN_PROGRESSED, "boolean", "whether anything new came after the last finding"),
    _attribute(RUN_WASTED_CALLS, "int", "calls after the first finding"),
    _attribute(RUN_WASTED_TOKENS, "int", "tokens after the first finding, where known"),
    _attribute(INTEGRITY_KIND, "string", "what is in doubt: conflict, gap, unnumbered, clock or call_id"),
    _attribute(INTEGRITY_LEVEL, "string", "error (enforcement is off for the run) or info"),
    _attribute(DROP_REASON, "string", "why something was dropped"),
    _attribute(QUEUE_NAME, "string", "of the detector: requests, or the sink that messages wait for"),
    _attribute(SERVER_ANSWER, "string", "of the detector: accepted, partial, or why a request was refused"),
    _attribute(BLOCKED_KIND, "string", "what a blocked agent needs, one of a few words"),
    _attribute(BLOCKED_NEEDED, "string", "the same in the agent's words; only with LOOPGUARD_CONTENT=keep"),
)  # fmt: skip

EVENTS: Final = (
    Name(FINDING, "event", "WARN", "the loop event: one per step of an episode"),
    Name(NUDGE, "event", "INFO", "how a nudged episode went on"),
    Name(RUN_END, "event", "INFO", "totals of a run that ended"),
    Name(INTEGRITY, "event", "WARN", "the run's telemetry is in doubt"),
    Name(DENIED, "event", "WARN", "a guard did not dispatch a call; after its finding, before any start of it"),
    Name(STOPPED, "event", "WARN", "a guard ended the agent's turn: what it said to the caller is out"),
    Name(BLOCKED, "event", "INFO", "the agent said that it cannot go on, and what kind of thing it needs"),
)

METRICS: Final = (
    Name(TOOL_CALLS, "counter", "{call}", "tool calls observed"),
    Name(FINDINGS, "counter", "{finding}", "findings, by kind, action, tool and agent"),
    Name(NUDGES, "counter", "{nudge}", "nudges by outcome"),
    Name(DROPPED, "counter", "{item}", "what bounded memory dropped, by reason"),
    Name(RUNS, "counter", "{run}", "runs that ended, by verdict"),
    Name(INTEGRITY_FINDINGS, "counter", "{finding}", "integrity findings"),
    Name(DENIALS, "counter", "{call}", "calls that a guard did not dispatch, by kind of finding, tool and agent"),
    Name(BLOCKED_REPORTS, "counter", "{report}", "reports of blocked agents, by what they need"),
    Name(ERRORS, "counter", "{error}", "our own errors, swallowed, by `error.type`"),
    Name(DETECTION_CALLS, "histogram", "{call}", "calls of a run and agent up to a finding"),
    Name(WASTED_CALLS, "histogram", "{call}", "calls after a run's first finding"),
    Name(OVERHEAD_DURATION, "histogram", "s", "time that the processor took for a tool span, sampled"),
    Name(LAST_RECORD_TIME, "gauge", "s", "when the detector last took in a span or log record, Unix time"),
    Name(QUEUE_SIZE, "gauge", "{item}", "what waits in the detector, by queue"),
    Name(SERVER_REQUESTS, "counter", "{request}", "requests to the detector by answer"),
    Name(SERVER_ITEMS, "counter", "{item}", "spans and log records that the detector took in"),
    Name(SERVER_LATENCY, "histogram", "s", "time from a request's receipt until its calls are with their runs"),
    Name(SERVER_RUNS, "gauge", "{run}", "runs that the detector holds"),
    Name(SERVER_STATE_SIZE, "gauge", "By", "state of all runs that the detector holds"),
    Name(SERVER_CONNECTIONS, "gauge", "{connection}", "open HTTP connections of the detector"),
)

VARIABLES: Final = (
    Name(ENABLED, "variable", "true | false", "switches everything on; anything else is on, with a warning"),
    Name(KEY, "variable", "base64 or hex", "the secret key, at least 32 bytes"),
    Name(KEY_FILE, "variable", "path", "a key file with one active key; wins over LOOPGUARD_KEY"),
    Name(KEY_SCOPE, "variable", "environment | service | run", "how far fingerprints are comparable"),
    Name(CONTENT, "variable", "redact | redact_all | keep", "what happens to arguments and results"),
    Name(EXCEPTIONS, "variable", "drop | keep", "what happens to exception messages and stack traces of tool spans"),
    Name(POLICY, "variable", "path", "the policy file"),
    Name(MODE, "variable", "observe | nudge | enforce", "what guards do; wins over the policy"),
    Name(GUARD, "variable", "observe | nudge | enforce", "installs the guard adapters that need no code"),
    Name(BAGGAGE, "variable", "off | on", "whether run id and agent are sent as W3C baggage"),
)
