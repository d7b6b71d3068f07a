"""The canonical form of a tool call's arguments or of a result: two are the same where these bytes are.

Not a fingerprint: the bytes are readable and go no further than the keyed hash. The plain path (`plain`, `parse`,
`uniform`, `normal`, `jcs`) defines the form; the native one takes its place where it is certain to give the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, cast

from .form.jcs import Pairs, write
from .form.native import (
    Read,
    canonical_json,
    may_shorten,
    native_read,
    native_text,
    native_value,
    native_write,
    shortened,
)
from .form.normal import Normal
from .form.parse import is_no_json, parse
from .form.placeholder import withheld
from .form.plain import plain
from .form.uniform import composed, uniform
from .form.unknown import MAX_BYTES, Unknown, UnreadableError
from .form.vast import may_be_vast
from .policy import ArgumentRules

__all__ = ["Pairs", "Unknown", "canonical", "encode", "load", "load_and_encode", "plain_encode", "plain_load"]


def canonical(value: object, rules: ArgumentRules) -> bytes | Unknown:
    """Canonical bytes of arguments as handed over, under the rules of their tool. Never raises.

    What is held in several places is written out in each of them, however often that is; `load_and_encode` bounds it.
    """
    plan = _plans.get(id(rules))
    if plan is None or plan.rules is not rules:
        plan = _plan_of(rules)
    read = native_read(value)
    if read is not None and plan.simple and len(read[1]) <= MAX_BYTES:
        found = plan.native(read)
        if found is not None:
            return found
    return _encoded(_loaded(value, read), plan)


def load(value: object) -> object:
    """Arguments or a result as handed over, as plain data of our own, or `Unknown`. Never raises.

    Dicts, lists, texts in NFC, truth values, None; an int for every integral number, else a float, or a `Decimal`
    where a float would lose; `Pairs` for an object that names a key twice. A text that is JSON is what it says, any
    other text is itself.
    """
    return _loaded(value, _read_of(value))


def encode(data: object, rules: ArgumentRules) -> bytes | Unknown:
    """Canonical bytes of what `load` gave, under the rules of its tool. Never raises."""
    return _encoded(data, _plan_of(rules))


def load_and_encode(value: object, rules: ArgumentRules, unordered: int = 0) -> tuple[object, bytes | Unknown]:
    """What `load` and then `encode` give, at less cost than both. Never raises.

    ``unordered``: the canonical bytes up to which members of the data may come in another order than `load` gives.
    """
    plan = _plan_of(rules)
    read = _read_of(value)
    found = None
    if read is None or len(read[1]) > MAX_BYTES:
        data = _loaded(value, read)
    else:
        uniform_json = _as_it_is(read)
        if uniform_json is None:
            data = plain_load(value)
        elif read[3] and uniform_json is read[1] and len(uniform_json) <= unordered:
            data = read[0]
        else:
            data = native_value(uniform_json)
        if plan.simple and not isinstance(data, Unknown):
            if uniform_json is None or plan.drops(read):
                found = plan.native(read)
            else:
                found = plan.shortened(read) if plan.may_shorten(read) else uniform_json
    return data, _encoded(data, plan) if found is None else found


def plain_load(value: object) -> object:
    """`load` by the plain path alone."""
    try:
        if type(value) is str and len(value) > MAX_BYTES:
            return _TOO_LARGE
        data = plain(value)
        if isinstance(data, str) and withheld(data) is None:
            with suppress(ValueError):  # what is no JSON is that text
                data = parse(data)
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


def _as_it_is(read: Read) -> bytes | None:
    """Canonical bytes of a document, nulls not dropped and texts not trimmed."""
    return canonical_json(read, False, False)  # noqa: FBT003 - by place, which is faster


def _fitting(encoded: bytes) -> bytes | Unknown:
    return encoded if len(encoded) <= MAX_BYTES else _TOO_LARGE


def _read_of(value: object) -> Read | None:
    return native_read(value) if type(value) is str or not may_be_vast(value) else None


def _loaded(value: object, read: Read | None) -> object:
    """Data from what `native_read` gave for ``value``, else by the plain path."""
    if read is not None:
        if len(read[1]) > MAX_BYTES:
            return _TOO_LARGE
        uniform_json = _as_it_is(read)
        if uniform_json is not None:
            return native_value(uniform_json)
    elif type(value) is str and is_no_json(value):
        reason = withheld(value)
        return composed(value) if reason is None else Unknown(reason)
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


def _is_harmless(value: object) -> bool:
    """Whether a member may be left out unread: what is withheld counts in a volatile member like in any other."""
    return withheld(value) is None if type(value) is str else type(value) in _SCALARS


_SCALARS: Final = frozenset([int, float, bool, type(None)])


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

    def drops(self, read: Read) -> bool:
        """Whether a document just read has a member that is left out by its name."""
        return type(read[0]) is dict and not self.volatile.isdisjoint(read[0])

    def may_shorten(self, read: Read) -> bool:
        """Whether simple rules may leave anything else out of it; False is certain."""
        return (self._drop_nulls or self._trim) and may_shorten(read)

    def shortened(self, read: Read) -> bytes:
        """What `native` gives for a document without such a member that is canonical but for nulls and blanks."""
        return shortened(read, self._drop_nulls, self._trim)

    def native(self, read: Read) -> bytes | None:
        """Canonical bytes of a document just read, under simple rules; None where in doubt."""
        data = read[0]
        if type(data) is dict and not self.volatile.isdisjoint(data):
            if not all(_is_harmless(data[name]) for name in self.volatile if name in data):
                return None
            read_on = native_read({name: value for name, value in data.items() if name not in self.volatile})
            if read_on is None:
                return None
            read = read_on
        return canonical_json(read, self._drop_nulls, self._trim)

    def encode(self, data: object) -> bytes:
        """Canonical bytes of uniform data."""
        if not self.simple:
            data = self._normal.apply(data)
        if type(data) is str:
            text = cast("str", self._normal.apply(data)) if self.simple else data
            return native_text(text) or write(text)
        found = None
        read = native_write(data) if type(data) is dict or type(data) is list else None
        if read is not None:
            found = self.native(read) if self.simple else _as_it_is(read)
        if found is not None:
            return found
        return write(self._normal.apply(data) if self.simple else data)


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
