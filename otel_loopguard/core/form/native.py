"""JSON through the native library, where it reads and writes exactly what the plain path does; None elsewhere.

Not a second definition of the canonical form: every doubt is left to the plain path, and tests compare the two.

The library is orjson, for this reason before its speed: it refuses whatever is not JSON, where msgspec writes bytes
as base64 text, sets in any order and decimals as text, which would make different arguments equal. What it does
otherwise than the canonical form is looked for in its output:

- an integer beyond 64 bits is refused on writing and becomes a double on reading; doubles below 10^-5 and from 10^16
  on have an exponent: any exponent is a doubt
- an integral double is written ``1.0``: the ``.0`` is cut off
- NaN is written ``null``: where there is a null, what is read back is compared with what was written
- of a key that is named twice the last value is read: fewer colons come out than went in
- keys are sorted by code point, which differs from UTF-16 only where a text has a character beyond U+FFFF and one
  from U+E000 on
- texts are not composed: a text that is not in NFC is a doubt; lone surrogates are refused
"""

from __future__ import annotations

import re
from typing import Final, cast
from unicodedata import is_normalized

import orjson

from .cut import Cut, blanks, cut, has_exponent, integral_ends, null_members, shadow
from .placeholder import CUT_HINT, FIRST_CHARACTERS, is_withheld_at
from .unknown import MAX_BYTES

__all__ = [
    "Json", "Read", "canonical_json", "may_shorten", "native_read", "native_text", "native_value", "native_write",
    "shortened",
]  # fmt: skip

Json = dict[str, object] | list[object]

Read = tuple[Json, bytes, str, bool]
"""A document, its sorted compact JSON as bytes and as the text that they spell, and whether the document is certain to
say no more than they do."""

_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_OPENING: Final = frozenset("{[")
_dumps: Final = orjson.dumps
_loads: Final = orjson.loads

# Expressions that begin with a literal are searched about as fast as a plain text, others several times slower: hence
# a quick search first, and an exact one only where that hits.
_INTEGRAL: Final = re.compile(r"\.0(?:[,\]}]|\Z)").search
_SMALL: Final = re.compile(r"e-\d")
_SIGN: Final = "+" if b"+" in orjson.dumps(1e16) else "e"
_LARGE: Final = re.compile(r"e\+\d" if _SIGN == "+" else r"e\d")
"""Large exponents have a sign since orjson 3.12."""
_START: Final = re.compile(rf'"[ \\{re.escape(FIRST_CHARACTERS)}](?<=[{{\[,:]".)')
"""Where a text begins with a blank, an escape or what a placeholder begins with: a quote inside a text follows a
backslash, and none of these can follow a closing one."""
_CLOSING_SPACE: Final = re.compile(' "').search
_CLOSING_ESCAPE: Final = re.compile(r'\\(?:[nrtf]|u000b)"').search


def native_read(value: object) -> Read | None:
    """A dict or list, or the one that a text says, with its sorted JSON; None where in doubt. What it gives is still
    to go through `canonical_json`.
    """
    kind = type(value)
    try:
        if kind is dict or kind is list:
            raw = _dumps(value, None, _OPTIONS)
            return cast("Json", value), raw, raw.decode(), False
        return _read_text(cast("str", value)) if kind is str else None
    except (TypeError, ValueError):
        return None


def _read_text(source: str) -> Read | None:
    if len(source) > MAX_BYTES or source.lstrip()[:1] not in _OPENING:
        return None
    data = _loads(source)
    if type(data) is not dict and type(data) is not list:
        return None
    raw = _dumps(data, None, _OPTIONS)
    text = raw.decode()
    if source.count(":") != text.count(":"):
        return None
    if "\\" in source and "\\u003" in source:  # an escaped colon would hide a member that is lost
        return None
    return data, raw, text, True


def may_shorten(read: Read) -> bool:
    """Whether there may be nulls to drop or texts to trim in a document; False is certain."""
    text = read[2]
    return "null" in text or "\\" in text or (" " in text and (' "' in text or '" ' in text))


def native_write(data: object) -> Read | None:
    """Uniform data with its sorted JSON; None where in doubt."""
    try:
        raw = _dumps(data, None, _OPTIONS)
    except TypeError:
        return None
    return cast("Json", data), raw, raw.decode(), True


def native_text(text: str) -> bytes | None:
    """Canonical JSON of a text; None where a surrogate stands alone in it."""
    try:
        return _dumps(text)
    except TypeError:
        return None


def native_value(raw: bytes) -> object:
    """The data that canonical JSON says."""
    return _loads(raw)


def canonical_json(read: Read, drop_nulls: bool, trim: bool) -> bytes | None:  # noqa: FBT001 - by place, which is faster
    """Canonical bytes of a document, with null members dropped and texts trimmed where asked; None where in doubt."""
    data, raw, text, own = read
    if CUT_HINT in text or not (raw.isascii() or _is_composed(raw, text)):
        return None
    if (("-" in text and _SMALL.search(text)) or (_SIGN in text and _LARGE.search(text))) and _has_exponent(text):
        return None
    starts = _START.search(text)
    if starts and any(is_withheld_at(text, start.end() - 1) for start in _START.finditer(text)):
        return None
    if not own and "null" in text and _may_hold_nan(data, raw, text):
        return None
    return _without_cuts(raw, text, drop_nulls, trim, starts is not None)


def shortened(read: Read, drop_nulls: bool, trim: bool) -> bytes:  # noqa: FBT001 - by place, which is faster
    """What `canonical_json` gives for a document of which it is known that there is no doubt."""
    _, raw, text, _ = read
    return _without_cuts(raw, text, drop_nulls, trim, trim and _START.search(text) is not None)


def _without_cuts(raw: bytes, text: str, drop_nulls: bool, trim: bool, starts: bool) -> bytes:  # noqa: FBT001
    cuts: list[Cut] = []
    if drop_nulls and "null" in text:
        cuts += null_members(text)
    if "." in text and _INTEGRAL(text):
        cuts += integral_ends(shadow(text))
    if trim and (starts or _CLOSING_SPACE(text) or ("\\" in text and _CLOSING_ESCAPE(text))):
        cuts += blanks(shadow(text))
    return cut(text, cuts).encode() if cuts else raw


def _is_composed(raw: bytes, text: str) -> bool:
    """Whether texts are in NFC and keys in order; both hold for Latin-1, which is told several times faster."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return is_normalized("NFC", text) and _is_ordered(raw)
    return True


def _has_exponent(text: str) -> bool:
    shadowed = shadow(text)
    return has_exponent(shadowed, _SMALL.finditer(shadowed)) or has_exponent(shadowed, _LARGE.finditer(shadowed))


def _may_hold_nan(data: Json, raw: bytes, text: str) -> bool:
    """Whether a null in the JSON may be a NaN or an infinity. Most nulls stand high up, where counting them costs less
    than reading the JSON back.
    """
    nones = 0
    for value in data.values() if type(data) is dict else data:
        if value is None:
            nones += 1
        elif type(value) is dict:
            nones += list(value.values()).count(None)
    return nones != text.count("null") and _loads(raw) != data


def _is_ordered(raw: bytes) -> bool:
    """Whether keys sorted by code point are sorted by UTF-16 code units, for certain: told by the first bytes of
    characters beyond U+FFFF, and of those from U+E000 on.
    """
    beyond = 0xF0 in raw or 0xF1 in raw or 0xF2 in raw or 0xF3 in raw or 0xF4 in raw  # noqa: PLR2004
    return not beyond or not (0xEE in raw or 0xEF in raw)  # noqa: PLR2004
