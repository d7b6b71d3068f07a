"""What a fingerprint costs, against the obvious unkeyed way: normalise recursively, `json.dumps(sort_keys)`, SHA-256.

The obvious way does what the standard profile does for such arguments (null members and volatile keys dropped, texts
in NFC and trimmed, integral floats as integers) and nothing of what it misses (duplicate keys, long integers,
placeholders, UTF-16 order, surrogates, bounds). Two inputs: the parsed object, and JSON text that both sides parse.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import unicodedata
from collections.abc import Callable

import _compiled  # noqa: F401 - first: the package is to come from where it says
from _harness import Case, main

from otel_loopguard.core.canonical import Unknown, canonical, load_and_encode
from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.policy import VOLATILE_KEYS, ArgumentRules

RULES = ArgumentRules()
KEYS = fingerprinter(Keyring(SecretKey(bytes(range(32)))), "environment")
TOOL = "search_logs"

SMALL = {
    "query": "failed logins",
    "service": "auth",
    "limit": 50,
    "since": "2026-01-01T00:00:00Z",
    "verbose": True,
}
MEDIUM = {
    "title": "Quarterly report, draft",
    "filters": [
        {"field": "status", "op": "in", "values": ["open", "pending", "blocked"]},
        {"field": "priority", "op": ">=", "value": 3},
        {"field": "assignee.team", "op": "=", "value": "platform"},
    ],
    "body": 'Hello team,\n\nplease find attached the "numbers" of last quarter: we grew by 12 % in Zürich.\nRegards',
    "options": {
        "page": {"size": 50, "offset": 100},
        "sort": [{"by": "updated_at", "dir": "desc"}],
        "include": ["comments", "attachments", "history"],
        "dry_run": False,
        "threshold": 0.75,
        "parent": None,
    },
    "recipients": [
        {"name": "Ana", "email": "ana@example.com", "role": "owner", "notify": True},
        {"name": "Bo", "email": "bo@example.com", "role": "viewer", "notify": False},
        {"name": "Chris", "email": "chris@example.com", "role": "viewer", "notify": False},
    ],
    "labels": {"env": "prod", "region": "eu-west-1", "cost-center": "42", "owner": "team-observability"},
    "path": "/srv/data/reports/2026/quarterly-draft.md",
    "limit": 25,
}
LARGE = {"records": [{**SMALL, "id": number, "tags": ["a", "b"], "score": number * 0.37} for number in range(680)]}
UNTIDY = {
    "query": " failed logins\n",
    "service": "auth",
    "limit": 50.0,
    "since": None,
    "request_id": "4bf92f35",
    "verbose": True,
}


def ours(arguments: object) -> str:
    """The fingerprint as the product makes it."""
    found = canonical(arguments, RULES)
    if isinstance(found, Unknown):
        raise TypeError(found.reason)
    return KEYS.arguments(TOOL, found)


def obvious(arguments: object) -> str:
    """The fingerprint as one would write it in ten minutes."""
    data = json.loads(arguments) if isinstance(arguments, str) else arguments
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key not in VOLATILE_KEYS}
    text = json.dumps([TOOL, normalised(data)], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def normalised(value: object) -> object:
    """The standard profile, by recursion."""
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): normalised(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [normalised(item) for item in value]
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value)
        return text.strip() or text
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Sides = tuple[Callable[[], object], Callable[[], object]]


def sides(arguments: object) -> Sides:
    """Ours and the obvious way for one input."""
    return lambda: ours(arguments), lambda: obvious(arguments)


def cases() -> list[Case]:
    """Sizes and inputs, with the limits that hold for them."""
    found: list[Case] = []
    for size, value, limit in (
        ("small", SMALL, 0.5),
        ("medium", MEDIUM, 0.5),
        ("large", LARGE, 0.8),
        ("untidy", UNTIDY, None),
    ):
        found.append(Case(f"{size} object", *sides(value), limit=limit))
        found.append(Case(f"{size} text", *sides(json.dumps(value)), limit=limit))
    for piece in ('{"a":', '"', "\\", '[1,"', '" ', "e-5 ", '.0 "', "[REDACTED", "x: null, ", "…[truncated] "):
        short, long = ((piece * (size // len(piece) + 1))[:size] for size in (20_000, 200_000))
        found.append(Case(f"ten times {piece!r}", *_growth(short, long), limit=2.0, repeat=3))
    return found


def _growth(short: str, long: str) -> Sides:
    """Input that is broken or full of what the search stumbles over: ten times as long costs ten times as much."""

    def once(text: str) -> None:
        canonical(text, RULES)
        canonical({"a": text, "b": [text]}, RULES)

    def ten_short() -> None:
        for _ in range(10):
            once(short)

    return lambda: once(long), ten_short


def figures() -> dict[str, object]:
    """Sizes, and costs that have no obvious way beside them."""
    words = [f"word{number}".encode() for number in range(256)]
    return {
        "bytes": {"small": len(json.dumps(SMALL)), "medium": len(json.dumps(MEDIUM)), "large": len(json.dumps(LARGE))},
        "tags of 256 words, us": _microseconds(lambda: KEYS.tags(words)),
        "medium object with its data, us": _microseconds(lambda: load_and_encode(MEDIUM, RULES)),
    }


def _microseconds(action: Callable[[], object]) -> float:
    best = 1e9
    for _ in range(7):
        started = time.process_time_ns()
        for _ in range(1000):
            action()
        best = min(best, (time.process_time_ns() - started) / 1e6)
    return round(best, 2)


if __name__ == "__main__":
    sys.exit(main("fingerprint", cases(), figures=figures))
