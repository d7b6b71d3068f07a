"""The shapes that hold other settings: lists, mappings and sections with known keys.

Not single values (`policy_shape`). A section goes on after a problem in one of its settings, so that a reader of a
whole file finds them all.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from otel_loopguard.errors import PolicyError

from .document import Node, Path, shown
from .shape import Reading, Shape, quoted, wrong

__all__ = ["Field", "list_of", "map_of", "section", "word_or"]

_NOWHERE: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Field:
    """One setting of a section."""

    name: str
    shape: Shape
    about: str
    """What it does, as an editor shows it."""


def list_of(item: Shape, expected: str, *, filled: bool = False) -> Shape:
    """A list without doubles; ``filled``: with at least one entry."""
    wanted = f"{expected} with at least one entry" if filled else expected

    def read(node: Node, at: Path, reading: Reading) -> tuple[object, ...]:
        if not isinstance(node.value, list) or (filled and not node.value):
            raise wrong(wanted, node, at, reading)
        found: dict[object, None] = {}
        for index, child in enumerate(node.value):
            here = (*at, index)
            reading.places[here] = child.place
            value = item.read(child, here, reading)
            if value in found:
                raise reading.error("the same entry stands here twice, remove one", here, child.place)
            found[value] = None
        return tuple(found)

    bound = {"minItems": 1} if filled else {}
    return Shape(wanted, {"type": "array", "items": item.schema, "uniqueItems": True, **bound}, read)


def word_or(*words: str, other: Shape) -> Shape:
    """One of a few words, or a list."""
    expected = f"{quoted(words)} or {other.expected}"

    def read(node: Node, at: Path, reading: Reading) -> object:
        if isinstance(node.value, list):
            return other.read(node, at, reading)
        if not isinstance(node.value, str) or node.value not in words:
            raise wrong(expected, node, at, reading)
        return node.value

    return Shape(expected, {"anyOf": [{"enum": list(words)}, other.schema]}, read)


def map_of(key: Shape, value: Shape, *, most: int | None = None) -> Shape:
    """A mapping with keys of the user's own, ``most`` of them at most."""
    expected = "a mapping (`{}` for an empty one)"

    def read(node: Node, at: Path, reading: Reading) -> dict[object, object]:
        if not isinstance(node.value, dict):
            raise wrong(expected, node, at, reading)
        if most is not None and len(node.value) > most:
            raise reading.error(f"expected at most {most} entries, got {len(node.value)}", at, node.place)
        found: dict[object, object] = {}
        for name, member in node.value.items():
            here = (*at, name)
            reading.places[here] = member.node.place
            with _Collecting(reading):
                read_key = key.read(Node(name, member.place), here, reading)
                found[read_key] = value.read(member.node, here, reading)
        return found

    bound = {} if most is None else {"maxProperties": most}
    schema = {"type": "object", "propertyNames": key.schema, "additionalProperties": value.schema, **bound}
    return Shape(expected, schema, read)


def section(
    *fields: Field,
    required: tuple[str, ...] = (),
    exactly_one: bool = False,
    more: object = None,
    elsewhere: Mapping[str, str] = _NOWHERE,
) -> Shape:
    """A mapping of known settings; ``more`` is what JSON Schema should say beside them.

    ``elsewhere`` are keys that are looked for here and stand in another section.
    """
    names = [item.name for item in fields]
    places = {name: f"`{section}`" for name, section in elsewhere.items()}
    for item in fields:
        below = item.shape.schema.get("properties")
        for name in below if isinstance(below, dict) else ():
            places[name] = f"{places[name]} or `{item.name}`" if name in places else f"`{item.name}`"
    expected = f"exactly one of {quoted(names)}" if exactly_one else "a mapping (`{}` for an empty one)"
    shapes = {item.name: item.shape for item in fields}

    def read(node: Node, at: Path, reading: Reading) -> dict[str, object]:
        if not isinstance(node.value, dict) or (exactly_one and len(node.value) != 1):
            raise wrong(expected, node, at, reading)
        found: dict[str, object] = {}
        for name, member in node.value.items():
            here = (*at, name)
            reading.places[here] = member.node.place
            with _Collecting(reading):
                if name not in shapes:
                    raise reading.error(_unknown(name, names, places), here, member.place)
                found[name] = shapes[name].read(member.node, here, reading)
        for name in required:
            if name not in node.value:
                raise reading.error(f"expected the key `{name}`", at, node.place)
        return found

    return Shape(expected, _section_schema(fields, required, more, exactly_one=exactly_one), read)


def _section_schema(
    fields: tuple[Field, ...], required: tuple[str, ...], more: object, *, exactly_one: bool
) -> dict[str, object]:
    properties = {item.name: {**item.shape.schema, "description": item.about} for item in fields}
    schema: dict[str, object] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    if exactly_one:
        schema["minProperties"] = schema["maxProperties"] = 1
    if more is not None:
        schema["allOf"] = more
    return schema


def _unknown(name: str, names: list[str], places: Mapping[str, str]) -> str:
    """``places``: in which sections keys stand that do not stand here."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    far = difflib.get_close_matches(name, places, n=1, cutoff=0.8)
    if far and (not near or name in places):
        hint = f"`{far[0]}` stands under {places[far[0]]}"
    else:
        hint = f"did you mean `{near[0]}`?" if near else f"known are {quoted(names)}"
    return f"unknown key `{shown(name)}`, {hint}"


class _Collecting:
    """Notes a problem and lets the rest of the file be read."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> bool:
        if not isinstance(problem, PolicyError):
            return False
        self.reading.problems.append(problem)
        return True
