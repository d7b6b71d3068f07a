"""One line of JSON, taken apart without taking more of it than is wanted.

Not what the line means: only its members, and clear words where it is no JSON. A strict parser is fast but refuses
what JSON can spell all the same, lone surrogates and nesting without bottom; both may be in a tool's arguments, and
content is no reason to refuse a record.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from otel_loopguard.errors import RecordError

__all__ = ["member_names", "members", "parsed", "repeated"]

_KEYS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]', re.DOTALL)


def member_names(line: bytes) -> set[str]:
    """The names of an object's members; `RecordError` where the line is no JSON object."""
    try:
        return set(_KEYS.decode(line))
    except msgspec.ValidationError:
        raise RecordError("expected a JSON object") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return set(members(line))


def members(line: bytes) -> dict[str, bytes]:
    """The members of an object, each as its own text; `RecordError` where the line is no JSON object."""
    text = _text(line)
    try:
        document = json.loads(text, parse_int=str)  # a number is content too, however long
    except json.JSONDecodeError as error:
        raise RecordError(_no_json(error)) from None
    except RecursionError:
        document = None  # what is nested that deep is not looked into
    if document is not None and not isinstance(document, dict):
        raise RecordError("expected a JSON object")
    return {name: value.encode("utf-8", "surrogatepass") for name, value in _apart(text)}


def parsed(line: bytes) -> object:
    """The whole line as Python values; `RecordError` where it is no JSON."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError:
        raise RecordError("values are nested too deep") from None
    text = _text(line)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordError(_no_json(error)) from None
    except RecursionError:
        raise RecordError("values are nested too deep") from None
    except ValueError:
        raise RecordError("no JSON: a number has too many digits") from None


def repeated(line: bytes, names: Iterable[str]) -> str | None:
    """The first of these names that an object has twice, of which a parser would keep one value without a word."""
    doubtful = [name for name in names if line.count(b'"%b"' % name.encode()) > 1]
    if not doubtful:
        return None
    met = Counter(name for name, _ in _apart(_text(line)))
    return next((name for name in doubtful if met[name] > 1), None)


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise RecordError(f"no JSON: the text is not UTF-8 at byte {error.start + 1}") from None


def _no_json(error: json.JSONDecodeError) -> str:
    return f"no JSON: {error.msg[:1].lower()}{error.msg[1:]} at character {error.pos + 1}"


def _apart(text: str) -> Iterator[tuple[str, str]]:
    """The members of a JSON object by counting brackets, which needs no depth of its own."""
    depth, name, start = 0, None, -1
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if mark in "]}":
            depth -= 1
        if name is not None and start >= 0 and ((mark == "," and depth == 1) or (mark == "}" and depth == 0)):
            yield name, text[start : token.start()].strip()
            name, start = None, -1
        elif mark in "[{":
            depth += 1
        elif depth == 1 and mark == ":" and start < 0:
            start = token.end()
        elif depth == 1 and mark.startswith('"') and start < 0:
            name = json.loads(mark)
