"""Error texts: the key under which two messages are the same, and the shape under which they are alike.

Not a reading of prose: a message is compared after the call's own words are taken out of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, Literal

from otel_loopguard.core.words import ascii_words, leaves

from .volatile import MASK, mask

__all__ = ["message_key", "message_shape", "opening", "unquoted"]

_QUOTED: Final = re.compile(
    r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{1,200}`"
    r"|\u2018[^\u2019\n]{1,200}\u2019|\u201c[^\u201d\n]{1,200}\u201d"
)
_STRUCTURE: Final = re.compile(r"\{[^{}\n]{0,200}\}|\[[^\[\]\n]{0,200}\]")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_WORD: Final = re.compile(r"[^\W_]+")
_WORDS: Final = re.compile(r"([^\W_]+)")
"""Splits a text into its words and what stands between them."""
_PROGRAM: Final = re.compile(r"([^\W\d_]+): ")
"""The program that a message is of, as programs begin theirs."""
_MESSAGE_LIMIT: Final = 8192
"""Characters of a message that are compared: more is a dump, and its head tells the error."""
_VALUES_LIMIT: Final = 64
_SHORTEST_VALUE: Final = 2
"""A value of one character would eat the message it stands in."""
_TRACE: Final = "Traceback (most recent call last)"
_EXCEPTION: Final = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Timeout): \S")
_OWN_WORD: Final = 4
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")
_ENOUGH_WORDS: Final = 8
_OWN_LINE: Final = 8
"""Characters of a line of a longer value from which on it counts as one by itself; in a patch, without its sign."""
_NESTING: Final = 3
"""Levels of structure that are masked, the innermost first."""


def _echoes(text: str, arguments: object) -> list[str]:
    """What of the arguments may stand in a message: the whole as JSON or repr, then its values, longest first."""
    whole: list[str] = []
    if isinstance(arguments, (Mapping, list)) and arguments and ("{" in text or "[" in text):
        try:
            compact = json.dumps(arguments, separators=(",", ":"))
            whole = [repr(arguments), json.dumps(arguments, ensure_ascii=False), compact]
        except (TypeError, ValueError, RecursionError):
            whole = []
    values: dict[str, None] = {}
    for leaf in leaves(arguments):
        if leaf is None or isinstance(leaf, bool):
            continue
        _add_parts(leaf if isinstance(leaf, str) else str(leaf), values)
        if len(values) >= _VALUES_LIMIT:
            break
    return whole + sorted(values, key=len, reverse=True)


def _add_parts(value: str, found: dict[str, None]) -> None:
    """Add a value, without blanks around it, and its lines, of a patch without their signs."""
    for part in (value, value.strip()):
        if _SHORTEST_VALUE <= len(part) <= _MESSAGE_LIMIT:
            found[part] = None
    if "\n" not in value:
        return
    for line in value[:_MESSAGE_LIMIT].splitlines()[:_VALUES_LIMIT]:
        part = line.strip().lstrip("+-").strip()
        if len(part) >= _OWN_LINE:
            found[part] = None


def _without(text: str, echoes: list[str]) -> str:
    for echo in echoes:
        if echo in text:
            text = _without_one(text, echo)
    return text


def _without_one(text: str, echo: str) -> str:
    """The text with a value masked wherever it is no part of a longer word.

    No pattern: to compile one for every value takes longer than all else that is done with a message.
    """
    begins, ends = _is_of_word(echo[0]), _is_of_word(echo[-1])
    pieces: list[str] = []
    done = 0
    start = text.find(echo)
    while start >= 0:
        end = start + len(echo)
        if (begins and start and _is_of_word(text[start - 1])) or (ends and end < len(text) and _is_of_word(text[end])):
            start = text.find(echo, start + 1)
            continue
        pieces += (text[done:start], MASK)
        done = end
        start = text.find(echo, end)
    pieces.append(text[done:])
    return "".join(pieces)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def opening(text: str) -> str:
    """The first paragraph of a message where that says enough: what refuses a payload goes on to show it."""
    first = _PARAGRAPH.split(text[:_MESSAGE_LIMIT].strip(), 1)[0]
    return first if len(_WORD.findall(first)) >= _ENOUGH_WORDS else text


def unquoted(text: str, arguments: object) -> str:
    """The text without what it quotes of the call's own argument values."""
    return _without(text, _echoes(text, arguments))


def message_key(text: str, arguments: object, volatile: Literal["standard", "none"] | tuple[str, ...]) -> str:
    """The message with its volatile parts and the call's own argument values masked, blanks folded."""
    text = _gist(text)
    masked = _without(text[:_MESSAGE_LIMIT], _echoes(text, arguments))
    return " ".join(mask(masked, volatile, error=True).split())


def _gist(text: str) -> str:
    """Of the trace of an exception the exception: frames quote the program that failed."""
    if _TRACE not in text:
        return text
    told = [line for line in text[-_MESSAGE_LIMIT:].splitlines() if _EXCEPTION.match(line)]
    return "\n".join(told[-1:]) or text


def message_shape(text: str, arguments: object) -> str:
    """The message with quoted parts, what stands in braces or brackets, own words and numbers masked.

    Structures are what the call handed over, or a list of what there is instead. Own words have four characters and
    more, but for the name of the program that speaks.
    """
    shape = _QUOTED.sub(MASK, _gist(text)[:_MESSAGE_LIMIT])
    for _ in range(_NESTING):
        if "{" not in shape and "[" not in shape:
            break
        shape = _STRUCTURE.sub(MASK, shape)
    words: set[str] = set()
    for leaf in leaves(arguments):
        if isinstance(leaf, str):
            words.update(_words_of(leaf[:_MESSAGE_LIMIT]))
    program = _PROGRAM.match(shape)
    if program is not None and program.group(1).casefold() in words:
        shape = MASK + shape[program.end(1) :]
    own = {word for word in words if len(word) >= _OWN_WORD}
    if own:
        shape = "".join([MASK if part.casefold() in own else part for part in _WORDS.split(shape)])
    return " ".join(_NUMBER.sub(MASK, shape).split())


def _words_of(text: str) -> list[str]:
    return ascii_words(text) if text.isascii() else [word.casefold() for word in _WORD.findall(text)]
