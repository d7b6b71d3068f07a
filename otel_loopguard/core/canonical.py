"""The canonical form of a tool call's arguments or of a result: two are the same where these bytes are.

Not a fingerprint: the bytes are readable and go no further than the keyed hash. The plain path (`plain`, `parse`,
`uniform`, `normal`, `jcs`) defines the form; the native one takes its place where it is certain to give the same.
"""

from __future__ import annotations

from typing import Final

from .jcs import Pairs, write
from .native import Read, is_canonical, is_sound, native_copy, native_read, native_write, tidy, without_members
from .normal import Normal
from .parse import parse
from .placeholder import may_be_withheld, withheld
from .plain import plain
from .policy import ArgumentRules
from .uniform import uniform
from .unknown import MAX_BYTES, Unknown, UnreadableError

__all__ = ["Pairs", "Unknown", "canonical", "encode", "load", "load_and_encode", "plain_encode", "plain_load"]


def canonical(value: object, rules: ArgumentRules) -> bytes | Unknown:
    """Canonical bytes of arguments as handed over, under the rules of their tool. Never raises."""
    plan = _plans.get(id(rules))
    if plan is None or plan.rules is not rules:
        plan = _plan_of(rules)
    read = native_read(value)
    if read is not None and plan.simple and len(read[1]) <= MAX_BYTES:
        encoded = plan.encode_native(read)
        if encoded is not None:
            return encoded
    return _encoded(_loaded(value, read), plan)


def load(value: object) -> object:
    """Arguments or a result as handed over, as plain data of our own, or `Unknown`. Never raises.

    Dicts, lists, texts in NFC, truth values, None; an int for every integral number, else a float, or a `Decimal`
    where a float would lose; `Pairs` for an object that names a key twice. A text that is JSON is what it says, any
    other text is itself.
    """
    return _loaded(value, native_read(value))


def encode(data: object, rules: ArgumentRules) -> bytes | Unknown:
    """Canonical bytes of what `load` gave, under the rules of its tool. Never raises."""
    return _encoded(data, _plan_of(rules))


def load_and_encode(value: object, rules: ArgumentRules) -> tuple[object, bytes | Unknown]:
    """What `load` and then `encode` give, at less cost than both. Never raises."""
    data = load(value)
    return data, _encoded(data, _plan_of(rules))


def plain_load(value: object) -> object:
    """`load` by the plain path alone."""
    try:
        if type(value) is str and len(value) > MAX_BYTES:
            return _TOO_LARGE
        data = plain(value)
        if isinstance(data, str) and withheld(data) is None:
            try:
                data = parse(data)
            except ValueError:
                pass  # not JSON, so it is that text
        return uniform(data)
    except UnreadableError as error:
        return Unknown(error.reason)
    except RecursionError:
        return _TOO_LARGE


def plain_encode(data: object, rules: ArgumentRules) -> bytes | Unknown:
    """`encode` by the plain path alone."""
    if isinstance(data, Unknown):
        return data
    try:
        return _fitting(write(Normal(rules).apply(data)))
    except UnreadableError as error:
        return Unknown(error.reason)
    except RecursionError:
        return _TOO_LARGE


_TOO_LARGE: Final = Unknown("too_large")


def _fitting(encoded: bytes) -> bytes | Unknown:
    return encoded if len(encoded) <= MAX_BYTES else _TOO_LARGE


def _loaded(value: object, read: Read | None) -> object:
    """Data from what `native_read` gave for ``value``, else by the plain path."""
    if read is not None:
        if len(read[1]) > MAX_BYTES:
            return _TOO_LARGE
        if is_sound(read[1], read[2]):
            data = native_copy(read, own=read[0] is not value)
            if data is not None:
                return data
    return plain_load(value)


def _encoded(data: object, plan: _Plan) -> bytes | Unknown:
    if isinstance(data, Unknown):
        return data
    try:
        return _fitting(plan.encode(data))
    except UnreadableError as error:
        return Unknown(error.reason)
    except RecursionError:
        return _TOO_LARGE


class _Plan:
    """How to encode under one set of rules."""

    __slots__ = ("_drop_nulls", "_normal", "_trim", "rules", "simple", "volatile")

    def __init__(self, rules: ArgumentRules) -> None:
        self.rules = rules
        self.volatile = rules.volatile
        self._normal = Normal(rules)
        self._trim = rules.text == "trim"
        self._drop_nulls = rules.drop_nulls
        common = ArgumentRules(volatile=rules.volatile, drop_nulls=rules.drop_nulls, text=rules.text)
        self.simple = rules == common and rules.text != "collapse"
        """No rule for single fields, and none that changes more than nulls and the ends of texts."""

    def encode_native(self, read: Read) -> bytes | None:
        """Canonical bytes of a document just read, under simple rules; None where in doubt."""
        data, raw, text = read
        holds_volatile = type(data) is dict and not self.volatile.isdisjoint(data)
        if not holds_volatile and not (self._drop_nulls and "null" in text):
            if is_canonical(raw, text):
                return raw
        elif not holds_volatile or not may_be_withheld(text):  # what is withheld counts in a volatile member too
            kept = without_members(data, self.volatile, drop_nulls=self._drop_nulls)
            written = native_write(kept)
            if written is not None and is_canonical(written[1], written[2]):
                return written[1]
        return self._tidy(read) if is_sound(raw, text) else None

    def _tidy(self, read: Read) -> bytes | None:
        return tidy(read, self.volatile, drop_nulls=self._drop_nulls, trim=self._trim)

    def encode(self, data: object) -> bytes:
        """Canonical bytes of uniform data."""
        if not self.simple:
            normal = self._normal.apply(data)
            written = native_write(normal)
            return write(normal) if written is None else written[1]
        read = native_write(data) if type(data) is dict or type(data) is list else None
        encoded = None if read is None else self._tidy(read)
        return write(self._normal.apply(data)) if encoded is None else encoded


_plans: Final[dict[int, _Plan]] = {}
"""By identity, because rules with mappings have no hash; each plan keeps its rules, so that no id comes again."""

_MOST_PLANS: Final = 1024


def _plan_of(rules: ArgumentRules) -> _Plan:
    plan = _plans.get(id(rules))
    if plan is None or plan.rules is not rules:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        plan = _plans[id(rules)] = _Plan(rules)
    return plan
