"""JSON through the native library, where it reads and writes exactly what the plain path does; None elsewhere.

Not a second definition of the canonical form: every doubt is left to the plain path, and tests compare the two.

The library is orjson, for this reason before its speed: it refuses whatever is not JSON, where msgspec writes bytes
as base64 text, sets in any order and decimals as text, which would make different arguments equal. What it does
otherwise than the canonical form is looked for in its output:

- an integer beyond 64 bits is refused on writing and becomes a double on reading; doubles below 10^-5 and from 10^16
  on have an exponent: any exponent is a doubt
- an integral double is written ``1.0``: it is replaced by the integer
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

from .mend import trimmed, with_integers, without_nulls
from .placeholder import CUT_HINT, FIRST_CHARACTERS, REDACTED_WORD, may_be_withheld
from .unknown import MAX_BYTES

__all__ = ["Json", "Read", "is_canonical", "is_sound", "native_copy", "native_read", "native_write", "tidy", "without_members"]

Json = dict[str, object] | list[object]

Read = tuple[Json, bytes, str]
"""A document with its sorted, compact JSON, as bytes and as the text that they spell."""

_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_dumps: Final = orjson.dumps
_loads: Final = orjson.loads

# Expressions begin with a literal where they can: such a search is about as fast as one for a plain text. A quote
# that opens a text is told from one inside it by what stands before: only the latter follows a backslash.
_INTEGRAL: Final = re.compile(r"\.0(?:[,\]}]|\Z)").search
_SMALL: Final = re.compile(r"e-\d").search
_LARGE: Final = re.compile(r"e\+\d" if b"+" in orjson.dumps(1e16) else r"e\d").search
"""Large exponents have a sign since orjson 3.12."""
_SIGN: Final = "+" if b"+" in orjson.dumps(1e16) else "e"
_EXPONENT: Final = re.compile(r"(?:[:,\[]|\A)-?\d+(?:\.\d+)?e").search
_PECULIAR_START: Final = re.compile(rf'"[ \\{re.escape(FIRST_CHARACTERS)}](?<=[{{\[,:]".)').search
_OPENING_BLANK: Final = re.compile(
    r'"(?: (?<=[{\[,:]" )|\\[nrtf](?<=[{\[,:]"\\.)|\\u000b(?<=[{\[,:]"\\u000b))'
).search
_CLOSING_SPACE: Final = re.compile(' "').search
_CLOSING_BLANK: Final = re.compile(r'\\(?:[nrtf]|u000b)"').search
_REDACTED_TEXT: Final = f'"{REDACTED_WORD}"'


def native_read(value: object) -> Read | None:
    """A dict or list, or the one that a text says, with its sorted JSON; None where in doubt. What it gives is still
    to be asked `is_canonical` or `is_sound`."""
    kind = type(value)
    try:
        if kind is dict or kind is list:
            raw = _dumps(value, None, _OPTIONS)
            return cast("Json", value), raw, raw.decode()
        if kind is not str:
            return None
        source = cast("str", value)
        if len(source) > MAX_BYTES:
            return None
        data = _loads(source)
        if type(data) is not dict and type(data) is not list:
            return None
        raw = _dumps(data, None, _OPTIONS)
    except (TypeError, ValueError):
        return None
    text = raw.decode()
    if source.count(":") != text.count(":") or "\\u003" in source:  # an escaped colon would hide a member that is lost
        return None
    return data, raw, text


def is_canonical(raw: bytes, text: str) -> bool:
    """Whether sorted JSON is canonical as it is, with nothing in it that a rule for all fields would change."""
    return not (
        _PECULIAR_START(text)
        or _CLOSING_SPACE(text)
        or "null" in text
        or CUT_HINT in text
        or _REDACTED_TEXT in text
        or ("." in text and _INTEGRAL(text))
        or ("-" in text and _SMALL(text))
        or (_SIGN in text and _LARGE(text))
        or ("\\" in text and _CLOSING_BLANK(text))
    ) and (raw.isascii() or (is_normalized("NFC", text) and _is_ordered(raw)))


def is_sound(raw: bytes, text: str) -> bool:
    """Whether sorted JSON says nothing that only the plain path reads or writes rightly, nulls aside."""
    if (_SMALL(text) or _LARGE(text)) and _EXPONENT(text):
        return False
    return (raw.isascii() or (is_normalized("NFC", text) and _is_ordered(raw))) and not may_be_withheld(text)


def native_copy(read: Read, *, own: bool) -> Json | None:
    """Sound JSON as uniform data of our own; None where in doubt. ``own``: what was read is ours already."""
    data, raw, text = read
    if not own:
        try:
            data = _loads(raw)
        except ValueError:
            return None
        if "null" in text and data != read[0]:  # NaN is written `null`
            return None
    return cast("Json", with_integers(data)) if _INTEGRAL(text) else data


def native_write(data: object) -> Read | None:
    """Uniform data with its sorted JSON, for `tidy`; None where in doubt."""
    try:
        raw = _dumps(data, None, _OPTIONS)
    except TypeError:
        return None
    return (cast("Json", data), raw, raw.decode()) if _is_ordered(raw) else None


def without_members(data: Json, volatile: frozenset[str], *, drop_nulls: bool) -> Json:
    """``data`` without the ``volatile`` members of its outermost object and, where asked, without nulls; ``data``
    itself where there is nothing to drop."""
    kept = data
    if type(data) is dict and not volatile.isdisjoint(data):
        kept = {name: value for name, value in data.items() if name not in volatile}
    return cast("Json", without_nulls(kept)) if drop_nulls else kept


def tidy(read: Read, volatile: frozenset[str], *, drop_nulls: bool, trim: bool) -> bytes | None:
    """Canonical bytes of sound JSON without the ``volatile`` members of its outermost object, with nulls dropped and
    texts trimmed where asked; None where in doubt."""
    data, raw, text = read
    kept = without_members(data, volatile, drop_nulls=drop_nulls and "null" in text)
    if integral := _INTEGRAL(text):
        kept = with_integers(kept)
    if blanks := trim and _is_untrimmed(text):
        kept = trimmed(kept)
    if kept is not data:
        raw = _dumps(kept, None, _OPTIONS)
        text = raw.decode()
    if (integral and _INTEGRAL(text)) or (blanks and _is_untrimmed(text)):
        return None  # a text of blanks, or the value of an enumeration
    return None if "null" in text and _loads(raw) != kept else raw


def _is_ordered(raw: bytes) -> bool:
    """Whether keys sorted by code point are sorted by UTF-16 code units, for certain."""
    if raw.isascii():
        return True
    beyond = 0xF0 in raw or 0xF1 in raw or 0xF2 in raw or 0xF3 in raw or 0xF4 in raw
    return not beyond or not (0xEE in raw or 0xEF in raw)


def _is_untrimmed(text: str) -> bool:
    """Whether a text in this compact JSON may begin or end with a blank; False is certain."""
    return bool(_CLOSING_SPACE(text) or _OPENING_BLANK(text) or ("\\" in text and _CLOSING_BLANK(text)))
