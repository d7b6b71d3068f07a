"""Plain data after the rules that a policy declares for a tool: two calls are one where their normal forms are.

Not the bytes of it (`jcs`), and no guess: what no rule names stays as it is. The rules of one field are applied in
this order: JSON text is parsed, members are ignored or chosen, paths shortened, blanks trimmed or collapsed, case
folded, numbers rounded, lists sorted; last, a member that equals its default is dropped.

- Blanks are the six of ASCII: space, tab, line feed, vertical tab, form feed, carriage return. A text of nothing
  else stays as it is. A text of several lines is trimmed, never collapsed.
- `case_insensitive` and `round` hold for all texts and numbers in the field that they name.
- In an object that names a key twice, that key's members are dropped by name alone, never for being null or a
  default.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from otel_loopguard.core.policy import ArgumentRules, KeyPath

from .jcs import Pairs, object_of, write
from .number import rounded
from .parse import parse
from .uniform import composed, uniform
from .unknown import MAX_DEPTH, UnreadableError

__all__ = ["Normal", "short_path"]

_BLANKS: Final = " \t\n\v\f\r"
_RUN: Final = re.compile("[ \t]+")
_LINE_END: Final = re.compile("[\n\v\f\r\x85\u2028\u2029]")
_EVERY: Final = "[]"
"""The segment of a key path that stands for every member of a list."""


def short_path(text: str) -> str:
    """A POSIX path without ``.`` segments, doubled and trailing slashes; no file system is asked."""
    if not text:
        return text
    path = "/".join(segment for segment in text.split("/") if segment not in ("", "."))
    return "/" + path if text[0] == "/" else path or "."


class _Field:
    """The rules of one field, and of those inside it."""

    __slots__ = ("chosen", "default", "fields", "fold", "ignore", "json", "path", "places", "unordered")

    def __init__(self) -> None:
        self.fields: dict[str, _Field] = {}
        self.ignore = False
        self.json = False
        self.path = False
        self.fold = False
        self.unordered = False
        self.chosen = False
        """Named by `identity`."""
        self.places: int | None = None
        self.default: bytes | None = None
        """Canonical bytes of the value that equals absence."""

    def at(self, path: Iterable[str]) -> _Field:
        """The field at ``path``, made where it has no rules yet."""
        found = self
        for segment in path:
            found = found.fields.setdefault(composed(segment), _Field())
        return found


_NO_RULES: Final = _Field()


class Normal:
    """The normalisation that one `ArgumentRules` declares."""

    __slots__ = ("_chosen", "_collapse", "_drop_nulls", "_fold", "_places", "_root", "_trim")

    def __init__(self, rules: ArgumentRules) -> None:
        self._drop_nulls = rules.drop_nulls
        self._trim = rules.text != "exact"
        self._collapse = rules.text == "collapse"
        self._fold = rules.fold_case
        self._places = rules.round_floats
        self._root = root = _Field()
        self._chosen = None if rules.identity is None else _tree(rules.identity)
        for name in rules.volatile:
            root.at([name]).ignore = True
        for flag, paths in (
            ("ignore", rules.ignore), ("json", rules.json), ("path", rules.path), ("fold", rules.case_insensitive),
            ("unordered", rules.unordered),
        ):  # fmt: skip
            for path in paths:
                setattr(root.at(path), flag, True)
        for path, places in rules.round.items():
            root.at(path).places = places
        for name, value in rules.defaults.items():
            field = root.at([name])
            field.default = write(self._value(uniform(value), field, MAX_DEPTH, fold=self._fold, places=None))

    def apply(self, data: object) -> object:
        """The normal form of uniform data, which stays as it is.

        Raises `UnreadableError` where JSON text in a field cannot be read, or nesting is beyond its bound.
        """
        if self._chosen is not None:
            data = _choose(data, self._chosen)
        return self._value(data, self._root, MAX_DEPTH, fold=self._fold, places=None)

    def _value(self, data: object, field: _Field, levels: int, *, fold: bool, places: int | None) -> object:
        if field.json and isinstance(data, str):
            data = _parsed(data)
        fold = fold or field.fold
        places = places if field.places is None else field.places
        if isinstance(data, str):
            return self._text(short_path(data) if field.path else data, fold=fold)
        if data is None or isinstance(data, bool):
            return data
        if isinstance(data, int | float | Decimal):
            return self._number(data, places)
        if data and not levels:
            raise UnreadableError("too_large")
        if isinstance(data, dict | Pairs):
            return object_of(self._members(data, field, levels - 1, fold=fold, places=places))
        if isinstance(data, list | tuple):
            inner = field.fields.get(_EVERY, _NO_RULES)
            items = [self._value(item, inner, levels - 1, fold=fold, places=places) for item in data]
            return sorted(items, key=write) if field.unordered else items
        raise TypeError(type(data).__name__)

    def _members(
        self, data: dict[str, object] | Pairs, field: _Field, levels: int, *, fold: bool, places: int | None
    ) -> list[tuple[str, object]]:
        kept: list[tuple[str, object]] = []
        repeated: set[str] = set()
        members: Iterable[tuple[str, object]] = data.items() if isinstance(data, dict) else data
        if isinstance(data, Pairs):
            repeated = {name for name, count in Counter(name for name, _ in data).items() if count > 1}
        for name, value in members:
            rules = field.fields.get(name, _NO_RULES)
            if rules.ignore or (value is None and self._drop_nulls and name not in repeated):
                continue
            normal = self._value(value, rules, levels, fold=fold, places=places)
            if rules.default is None or name in repeated or write(normal) != rules.default:
                kept.append((name, normal))
        return kept

    def _text(self, text: str, *, fold: bool) -> str:
        if self._trim:
            text = text.strip(_BLANKS) or text
            if self._collapse and not _LINE_END.search(text) and text.strip(_BLANKS):
                text = _RUN.sub(" ", text)
        return composed(text.casefold()) if fold else text

    def _number(self, number: float | Decimal, places: int | None) -> int | float | Decimal:
        if places is None:
            places = None if isinstance(number, int) else self._places
        return number if places is None else rounded(number, places)


def _tree(paths: Iterable[KeyPath]) -> _Field:
    root = _Field()
    for path in paths:
        root.at(path).chosen = True
    return root


def _choose(data: object, field: _Field) -> object:
    """The parts of ``data`` that ``field`` chooses; a text or a number has no parts and stays."""
    if field.chosen:
        return data
    if isinstance(data, dict | Pairs):
        members: Iterable[tuple[str, object]] = data.items() if isinstance(data, dict) else data
        return object_of((name, _choose(value, field.fields[name])) for name, value in members if name in field.fields)
    if isinstance(data, list | tuple) and _EVERY in field.fields:
        return [_choose(item, field.fields[_EVERY]) for item in data]
    return data


def _parsed(text: str) -> object:
    try:
        return uniform(parse(text))
    except ValueError:
        return text
