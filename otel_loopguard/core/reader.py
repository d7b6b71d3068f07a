"""The last place that sees content: arguments and a result go in, a keyed `ToolCall` and `Outcome` come out.

Not a judge: what is a repeat, an error that counts or news is for the engine, which never sees more than this makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, Literal

import orjson

from .call import ABSENT, OURS, Absent, Category, Outcome, OutcomeKind, ToolCall, Turn
from .canonical import Unknown, encode, load, load_and_encode
from .fingerprint import Fingerprinter
from .identifier import LONGEST
from .policy import STRICT, Policy, ResultRules, ToolPolicy
from .reading.answer import (
    REFUSAL_LENGTH,
    Answer,
    finds_nothing,
    is_receipt,
    is_silent,
    is_wordless,
    read_answer,
    tells,
    unwrapped,
)
from .reading.category import category_of, is_category, is_passing
from .reading.command import searches, works_in_silence
from .reading.comparison import compared
from .reading.counter import counter_of, names_count
from .reading.echo import may_have_rest, without_echo
from .reading.fault import is_fault
from .reading.message import message_key, message_shape, opening, unquoted
from .reading.nothing import is_nothing
from .reading.payload import has_payload
from .reading.progress import at_path, items_at, measure_of
from .reading.thought import is_thought
from .reading.volatile import MASK, mask
from .words import LONG_ENOUGH, MAX_LEAVES, SKETCH_SIZE, WORD_LIMIT, leaves, long_words_of, outline, words_of

__all__ = ["CallReader"]

_LONGEST_ECHO: Final = 8192
"""Characters of arguments that a message may repeat as a whole."""
_MOST_TOOLS: Final = 256
"""Tools whose settings are kept: more than agents are given."""
_ITEMS: Final = 256
"""Items of a result that are compared; a history remembers no more."""
_DIGIT: Final = re.compile(r"\d")
_FIRST_WORDS: Final = re.compile(r"\S+")
_HEAD: Final = 256
"""Characters of a text in which four words are looked for."""
_MASKED: Final = MASK.encode()
_LONG_ANSWER: Final = 400
"""Bytes of an answer that is a page, and may hold so many long words."""
_MANY_WORDS: Final = 32
_FEW_WORDS: Final = 2 * WORD_LIMIT
_FEW_LEAVES: Final = 2 * MAX_LEAVES
"""Bytes of JSON with no more words or scalars than are looked at: in whatever order they stand."""
_BARE: Final = frozenset([b"{}", b"null", b'""', b"[]"])


def _is_informative(data: object) -> bool:
    """A digit, or at least four words, besides what wraps them."""
    words = 0
    for leaf in leaves(data):
        if leaf is None:
            continue
        if isinstance(leaf, str):
            text = unwrapped(leaf)
            if _DIGIT.search(text) is not None:
                return True
        elif isinstance(leaf, bool):
            text = "true"
        else:
            return True
        words += len(_FIRST_WORDS.findall(text[:_HEAD]))
        if words >= LONG_ENOUGH:
            return True
    return False


def _is_short(encoded: bytes | Unknown | None) -> bool:
    return isinstance(encoded, bytes) and len(encoded) <= REFUSAL_LENGTH


def _kind(data: object, settings: ToolPolicy, *, is_error: bool, is_empty: bool) -> OutcomeKind:
    if is_error:
        return "error"
    changed = settings.result.changed
    if changed is not None and any(value is False for value in at_path(data, changed)):
        return "noop"
    return "empty" if is_empty else "ok"


def _category(error_type: str | None, data: object, settings: ToolPolicy, *, is_error: bool) -> Category:
    """What a failure means for a retry; a write is never held to have been rejected for what a text says."""
    if is_error and error_type is None and settings.kind != "write" and is_passing(data):
        return "transient"
    return category_of(error_type, is_error=is_error, kind=settings.kind)


def _text_of(data: object) -> str:
    """All texts of a result in one line: what an error says. Numbers beside texts count tries, or are codes of them."""
    if isinstance(data, str):
        return data
    held = [leaf for leaf in leaves(data) if leaf is not None]
    return " ".join([leaf for leaf in held if isinstance(leaf, str)] or map(str, held))


def _parsed(raw: object) -> object:
    """JSON text as Python reads it, with its members in their order; anything else as it is."""
    if not isinstance(raw, str) or not raw.startswith("{") or len(raw) > _LONGEST_ECHO:
        return raw
    try:
        return orjson.loads(raw)
    except ValueError:
        try:
            return json.loads(raw)  # forgives NaN and lone surrogates
        except (ValueError, RecursionError):
            return raw


def _in_order(data: object, raw: object) -> object:
    """Plain data with its members in the order in which they were handed over: so a message repeats them."""
    if isinstance(data, dict) and isinstance(raw, dict) and len(data) == len(raw) and all(name in data for name in raw):
        return {name: _in_order(data[name], raw[name]) for name in raw}
    return data


def _own(arguments: object) -> object:
    """The arguments as a message may repeat them; None where they are not known."""
    loaded = load(arguments)
    return None if isinstance(loaded, Unknown) else _in_order(loaded, _parsed(arguments))


def _read_answer(
    text: str, refusals: Literal["standard", "none"] | tuple[str, ...], arguments: object, *, payload: bool
) -> Answer:
    """What an unflagged text comes to; no word that it quotes of the call is one of the tool's."""
    answer = read_answer(text, refusals, payload=payload)
    if not answer.refusal:
        return answer
    rest = unquoted(text, _own(arguments))
    return answer if rest == text else read_answer(rest, refusals, payload=payload)


def _ordered(data: object, result: object) -> object:
    """The data of a result with its members in the one order that counts, where the first of some is meant."""
    return load(result) if isinstance(data, (dict, list)) else data


_CUT: Final = (Unknown("truncated"), Unknown("truncated"))


class CallReader:
    """Makes keyed calls and outcomes under one policy and one set of derived keys; holds no content between calls."""

    def __init__(self, policy: Policy, fingerprinter: Fingerprinter) -> None:
        self.policy = policy
        self._keys = fingerprinter
        self._known: dict[str, ToolPolicy] = {}
        """Settings of tools that were called lately."""

    def _settings(self, tool: str) -> ToolPolicy:
        found = self._known.get(tool)
        if found is None:
            found = self.policy.for_tool(tool)
            if len(self._known) >= _MOST_TOOLS:
                self._known.clear()
            if len(tool) <= LONGEST:
                self._known[tool] = found
        return found

    def call(  # noqa: PLR0913 - what a record tells about a call
        self,
        tool: str,
        arguments: object,
        *,
        truncated: bool = False,
        call_id: str | None = None,
        turn: Turn = None,
        attributes: Mapping[str, object] | None = None,
        user_message: bool = False,
        handoff_to: str | None = None,
        start_ns: int | None = None,
    ) -> ToolCall:
        """The call without its content. ``arguments`` is any value, JSON text, or `ABSENT`; never raises."""
        settings = self._settings(tool)
        scope, tag = self._scope(attributes) if self.policy.scope else (None, "")
        data, canonical = _CUT if truncated else load_and_encode(arguments, settings.arguments, _FEW_WORDS)
        if isinstance(canonical, Unknown):
            return ToolCall(
                tool, None, self._keys.key_id, canonical.reason, call_id=call_id, turn=turn, scope=tag,
                user_message=user_message, handoff_to=handoff_to, start_ns=start_ns,
            )  # fmt: skip
        group = idempotency = None
        if settings.cursor is not None or settings.idempotency_key is not None:
            group, idempotency = self._group(tool, data, settings, scope)
        words = words_of(data)
        return ToolCall(
            tool, self._keys.arguments(tool, canonical, scope), self._keys.key_id, group=group, idempotency=idempotency,
            words=self._sketch(words) if len(words) >= LONG_ENOUGH else (), word_count=len(words),
            bare=canonical in _BARE, payload=settings.kind == "write" or has_payload(data),
            thought=is_thought(data),
            call_id=call_id, turn=turn, scope=tag, user_message=user_message, handoff_to=handoff_to, start_ns=start_ns,
        )  # fmt: skip

    def outcome(  # noqa: PLR0913 - what a record tells about a result
        self,
        call: ToolCall,
        arguments: object,
        result: object,
        *,
        is_error: bool = False,
        error_type: str | None = None,
        error_message: str | None = None,
        ours: bool = False,
        state: object = ABSENT,
        end_ns: int | None = None,
    ) -> Outcome:
        """What came back, without content. ``arguments`` only serves to take the call's own words out of a message."""
        if ours or error_type == "loop_detected":
            return OURS
        is_error = is_error or error_type is not None
        if error_type is not None and type(error_type) is not str:
            error_type = str.__str__(error_type)  # an enumeration's value, as exporters send it
        encoded: bytes | Unknown | None
        data, encoded = load_and_encode(result, STRICT, _FEW_LEAVES)
        if isinstance(data, Unknown) and error_message is not None:
            data, encoded = error_message, None
        settings = self._settings(call.tool)
        state_print = None if isinstance(state, Absent) else self._state(state)
        was_told = not isinstance(data, Unknown)
        if isinstance(data, Unknown):
            if not is_error:
                return Outcome("missing", state=state_print, end_ns=end_ns)
            data, encoded = "", None
        return self._outcome(
            arguments, result, data, encoded, settings, payload=call.payload, worded=bool(call.words),
            is_error=is_error, error_type=error_type, error_message=error_message, was_told=was_told,
            state=state_print, end_ns=end_ns,
        )  # fmt: skip

    def _outcome(  # noqa: PLR0913 - what a record tells about a result
        self, arguments: object, result: object, data: object, encoded: bytes | Unknown | None, settings: ToolPolicy, *,
        payload: bool, worded: bool, is_error: bool, error_type: str | None, error_message: str | None, was_told: bool,
        state: str | None, end_ns: int | None,
    ) -> Outcome:  # fmt: skip
        rules = settings.result
        is_empty = is_nothing(data)
        refusal, approval = is_error, False
        if isinstance(data, str) and not is_error and not (is_empty and rules.refusal == "standard"):
            refusal, approval = _read_answer(data, rules.refusal, arguments, payload=payload)
        elif isinstance(data, dict) and not is_error and rules.refusal == "standard" and _is_short(encoded):
            refusal = is_fault(data)
        if not refusal and is_empty:
            approval = payload or works_in_silence(load(arguments))
        elif not refusal and not isinstance(data, str):
            approval = worded and is_receipt(data)
        error = shape = None
        if refusal:
            message = error_message if is_error and error_message else _text_of(_ordered(data, result))
            message = opening(message) if payload else message
            error, shape = self._message(message, arguments, settings, error_type, was_told=was_told)
        canonical = compared(data, rules, error=is_error, encoded=encoded)
        fingerprint = gist = None
        moving = False
        said = 0
        if not isinstance(canonical, Unknown):
            fingerprint = self._keys.result(canonical)
            moving = not refusal and rules.volatile == "standard" and _MASKED in canonical
            said = 0 if is_error else self._said(canonical)
            asked = (refusal or not payload) and not (is_error or is_empty or approval)
            gist = self._gist(canonical, arguments, rules, worded=worded) if asked else None
        short = not refusal and not said
        hitless = short and isinstance(data, str) and finds_nothing(data)
        if hitless:
            shape = self._shape(_text_of(data), _own(arguments), settings)
        measure: float | None = None
        terminal = False
        items: tuple[int, ...] | None = None
        rule = rules.progress
        if rule is not None and not is_error:
            if rule.kind == "items":
                items = self._items(items_at(data, rule))
            else:
                measure, terminal = measure_of(data, rule)
        counted = None if is_error or rule is not None else self._counted(data, result, rules, refused=refusal)
        return Outcome(
            _kind(data, settings, is_error=is_error, is_empty=is_empty), fingerprint, error_type,
            _category(error_type, data, settings, is_error=is_error), error, shape,
            refusal=refusal, informative=_is_informative(data), approval=approval,
            hitless=hitless, tells=worded and short and not hitless and tells(data),
            moving=moving, said=said, measure=measure, declared=rule is not None, terminal=terminal, items=items,
            state=state, end_ns=end_ns, gist=gist,
            page=not refusal and isinstance(canonical, bytes) and len(canonical) >= _LONG_ANSWER,
            counter=None if counted is None else counted[0], beside=None if counted is None else counted[1],
        )  # fmt: skip

    def _counted(self, data: object, result: object, rules: ResultRules, *, refused: bool) -> tuple[int, str] | None:
        """How far an answer counts, and the fingerprint of what else it says."""
        count = counter_of(_ordered(data, result) if names_count(data) else data, refused=refused)
        if count is None:
            return None
        rest = mask(count.rest, rules.volatile) if isinstance(count.rest, str) else count.rest
        encoded = encode(rest, STRICT)
        if isinstance(encoded, Unknown):
            return None
        shift = int(self._keys.result(b"count")[:12], 16)
        return round(count.value * 1000) + shift, self._keys.result(b"count\x00" + encoded)

    def _gist(self, canonical: bytes, arguments: object, rules: ResultRules, *, worded: bool) -> str | None:
        """Fingerprint of an answer without what it repeats of the call."""
        if not may_have_rest(canonical, worded=worded):
            return None
        rest = without_echo(canonical, _parsed(arguments), rules.volatile, worded=worded)
        return None if rest is None else self._keys.result(b"gist\x00" + rest)

    def _message(
        self, text: str, arguments: object, settings: ToolPolicy, error_type: str | None, *, was_told: bool
    ) -> tuple[str | None, str | None]:
        """Fingerprints of the message's key and shape; None where the message has no words.

        An exception without a text still has its type, and that is its key; a mere category is not, and neither is the
        type of one whose text was not told: it may have been removed on the way.
        """
        if was_told and error_type and is_wordless(text) and not is_category(error_type):
            return self._keys.error(f"{error_type}\n".encode("utf-8", "surrogatepass")), None
        if is_wordless(text) or finds_nothing(text) or (is_silent(text) and searches(load(arguments))):
            return None, None
        own = _own(arguments)
        key = f"{error_type or ''}\n{message_key(text, own, settings.result.volatile)}"
        return self._keys.error(key.encode("utf-8", "surrogatepass")), self._shape(text, own, settings)

    def _shape(self, text: str, own: object, settings: ToolPolicy) -> str:
        """Fingerprint of a message's shape."""
        shape = message_shape(mask(text, settings.result.volatile, error=True), own)
        return self._keys.shape(shape.encode("utf-8", "surrogatepass"))

    def _sketch(self, words: list[str]) -> tuple[int, ...]:
        """The smallest of the words' keyed numbers, ascending."""
        return tuple(sorted(set(self._keys.word_tags(words)))[:SKETCH_SIZE])

    def _said(self, canonical: bytes) -> int:
        """Outline of an answer that is long enough to be told again in other words."""
        words = [] if len(canonical) < _LONG_ANSWER else long_words_of(canonical)
        return outline(self._keys.tags(words)) if len(words) >= _MANY_WORDS else 0

    def _group(
        self, tool: str, data: object, settings: ToolPolicy, scope: bytes | None
    ) -> tuple[str | None, str | None]:
        """The fingerprint without cursor and idempotency key, and that of the idempotency key's value."""
        names = [name for name in (settings.cursor, settings.idempotency_key) if name is not None]
        if not names or not isinstance(data, Mapping):
            return None, None
        rest = encode({name: value for name, value in data.items() if name not in names}, settings.arguments)
        group = None if isinstance(rest, Unknown) else self._keys.arguments(tool, rest, scope)
        value = data.get(settings.idempotency_key) if settings.idempotency_key is not None else None
        if value is None:
            return group, None
        key = encode(value, STRICT)
        return group, None if isinstance(key, Unknown) else self._keys.arguments(tool, key)

    def _items(self, items: list[object]) -> tuple[int, ...]:
        """Numbers for the items; of a long list for both its ends, one of which grows."""
        if len(items) > _ITEMS:
            items = [*items[: _ITEMS // 2], *items[-_ITEMS // 2 :]]
        encoded = [encode(item, STRICT) for item in items]
        return self._keys.tags([item for item in encoded if isinstance(item, bytes)])

    def _state(self, state: object) -> str | None:
        data = load(state)
        canonical = data if isinstance(data, Unknown) else encode(data, STRICT)
        return None if isinstance(canonical, Unknown) else self._keys.state(canonical)

    def _scope(self, attributes: Mapping[str, object] | None) -> tuple[bytes, str]:
        """The policy's scope values of a call: their canonical object, and a tag that separates histories."""
        held = {name: attributes[name] for name in self.policy.scope if attributes is not None and name in attributes}
        canonical = encode(load(held), STRICT)
        if isinstance(canonical, Unknown):
            canonical = b"{}"
        return canonical, self._keys.state(canonical)
