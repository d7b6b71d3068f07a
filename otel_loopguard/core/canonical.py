"""The canonical form of a tool call's arguments or of a result: two are the same where these bytes are.

Not a fingerprint: the bytes are readable and go no further than the keyed hash.
"""

from __future__ import annotations

from .normal import Normal
from .parse import parse
from .placeholder import withheld
from .plain import plain
from .policy import ArgumentRules
from .jcs import Pairs, write
from .unknown import MAX_BYTES, Unknown, UnreadableError

__all__ = ["Pairs", "Unknown", "encode", "load", "plain_encode"]


def load(value: object) -> object:
    """Arguments or a result as handed over, as plain data: dict, list, str, int, float, bool, None, a `Decimal` where
    a float would lose, `Pairs` for an object that names a key twice; or `Unknown`. Never raises.

    A text that is JSON is what it says, any other text is itself.
    """
    try:
        data = plain(value)
        if isinstance(data, str):
            reason = withheld(data)
            if reason is not None:
                return Unknown(reason)
            try:
                data = parse(data)
            except ValueError:
                return data
        reason = _withheld_in(data)
        return data if reason is None else Unknown(reason)
    except UnreadableError as error:
        return Unknown(error.reason)
    except RecursionError:
        return Unknown("too_large")


def _withheld_in(data: object) -> object:
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            reason = withheld(item)
            if reason is not None:
                return reason
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, Pairs):
            stack.extend(value for _, value in item)
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return None


def encode(data: object, rules: ArgumentRules) -> bytes | Unknown:
    """Canonical bytes of what `load` gave, under the rules of its tool. Never raises."""
    return plain_encode(data, rules)


def plain_encode(data: object, rules: ArgumentRules) -> bytes | Unknown:
    """`encode` in readable steps, for comparison."""
    if isinstance(data, Unknown):
        return data
    try:
        canonical = write(Normal(rules).normal(data))
    except UnreadableError as error:
        return Unknown(error.reason)
    except RecursionError:
        return Unknown("too_large")
    return canonical if len(canonical) <= MAX_BYTES else Unknown("too_large")
