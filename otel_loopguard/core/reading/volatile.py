"""What in a result says when or where it was made rather than what it says: masked before results are compared.

Not a search for digits: a number is masked for the place it stands in, never for being a number. A clock time, a
duration after "in" or "took", a process id or a line that a shell counts for itself change without anything having
happened; "42 %", "3 failed", "2 of 9", a version, a price or a plain date are what the tool was asked for. So each
pattern below needs its word or its shape, and whatever has neither is content.

Every pattern has a word beside it and a hint: plain texts, with little behind them, which a search finds or misses at
the speed of one for a character. Only where both are found is the pattern tried, because results are long and this runs
on the host's time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

__all__ = ["MASK", "is_id_of_request", "mask", "may_be_volatile"]

_PIECE: Final = 8192
"""Characters of a text that are looked at together, as many whole lines as fit."""
MASK: Final = "\N{MIDDLE DOT}"
"""What a masked part becomes: no tool prints it by itself, so a masked text never equals an unmasked one by chance."""

_UNIT: Final = r"(?:ms|msecs?|milliseconds?|secs?|seconds?|s|mins?|minutes?|hrs?|hours?)"
_LARGER: Final = r"\d* ?(?:m|mins?|minutes?|h|hrs?|hours?),? ?\d"
"""What stands before smaller units: the "1h 2m 3" of "1h 2m 30s"."""
_AMOUNT: Final = rf"(?:{_LARGER}){{0,2}}\d*(?:[.,]\d+)? ?{_UNIT}"
_BUDGET: Final = r"(?:turn|step|action|iteration|message|guess|tool call|attempt)(?:s|es)?"
_ROLE: Final = (
    "(?:main|generic|group|banner|navigation|contentinfo|region|complementary|article|figure|img|image|separator"
    "|paragraph|form|search|list|listitem|table|row|cell|grid|gridcell|menu|menubar|tablist|tabpanel|toolbar|tree)"
)
"""Of an element without a name, as ARIA calls it."""
_MINUTES: Final = r":\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_MADE_UP: Final = r"(?:[\w.-]{1,128}/){0,8}[\w.-]{0,64}(?:\d|[a-z][A-Z]|[A-Z][a-z]{0,32}[A-Z])[\w.-]*"
_TIME: Final = r":\d\d(?<=\d:\d\d)"
_VALUE: Final = r"[ \t]{0,2}[:=#]?[ \t]{0,2}[\"']?(?=[\w.-]{0,128}\d)[\w.-]{6,128}"
_ID_OF: Final = {word: rf"{word}[-_ ]?id" for word in ("request", "trace", "correlation", "ray")}
_IDS: Final = frozenset(
    f"{before}{word}{between}id" for word in _ID_OF for between in ("", "_", "-") for before in ("", "x-", "x_")
)
"""Names, in lower case, under which data holds the id of the request that was answered."""


def _any_case(word: str) -> str:
    """A word in any case; only the letters of ASCII have two."""
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in word)


def _after(*words: str) -> str:
    """A first digit that stands right behind one of these words."""
    places = "|".join(rf"(?<=\b{_any_case(word)}\d)" for word in words)
    return rf"\d(?:{places})"


class _Shape(NamedTuple):
    """A volatile part of a text."""

    word: str
    """Stands, in lower case, in every text with such a part, and in the JSON of any data with such a text."""
    hint: Callable[[str], object]
    """Finds more of the same; asked where the word is found."""
    pattern: re.Pattern[str]
    second: Callable[[str], object]
    """Finds what else such a part needs, before the pattern is tried on the text."""


def _shape(pattern: str, word: str, hint: str | Callable[[str], object] = "", second: str = "") -> _Shape:
    quick = re.compile(hint).search if isinstance(hint, str) else hint
    return _Shape(word, quick, re.compile(pattern), re.compile(second).search)


_OF_HEX: Final = bytes(ord("0") if code in b"0123456789abcdef" else ord(".") for code in range(256))
_OF_AMOUNT: Final = bytes(
    ord("0") if code in b"0123456789" else ord("s") if code in b"msh" else ord(" ") if code == ord(" ") else ord(".")
    for code in range(256)
)


def _may_hold_hex(lower: str) -> bool:
    """Whether eight hexadecimal digits stand together: told in a fifth of the time of a pattern."""
    return b"00000000" in lower.encode("utf-8", "surrogatepass").translate(_OF_HEX)


def _may_hold_amount(lower: str) -> bool:
    """Whether the first letter of a unit stands behind a digit, which beyond ASCII is any script's."""
    if not lower.isascii():
        return True
    shown = lower.encode().translate(_OF_AMOUNT)
    return b"0s" in shown or b"0 s" in shown


_SHAPES: Final = (
    # A temporary path whose last part holds a digit or mixes capitals in: the random part of a made-up name.
    _shape(rf"/tmp/{_MADE_UP}", "/tmp/"),  # noqa: S108 - looked for, not used
    _shape(rf"/folders/{_MADE_UP}", "/folders/"),
    # Addresses and random ids, told by their shape.
    _shape(
        r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
        "-",
        r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-",
    ),
    _shape(r"0x(?<!\w0x)[0-9a-fA-F]{6,}\b", "0x", r"0x[0-9a-f]{6}"),
    # A date with a time of day, with its zone: the forms of `date` and of web server logs, then ISO 8601.
    _shape(
        rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? +)?(?:\d{{1,2}}[ /-])?"
        rf"{_MONTH}\w*[ /-]+\d{{1,4}}"
        rf"(?:[ /-]\d{{4}})?[ :]+\d{{1,2}}{_MINUTES}(?: ?[A-Z]{{3,4}}\b| ?[+-]\d{{4}}\b)?(?: \d{{4}}\b)?",
        ":",
        _TIME,
        rf"{_MONTH.lower()}\w*[ /-]+\d",
    ),
    _shape(
        rf"\d{{4}}(?<!\w\d{{4}})[-/]\d{{2}}[-/]\d{{2}}[T ]\d{{1,2}}{_MINUTES}"
        r"(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?(?![\w:])",
        ":",
        _TIME,
        r"[-/]\d\d[t ]\d",
    ),
    _shape(rf"\d(?<![\w:.]\d)\d?{_MINUTES}(?: ?[AaPp][Mm]\b)?(?![\w:])", ":", _TIME),
    # A duration, told by the word before or after it.
    _shape(rf"{_after('in ', 'in ~')}{_AMOUNT}\b", "in ", r"in ~?\d"),
    _shape(rf"{_after('took ', 'took ~', 'took: ', 'took: ~')}{_AMOUNT}\b", "took", r"took:? ~?\d"),
    _shape(rf"{_after('after ', 'after ~')}{_AMOUNT}\b", "after ", r"after ~?\d"),
    _shape(rf"{_after('elapsed ', 'elapsed ~', 'elapsed: ', 'elapsed: ~')}{_AMOUNT}\b", "elapsed", r"elapsed:? ~?\d"),
    _shape(rf"\d(?<!\d\d){_AMOUNT}(?= ago\b)", " ago"),
    # Numbers that a system gives out, told by the word before them.
    _shape(rf"{_any_case('pid')}(?<!\w[pP]..)[ :=#]{{0,2}}\d+\b", "pid", r"pid[ :=#]{0,2}\d"),
    _shape(rf"{_any_case('attempt')}(?<!\w[aA]......)[ :=#]{{0,2}}\d+\b", "attempt", r"attempt[ :=#]{0,2}\d"),
    _shape(rf"{_any_case('port')}(?<!\w[pP]...)[ :=]{{1,2}}\d+\b", "port", r"port[ :=]{1,2}\d"),
    _shape(r"sh: line \d+(?=:)", "sh: line "),
    _shape(r"\b(?:In|Out) ?\[\d+\]", "[", r"\[\d(?:(?<=in\[\d)|(?<=in \[\d)|(?<=out\[\d)|(?<=out \[\d))"),
    _shape(r"\bref=\w*\d\w*", "ref=", r"ref=\w*\d"),  # of an element, as browsers' snapshots number them
    # Of an element, as accessibility trees and lists of what can be clicked number them: "[2496] link 'Next'".
    _shape(rf"(?m)^[\t ]*\[[a-z]?\d+\](?= (?:[A-Za-z]+ ['\"]|{_ROLE}$))", "] ", r"\[[a-z]?\d+\] [a-z]+"),
    _shape(r"\[[a-z]?\d+\](?=<[a-z])", "]<", r"\[[a-z]?\d+\]<[a-z]"),
    # What a harness says of the agent's budget: "14,692 / 200K tokens used (7%)", "you have 12 steps left". Whose steps
    # they are must be said: a job's are progress.
    _shape(
        r"\d(?<![\d,.]\d)[\d,.]{0,12}[KM]? ?/ ?\d[\d,.]{0,12}[KM]? tokens\b(?: used)?(?: \(\d{1,3} ?%\))?",
        "tokens",
        r"\d[km]? tokens",
    ),
    _shape(rf"(?i:\byou (?:still )?have (?:only )?\d+ (?:more )?{_BUDGET}\b)", "you ", r"have (?:only )?\d"),
    _shape(r"(?i:\bcurrent step: ?\d+ ?(?:/ ?\d+)?)", "current step", r"step: ?\d"),
    _shape(
        r"(?i:\b(?:turns|tool calls|tokens) (?:left|remaining): ?\d+)",
        ": ",
        r":(?:(?<=left:)|(?<=remaining:)) ?\d",
        ": ",
    ),
    # The id of the request that was answered, told by its name.
    _shape(rf"(?i:\b(?:x[-_])?request[-_ ]?id){_VALUE}", "request", _ID_OF["request"]),
    _shape(rf"(?i:\btrace[-_ ]?id){_VALUE}", "trace", _ID_OF["trace"]),
    _shape(rf"(?i:\bcorrelation[-_ ]?id){_VALUE}", "correlation", _ID_OF["correlation"]),
    _shape(rf"(?i:\b(?:cf[-_])?ray[-_ ]?id){_VALUE}", "ray", _ID_OF["ray"]),
)
"""In the order in which they are masked: what may hold another stands before it."""

_SHAPES_OF_ERRORS: Final = (
    *_SHAPES,
    _shape(rf"{_any_case('line')} (?<!\w[lL]... )\d+\b", "line ", r"line \d"),
    # How long one waits already.
    _shape(rf"\d(?<![\w.]\d)\d*(?:[.,]\d+)? ?{_UNIT}\b", "", _may_hold_amount, rf"\d ?{_UNIT}\b"),
    # A place in a file, as compilers name it, and the numbers of the lines that they quote.
    _shape(r"\.[A-Za-z]\w{0,4}[:(]\d+(?:[:,]\d+)?\)?", ".", r"\.[a-z]\w{0,4}[:(]\d"),
    _shape(r"(?m)^ *\d+(?= \|)", "|", r"(?m)^ *\d+ \|"),
    _shape(
        r"\d(?<!\d\d)\d{0,9}(?= ?\N{MULTIPLICATION SIGN})", "\N{MULTIPLICATION SIGN}"
    ),  # how often a browser's driver has waited
    _shape(rf"{_any_case('process')}(?<!\w[pP]......) (?:id )?\d+\b", "process ", r"process (?:id )?\d"),
    # An id without a pattern: hexadecimal, or one that says what it is the id of.
    _shape(r"\b(?:[a-z]{2,8}_)?(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}\b", "", _may_hold_hex),
    _shape(
        r"\b(?:req|err|evt|trace)_(?=[A-Za-z]*\d)[0-9A-Za-z]{6,64}\b",
        "_",
        r"_(?:(?<=req_)|(?<=err_)|(?<=evt_)|(?<=trace_))[0-9a-z]{6}",
    ),
)


_RARE: Final = "/=<]xq:ky "
"""Characters that many texts lack: finding one, or none, takes a fraction of the time that a word takes."""

_LONG: Final = 400
"""Characters of a text in which a word of two takes longer to find than the pattern behind it."""

_Words = list[tuple[str, Callable[[str], object], list[int]]]
"""Words with their hints, and the places of the shapes that have both."""
_Groups = list[tuple[str, _Words]]
"""Words by a rare character that stands in all of them; the others by none."""


def _groups(shapes: tuple[_Shape, ...], *, is_long: bool) -> _Groups:
    places: dict[tuple[str, Callable[[str], object]], list[int]] = {}
    for place, shape in enumerate(shapes):
        places.setdefault((shape.word, shape.hint), []).append(place)
    found: dict[str, _Words] = {}
    for (word, hint), here in places.items():
        rare = next((character for character in _RARE if character in word), "")
        looked_for = rare if is_long and rare and len(word) == len("0x") else word
        found.setdefault(rare, []).append((looked_for, hint, here))
    return list(found.items())


_GROUPS: Final = _groups(_SHAPES, is_long=False)
_GROUPS_OF_ERRORS: Final = _groups(_SHAPES_OF_ERRORS, is_long=False)
_LONG_GROUPS: Final = _groups(_SHAPES, is_long=True)
_LONG_GROUPS_OF_ERRORS: Final = _groups(_SHAPES_OF_ERRORS, is_long=True)


def _hinted(lower: str, *, error: bool) -> list[int]:
    """The places of the shapes whose word and hint are in a text, in the order in which they are masked."""
    if len(lower) > _LONG:
        groups = _LONG_GROUPS_OF_ERRORS if error else _LONG_GROUPS
    else:
        groups = _GROUPS_OF_ERRORS if error else _GROUPS
    found: list[int] = []
    for rare, words in groups:
        if rare in lower:
            for word, hint, places in words:
                if word in lower and hint(lower):
                    found += places
    found.sort()
    return found


@lru_cache(maxsize=256)
def _declared(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _in_pieces(pattern: re.Pattern[str], text: str) -> str:
    """The text without a pattern of an owner, which may take the square of a text's length: a long one line by line."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > _PIECE:
        end = text.rfind("\n", start, start + _PIECE) + 1
        if end <= start:
            end = start + _PIECE
        pieces.append(pattern.sub(MASK, text[start:end]))
        start = end
    return "".join([*pieces, pattern.sub(MASK, text[start:])])


def is_id_of_request(name: str) -> bool:
    """Whether the member of an object is the id of the request that it answers, by its name."""
    return name.lower() in _IDS


def may_be_volatile(text: str, rules: Literal["standard", "none"] | tuple[str, ...], *, error: bool = False) -> bool:
    """Whether `mask` may change ``text``, or any text in the data whose JSON it is; False is certain."""
    if rules != "standard":
        return rules != "none"
    return bool(_hinted(text.lower(), error=error))


def mask(text: str, rules: Literal["standard", "none"] | tuple[str, ...], *, error: bool = False) -> str:
    """The text with its volatile parts masked.

    ``rules`` as in the policy's ``result.volatile``; in the text of an error a line number is volatile too, since an
    interpreter counts the lines of what it was just sent, and a fix moves what stands behind it.
    """
    if rules == "none" or not text:
        return text
    if rules != "standard":
        return _in_pieces(_declared(rules), text) if rules else text
    lower = text.lower()
    for place in _hinted(lower, error=error):
        shape = _SHAPES_OF_ERRORS[place]
        if shape.second(lower):
            text = shape.pattern.sub(MASK, text)
    return text
