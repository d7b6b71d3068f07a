"""A result as it is compared: without what the policy ignores, volatile parts of its texts masked.

Not its fingerprint: the bytes are readable and go no further than the keyed hash.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_loopguard.core.canonical import Unknown, encode
from otel_loopguard.core.policy import STRICT, KeyPath, ResultRules
from otel_loopguard.core.words import MAX_DEPTH

from .volatile import MASK, is_id_of_request, mask, may_be_volatile

__all__ = ["compared"]


def compared(
    data: object, rules: ResultRules, *, error: bool, encoded: bytes | Unknown | None = None
) -> bytes | Unknown:
    """Canonical bytes of loaded data after the rules; in an error line numbers are volatile too. Never raises.

    Blanks around a text are nothing that it says, unless it is nothing else. ``encoded`` is what `encode` gives for
    the data under no rules, where it is known.
    """
    for path in rules.ignore:
        data, encoded = _without(data, path), None
    if isinstance(data, str):
        text = mask(data.strip() or data, rules.volatile, error=error)
        return encode(text, STRICT) if encoded is None or text != data else encoded
    if encoded is None:
        encoded = encode(data, STRICT)
    if isinstance(encoded, Unknown):
        return encoded
    if not may_be_volatile(encoded.decode("utf-8", "surrogatepass"), rules.volatile, error=error):
        return encoded
    return encode(_masked(data, rules, MAX_DEPTH, error=error), STRICT)


def _masked(data: object, rules: ResultRules, levels: int, *, error: bool) -> object:
    if isinstance(data, str):
        return mask(data, rules.volatile, error=error)
    if not levels:
        return data
    if isinstance(data, Mapping):
        return {
            name: MASK if _is_aside(name, value, levels, rules) else _masked(value, rules, levels - 1, error=error)
            for name, value in data.items()
        }
    if isinstance(data, list):
        return [_masked(value, rules, levels - 1, error=error) for value in data]
    return data


def _is_aside(name: str, value: object, levels: int, rules: ResultRules) -> bool:
    """Whether a member is the id of the request that was answered: at the top, or in what stands there of the error."""
    return (
        levels >= MAX_DEPTH - 1 and rules.volatile == "standard" and isinstance(value, (str, int))
        and is_id_of_request(name)
    )  # fmt: skip


def _without(data: object, path: KeyPath) -> object:
    head, rest = path[0], path[1:]
    if head == "[]":
        return [_without(member, rest) for member in data] if isinstance(data, list) and rest else data
    if not isinstance(data, Mapping) or head not in data:
        return data
    if not rest:
        return {name: value for name, value in data.items() if name != head}
    return {name: _without(value, rest) if name == head else value for name, value in data.items()}
