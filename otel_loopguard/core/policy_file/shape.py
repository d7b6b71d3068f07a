"""The shapes that single settings have: how each is read from a node, and how JSON Schema says it.

Not which settings exist (`policy_grammar`), nor how they fit together (`policy_rules`). Reading and schema stand
beside each other, so that an editor and the parser cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from otel_loopguard.errors import PolicyError

from .backtracking import slowness
from .document import Node, Path, Place, render, shown

__all__ = [
    "MAX_COUNT",
    "MAX_TEXT",
    "Reading",
    "Shape",
    "choice",
    "constant",
    "data",
    "duration",
    "field_path",
    "flag",
    "integer",
    "quoted",
    "regular_expression",
    "text",
    "wrong",
]

MAX_COUNT: Final = 2**31 - 1
"""Largest number of a setting: every language and backend that reads a limit can hold it."""

MAX_TEXT: Final = 256
"""Longest name, path or pattern in characters."""

_UNITS: Final = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_DURATION: Final = r"([0-9]{1,9})(ms|s|m|h)"
_UNWRITTEN: Final = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff"
"""Control characters, line ends and lone surrogates: no name holds one, and no terminal should be sent one."""
_SLOW: Final = {
    "exponential": "this one may take ever longer on a text that nearly fits, write no repeat inside of a repeat",
    "cubic": "this one may try a long text again and again, leave `.*` out at its ends or write `\\w*` for it",
    "unknown": "this one has too many repeats and choices, write several shorter ones",
}
"""Why a pattern is refused that may hold up an agent."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAME: Final = rf"(?=.*\S)[^{_UNWRITTEN}]*"
_SEGMENT: Final = r"[^.\[\]*\s](?:[^.\[\]*]*[^.\[\]*\s])?"
_ONE_FIELD: Final = rf"{_SEGMENT}(?:\.{_SEGMENT})*"
_MANY_FIELDS: Final = rf"(?:(?:\[\])+|{_SEGMENT}(?:\[\])*)(?:\.{_SEGMENT}(?:\[\])*)*"


@dataclass(slots=True)
class Reading:
    """What reading a file has found so far."""

    problems: list[PolicyError] = field(default_factory=list)
    places: dict[Path, Place] = field(default_factory=dict)
    """Where each setting's value starts."""

    def error(self, message: str, at: Path, place: Place | None = None) -> PolicyError:
        """The error for a setting; by default at the place that was noted for it."""
        where = place or self.places.get(at)
        line, column = (where.line, where.column) if where is not None else (None, None)
        return PolicyError(message, path=render(at), line=line, column=column)


Reader = Callable[[Node, Path, Reading], object]


@dataclass(frozen=True, slots=True)
class Shape:
    """How one setting is written."""

    expected: str
    """What a user should write: the end of "expected ..."."""
    schema: Mapping[str, object]
    """The same as JSON Schema."""
    read: Reader
    """Gives the value; raises `PolicyError` where the node has another shape."""


def wrong(expected: str, node: Node, at: Path, reading: Reading) -> PolicyError:
    """The error for a node of another shape."""
    return reading.error(f"expected {expected}, got {_described(node)}", at, node.place)


def _described(node: Node) -> str:
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    return f"the text `{shown(value)}`" if isinstance(value, str) else f"the number {str(value)[:40]}"


def quoted(words: Sequence[str]) -> str:
    """Words as a message lists them."""
    return ", ".join(f"`{word}`" for word in words)


def constant(value: int, expected: str) -> Shape:
    """The only number that there is."""

    def read(node: Node, at: Path, reading: Reading) -> int:
        if isinstance(node.value, bool) or node.value != value:
            raise wrong(expected, node, at, reading)
        return value

    return Shape(expected, {"const": value}, read)


def integer(low: int = 1, high: int = MAX_COUNT) -> Shape:
    """A whole number within bounds."""
    span = f"of at least {low}" if high == MAX_COUNT else f"from {low} to {high}"
    expected = f"a whole number {span}"

    def read(node: Node, at: Path, reading: Reading) -> int:
        value = node.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number: 3.0 is 3
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            unbounded = high == MAX_COUNT and isinstance(value, int) and value > high
            raise wrong(f"a whole number of at most {high}" if unbounded else expected, node, at, reading)
        return value

    return Shape(expected, {"type": "integer", "minimum": low, "maximum": high}, read)


def flag() -> Shape:
    """True or false."""

    def read(node: Node, at: Path, reading: Reading) -> bool:
        if not isinstance(node.value, bool):
            raise wrong("`true` or `false`", node, at, reading)
        return node.value

    return Shape("`true` or `false`", {"type": "boolean"}, read)


def choice(*words: str) -> Shape:
    """One of a few words."""
    expected = f"one of {quoted(words)}"

    def read(node: Node, at: Path, reading: Reading) -> str:
        if not isinstance(node.value, str) or node.value not in words:
            raise reading.error(f"expected {expected}", at, node.place)
        return node.value

    return Shape(expected, {"enum": list(words)}, read)


def text(expected: str) -> Shape:
    """A name or a version: one line, short, not blank."""

    def read(node: Node, at: Path, reading: Reading) -> str:
        value = node.value
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise reading.error(f"expected {expected} of at most {MAX_TEXT} characters", at, node.place)
        if isinstance(value, str) and re.fullmatch(_NAME, value):
            return value
        hint = "" if value is None or isinstance(value, (str, list, dict)) else ", write it in quotes"
        raise reading.error(f"expected {expected}, got {_described(node)}{hint}", at, node.place)

    return Shape(expected, {"type": "string", "pattern": f"^{_NAME}$", "maxLength": MAX_TEXT}, read)


def duration() -> Shape:
    """A time such as ``600s``; read as nanoseconds."""
    expected = "a duration above zero such as `250ms`, `1s`, `5m` or `2h`"

    def read(node: Node, at: Path, reading: Reading) -> int:
        found = re.fullmatch(_DURATION, node.value) if isinstance(node.value, str) else None
        if found is None or int(found[1]) == 0:
            raise wrong(expected, node, at, reading)
        return int(found[1]) * _UNITS[found[2]]

    return Shape(expected, {"type": "string", "pattern": rf"^(?!0+[a-z]){_DURATION}$"}, read)


def field_path(*, lists: bool = True) -> Shape:
    """A field inside arguments or a result: ``meta.request_id``, ``items[].id``; read as its segments.

    With ``lists`` the segment ``[]``, every member of a list, is allowed.
    """
    pattern = _MANY_FIELDS if lists else _ONE_FIELD
    expected = "a field such as `id`, `meta.id` or `items[].id`" if lists else "one field such as `id` or `meta.id`"
    name = text(expected)

    def read(node: Node, at: Path, reading: Reading) -> tuple[str, ...]:
        written = str(name.read(node, at, reading))
        if not re.fullmatch(pattern, written):
            raise wrong(expected, node, at, reading)
        segments: list[str] = []
        for part in written.split("."):
            plain = part.rstrip("[]")
            segments += [plain] if plain else []
            segments += ["[]"] * part.count("[]")
        return tuple(segments)

    bounds = f"^(?=[^{_UNWRITTEN}]*$)(?:{pattern})$"
    return Shape(expected, {"type": "string", "pattern": bounds, "maxLength": MAX_TEXT}, read)


def regular_expression(*, masks: bool = False) -> Shape:
    """A regular expression; one that ``masks`` has to match characters, not only places between them."""
    expected = "a regular expression"

    def read(node: Node, at: Path, reading: Reading) -> str:
        pattern = node.value
        if not isinstance(pattern, str) or not pattern:
            raise wrong(expected, node, at, reading)
        if len(pattern) > MAX_TEXT:
            raise reading.error(f"expected {expected} of at most {MAX_TEXT} characters", at, node.place)
        if _SURROGATE.search(pattern):
            raise reading.error(f"expected {expected} without lone surrogates", at, node.place)
        try:
            compiled = re.compile(pattern)
        except (re.error, OverflowError, RecursionError, Warning) as error:
            reason = shown(str(error))
            raise reading.error(f"expected {expected}, got one that fails: {reason}", at, node.place) from None
        slow = slowness(pattern)
        if slow is not None:
            raise reading.error(f"expected {expected} that is quick, {_SLOW[slow]}", at, node.place)
        found = compiled.search("a b") if masks else None
        if found is not None and not found[0]:
            raise reading.error("expected a pattern that matches characters, this one masks nothing", at, node.place)
        return pattern

    return Shape(expected, {"type": "string", "format": "regex", "minLength": 1, "maxLength": MAX_TEXT}, read)


def data() -> Shape:
    """Any JSON value."""

    def read(node: Node, _at: Path, _reading: Reading) -> object:
        return node.plain()

    return Shape("a value", {}, read)
