"""A span read at a glance: what most spans are is told by the keys of their attributes and a few of the values.

Not another way to read telemetry: it gives what the conventions give (`RecordReader`, `placed_alone`), or nothing where
a span is not one of the three common kinds, which are a span that no convention knows, a model's or an agent's span of
the gen-AI conventions, and a tool call that our own processor marked and emptied of content. Senders write few
combinations of keys, so what a combination means is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, cast, get_args

from otel_loopguard import names
from otel_loopguard.conventions import MARKERS, NAMES, NOT_TOOLS, Role
from otel_loopguard.conventions._decode import NO_CALL_ID
from otel_loopguard.conventions.gen_ai import ROLES
from otel_loopguard.conventions.loopguard import LARGEST_SEQUENCE
from otel_loopguard.core.call import Outcome, OutcomeKind, ToolCall
from otel_loopguard.core.identifier import LONGEST
from otel_loopguard.core.reader import CallReader
from otel_loopguard.stream.otlp import STATUS_ERROR
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.trace import Hints, Span
from otel_loopguard.stream.trace_request import SpanMessage

__all__ = ["Glance"]

_OPERATION: Final = "gen_ai.operation.name"
_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
_RESULT: Final = "gen_ai.tool.call.result"
_AGENT_CALL: Final = "gen_ai.agent.call.id"
_CONVERSATIONS: Final = ("gen_ai.conversation.id", "session.id")

_MARKS: Final = frozenset([
    _OPERATION, names.TOOL_NAME, names.RUN_ID, names.KEY_ID, names.FINGERPRINT, names.SEQUENCE, names.PROCESS_ID,
    names.OUTCOME,
])  # fmt: skip
"""What our processor writes on every call whose arguments it knew."""
_RARE: Final = frozenset([
    names.ERROR_TYPE, names.ERROR_FINGERPRINT, names.ERROR_SHAPE, names.GROUP_FINGERPRINT, names.STATE_FINGERPRINT,
    names.ITEMS_UNSEEN, names.USER_MESSAGE, names.HANDOFF_AGENT, names.FINDING_KIND, _AGENT_CALL, *_CONVERSATIONS,
    "gen_ai.tool.input", "gen_ai.tool.output", "gen_ai.tool.call_id", "gen_ai.tool.status",
    "gen_ai.tool.call.arguments.truncated",
])  # fmt: skip
"""What a call may have beside that, and what is read the long way then."""
_ROLE_MARKERS: Final = frozenset([_OPERATION, _AGENT_CALL])
_CALL_MARKERS: Final = frozenset([_OPERATION, _ARGUMENTS, names.TOOL_CALL_ID, names.RUN_ID, names.SEQUENCE,
                                  names.VERDICT])  # fmt: skip
"""The markers that such spans may have. Two other families look at some of them: OpenLLMetry at arguments, for an
envelope that a placeholder is not, and Gemini CLI at the operation's name, for words of its own."""
_CALL_OPERATION: Final = "execute_tool"
_OUTCOMES: Final = frozenset(get_args(OutcomeKind)) - {"error", "ours", "missing"}
_ASKING: Final = frozenset(["read", "poll"])
_NONE: Final = "-"
"""In place of an attribute that is not there, where lengths are looked at."""

_PLANS: Final = 1024
"""Combinations of keys that are remembered."""
_KEYS: Final = 64
"""Keys of a combination that is remembered."""
_CHARACTERS: Final = 4096
"""Of all keys of such a combination."""
_MOST_ROLES: Final = 4096
"""Roles that are remembered; equal ones are one object."""
_BARE: Final = 4096
"""Calls without arguments that are remembered."""

_NOTHING_KIND: Final = 0
_ROLE_KIND: Final = 1
_CALL_KIND: Final = 2
_LONG_KIND: Final = 3


class _Plan(NamedTuple):
    """What a combination of keys means."""

    kind: int
    has_agent: bool = False
    has_agent_call: bool = False
    conversation: str = ""
    """The key of the conversation's id."""
    has_arguments: bool = False
    has_result: bool = False
    has_result_mark: bool = False
    has_call_id: bool = False
    has_turn: bool = False


_NOTHING: Final = _Plan(_NOTHING_KIND)
_LONG: Final = _Plan(_LONG_KIND)


class Glance:
    """Reads common spans under one policy and keyring."""

    def __init__(self, reader_of: Callable[[str, str], CallReader], *, is_scoped: bool) -> None:
        """``reader_of`` gives the reader of a service and run; ``is_scoped``: the policy separates histories by
        attributes, so that calls are read the long way.
        """
        self._reader_of = reader_of
        self._is_scoped = is_scoped
        self._plans: dict[tuple[str, ...], _Plan] = {}
        """By keys in the order in which they come, which is the same for equal spans of one sender."""
        self._roles: dict[tuple[str, str, str, str], Role] = {}
        self._bare: dict[tuple[CallReader, str], ToolCall] = {}

    def read(self, span: SpanMessage, service: str) -> Span | None:
        """What the span of a service's process tells; None where it must be read the long way."""
        keys = tuple(span.attributes)
        plan = self._plans.get(keys)
        if plan is None:
            plan = self._plan(keys)
        kind = plan.kind
        if kind == _LONG_KIND:
            return None
        if kind == _CALL_KIND:
            return self._call(span, plan, service)
        role = None
        if kind == _ROLE_KIND:
            role = self._role(span, plan)
            if role is None:
                return None
        elif span.name.startswith(NAMES):
            return None
        return Span(
            _id(span.trace_id),
            _id(span.span_id),
            _id(span.parent_span_id),
            span.start_time_unix_nano or None,
            span.end_time_unix_nano or None,
            role,
        )

    def read_on(self, spans: Sequence[SpanMessage], at: int, service: str, found: list[Span]) -> int:
        """Read spans from a place on, up to one that must be read the long way; how many were read."""
        for place in range(at, len(spans)):
            span = self.read(spans[place], service)
            if span is None:
                return place - at
            found.append(span)
        return len(spans) - at

    # Combinations of keys -----------------------------------------------------------------------------------------

    def _plan(self, keys: tuple[str, ...]) -> _Plan:
        plan = self._planned(frozenset(keys))
        if len(keys) <= _KEYS and sum(map(len, keys)) <= _CHARACTERS:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[keys] = plan
        return plan

    def _planned(self, keys: frozenset[str]) -> _Plan:
        present = MARKERS & keys
        if not present:
            return _NOTHING
        if _OPERATION in present and present <= _ROLE_MARKERS:
            conversation = next((key for key in _CONVERSATIONS if key in keys), "")
            return _Plan(
                _ROLE_KIND,
                has_agent=names.AGENT_NAME in keys,
                has_agent_call=_AGENT_CALL in keys,
                conversation=conversation,
            )
        is_call = present <= _CALL_MARKERS and keys >= _MARKS and keys.isdisjoint(_RARE)
        if not is_call or self._is_scoped:
            return _LONG
        return _Plan(
            _CALL_KIND,
            has_agent=names.AGENT_NAME in keys,
            has_arguments=_ARGUMENTS in keys,
            has_result=_RESULT in keys,
            has_result_mark=names.RESULT_FINGERPRINT in keys,
            has_call_id=names.TOOL_CALL_ID in keys,
            has_turn=names.TURN in keys,
        )

    # Models and agents --------------------------------------------------------------------------------------------

    def _role(self, span: SpanMessage, plan: _Plan) -> Role | None:
        """The role of a span with an operation's name; None where it has another name."""
        value = span.attributes
        kind = ROLES.get(value[_OPERATION].string_value)
        if kind is None:
            return None
        agent = value[names.AGENT_NAME].string_value if plan.has_agent else ""
        agent_call = value[_AGENT_CALL].string_value if plan.has_agent_call else ""
        conversation = value[plan.conversation].string_value if plan.conversation else ""
        if (not agent and plan.has_agent) or (not agent_call and plan.has_agent_call):
            return None  # no text, or an empty one
        if not conversation and plan.conversation:
            return None
        key = (kind, agent, agent_call, conversation)
        role = self._roles.get(key)
        if role is None:
            if max(len(agent), len(agent_call), len(conversation)) > LONGEST:
                return None
            role = Role(kind, agent or None, None, agent_call or None, conversation or None)
            if len(self._roles) >= _MOST_ROLES:
                self._roles.clear()
            self._roles[key] = role
        return role

    # Calls --------------------------------------------------------------------------------------------------------

    def _call(self, span: SpanMessage, plan: _Plan, service: str) -> Span | None:
        """A marked call that ended well, placed by its own marks."""
        value = span.attributes
        outcome = value[names.OUTCOME].string_value
        if outcome not in _OUTCOMES or not _is_emptied(span, plan):
            return None
        tool = value[names.TOOL_NAME].string_value
        run_id = value[names.RUN_ID].string_value
        key_id = value[names.KEY_ID].string_value
        fingerprint = value[names.FINGERPRINT].string_value
        process_id = value[names.PROCESS_ID].string_value
        agent = value[names.AGENT_NAME].string_value if plan.has_agent else _NONE
        result = value[names.RESULT_FINGERPRINT].string_value if plan.has_result_mark else _NONE
        call_id = value[names.TOOL_CALL_ID].string_value if plan.has_call_id else _NONE
        sequence = value[names.SEQUENCE].int_value
        turn = value[names.TURN].int_value if plan.has_turn else -1
        if not (sequence and turn) or abs(sequence) >= LARGEST_SEQUENCE:
            return None  # another type, nought, or no number that anybody counts to
        for text in (tool, run_id, key_id, fingerprint, process_id, agent, result, call_id):
            if not 0 < len(text) <= LONGEST:
                return None  # another type, nothing or too long
        trace = _id(span.trace_id)
        if run_id == trace or call_id.casefold() in NO_CALL_ID or tool in NOT_TOOLS or span.name in NOT_TOOLS:
            return None
        own, around = _id(span.span_id), _id(span.parent_span_id)
        start, end = span.start_time_unix_nano or None, span.end_time_unix_nano or None
        reader = self._reader_of(service, run_id)
        empty = self._bare.get((reader, tool)) or self._empty(reader, tool)
        # Fields in their order: keywords would take twice as long.
        call = ToolCall(
            tool, fingerprint, key_id, None, None, None, (), 0,
            fingerprint == empty.fingerprint and key_id == empty.key_id,
            reader.policy.for_tool(tool).kind not in _ASKING,
            False,  # noqa: FBT003
            call_id if plan.has_call_id else None,
            turn if plan.has_turn else own or None,
            "",
            False,  # noqa: FBT003
            None, start,
        )  # fmt: skip
        record = CallRecord(
            run_id, call,
            Outcome(cast("OutcomeKind", outcome), result if plan.has_result_mark else None, end_ns=end),
            agent if plan.has_agent else "", plan.has_agent,
            True,  # noqa: FBT003
            sequence, process_id, trace, own, around, "",
            False,  # noqa: FBT003
            start, end,
        )  # fmt: skip
        hints = Hints(
            run_id, None, None, None, None, agent if plan.has_agent else None, turn if plan.has_turn else None
        )
        return Span(trace, own, around, start, end, Role("step", None, run_id), record, hints)

    def _empty(self, reader: CallReader, tool: str) -> ToolCall:
        """A call without arguments."""
        if len(self._bare) >= _BARE:
            self._bare.clear()
        found = self._bare[reader, tool] = reader.call(tool, {})
        return found


def _id(raw: bytes) -> str:
    """Hex digits; empty where the id is missing or all zeros, as `otlp` has it."""
    return raw.hex() if raw and (raw[0] or raw.strip(b"\0")) else ""


def _is_emptied(span: SpanMessage, plan: _Plan) -> bool:
    """Whether a span is a tool call that ended well, has no content and says nothing by its events."""
    value = span.attributes
    return (
        value[_OPERATION].string_value == _CALL_OPERATION
        and (not plan.has_arguments or value[_ARGUMENTS].string_value == names.REDACTED)
        and (not plan.has_result or value[_RESULT].string_value == names.REDACTED)
        and not span.events
        and span.status.code != STATUS_ERROR
    )
