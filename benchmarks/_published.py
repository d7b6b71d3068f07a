"""What published packages take for a call, measured where they are installed: run by `bench_engine` in an environment
of its own, with nothing of ours in it.

Reads calls from standard input, one JSON array of tool, arguments and result a line, and prints one JSON object:
package -> microseconds of a call, and of one `json.dumps(sort_keys=True)` of arguments and result beside it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

Call = tuple[str, dict[str, Any], dict[str, Any]]
ROUNDS = 5


def watchdog() -> Callable[[Call], object]:
    """agent-watchdog: three equal calls in a row, a pattern that fills the last eight."""
    from agent_watchdog import AgentWatchdog  # type: ignore[import-not-found]  # noqa: PLC0415 - may be absent

    watched = AgentWatchdog(timeout_seconds=None)
    context = watched.watch()
    context.__enter__()
    watched.context = context  # a run ends when its context is collected
    return lambda call: watched.record_tool_call(*call)


def loop_guard() -> Callable[[Call], object]:
    """agent-loop-guard: exact and fuzzy repeats, cycles and stagnating outputs in the last ten."""
    from loop_guard import LoopGuard  # type: ignore[import-not-found]  # noqa: PLC0415 - may be absent

    guard = LoopGuard()
    return lambda call: guard.check(call[0], call[1], str(call[2]))


def budget_guard() -> Callable[[Call], object]:
    """agent-budget-guard-py: repeats, cycles and near-duplicates of call signatures."""
    from agentguard import Guard  # type: ignore[import-not-found]  # noqa: PLC0415 - may be absent

    guard = Guard(loop_detection=True)
    guard.__enter__()
    return lambda call: guard.observe(Guard.call_signature(call[0], call[1]))


PACKAGES: dict[str, Callable[[], Callable[[Call], object]]] = {
    "agent-watchdog": watchdog,
    "agent-loop-guard": loop_guard,
    "agent-budget-guard-py": budget_guard,
}


def microseconds(action: Callable[[Call], object], calls: list[Call]) -> float:
    """CPU time of one call."""
    started = time.process_time_ns()
    for call in calls:
        action(call)
    return (time.process_time_ns() - started) / len(calls) / 1000


def main() -> None:
    """Measure every package that is there, each round beside the plain encoding."""
    calls: list[Call] = [tuple(json.loads(line)) for line in sys.stdin]
    found: dict[str, object] = {}
    for name, make in PACKAGES.items():
        try:
            samples = []
            for _ in range(ROUNDS):
                plain = microseconds(lambda call: json.dumps(call[1:], sort_keys=True), calls)
                samples.append((microseconds(make(), calls), plain))
        except Exception as error:  # noqa: BLE001 - a package may do anything
            found[name] = f"not measured: {type(error).__name__}"
            continue
        found[name] = {
            "ratio": round(median(theirs / plain for theirs, plain in samples), 2),
            "us": round(median(theirs for theirs, _ in samples), 2),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
