"""The shapes that settings have: how each is read from a node, and how JSON Schema says it.

Not which settings exist (`policy_grammar`), nor how they fit together (`policy_rules`). Reading and schema stand
beside each other, so that an editor and the parser cannot disagree.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from otel_loopguard.errors import PolicyError

from .document import Member, Node, Path, Place, render

__all__ = [
    "MAX_COUNT", "Choice", "Data", "Duration", "Field", "FieldPath", "Flag", "Integer", "ListOf", "MapOf", "Pattern",
    "Reading", "Section", "Shape", "Text", "WordOr",
]  # fmt: skip

MAX_COUNT: Final = 2**31 - 1
"""Largest number of a setting: every language and backend that reads a limit can hold it."""

MAX_TEXT: Final = 256
"""Longest name, path or pattern in characters."""

_UNITS: Final = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_DURATION: Final = r"([0-9]{1,9})(ms|s|m|h)"
_SEGMENT: Final = r"[^.\[\]*\s](?:[^.\[\]*]*[^.\[\]*\s])?"
_FIELD_PATH: Final = rf"(?:\[\]|{_SEGMENT}(?:\[\])*)(?:\.{_SEGMENT}(?:\[\])*)*"


@dataclass(slots=True)
class Reading:
    """What reading a file has found so far."""

    problems: list[PolicyError] = field(default_factory=list)
    places: dict[Path, Place] = field(default_factory=dict)
    """Where each setting's value starts."""

    def error(self, message: str, at: Path, place: Place | None = None) -> PolicyError:
        """The error for a setting, at its place."""
        where = place or self.places.get(at)
        line, column = (where.line, where.column) if where is not None else (None, None)
        return PolicyError(message, path=render(at), line=line, column=column)


class Shape(Protocol):
    """How one setting is written."""

    @property
    def expected(self) -> str:
        """What a user should write, as the end of "expected ..."."""

    def read(self, node: Node, at: Path, reading: Reading) -> object:
        """The value; raises `PolicyError` where the node has another shape."""

    def schema(self) -> dict[str, object]:
        """The same as JSON Schema."""


def _wrong(shape: Shape, node: Node, at: Path, reading: Reading) -> PolicyError:
    return reading.error(f"expected {shape.expected}, got {_described(node)}", at, node.place)


def _described(node: Node) -> str:
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, str):
        return f'the text "{value}"' if len(value) <= 40 and value.isprintable() else "a text"  # noqa: PLR2004
    return f"the number {str(value)[:40]}"


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number within bounds."""

    low: int = 1
    high: int = MAX_COUNT

    @property
    def expected(self) -> str:
        if self.high == MAX_COUNT:
            return f"a whole number of at least {self.low}"
        return f"a whole number from {self.low} to {self.high}"

    def read(self, node: Node, at: Path, reading: Reading) -> int:
        value = node.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number: 3.0 is 3
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise _wrong(self, node, at, reading)
        return value

    def schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    expected: str = "`true` or `false`"

    def read(self, node: Node, at: Path, reading: Reading) -> bool:
        if not isinstance(node.value, bool):
            raise _wrong(self, node, at, reading)
        return node.value

    def schema(self) -> dict[str, object]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"one of {_quoted(self.words)}"

    def read(self, node: Node, at: Path, reading: Reading) -> str:
        if not isinstance(node.value, str) or node.value not in self.words:
            raise reading.error(f"expected {self.expected}", at, node.place)
        return node.value

    def schema(self) -> dict[str, object]:
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Text:
    """A name or a version: short, printable, not blank."""

    expected: str = "text"

    def read(self, node: Node, at: Path, reading: Reading) -> str:
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            raise reading.error(f"expected {self.expected}, got a number: write it in quotes", at, node.place)
        if not isinstance(value, str):
            raise _wrong(self, node, at, reading)
        if not value.strip():
            raise reading.error(f"expected {self.expected}, got an empty one", at, node.place)
        if len(value) > MAX_TEXT:
            raise reading.error(f"expected {self.expected} of at most {MAX_TEXT} characters", at, node.place)
        return value

    def schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": r"\S", "maxLength": MAX_TEXT}


@dataclass(frozen=True, slots=True)
class Duration:
    """A time such as ``600s``; read as nanoseconds."""

    expected: str = "a duration such as `250ms`, `1s`, `5m` or `2h`"

    def read(self, node: Node, at: Path, reading: Reading) -> int:
        found = re.fullmatch(_DURATION, node.value) if isinstance(node.value, str) else None
        if found is None:
            raise _wrong(self, node, at, reading)
        nanoseconds = int(found[1]) * _UNITS[found[2]]
        if nanoseconds == 0:
            raise reading.error("expected a duration above zero", at, node.place)
        return nanoseconds

    def schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": rf"^(?!0+[a-z]){_DURATION}$"}


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A field inside arguments or a result: ``meta.request_id``, ``items[].id``; read as its segments."""

    lists: bool = True
    """Whether ``[]`` (every member of a list) is allowed."""

    @property
    def expected(self) -> str:
        if self.lists:
            return "a field such as `id`, `meta.id` or `items[].id`"
        return "one field such as `id` or `meta.id`, without `[]`"

    def read(self, node: Node, at: Path, reading: Reading) -> tuple[str, ...]:
        text = Text(self.expected).read(node, at, reading)
        if not re.fullmatch(_FIELD_PATH, text) or ("[]" in text and not self.lists):
            raise _wrong(self, node, at, reading)
        segments: list[str] = []
        for part in text.split("."):
            name = part.rstrip("[]")
            segments += [name] if name else []
            segments += ["[]"] * part.count("[]")
        return tuple(segments)

    def schema(self) -> dict[str, object]:
        pattern = _FIELD_PATH if self.lists else rf"{_SEGMENT}(?:\.{_SEGMENT})*"
        return {"type": "string", "pattern": f"^(?:{pattern})$", "maxLength": MAX_TEXT}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression."""

    zero_width: bool = True
    """Whether it may match between two characters: useful to recognise, useless to mask."""
    expected: str = "a regular expression"

    def read(self, node: Node, at: Path, reading: Reading) -> str:
        text = node.value
        if not isinstance(text, str) or not text:
            raise _wrong(self, node, at, reading)
        if len(text) > MAX_TEXT:
            raise reading.error(f"expected {self.expected} of at most {MAX_TEXT} characters", at, node.place)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                compiled = re.compile(text)
        except (re.error, Warning, OverflowError, RecursionError) as error:
            raise reading.error(f"expected {self.expected}, got one that fails: {error}", at, node.place) from None
        found = compiled.search("a b")
        if not self.zero_width and found is not None and not found[0]:
            raise reading.error("expected a regular expression that matches characters, this one masks nothing", at,
                                node.place)  # fmt: skip
        return text

    def schema(self) -> dict[str, object]:
        return {"type": "string", "format": "regex", "minLength": 1, "maxLength": MAX_TEXT}


@dataclass(frozen=True, slots=True)
class Data:
    """Any JSON value."""

    expected: str = "a value"

    def read(self, node: Node, at: Path, reading: Reading) -> object:  # noqa: ARG002
        return node.plain()

    def schema(self) -> dict[str, object]:
        return {}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list without doubles."""

    item: Shape
    low: int = 0
    of: str = "a list"

    @property
    def expected(self) -> str:
        return f"{self.of} with at least {self.low} entry" if self.low else self.of

    def read(self, node: Node, at: Path, reading: Reading) -> tuple[object, ...]:
        if not isinstance(node.value, list):
            raise _wrong(self, node, at, reading)
        if len(node.value) < self.low:
            raise reading.error(f"expected {self.expected}, got an empty list", at, node.place)
        found: list[object] = []
        for index, child in enumerate(node.value):
            here = (*at, index)
            reading.places[here] = child.place
            value = self.item.read(child, here, reading)
            if value in found:
                raise reading.error("the same entry stands here twice", here, child.place)
            found.append(value)
        return tuple(found)

    def schema(self) -> dict[str, object]:
        bound = {"minItems": self.low} if self.low else {}
        return {"type": "array", "items": self.item.schema(), "uniqueItems": True, **bound}


@dataclass(frozen=True, slots=True)
class WordOr:
    """One of a few words, or another shape."""

    words: tuple[str, ...]
    other: Shape

    @property
    def expected(self) -> str:
        return f"{_quoted(self.words)} or {self.other.expected}"

    def read(self, node: Node, at: Path, reading: Reading) -> object:
        if isinstance(node.value, list):
            return self.other.read(node, at, reading)
        if not isinstance(node.value, str) or node.value not in self.words:
            raise _wrong(self, node, at, reading)
        return node.value

    def schema(self) -> dict[str, object]:
        return {"anyOf": [{"enum": list(self.words)}, self.other.schema()]}


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping with keys of the user's own."""

    key: Shape
    value: Shape
    expected: str = "a mapping"

    def read(self, node: Node, at: Path, reading: Reading) -> dict[object, object]:
        if not isinstance(node.value, dict):
            raise _wrong(self, node, at, reading)
        found: dict[object, object] = {}
        for name, member in node.value.items():
            here = (*at, name)
            reading.places[here] = member.node.place
            try:
                key = self.key.read(Node(name, member.place), here, reading)
                found[key] = self.value.read(member.node, here, reading)
            except PolicyError as problem:
                reading.problems.append(problem)
        return found

    def schema(self) -> dict[str, object]:
        return {"type": "object", "propertyNames": self.key.schema(), "additionalProperties": self.value.schema()}


@dataclass(frozen=True, slots=True)
class Field:
    """One setting of a section."""

    name: str
    shape: Shape
    about: str
    """What it does, as an editor shows it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of known settings."""

    fields: tuple[Field, ...]
    required: tuple[str, ...] = ()
    exactly_one: bool = False
    of: str = "a mapping"

    @property
    def expected(self) -> str:
        names = _quoted([item.name for item in self.fields])
        return f"{self.of} with {'one' if self.exactly_one else 'some'} of {names}"

    def read(self, node: Node, at: Path, reading: Reading) -> dict[str, object]:
        if not isinstance(node.value, dict):
            raise _wrong(self, node, at, reading)
        shapes = {item.name: item.shape for item in self.fields}
        found: dict[str, object] = {}
        for name, member in node.value.items():
            here = (*at, name)
            reading.places[here] = member.node.place
            try:
                if name not in shapes:
                    raise self._unknown(name, member, here, reading)
                found[name] = shapes[name].read(member.node, here, reading)
            except PolicyError as problem:
                reading.problems.append(problem)
        if self.exactly_one and len(node.value) != 1:
            raise _wrong(self, node, at, reading)
        for name in self.required:
            if name not in node.value:
                raise reading.error(f"expected the key `{name}`", at, node.place)
        return found

    def _unknown(self, name: str, member: Member, at: Path, reading: Reading) -> PolicyError:
        names = [item.name for item in self.fields]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        shown = name if len(name) <= 80 and name.isprintable() else "..."  # noqa: PLR2004
        hint = f"did you mean `{near[0]}`?" if near else f"known are {_quoted(names)}"
        return reading.error(f"unknown key `{shown}`, {hint}", at, member.place)

    def schema(self) -> dict[str, object]:
        properties = {item.name: {**item.shape.schema(), "description": item.about} for item in self.fields}
        schema: dict[str, object] = {"type": "object", "properties": properties, "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        if self.exactly_one:
            schema["minProperties"] = schema["maxProperties"] = 1
        return schema
