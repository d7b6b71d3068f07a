"""The JSON documents of a text one after another, however they are laid out: lines, or printed over many.

Not what they mean. Between them may stand what a program printed beside them; where that is not wanted it is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

from otel_loopguard.errors import RecordError

__all__ = ["documents"]

_DECODER: Final = json.JSONDecoder()


def documents(held: bytes, bad: Callable[[RecordError], None]) -> Iterator[tuple[int, object]]:
    """Each document with the number of its first line; ``bad`` is told what is none, and may raise it."""
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad(RecordError(f"not UTF-8 text at byte {error.start + 1}", line=held.count(b"\n", 0, error.start) + 1))
        text = held.decode("utf-8-sig", "replace")
    at, line, counted = _skip(text, 0), 1, 0
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        try:
            document, at = _DECODER.raw_decode(text, at)
            if not isinstance(document, (dict, list)):
                raise RecordError("expected a JSON object or a list of them", line=line)
            yield line, document
        except (ValueError, RecursionError) as error:
            bad(error if isinstance(error, RecordError) else RecordError(_reason(error, counted), line=line))
            at = _next(text, counted)
        at = _skip(text, at)


def _reason(error: Exception, start: int) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON: {error.msg[:1].lower()}{error.msg[1:]} after {error.pos - start} characters"
    return (
        "no JSON: values are nested too deep" if isinstance(error, RecursionError) else "no JSON: a number is too long"
    )


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _next(text: str, at: int) -> int:
    """The beginning of the next line that may begin a document."""
    while True:
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
        if text[at : at + 1] in {"{", "["}:
            return at
