"""What a guard costs a tool call: `before` and `after` against the engine alone, in one run.

Not the cost of a framework, and not a comparison of what is found. The engine alone is reading the call, deciding,
reading the result and recording, with no lock, no run to look up, no context and no clock. Every call has other
arguments and another result, in a run that goes on. Three published guard packages are shown beside it, installed once
in a folder of their own beside the temporary files; without a network they are left out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import _compiled  # noqa: F401 - first: the package is to come from where it says
from _harness import Case, main

from otel_loopguard.config import Settings
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.guards import Allow, Guard

RESULT = "order 4711: shipped on the third, two parcels, the second one waits for customs; no note of the customer"
KEY = "0123456789abcdef" * 4


def arguments(number: int) -> dict[str, object]:
    """What a model hands over, another one each time."""
    return {"customer": f"C-{number:06}", "state": "open", "limit": 50, "query": "parcels that wait for customs"}


def guarded(mode: Any) -> Callable[[], object]:  # noqa: ANN401 - one of three words
    """A call through a guard."""
    guard = Guard(mode=mode, settings=Settings(key=KEY))
    numbers = count()

    def call() -> object:
        number = next(numbers)
        decision = guard.before("search_orders", arguments(number), call_id=f"call_{number}", run="r1")
        return guard.after(decision.call, f"{number} {RESULT}") if isinstance(decision, Allow) else decision

    return call


def engine_alone() -> Callable[[], object]:
    """A call through the engine."""
    policy = Policy()
    reader = CallReader(policy, fingerprinter(Keyring(SecretKey(bytes.fromhex(KEY), "k")), "environment"))
    engine, history, numbers = Engine(policy), History(), count()

    def call() -> object:
        number = next(numbers)
        asked = arguments(number)
        made = reader.call("search_orders", asked, call_id=f"call_{number}")
        decision = engine.decide(history, made)
        outcome = reader.outcome(made, asked, f"{number} {RESULT}")
        return engine.record(history, made, outcome), decision

    return call


def _agent_loop_guard(library: Any) -> Callable[[], object]:  # noqa: ANN401
    guard, numbers = library.LoopGuard(), count()

    def call() -> object:
        number = next(numbers)
        return guard.check("search_orders", arguments(number), f"{number} {RESULT}")

    return call


def _agentguard(library: Any) -> Callable[[], object]:  # noqa: ANN401
    guard, numbers = library.LoopGuard(), count()
    return lambda: guard.check("search_orders", arguments(next(numbers)))


def _agentbelt(library: Any) -> Callable[[], object]:  # noqa: ANN401
    detector, numbers = library.LoopDetector(), count()

    def call() -> object:
        number = next(numbers)
        # Its default takes three calls of one tool for a stagnation, whatever they ask: a session for each two.
        session = f"r{number // 2}"
        detector.record(session, "search_orders", arguments(number), f"{number} {RESULT}")
        return detector.check(session)

    return call


OTHERS = {
    "agent-loop-guard": ("loop_guard", _agent_loop_guard),
    "agentguard47": ("agentguard", _agentguard),
    "agentbelt-loop": ("agentbelt_loop", _agentbelt),
}
"""Published packages: the module, and a call through its guard."""


def fetch() -> None:
    """Have the packages importable, after everything that is installed."""
    folder = Path(tempfile.gettempdir()) / f"otel-loopguard-guards-{sys.version_info.major}.{sys.version_info.minor}"
    if not folder.exists():
        print("guard: installing published packages", file=sys.stderr)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *OTHERS]
        subprocess.run(pip, check=False, stdout=sys.stderr)
    sys.path.append(str(folder))


def cases() -> list[Case]:
    """Ours against the engine, and beside every other guard that could be had."""
    fetch()
    found = [
        Case("before + after, enforce / engine alone", guarded("enforce"), engine_alone(), 2.0),
        Case("before + after, observe / engine alone", guarded("observe"), engine_alone(), 2.0),
    ]
    for name, (module, make) in OTHERS.items():
        try:
            library = import_module(module)
        except ImportError:
            print(f"guard: not to be had, left out: {name}", file=sys.stderr)
            continue
        found.append(Case(f"before + after, enforce / {name}", guarded("enforce"), make(library)))
    return found


if __name__ == "__main__":
    sys.exit(main("guard", cases()))
