"""An answer without what it repeats of the call: a search engine that quotes the query, a form that shows its input.

Not a comparison by itself: two answers that are equal once the questions are taken out of them are one answer to both
only where the questions are near. What little is left of a receipt ("restarted", "17: active") is no answer in this
sense, because each thing of a batch has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Final, Literal

from otel_loopguard.core.words import ascii_words, leaves

from .volatile import MASK

__all__ = ["may_have_rest", "without_echo"]

_SHORTEST: Final = 4
"""Characters of a value or a word that is looked for: shorter ones stand in any text by chance."""
_LINE: Final = 8
"""Characters of one line of a longer value."""
_VALUES: Final = 32
_LINES: Final = 128
_SHORT: Final = 600
"""Characters of an answer in one line that is masked word by word where it repeats no value as a whole."""
_LONGEST: Final = 65_536
"""Characters of an answer that is looked at."""
_WORDS_LEFT: Final = 12
_SHORTEST_REST: Final = 35
"""Bytes of so many words of two letters."""
_HEAD: Final = 256
"""Characters in which so many words are looked for first: most answers have them there, or have no more characters."""
_MOST_WORDS: Final = 256
_WORD: Final = re.compile(r"[^\W_]+")
_LEAST: Final = 2
"""Letters of a word that is counted."""
_LEFT: Final = re.compile(r"[^\W\d_]{2,}")
_LETTERS: Final = bytes(code if chr(code).isascii() and chr(code).isalpha() else ord(" ") for code in range(256))
"""What each byte of ASCII becomes where only letters count."""
_REFERENCE: Final = re.compile(r"\[[a-z]{0,2}\d{1,6}\]")
"""The number of an element, as pages are written down for agents."""
_PAGE: Final = 300
"""Bytes of an answer that is more than a receipt, whatever was asked."""
_MOST_IN_BAG: Final = 4_000
"""Characters of an answer that is compared as a bag of words."""
_PASSING: Final = re.compile(
    r"[\d~^](?:(?<=[Ll]ine \d)\d*|(?<=\d)(?<![\w.]\d)\d*(?:\.\d+)? ?(?:ms|s|secs?|seconds?|minutes?)\b|(?<=[~^])[~^]+)"
)
"""The line of a program, how long anything took, and what an interpreter puts below the part that it means. It
begins with one set of characters, which is searched for several times faster than three patterns."""
_SEARCHED: Final = 1_000
"""Characters of an answer in which those are masked."""


def without_echo(
    canonical: bytes, arguments: object, volatile: Literal["standard", "none"] | tuple[str, ...], *, worded: bool
) -> bytes | None:
    """The words of an answer, the call's own texts masked, and with them line numbers, durations and elements' numbers.

    None where nothing is masked, or little else is said, and for a short answer to a call that is not ``worded`` enough
    to be near another. ``volatile`` as in the policy.
    """
    if len(canonical) > _LONGEST or (len(canonical) < _PAGE and not worded):
        return None
    text = canonical.decode("utf-8", "replace")
    values = _texts(arguments)
    masked = _without_values(text, values)
    if volatile == "standard" and text.startswith('"') and "[" in text:
        masked = _REFERENCE.sub(MASK, masked)
    if masked == text and "ine " in text:
        masked = _without_lines(text, values)
    if masked == text and len(text) <= _SHORT and "\\n" not in text and _says_more(text):
        masked = _without_words(text, values)
    if masked == text or not _says_more(masked):
        return None
    if volatile == "standard" and len(masked) <= _SEARCHED:
        masked = _PASSING.sub(MASK, masked)
    if len(masked) <= _MOST_IN_BAG:  # in whatever order they come
        masked = " ".join(sorted(set(masked.replace("\\n", " ").split())))
    return masked.encode("utf-8", "replace")


def _texts(arguments: object) -> list[str]:
    """The texts among the arguments that are long enough, the longest first."""
    found: dict[str, None] = {}
    if isinstance(arguments, str):
        found[arguments.strip()] = None
    elif isinstance(arguments, (dict, list, Mapping)):  # most are a dict, and the last one is slow to ask
        for leaf in leaves(arguments):
            if isinstance(leaf, str):
                found[leaf.strip()] = None
                if len(found) >= _VALUES:
                    break
    return sorted([one for one in found if len(one) >= _SHORTEST], key=len, reverse=True)


def _written(value: str) -> str:
    """A text as it stands in another one's JSON."""
    return encode_basestring(value)[1:-1]


def _without_values(text: str, values: list[str]) -> str:
    for value in values:
        written = _written(value)
        if written in text:
            text = text.replace(written, MASK)
        if " " in value:
            for blank in ("+", "%20"):
                link = written.replace(" ", blank)
                if link in text:
                    text = text.replace(link, MASK)
    return text


def _without_lines(text: str, values: list[str]) -> str:
    lines = [line.strip() for value in values if "\n" in value for line in value.split("\n", _LINES)[:_LINES]]
    return _without_values(text, sorted({line for line in lines if len(line) >= _LINE}, key=len, reverse=True))


def _without_words(text: str, values: list[str]) -> str:
    own: set[str] = set()
    for value in values:
        words = ascii_words(value) if value.isascii() else _WORD.findall(value)
        own.update([word.casefold() for word in words[:_MOST_WORDS] if len(word) >= _SHORTEST])
    folded = text.casefold()
    if not any(word in folded for word in own):  # most answers: to look at every word takes many times longer
        return text
    return _WORD.sub(lambda match: MASK if match.group().casefold() in own else match.group(), text)


def may_have_rest(canonical: bytes, *, worded: bool) -> bool:
    """Whether `without_echo` may leave something of an answer, told at little cost; False is certain.

    An answer has to be long enough, and to have letters enough.
    """
    if len(canonical) < (_SHORTEST_REST if worded else _PAGE):
        return False
    if len(canonical) > _SHORT or not canonical.isascii():
        return True
    count = 0
    for word in canonical.translate(_LETTERS).split():
        length = len(word)
        if length >= _LEAST:  # what is masked in the middle of a word makes two of it
            count += max(1, (length + _SHORTEST) // (_LEAST + _SHORTEST))
    return count >= _WORDS_LEFT


def _says_more(masked: str) -> bool:
    """Whether more is left than the receipt of a thing."""
    text = masked.replace(MASK, " ")
    if not text.isascii():
        return any(count >= _WORDS_LEFT for count, _ in enumerate(_LEFT.finditer(masked), 1))
    return _has_words(text[:_HEAD]) or (len(text) > _HEAD and _has_words(text))


def _has_words(text: str) -> bool:
    """The same of ASCII, which is split in a fraction of the time."""
    count = 0
    for word in text.encode().translate(_LETTERS).split():
        if len(word) >= _LEAST:
            count += 1
            if count == _WORDS_LEFT:
                return True
    return False
