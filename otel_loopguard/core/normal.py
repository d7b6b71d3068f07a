"""Plain data after the rules for a tool's arguments: two calls are one where their normal forms are.

Not the bytes of it (`jcs`), and no guess: what no rule names stays as it is. The rules of one field are applied in
this order: JSON text is parsed, members are ignored or chosen, texts are composed (NFC), paths shortened, blanks
trimmed or collapsed, case folded, numbers rounded, lists sorted; last, a member that equals its default is dropped.

- Blanks are the six of ASCII: space, tab, line feed, vertical tab, form feed, carriage return. A text of nothing
  else stays as it is. A text of several lines is trimmed, never collapsed.
- Rules for a field hold for all texts, or all numbers, in it.
- In an object that names a key twice, such a member is never dropped for being null or a default.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from .jcs import Pairs, write
from .number import round_half_even
from .parse import parse
from .policy import STRICT, ArgumentRules, KeyPath
from .unknown import MAX_DEPTH, UnreadableError

__all__ = ["BLANKS", "EXACT", "Normal", "composed", "short_path"]

BLANKS: Final = " \t\n\v\f\r"
_RUN: Final = re.compile("[ \t]+")
_LINE_END: Final = re.compile("[\n\v\f\r\x85\u2028\u2029]")


def composed(text: str) -> str:
    """``text`` in NFC; two halves of a surrogate pair that stand together become their character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return unicodedata.normalize("NFC", text)


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
        self.ignore = self.json = self.path = self.fold = self.unordered = False
        self.chosen = False
        """Named by `identity`, or on the way to a field that is."""
        self.places: int | None = None
        self.default: object = None
        """Canonical bytes of the value that equals absence."""

    def below(self, path: Iterable[str]) -> _Field:
        """The field at ``path``, made where it has no rules yet."""
        found = self
        for segment in path:
            found = found.fields.setdefault(composed(segment), _Field())
        return found


_NO_RULES: Final = _Field()
_EVERY: Final = "[]"


class Normal:
    """The normalisation that one `ArgumentRules` declares."""

    def __init__(self, rules: ArgumentRules) -> None:
        self._rules = rules
        self._drop_nulls = rules.drop_nulls
        self._trim = rules.text != "exact"
        self._collapse = rules.text == "collapse"
        self._root = root = _Field()
        self._chosen = _tree(rules.identity) if rules.identity is not None else None
        for name in rules.volatile:
            root.below([name]).ignore = True
        for flag, paths in (
            ("ignore", rules.ignore), ("json", rules.json), ("path", rules.path), ("fold", rules.case_insensitive),
            ("unordered", rules.unordered),
        ):  # fmt: skip
            for path in paths:
                setattr(root.below(path), flag, True)
        for path, places in rules.round.items():
            root.below(path).places = places
        for name, value in rules.defaults.items():
            path = tuple(name.split("."))
            field = root.below(path)
            field.default = write(self._value(value, field, MAX_DEPTH, rules.fold_case, rules.round_floats))

    def normal(self, data: object) -> object:
        """The normal form of plain data, which stays as it is.

        Raises `UnreadableError` where the nesting or a number is beyond its bound.
        """
        if self._chosen is not None:
            data = _choose(data, self._chosen)
        return self._value(data, self._root, MAX_DEPTH, self._rules.fold_case, None)

    def _value(self, data: object, field: _Field, levels: int, fold: bool, places: int | None) -> object:
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
        if not levels:
            raise UnreadableError("too_large")
        if isinstance(data, dict):
            return self._object(data.items(), field, levels - 1, fold, places)
        if isinstance(data, Pairs):
            return self._object(data, field, levels - 1, fold, places)
        if isinstance(data, list | tuple):
            inner = field.fields.get(_EVERY, _NO_RULES)
            items = [self._value(item, inner, levels - 1, fold, places) for item in data]
            return sorted(items, key=write) if field.unordered else items
        raise TypeError(type(data).__name__)

    def _object(self, members, field, levels, fold, places):  # type: ignore
        rules = field.fields
        found = []
        for name, value in members:
            key = composed(name)
            inner = rules.get(key, _NO_RULES)
            if not inner.ignore:
                found.append((key, value, inner))
        counts = Counter(key for key, _, _ in found)
        pairs: list[tuple[str, object]] = []
        for key, value, inner in found:
            if value is None and self._drop_nulls and counts[key] == 1:
                continue
            normal = self._value(value, inner, levels, fold, places)
            if inner.default is not None and counts[key] == 1 and write(normal) == inner.default:
                continue
            pairs.append((key, normal))
        members = dict(pairs)
        return members if len(members) == len(pairs) else Pairs(pairs)

    def _text(self, text: str, *, fold: bool) -> str:
        text = composed(text)
        if self._trim:
            text = text.strip(BLANKS) or text
            if self._collapse and not _LINE_END.search(text) and not text.isspace():
                text = _RUN.sub(" ", text)
        return composed(text.casefold()) if fold else text

    def _number(self, number: int | float | Decimal, places: int | None) -> int | float | Decimal:
        if places is None:
            places = self._rules.round_floats
            if places is None or isinstance(number, int):
                return number
        return round_half_even(number, places)


def _tree(paths: Iterable[KeyPath]) -> _Field:
    root = _Field()
    for path in paths:
        root.below(path).chosen = True
    return root


def _choose(data: object, field: _Field) -> object:
    """The parts of ``data`` that ``field`` chooses; a text or a number has no parts and stays."""
    if field.chosen:
        return data
    if isinstance(data, dict | Pairs):
        members = data.items() if isinstance(data, dict) else data
        kept = [
            (name, _choose(value, field.fields[composed(name)])) for name, value in members if composed(name) in field.fields
        ]
        return Pairs(kept) if isinstance(data, Pairs) else dict(kept)
    if isinstance(data, list | tuple) and _EVERY in field.fields:
        return [_choose(item, field.fields[_EVERY]) for item in data]
    return data


def _parsed(text: str) -> object:
    try:
        return parse(text)
    except ValueError:
        return text


EXACT: Final = Normal(STRICT)
"""Nothing but the "always" rules."""
