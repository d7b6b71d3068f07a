"""A YAML text as a tree of plain nodes, each with its place in the text.

Not a policy: nothing here knows which keys exist. Scalars follow YAML 1.2 (`on`, `no` and dates are text, `1e3` is
a number), so that every JSON text means what JSON says. The tree is bounded in size and depth, aliases included.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final, Protocol

import yaml

from otel_loopguard.errors import PolicyError

__all__ = [
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "MAX_NODES",
    "Member",
    "Node",
    "Path",
    "Place",
    "read_document",
    "render",
    "shown",
]

MAX_CHARACTERS: Final = 256 * 1024
"""A policy for a thousand tools of ten settings each has about 200,000 characters."""

MAX_NODES: Final = 50_000
"""Nodes of the tree with every alias written out: 256 KiB of text without aliases cannot say much more."""

MAX_DEPTH: Final = 32
"""The deepest setting stands at depth 8; the rest is room for the values of argument defaults."""

_MAX_SHOWN: Final = 80
"""Characters of a user's text in a message."""

_MAX_DIGITS: Final = 400
"""The longest number that the canonical form writes as a number."""

Path = tuple[str | int, ...]
"""Keys and list positions from the root."""

Plain = None | bool | int | float | Decimal | str

_WORDS: Final[dict[str, Plain]] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAG_NAMES: Final = ("str", "int", "float", "bool", "null", "map", "seq")
_KNOWN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in _TAG_NAMES)
_TEXT_TAGS: Final = frozenset([None, "!", "tag:yaml.org,2002:str"])
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_BARE: Final = re.compile(r"[^\s`\"'\\]{1,80}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node starts; both count from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """A scalar, a list or a mapping."""

    value: Plain | list[Node] | dict[str, Member]
    place: Place
    size: int = 1
    """Nodes below and including this one, aliases written out."""

    def plain(self) -> object:
        """The value as plain data."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {key: member.node.plain() for key, member in self.value.items()}
        return self.value


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a mapping: where its key stands, and its value."""

    place: Place
    node: Node


@dataclass(slots=True)
class _Open:
    """A list or a mapping that is being read."""

    node: Node
    anchor: str | None
    path: Path
    key: str | None = None
    key_place: Place | None = None


@dataclass(slots=True)
class _Builder:
    """Turns parser events into a tree without recursion."""

    root: Node | None = None
    open: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node | None] = field(default_factory=dict)
    """None for an anchor whose node is still open."""
    nodes: int = 0

    def build(self, events: Iterable[yaml.Event]) -> Node:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
                raise _error("expected one YAML document, got a second one", (), _place(event))
            if isinstance(event, yaml.ScalarEvent):
                self.scalar(event)
            elif isinstance(event, yaml.AliasEvent):
                self.alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self.start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.end()
        return self.root if self.root is not None else Node(None, Place(1, 1))

    def path(self) -> Path:
        """Where the next node goes."""
        if not self.open:
            return ()
        top = self.open[-1]
        if isinstance(top.node.value, list):
            return (*top.path, len(top.node.value))
        return top.path if top.key is None else (*top.path, top.key)

    def scalar(self, event: yaml.ScalarEvent) -> None:
        place = _place(event)
        if event.tag not in _TEXT_TAGS and event.tag not in _KNOWN_TAGS:
            raise _error(f"tag `{shown(str(event.tag))}` is not allowed, write a plain value", self.path(), place)
        if self.expects_key():
            self.key(event, place)
            return
        is_text = event.tag == "!" or (not event.implicit[0] and event.tag in _TEXT_TAGS)
        value = _joined(event.value) if is_text else self.resolve(event.value, place)
        node = Node(value, place)
        if event.anchor:
            self.anchors[event.anchor] = node
        self.add(node)

    def resolve(self, text: str, place: Place) -> Plain:
        """The value of a plain scalar."""
        if text in _WORDS:
            return _WORDS[text]
        is_integer = _INTEGER.fullmatch(text) is not None
        if not is_integer and _FLOAT.fullmatch(text) is None:
            if _SPECIAL.fullmatch(text) is None:
                return _joined(text)
            raise _error(f"expected a finite number, got `{text}`", self.path(), place)
        if len(text) > _MAX_DIGITS:
            raise _error(f"expected a number of at most {_MAX_DIGITS} digits", self.path(), place)
        return _integer(text) if is_integer else _decimal(text)

    def expects_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].node.value, dict) and self.open[-1].key is None

    def key(self, event: yaml.ScalarEvent, place: Place) -> None:
        top = self.open[-1]
        text = _joined(event.value)
        if event.implicit[0] and not isinstance(self.resolve(event.value, place), str):
            raise _error(f"expected text as a key, write `{shown(text)}` in quotes", top.path, place)
        if text == "<<" and event.implicit[0]:
            raise _error("merge keys (`<<`) are not part of YAML 1.2, repeat the settings", top.path, place)
        if isinstance(top.node.value, dict) and text in top.node.value:
            first = top.node.value[text].place
            raise _error(f"key `{shown(text)}` is given twice, first in line {first.line}", (*top.path, text), place)
        top.key, top.key_place = text, place

    def alias(self, event: yaml.AliasEvent) -> None:
        place = _place(event)
        if event.anchor not in self.anchors:
            raise _error(f"alias `*{shown(str(event.anchor))}` has no anchor before it", self.path(), place)
        node = self.anchors[event.anchor]
        if node is None:
            raise _error(f"alias `*{shown(str(event.anchor))}` stands inside its own anchor", self.path(), place)
        if self.expects_key():
            raise _error("expected text as a key, got an alias", self.path(), place)
        self.add(Node(node.value, place, node.size))

    def start(self, event: yaml.CollectionStartEvent) -> None:
        place, path = _place(event), self.path()
        if event.tag is not None and event.tag not in _KNOWN_TAGS:
            raise _error(f"tag `{shown(str(event.tag))}` is not allowed, write a plain value", path, place)
        if self.expects_key():
            raise _error("expected text as a key, got a list or a mapping", path, place)
        if len(self.open) >= MAX_DEPTH:
            raise _error(f"nested more than {MAX_DEPTH} deep", (), place)
        if event.anchor:
            self.anchors[event.anchor] = None
        node = Node([] if isinstance(event, yaml.SequenceStartEvent) else {}, place)
        self.open.append(_Open(node, event.anchor, path))

    def end(self) -> None:
        closed = self.open.pop()
        if closed.anchor:
            self.anchors[closed.anchor] = closed.node
        self.add(closed.node)

    def add(self, node: Node) -> None:
        if not self.open:
            self.root = node
            return
        top = self.open[-1]
        top.node.size += node.size
        if top.node.size > MAX_NODES:
            raise _error(f"more than {MAX_NODES} values, aliases written out", (), node.place)
        if isinstance(top.node.value, list):
            top.node.value.append(node)
        elif isinstance(top.node.value, dict) and top.key is not None and top.key_place is not None:
            top.node.value[top.key] = Member(top.key_place, node)
            top.key = top.key_place = None


def read_document(text: str) -> Node:
    """The tree of one YAML (or JSON) document.

    Raises `PolicyError`, with line and column, for text that is not YAML, has duplicate keys, more than one document
    or tags of its own, or is larger, deeper or more aliased than the bounds of this module.
    """
    if len(text) > MAX_CHARACTERS:
        message = f"expected at most {MAX_CHARACTERS} characters, got more, let `match` describe tools that are alike"
        raise PolicyError(message)
    try:
        return _Builder().build(yaml.parse(_without_tabs(text), Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        place = _marked(error.problem_mark or error.context_mark)
        problem = str(error.problem or error.context)
        reason = "a tab cannot indent YAML, use spaces" if r"'\t'" in problem else shown(problem)
        raise _error(f"not YAML: {reason}", (), place) from None
    except yaml.reader.ReaderError as error:
        raise _error("not YAML: a character that no text file holds", (), _place_of(text, error.position)) from None
    except PolicyError:
        raise
    except (ValueError, OverflowError, IndexError):  # PyYAML lets these out: escapes beyond Unicode, huge versions
        message = "not YAML: an escape or a directive that cannot be read"
        raise PolicyError(message) from None


def render(path: Path) -> str:
    """The path as users read it: ``$.tools.get_logs.kind``, ``$.result.volatile[0]``."""
    parts = ["$"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _BARE.fullmatch(step) and step.isprintable():
            parts.append(f".{step}")
        else:
            parts.append(f"[{json.dumps(step[:80])}]")
    return "".join(parts)


def shown(text: str) -> str:
    """A user's text as a message may hold it: short, and nothing that a terminal would obey."""
    short = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
    return short if short.isprintable() else json.dumps(short)[1:-1]


def _error(message: str, path: Path, place: Place) -> PolicyError:
    return PolicyError(message, path=render(path), line=place.line, column=place.column)


class _Mark(Protocol):
    """Where PyYAML stands, its own parser's mark or libyaml's."""

    line: int
    column: int


def _place(event: yaml.Event) -> Place:
    return _marked(event.start_mark)


def _marked(mark: _Mark | None) -> Place:
    return Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)


def _place_of(text: str, position: int) -> Place:
    before = text[:position]
    return Place(before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)


def _without_tabs(text: str) -> str:
    """JSON may be indented by tabs, which PyYAML refuses; no JSON string holds a raw one, so all places stay."""
    if "\t" not in text or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text.replace("\t", " ")


def _joined(text: str) -> str:
    """JSON writes characters beyond the basic plane as two escapes."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _integer(text: str) -> int:
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


def _decimal(text: str) -> float | Decimal:
    """A float where it says exactly what was written, else the exact decimal."""
    number = float(text)
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return number
    return number if math.isfinite(number) and Decimal(repr(number)) == exact else exact
