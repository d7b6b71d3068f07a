"""Calls and outcomes by chance: every kind of tool, result and surrounding that a history can meet.

Not plausible runs: those are scripts. Here all fields vary by themselves, so that states nobody thought of come up.
"""

from __future__ import annotations

from random import Random
from typing import Final

from otel_loopguard.core.call import MISSING, OURS, Outcome, ToolCall

__all__ = ["POLICY", "chance_call", "chance_outcome", "chances", "fingerprint"]

POLICY: Final = """
tools:
  shelf: {kind: read}
  lend: {kind: write, idempotency_key: key}
  parcel: {kind: poll, poll: {max_unchanged: 2, max_total: 9, deadline: 9s, min_interval: 1s}}
  queue: {kind: poll, poll: {max_unchanged: 2}, result: {progress: {items: {path: "rows[]"}}}}
  loans: {kind: read, page: {cursor: after}, result: {progress: {items: {path: "rows[]"}}}}
  books: {kind: read, page: {cursor: after}}
  order: {kind: read, result: {progress: {version: {path: version}}}}
  think: {kind: none}
ask_user: [ask]
"""
_TOOLS: Final = ("shelf", "lend", "parcel", "queue", "loans", "books", "order", "think", "ask", "edit", "run", "grep")
_GOLDEN: Final = 0x9E3779B97F4A7C15F39CC0605CEDC835


def chances(seed: int) -> Random:
    """The same chances for the same seed."""
    return Random(seed)


def fingerprint(chance: Random, variety: int) -> str:
    """One of so many fingerprints; 0: one that was never seen."""
    number = chance.getrandbits(128) if variety == 0 else chance.randrange(variety) * _GOLDEN % (1 << 128)
    return f"{number:032x}"


def chance_call(chance: Random, variety: int) -> ToolCall:
    """A call; the smaller the variety, the more it repeats."""
    tool = chance.choice(_TOOLS)
    words = tuple(sorted(chance.randrange(1 << 32) for _ in range(chance.choice([0, 0, 5, 16]))))
    return ToolCall(
        tool,
        None if chance.random() < 0.05 else fingerprint(chance, variety),
        chance.choice(["first", "first", "second"]),
        group=fingerprint(chance, variety) if tool in {"loans", "books", "lend"} else None,
        idempotency=fingerprint(chance, variety) if tool == "lend" and chance.random() < 0.5 else None,
        words=words,
        word_count=len(words),
        bare=chance.random() < 0.1,
        payload=chance.random() < 0.3,
        turn=chance.choice([None, chance.randrange(3), "turn"]),
        user_message=chance.random() < 0.01,
        handoff_to=chance.choice([None] * 9 + ["north", "south"]),
        start_ns=chance.choice([None, chance.randrange(10**10)]),
    )


def chance_outcome(chance: Random, variety: int, tool: str) -> Outcome:
    """What may come back from a tool."""
    if chance.random() < 0.1:
        return chance.choice([OURS, MISSING])
    failed = chance.random() < 0.3
    items = [0, 3, 20] if tool in {"queue", "loans"} and not failed else []
    return Outcome(
        "error" if failed else chance.choice(["ok", "ok", "empty", "noop"]),
        fingerprint(chance, variety),
        chance.choice(["timeout", "strange"]) if failed else None,
        chance.choice(["transient", "validation", "unknown_tool", "unknown"]) if failed else "",
        fingerprint(chance, variety) if failed else None,
        fingerprint(chance, variety) if failed else None,
        refusal=failed or chance.random() < 0.1,
        informative=chance.random() < 0.5,
        approval=chance.random() < 0.1,
        moving=chance.random() < 0.1,
        said=chance.choice([0, chance.getrandbits(64)]),
        measure=chance.choice([None, float(chance.randrange(9))]) if tool == "order" else None,
        declared=tool in {"order", "queue", "loans"},
        terminal=chance.random() < 0.05,
        items=tuple(chance.randrange(variety or 1 << 32) for _ in range(chance.choice(items))) if items else None,
        state=fingerprint(chance, variety) if chance.random() < 0.1 else None,
        gist=None if failed or chance.random() < 0.7 else fingerprint(chance, variety),
        counter=chance.choice([None, chance.randrange(9)]),
        beside=chance.choice([None, f"{chance.getrandbits(128):032x}"]),
    )
