"""What a text answer comes to: a refusal, an empty hand, an approval, or nothing said at all.

Not a reading of prose: closed lists of words decide, after everything that says the contrary is taken out. A policy
replaces the list of refusals per tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

__all__ = [
    "REFUSAL_LENGTH",
    "Answer",
    "finds_nothing",
    "is_receipt",
    "is_silent",
    "is_wordless",
    "read_answer",
    "tells",
    "unwrapped",
]

_Searches = tuple[tuple[str, Callable[[str], object]], ...]


def _searches(*patterns: tuple[str, str]) -> _Searches:
    """Each word with the search for what begins with it and goes on so, at the speed of a search for the word."""
    return tuple((word, re.compile(word + rest).search) for word, rest in patterns)


REFUSAL_LENGTH: Final = 600
"""Characters up to which an unflagged text may be a refusal: a longer one is an answer that mentions a problem."""
_OPENING: Final = 120
"""Characters of a long text in which it says what it comes to: a line of a terminal and a half."""

_REFUSING: Final = frozenset(
    ["no", "not", "cannot", "can't", "couldn't", "don't", "doesn't", "didn't", "isn't", "wasn't", "won't", "unable",
     "fail", "fails", "failed", "failure", "failures", "failing", "error", "errors", "invalid", "must", "missing",
     "unknown", "wrong", "incorrect", "deny", "denied", "denies", "refuse", "refused", "refuses", "refusal", "reject",
     "rejected", "rejects", "rejection", "timeout", "exception", "exceptions", "unexpected", "unexpectedly"]
)  # fmt: skip
_REFUSING_PHRASES: Final = ("too many", "too much", "already exist", "timed out")
_REFUSING_ENDS: Final = ("error", "exception")
"""Of class names: a word that is one of these with something before it."""
_APPROVING: Final = frozenset(
    ["pass", "passed", "passes", "ok", "success", "successful", "successfully", "succeeded", "saved", "stored",
     "created", "updated", "deleted", "removed", "added", "installed", "applied", "written", "wrote", "edited",
     "overwritten", "replaced", "inserted", "renamed", "uploaded", "committed", "merged", "appended", "complete",
     "completed", "done", "finished", "valid", "sent", "accepted", "approved", "confirmed", "queued", "scheduled",
     "delivered", "submitted", "registered", "moved", "copied", "posted", "published", "executed", "performed",
     "clicked", "typed", "pressed", "scrolled", "hovered", "dragged", "logged", "recorded"]
)  # fmt: skip
_TALLY: Final = re.compile(
    r"(?<![\w.])[1-9]\d* (?:\w+ )?(?:pass(?:ed|ing|es)?|succeeded|ok)\b|\bpass(?:ed)?\s?[:=]\s?[1-9]"
)
_LOSSES: Final = re.compile(
    r"(?<![\w.])[1-9]\d* (?:\w+ )?(?:fail(?:ed|ing|ures?)?|errors?)\b|\b(?:failed|failures|errors)\s?[:=]\s?[1-9]"
)
"""Both of them counted, in lower case: a report, which is another report for each thing that it is about."""
_COUNTED: Final = re.compile(
    r"(?:insert 0|update|delete|merge|copy|select) [1-9]\d*|.{0,40}?(?<![\w.])[1-9]\d* (?:rows?|records?|documents?) "
    r"(?:were |was )?(?:affected|inserted|updated|deleted|changed)\b.*"
)
"""Whole answers of databases, in lower case, about what they have changed."""
_RECEIPT_MEMBERS: Final = 8
_AFTER_VAIN: Final = r"(?:[^\w.,]|[.,]?$|[.,]\D)"
_VAIN: Final = _searches(
    ("0", rf"(?<![\w.,]0){_AFTER_VAIN}"),
    ("no", rf"(?<![\w.,]no)(?:ne|thing|t)?{_AFTER_VAIN}"),
    ("empty", rf"(?<![\w.,]empty){_AFTER_VAIN}"),
    ("null", rf"(?<![\w.,]null){_AFTER_VAIN}"),
)
"""What tells of nothing, in lower case."""
_GENERAL_HINTS: Final = frozenset(["are", "be", "being"])
_GENERAL: Final = re.compile(rf"\b(?:are|be|being) (?:{'|'.join(sorted(_APPROVING))})\b")
"""What is done as a rule, or is to be done, in lower case: a text about it has done nothing."""
_APPROVING_PHRASES: Final = ("up to date", "up-to-date", "all good")
_EMPTY_HANDED: Final = frozenset(["no", "nothing", "none", "not"])
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_LETTERS: Final = bytes(code if code in b"abcdefghijklmnopqrstuvwxyz'" else ord(" ") for code in range(256))
"""What each byte becomes where only the letters of words count."""
_NO_FAILURE: Final = re.compile(
    r"\b(?:no|0|zero|without) (?:\w+ ){0,2}?"
    r"(?:errors?|exceptions?|fail(?:ures?|ed|ing)|problems?|issues?|warnings?|changes?|duplicate lines)\b"
    r"|\b(?:is_?)?(?:errors?|failed|failures?|exceptions?)\W{0,3}[:=]\W{0,2}(?:false|null|none|0|no)\b"
    r"|\berrors?\W{0,3}[:=]\s*(?:\[\]|\{\}|\"\"|'')"
)
"""What says that nothing failed, in lower case: taken out of a text before failures are searched for in it."""
_HITS: Final = r"(?:results?|match(?:es)?|hits?|occurrences?)\b"
_NO_HIT: Final = (
    r"(?<!\wno )(?!such\b)(?:"
    r"(?:[\w-]+ ){0,3}?(?:results?|match(?:es|ing)?|hits?|entries|records?|occurrences?)\b"
    r"|(?:[\w-]+ ){0,2}?(?!credentials|permissions|arguments|parameters|tests|changes)[a-z]{3,}s "
    r"(?:(?:were|was|have been|that) )?(?:found|match(?:ed)?|returned)\b)"
)
_NO_MATCH: Final = _searches(
    ("no ", _NO_HIT),
    ("nothing ", r"(?<!\wnothing )(?:was |were )?(?:found|matched)\b"),
    ("none ", r"(?<!\wnone )(?:was |were )?(?:found|matched)\b"),
    ("0 ", rf"(?<![\d.,]0 )(?:search )?{_HITS}"),
    ("zero ", rf"(?<![\d.,]zero )(?:search )?{_HITS}"),
    ("not found ", r"(?<!\wnot found )(?:on|in) (?:this|the) (?:page|document|text|results?|index|list)\b"),
    (" nothing", r"\b(?:(?<=\breturned nothing)|(?<=\bfound nothing)|(?<=\bmatched nothing))"),
)
"""What says that a search ran and had no hit, in lower case. A missing file is no such search."""
_ASIDE: Final = re.compile(
    r"(?m)^(?:(?:ba|z)?sh: (?:cannot set terminal process group|no job control)\b.*|(?:stty|mesg|tput): .*"
    r"|[^\n]{0,200}\b[a-z]{0,20}warning: .*(?:\n[ \t]+\S.*)?)(?:\n|$)"
)
"""Lines, in lower case, that stand before an answer and are none: of a shell without a terminal, and warnings."""
_ASIDE_HINTS: Final = ("warning: ", "job control", "process group", "stty: ", "mesg: ", "tput: ")
_FILE: Final = (
    r"\b[a-z]:\\\S+|::\w+|\btest_\w+|\b\w+_test\b"
    r"|\b[\w-]+\.(?:py|ipynb|[jt]sx?|java|kt|c|h|cc|cpp|hpp|cs|rs|go|rb|php|sh|sql|txt|md|rst|log|json|ya?ml|toml|ini"
    r"|cfg|lock|csv|tsv|xml|html?|css|pdf|png|jpe?g|patch|diff)\b"
)
_NAME: Final = re.compile(_FILE)
_PATH: Final = re.compile(rf"(?:[\w.+~-]*/)+[\w.+-]*|{_FILE}")
"""Names of files, of pages and of tests, in lower case: `reproduce_error.py` says nothing of a failure."""
_ROWS: Final = re.compile(r"\s*[\[(]\s*[\[(].*[\])]\s*\Z", re.DOTALL)
"""Rows as a database's driver prints them: a NO in a column is no word of the tool."""
_OF_STATUS: Final = (
    "the|command|process|program|script|shell|error|failed|exit(?:ed|code)?|return(?:ed|code)?|with|code|status"
    "|value|non|zero|nonzero"
)
_OF_SILENCE: Final = "and|but|no|without|empty|output|stdout|stderr"
_STATUS: Final = re.compile(rf"(?:\b(?:{_OF_STATUS})\b|[\W\d_])*", re.IGNORECASE)
_SILENT: Final = re.compile(rf"\b(?:{_OF_SILENCE})\b", re.IGNORECASE)
_SILENT_STATUS: Final = re.compile(rf"(?:\b(?:{_OF_STATUS}|{_OF_SILENCE})\b|[\W\d_])*", re.IGNORECASE)
_STATUS_LENGTH: Final = 80
_TAG: Final = re.compile(r"</?[A-Za-z_][\w.-]*(?: [^<>]*)?/?>")
_TAGGED_NUMBER: Final = re.compile(r"<([A-Za-z_][\w.-]*)>\s*-?\d+\s*</\1>")


class Answer(NamedTuple):
    """What an unflagged text comes to."""

    refusal: bool = False
    """It says no."""
    approval: bool = False
    """It says that all is well; beside a refusal: it counts what is well and what is not."""


def unwrapped(text: str) -> str:
    """The text without wrapper tags, and without tags around a bare number, as a shell puts them around its output."""
    return _TAG.sub("", _TAGGED_NUMBER.sub("", text)).strip() if "<" in text else text.strip()


def is_wordless(text: str) -> bool:
    """Whether nothing is said: what is left without wrapper tags is empty, or an exit status and no more."""
    said = unwrapped(text)
    if len(said) > _STATUS_LENGTH:
        return False
    return not said or (any(map(str.isdigit, said)) and _STATUS.fullmatch(said) is not None)


def is_silent(text: str) -> bool:
    """Whether a program's status is told, and that there was no output."""
    if len(text) > 2 * _STATUS_LENGTH or ("<" not in text and _SILENT_STATUS.fullmatch(text) is None):
        return False
    return is_wordless(_SILENT.sub(" ", text))


def finds_nothing(text: str) -> bool:
    """Whether a text says that a search ran and had no hit."""
    if len(text) > REFUSAL_LENGTH:
        return False
    return _says(text.lower(), _NO_MATCH)


def read_answer(text: str, refusals: Literal["standard", "none"] | tuple[str, ...], *, payload: bool = False) -> Answer:
    """Read an unflagged text; ``refusals``: the policy's list of what is one.

    A search that found nothing is no refusal, and neither is a report that nothing failed; names and rows say nothing.
    A long text is a refusal only as the answer to a ``payload``, and only if it opens with the no: what was handed over
    was not taken, and the rest is the reason.
    """
    if len(text) > REFUSAL_LENGTH:
        if not payload:
            return Answer()
        text = unwrapped(text[:REFUSAL_LENGTH])[:_OPENING]
    if _ROWS.match(text):
        return Answer()
    lower = text.lower()
    if any(hint in lower for hint in _ASIDE_HINTS):
        lower = _ASIDE.sub("", lower).strip() or lower
    if "/" in lower or "." in lower or ":\\" in lower or "test" in lower:
        lower = _without_names(lower)
    words = _words_of(lower)
    failure = _says_no(lower, words)
    if refusals == "standard":
        return Answer(failure, _says_yes(lower, words) if not failure else _counts_both(lower))
    if refusals == "none":
        return Answer(refusal=False, approval=not failure and _says_yes(lower, words))
    refusal = any(re.search(pattern, text) is not None for pattern in refusals)
    return Answer(refusal, not refusal and not failure and _says_yes(lower, words))


def is_receipt(data: object) -> bool:
    """Whether structured data says that something was done, and nothing else: ``{"status": "ok", "updated": 1}``.

    That is an object of a few scalars without a nought among them, in which a text approves and none says anything
    beside, or a yes stands under an approving name.
    """
    if not isinstance(data, dict) or not 0 < len(data) <= _RECEIPT_MEMBERS:
        return False
    approves = False
    for name, value in data.items():
        if value is True:
            approves = approves or not _APPROVING.isdisjoint(_WORD.findall(str(name).lower()))
        elif isinstance(value, str):
            words = set(_WORD.findall(value.lower()))
            if not words or not words <= _APPROVING:
                return False
            approves = True
        elif not isinstance(value, (int, float)) or not value:
            return False
    return approves


def tells(data: object) -> bool:
    """Whether a short answer tells of something: no text about nothing, nothing, none or 0, and no empty data.

    A bare number does, 0 among them: it is as much of an answer to each of several questions.
    """
    if isinstance(data, (int, float)):
        return data is not False
    if isinstance(data, str):
        if len(data) > REFUSAL_LENGTH:
            return False
        lower = data.lower()
        if not any(map(str.isalpha, lower)):
            return any(map(str.isdigit, lower))
        if _says(lower, _VAIN):
            return False
        return any(map(str.isalnum, lower))
    if isinstance(data, dict):
        return 0 < len(data) <= _RECEIPT_MEMBERS and all(bool(value) and tells(value) for value in data.values())
    return bool(data) and not isinstance(data, list)


def _without_names(lower: str) -> str:
    """The text with a blank for each name. No name has a blank in it, so most of a text need not be searched."""
    parts = lower.split(" ")
    others = "test" in lower or "::" in lower or ":\\" in lower
    for place, part in enumerate(parts):
        if "/" in part:
            parts[place] = _PATH.sub(" ", part)
        elif "." in part or (others and ("test" in part or "::" in part or ":\\" in part)):
            parts[place] = _NAME.sub(" ", part)
    return " ".join(parts)


def _words_of(lower: str) -> set[str]:
    """What `_WORD` finds in a text, which is split in a fraction of the time."""
    words = set(lower.encode("utf-8", "surrogatepass").translate(_LETTERS).decode().split())
    if "'" in lower:
        for word in [one for one in words if "'" in one]:
            words.discard(word)
            words.update(_WORD.findall(word))
    return words


def _says(lower: str, searches: _Searches) -> bool:
    """Whether one of some patterns is in the text."""
    return any(word in lower and search(lower) is not None for word, search in searches)


def _says_no(lower: str, words: set[str]) -> bool:
    if not _has(lower, words, _REFUSING, _REFUSING_PHRASES) and not _names_error(words):
        return False
    if not words.isdisjoint(_EMPTY_HANDED) and _says(lower, _NO_MATCH):
        return False
    without = _NO_FAILURE.sub(" ", lower)
    if without == lower:
        return True
    words = _words_of(without)
    return _has(without, words, _REFUSING, _REFUSING_PHRASES) or _names_error(words)


def _says_yes(lower: str, words: set[str]) -> bool:
    if "nothing" in words:
        return False
    if _GENERAL_HINTS.intersection(words):
        words = _words_of(_GENERAL.sub("", lower))
    return _has(lower, words, _APPROVING, _APPROVING_PHRASES) or _COUNTED.fullmatch(lower.strip()) is not None


def _counts_both(lower: str) -> bool:
    if "pass" not in lower and "ok" not in lower and "succeeded" not in lower:
        return False
    return _TALLY.search(lower) is not None and _LOSSES.search(lower) is not None


def _has(lower: str, words: set[str], single: frozenset[str], phrases: tuple[str, ...]) -> bool:
    return not words.isdisjoint(single) or any(phrase in lower for phrase in phrases)


def _names_error(words: set[str]) -> bool:
    return any(word.endswith(_REFUSING_ENDS) for word in words)
