"""Plain records: equal, changed and packed by their fields."""

from __future__ import annotations

import inspect
import pickle

import msgspec
import pytest

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.observation import Observation
from otel_loopguard.core.value import Value, array_of, mapping_of, value_of

CALL = ToolCall("look", "0" * 32, "k", words=(1, 2), word_count=2, turn="t", start_ns=5)
RECORDS = [
    CALL,
    ToolCall("", None, "", unknown="redacted"),
    Outcome("missing"),
    Outcome("ok", "1" * 32, informative=True, measure=0.5, items=(3, 4), said=1 << 63, counter=-7),
]

OTHERS = {str: "other", bool: True, int: 99, tuple: (9,), type(None): "other"}


@pytest.mark.parametrize("kind", [ToolCall, Outcome, Observation])
def test_names_stand_in_the_order_of_the_constructor(kind: type[Value]) -> None:
    """Fields are handed over by place."""
    assert list(inspect.signature(kind).parameters) == list(kind.names)


@pytest.mark.parametrize("one", RECORDS, ids=repr)
@pytest.mark.parametrize("hook", [array_of, mapping_of])
def test_a_record_comes_back_from_bytes(one: Value, hook: object) -> None:
    """As an array and as a mapping, and pickled, with all fields as they were."""
    packed = msgspec.msgpack.encode([one], enc_hook=hook)  # type: ignore[arg-type]
    assert msgspec.msgpack.decode(packed, type=list[type(one)], dec_hook=value_of) == [one]  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own bytes


@pytest.mark.parametrize("name", ToolCall.names)
def test_a_call_differs_by_each_field(name: str) -> None:
    """One that is changed is another one, and the first stays as it was."""
    before = CALL.fields()
    new = OTHERS[type(getattr(CALL, name))]
    other = CALL.changed(**{name: new})
    assert getattr(other, name) == new
    assert other != CALL
    assert hash(other) != hash(CALL)
    assert CALL.fields() == before


def test_a_call_in_another_turn_is_the_same_call_else() -> None:
    """The turn alone is changed."""
    assert CALL.in_turn(7) == CALL.changed(turn=7)


@pytest.mark.parametrize("fields", [None, 5, "call", {"tool": "a", "no such": 1}, ["a"] * 40])
def test_what_no_record_was_made_of_is_refused(fields: object) -> None:
    """Bytes of something else are a mistake of whoever wrote them."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=ToolCall, dec_hook=value_of)


def test_what_is_no_record_has_no_fields() -> None:
    """An encoder that meets anything else says so."""
    with pytest.raises(TypeError, match="no record"):
        mapping_of(object())
